"""A private NATS server for tests: its own folder and a free port of 127.0.0.1, gone at the end.

The server is Debian's package `nats-server` (`make nats` installs it where it can); its service is not used.
"""

import asyncio
import atexit
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Self
from unittest import SkipTest

from tests.support.programs import installed

KEEPER = '"$@" & echo $!; read -r _; kill -CONT $! 2>/dev/null; kill -KILL $! 2>/dev/null; wait'
"""Runs the server until the end of its own input, which comes even if the tests are killed."""

START_S = 30.0


class NoNats(SkipTest):
    """No NATS server is installed: pytest skips the test."""


def free_port() -> int:
    """Return a port of 127.0.0.1 that is free now, from below those that outgoing connections get."""
    while True:
        port = random.randrange(12_000, 32_000)
        with socket.socket() as listening, suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port


class NatsServer:
    """A server that may be stopped and started again on its port; `settings` are of its configuration file."""

    def __init__(self, settings: Mapping[str, str] = MappingProxyType({}), port: int | None = None) -> None:
        self.port = port or free_port()
        self._program = installed("nats-server", NoNats)
        self._folder = Path(tempfile.mkdtemp(prefix="parley-nats-"))
        lines = {"listen": f"127.0.0.1:{self.port}", "max_payload": "1MB", **settings}
        self._configuration = self._folder / "nats.conf"
        self._configuration.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()), encoding="utf-8")
        self._keeper: subprocess.Popen[bytes] | None = None
        self.pid = 0

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """What the server has logged."""
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")

    async def up(self) -> Self:
        """Start the server, and wait until it takes connections."""
        self.pid = await asyncio.to_thread(self._start)
        async with asyncio.timeout(START_S):
            while not await self._listens():
                await asyncio.sleep(0.02)
        return self

    def _start(self) -> int:
        command = [self._program, "-c", str(self._configuration), "-l", str(self._folder / "log")]
        self._keeper = subprocess.Popen(
            ["sh", "-c", KEEPER, "sh", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for pytest
        )
        assert self._keeper.stdout is not None
        return int(self._keeper.stdout.readline())

    async def _listens(self) -> bool:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        try:
            return (await reader.read(4)) == b"INFO"
        finally:
            writer.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server."""
        os.kill(self.pid, number)

    async def down(self) -> None:
        """End the server at once, as a crash does."""
        await asyncio.to_thread(self._down)

    def _down(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            assert keeper.stdin is not None
            assert keeper.stdout is not None
            keeper.stdin.close()
            keeper.wait(10)
            keeper.stdout.close()

    async def stop(self) -> None:
        """End the server and remove its folder."""
        await self.down()
        self._remove()

    def stop_at_exit(self) -> None:
        """Do the same at the end of this process, when no thread can be started."""
        self._down()
        self._remove()

    def _remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


@asynccontextmanager
async def running(settings: Mapping[str, str] = MappingProxyType({})) -> AsyncIterator[NatsServer]:
    """Run a server for a while."""
    server = NatsServer(settings)
    try:
        yield await server.up()
    finally:
        await server.stop()


_shared: list[NatsServer] = []
_starting = asyncio.Lock()


async def shared() -> NatsServer:
    """Return this process's server, started when the first test needs it; it ends with the process."""
    async with _starting:
        if not _shared:
            _shared.append(await NatsServer({"max_payload": "8MB"}).up())
            atexit.register(_shared[0].stop_at_exit)
    return _shared[0]
