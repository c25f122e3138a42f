"""Processes of the fork server (tests/support/fork_server.py), with the interface of asyncio's."""

import asyncio
import atexit
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Protocol, Self

from tests.support.fork_server import Start


class Process(Protocol):
    """The protocol of a process for tests, for every kind of start."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def send_signal(self, signal: int) -> None: ...

    def kill(self) -> None: ...

    async def wait(self) -> int: ...


class ForkedProcess:
    """A process of the fork server; `returncode` is set at its end, as in asyncio."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._ending = asyncio.create_task(self._until_ended(reader, writer), name=f"end of process {pid}")

    @classmethod
    async def start(cls, start: Start) -> Self:
        """Run a script by the fork server of this test process."""
        reader, writer = await asyncio.open_unix_connection(await _fork_server())
        writer.write(start.line())
        word, _, pid = (await reader.readline()).partition(b" ")
        assert word == b"pid", "the fork server has ended; what it said is on standard error"
        return cls(int(pid), reader, writer)

    async def _until_ended(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        try:
            said = await reader.readline()
        finally:
            writer.close()
        # Without a word the fork server has ended, and it ends its children.
        self.returncode = int(said.split()[1]) if said else -signal.SIGKILL
        return self.returncode

    def send_signal(self, signal: int) -> None:
        """Send a signal; it is ignored after the process has ended."""
        if self.returncode is None:
            try:
                os.kill(self.pid, signal)
            except ProcessLookupError:  # its status has yet to arrive
                return

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        """Wait until it has ended; return its exit status, or less than 0: the signal that ended it."""
        return await asyncio.shield(self._ending)


_socket: Path | None = None


async def _fork_server() -> Path:
    """Start the fork server of this test process at its first use; return the path of its socket."""
    global _socket
    if _socket is None:
        _socket = await asyncio.to_thread(_started_fork_server)
    return _socket


def _started_fork_server() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="parley-fork-server-")
    path = Path(folder.name) / "socket"
    checkout = Path(__file__).resolve().parents[2]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
    environment |= {"PYTHONPATH": str(checkout), "PYTHONUNBUFFERED": "1"}
    command = (sys.executable, "-m", "tests.support.fork_server", str(path))
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=checkout, env=environment)

    def end() -> None:
        process.communicate()  # its input ends, and so does it
        folder.cleanup()

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", "the fork server did not start"
    return path
