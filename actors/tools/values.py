"""Bounds on the values of a tool server's messages, which cost the gateway a thousand times more than their bytes."""

import re
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from actors.tools.limits import MAX_BLOCKS, MAX_TOOLS, MAX_VALUES, Flooded

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

LINE_END = re.compile(rb"\n")
EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""The end of a server-sent event."""

_STRING = re.compile(rb'"[^"\r\n]*"?')
"""A string without escapes. None goes on behind the end of a line, neither in JSON nor in an event's line of data."""


class ValueCount:
    """Counts the values of JSON messages that come in pieces, without parsing: brackets and commas outside strings.

    Args:
        end: the end of a message; None if there is only one.
    """

    def __init__(self, end: re.Pattern[bytes] | None = None) -> None:
        self._end = end
        self._count = 0
        self._rest = b""  # what the last piece left open: a string, an escape, the end of a message

    def took(self, piece: bytes) -> int:
        """Count the values of the next piece.

        Raises:
            Flooded: a message has more than `MAX_VALUES`.
        """
        text = (self._rest + piece).replace(b"\\\\", b"")
        escape = b"\\" if text.endswith(b"\\") else b""
        text = text.removesuffix(escape).replace(b'\\"', b"")
        line = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
        string = b'"' if line.count(b'"') % 2 else b""
        outside = _STRING.sub(b"", text)
        ends = b"" if line else outside[len(outside.rstrip(b"\r\n")) :][-3:]
        self._rest = ends + string + escape
        found = 0
        for number, part in enumerate(self._end.split(outside) if self._end else (outside,)):
            if number:
                self._count = 0
            values = part.count(b",") + part.count(b"{") + part.count(b"[")
            self._count += values
            found += values
            if self._count > MAX_VALUES:
                raise Flooded(f"it sent a message of more than {MAX_VALUES:,} values")
        return found


@asynccontextmanager
async def bounded(opened: AbstractAsyncContextManager["TransportStreams"]) -> AsyncGenerator["TransportStreams"]:
    """Open a transport whose results have up to `MAX_BLOCKS` blocks and `MAX_TOOLS` tools; others become errors.

    The SDK checks each of them against many types before anything else can look at them.
    """
    async with opened as (read, write):
        yield cast(Any, _BoundedResults(read)), write


class _BoundedResults:
    """A stream of messages to read, as the SDK wants it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> "_BoundedResults":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> bool | None:
        return await self._stream.__aexit__(*raised)

    def __aiter__(self) -> "_BoundedResults":
        return self

    async def __anext__(self) -> Any:
        return _bounded(await self._stream.__anext__())

    async def receive(self) -> Any:
        return _bounded(await self._stream.receive())


def _bounded(received: Any) -> Any:
    from mcp.shared.message import SessionMessage  # noqa: PLC0415
    from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCResponse  # noqa: PLC0415

    message = getattr(received, "message", None)
    if isinstance(message, JSONRPCResponse):
        for member, most, what in (("content", MAX_BLOCKS, "content blocks"), ("tools", MAX_TOOLS, "tools")):
            found: Any = message.result.get(member)
            if isinstance(found, list) and len(cast(list[Any], found)) > most:
                error = ErrorData(code=INTERNAL_ERROR, message=f"a result with more than {most} {what}")
                return SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
    return received
