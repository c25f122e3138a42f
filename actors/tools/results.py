"""Bounds on the results of tool servers, which are made before the SDK looks at them."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from actors.tools.limits import MAX_BLOCKS, MAX_TOOLS

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


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
