"""Processes of the fork servers (tests/support/fork_server.py), with the interface of asyncio's."""

import asyncio
import atexit
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, Self

from tests.support.fork_server import Start

Preloaded = Literal["gateway", "client"]


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
    async def start(cls, start: Start, program: Preloaded = "gateway", streams: Sequence[int] = ()) -> Self:
        """Run a script by a fork server of this test process: with a log, or with three descriptors as its streams."""
        asking = socket.socket(socket.AF_UNIX)
        asking.connect(str(await _fork_server(program)))
        if streams:
            socket.send_fds(asking, [start.line()], streams)
        else:
            asking.sendall(start.line())
        reader, writer = await asyncio.open_unix_connection(sock=asking)
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


@dataclass(frozen=True, slots=True)
class Forked:
    """A program of the client that runs as a fork, and the readers of what it writes."""

    process: ForkedProcess
    out: asyncio.StreamReader
    err: asyncio.StreamReader

    @classmethod
    async def start(
        cls, script: Path, arguments: Sequence[str], environment: dict[str, str], stdin: bytes | None = None
    ) -> Self:
        """Run a script with this input; None stands for /dev/null."""
        ours, given = (None, os.open(os.devnull, os.O_RDONLY)) if stdin is None else reversed(os.pipe())
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        if ours is not None:
            os.write(ours, stdin or b"")  # less than a pipe holds
            os.close(ours)
        umask = os.umask(0)
        os.umask(umask)
        start = Start(str(script), tuple(arguments), environment, str(Path.cwd()), umask, log="")
        streams = (given, out_end, err_end)
        try:
            process = await ForkedProcess.start(start, "client", streams)
        finally:
            for stream in streams:
                os.close(stream)
        return cls(process, await _reader(out), await _reader(err))

    async def communicate(self) -> tuple[int, bytes, bytes]:
        """Wait for its end; return its exit status and all that it wrote."""
        out, err = await asyncio.gather(self.out.read(), self.err.read())
        return await self.process.wait(), out, err


async def _reader(end: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end, "rb", buffering=0)
    )
    return reader


_sockets: dict[Preloaded, asyncio.Task[Path]] = {}


async def _fork_server(program: Preloaded) -> Path:
    """Start a fork server of this test process at its first use; return the path of its socket."""
    if program not in _sockets:
        _sockets[program] = asyncio.create_task(asyncio.to_thread(_started_fork_server, program))
    return await asyncio.shield(_sockets[program])


def _started_fork_server(program: Preloaded) -> Path:
    folder = tempfile.TemporaryDirectory(prefix="parley-fork-server-")
    listening = Path(folder.name) / "socket"
    checkout = Path(__file__).resolve().parents[2]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
    path = os.pathsep.join(map(str, (checkout, checkout / "clients" / "python" / "src")))
    environment |= {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
    command = (sys.executable, "-m", "tests.support.fork_server", str(listening), program)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=checkout, env=environment)

    def end() -> None:
        process.communicate()  # its input ends, and so does it
        folder.cleanup()

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", "the fork server did not start"
    return listening
