"""`parley` as a process of its own: run to its end, or read while it goes on.

Its processes are forks of one that has imported it (tests/support/fork_server.py); test_completion.py and the tests on
a terminal start the interpreter, as users do.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from parley_client.cli.main import app
from tests.support.client_world import PASSWORD
from tests.support.forked import Forked, ForkedProcess
from tests.support.gateway import CHECKOUT

PARLEY = CHECKOUT / "clients" / "python" / "src" / "parley_client" / "__main__.py"

WAIT_S = 30.0


@dataclass(slots=True)
class Ran:
    """The end of a process."""

    status: int
    out: str
    err: str

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(slots=True)
class Going:
    """A process that goes on, and the lines that it has written so far."""

    process: ForkedProcess
    out: list[str] = field(default_factory=list)
    err: list[str] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def records(self) -> list[Any]:
        return [json.loads(line) for line in self.out]

    async def read(self, source: asyncio.StreamReader, lines: list[str]) -> None:
        """Collect the lines of an output."""
        async for line in source:
            lines.append(line.decode().rstrip("\n"))
            self._changed.set()

    async def said(self, text: str) -> str:
        """Wait for a line with a text on stderr, and return it."""
        return await self._line(self.err, text)

    async def printed(self, text: str) -> str:
        """Wait for a line with a text on stdout, and return it."""
        return await self._line(self.out, text)

    async def lines(self, count: int) -> list[str]:
        """Wait for this number of lines on stdout."""
        async with asyncio.timeout(WAIT_S):
            while len(self.out) < count:
                await self._next()
        return self.out

    async def end(self) -> int:
        """Wait for its end, and return its exit status."""
        return await asyncio.wait_for(self.process.wait(), WAIT_S)

    async def _line(self, lines: list[str], text: str) -> str:
        async with asyncio.timeout(WAIT_S):
            while True:
                for line in lines:
                    if text in line:
                        return line
                await self._next()

    async def _next(self) -> None:
        assert self.process.returncode is None, (self.out, self.err)
        self._changed.clear()
        await self._changed.wait()


class CommandLine:
    """Runs `parley` with a home of its own."""

    def __init__(self, home: Path, url: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")}
        self.environment = kept | {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "PARLEY_URL": url,
            "PARLEY_PASSWORD": PASSWORD,
            "PYTHONPATH": str(CHECKOUT / "clients" / "python" / "src"),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "200",
        }

    async def __call__(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Ran:
        """Run it to its end."""
        given = stdin if isinstance(stdin, bytes) else stdin.encode()
        forked = await Forked.start(PARLEY, arguments, self.environment | environment, given)
        status, out, err = await forked.communicate()
        return Ran(status, out.decode(), err.decode())

    async def inside(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it in this process, which takes a tenth of the time; errors have no status of their own."""
        given = self.environment | environment
        ran = await asyncio.to_thread(CliRunner().invoke, app, arguments, input=stdin, env=given)
        return Ran(ran.exit_code, ran.stdout, ran.stderr)

    @asynccontextmanager
    async def going(self, *arguments: str, **environment: str) -> AsyncIterator[Going]:
        """Run it until the block ends, as if by Ctrl-C."""
        forked = await Forked.start(PARLEY, arguments, self.environment | environment)
        process = forked.process
        going = Going(process)
        reading = [
            asyncio.create_task(going.read(forked.out, going.out)),
            asyncio.create_task(going.read(forked.err, going.err)),
        ]
        try:
            yield going
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            await asyncio.wait_for(process.wait(), WAIT_S)
            await asyncio.gather(*reading)
