"""Tool servers that run as processes and speak over stdin and stdout (MCP, "stdio").

The SDK's own stdio client keeps a line of any length and reads as fast as a server writes; this one is bounded, and
starts the process under `keeper.py`, so that nothing of it outlives the gateway.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from actors.egress.flow import LINE_END, Flooded, TokenBucket, ValueCount
from actors.tools.limits import MAX_MESSAGE_BYTES, MAX_VALUES, VALUES_OF_LINE

if TYPE_CHECKING:  # the SDK takes 0.4 s and 20 MB, so it is imported when the first tool server is connected
    from mcp.client._transport import TransportStreams

KEEPER = Path(__file__).with_name("keeper.py")
INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER")
"""The part of the gateway's environment that a tool server sees; the rest has secrets."""

CLOSE_S = 1.0
"""Seconds that a server may take to end after its stdin is closed, before signals end it."""
KILL_S = 4.0
"""Seconds that the keeper may take to end everything after that; longer than its own grace time."""

_READ_BYTES = 65_536
_LOOK_S = 0.25
_LINES = (500.0, 1_000.0, 10_000.0)
"""Lines per second, of the first burst, and from one call to the next; `VALUES_OF_LINE` values count as one."""
_BYTES = (4e6, 8e6, 64e6)
_MAX_REQUESTS = 100
"""The number of a server's requests to its client that are passed on between two calls; the gateway declines them all,
and the answers would pile up for a server that doesn't read."""
_MAX_GARBAGE = 100
"""The number of lines that are not JSON-RPC, after which a server is given up."""


@dataclass(frozen=True, slots=True)
class StdioServer:
    """An entry of the operator's catalog: the whole command, and its environment."""

    command: tuple[str, ...]
    description: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None


class ProcessTransport:
    """The transport to a tool server that runs as a process; lost when the process ends or breaks a limit."""

    is_process = True

    def __init__(self, server: StdioServer) -> None:
        self._server = server
        self.lost = asyncio.Event()
        self.reason = "it ended"
        self._garbage = 0
        self._lines = TokenBucket(*_LINES)
        self._bytes = TokenBucket(*_BYTES)
        self._requests = 0

    def call_begins(self) -> None:
        """Allow for the messages of a new call."""
        self._lines.restart()
        self._bytes.restart()
        self._requests = self._garbage = 0

    def remark(self) -> str:
        """Return the number of lines since the last call began that were not JSON-RPC, as a remark."""
        return f" (but wrote {self._garbage} lines to stdout that are not JSON-RPC)" if self._garbage else ""

    def forgotten(self, code: int) -> bool:
        """Return False: a process has one session, which ends with it."""
        return False

    def masked(self, text: str) -> str:
        """Return a text as it is: what the process is given is the operator's, and in no user's secrets."""
        return text

    def lose(self, reason: str) -> None:
        """End the transport, with the reason."""
        if not self.lost.is_set():
            self.reason = reason
            self.lost.set()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["TransportStreams"]:
        """Start the process and connect to it; all of it ends with this context.

        Raises:
            OSError: it can't be started.
        """
        import anyio  # noqa: PLC0415

        to_session, from_server = anyio.create_memory_object_stream[Any](0)
        to_server, from_session = anyio.create_memory_object_stream[Any](0)
        inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
        server = self._server
        keeper = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(KEEPER), str(os.getpid()), *server.command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=inherited | dict(server.env),
            cwd=server.cwd,
            start_new_session=True,
        )
        tasks = [
            asyncio.create_task(self._read(keeper, to_session)),
            asyncio.create_task(self._write(keeper, from_session)),
            asyncio.create_task(self._watch(keeper)),
        ]
        try:
            yield from_server, to_server
        finally:
            for task in tasks:
                task.cancel()
            # In a task of its own, so that a cancelled connection also ends its process.
            ending = asyncio.create_task(_end(keeper))
            try:
                await asyncio.shield(ending)
            finally:
                for stream in (to_session, from_server, to_server, from_session):
                    stream.close()

    async def _read(self, keeper: asyncio.subprocess.Process, to_session: Any) -> None:
        """Pass the server's messages on, one line each, until it ends or breaks a limit."""
        from anyio import BrokenResourceError, ClosedResourceError  # noqa: PLC0415

        assert keeper.stdout is not None
        rest = b""
        count = ValueCount(MAX_VALUES, LINE_END)
        try:
            while chunk := await keeper.stdout.read(_READ_BYTES):
                cost = chunk.count(b"\n") + count.took(chunk) / VALUES_OF_LINE
                await asyncio.sleep(self._lines.took(cost, monotonic()))
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    await self._pass_on(line, to_session)
                if len(rest) > MAX_MESSAGE_BYTES:
                    raise Flooded("it sent a message that is too large")
                await asyncio.sleep(self._bytes.took(len(chunk), monotonic()))
            self.lose("it ended")
        except (ClosedResourceError, BrokenResourceError):  # the session is gone
            pass
        except Flooded as flood:
            self.lose(str(flood))
        except OSError as error:
            self.lose(f"its output can't be read: {error.strerror}")
        finally:
            to_session.close()

    async def _pass_on(self, line: bytes, to_session: Any) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415
        from mcp_types import JSONRPCRequest, jsonrpc_message_adapter  # noqa: PLC0415

        if len(line) > MAX_MESSAGE_BYTES:
            raise Flooded("it sent a message that is too large")
        if not line.strip():
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._garbage += 1
            if self._garbage >= _MAX_GARBAGE:
                raise Flooded("its lines on stdout are not JSON-RPC") from None
            return
        if isinstance(message, JSONRPCRequest):
            self._requests += 1
            if self._requests > _MAX_REQUESTS:
                return
        await to_session.send(SessionMessage(message))

    async def _write(self, keeper: asyncio.subprocess.Process, from_session: Any) -> None:
        """Write the session's messages to the server, one line each."""
        assert keeper.stdin is not None
        try:
            async for sent in from_session:
                line = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                keeper.stdin.write(line.encode() + b"\n")
                await keeper.stdin.drain()
        except OSError:
            self.lose("it stopped reading")
        finally:
            from_session.close()

    async def _watch(self, keeper: asyncio.subprocess.Process) -> None:
        """Notice the keeper's end even if the pipes stay open, held by another process of the server."""
        while keeper.returncode is None:
            await asyncio.sleep(_LOOK_S)
        self.lose("it ended")


async def _end(keeper: asyncio.subprocess.Process) -> None:
    """End a server as MCP specifies: close its stdin, wait, then signals; its descendants end with it."""
    assert keeper.stdin is not None
    keeper.stdin.close()
    for wait_s, signal in ((CLOSE_S, keeper.terminate), (KILL_S, keeper.kill)):
        try:
            # not `wait`, which also waits for the pipes' end, and another process may hold them
            async with asyncio.timeout(wait_s):
                while keeper.returncode is None:
                    await asyncio.sleep(0.01)
        except TimeoutError:
            with suppress(ProcessLookupError):
                signal()
        if keeper.returncode is not None:
            break
    transport: Any = getattr(keeper, "_transport", None)  # no public method closes the reading end
    if transport is not None:
        transport.close()
