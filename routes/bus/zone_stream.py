"""ZN_Stream: missed events, then live ones, as server-sent events on Sanic's connection."""

import asyncio
from collections.abc import Callable
from typing import Any

from sanic import Request

from actors.calls.call import Call
from actors.commands.command import Follow
from actors.domains.streams import Stream
from routes.http.server_sent_events import SILENT_S, SLOW_S, STILL_HERE, begin_events

_framed: tuple[bytes, bytes] = b"", b""


async def follow_zone(request: Request, call: Call, follow: Follow) -> int:
    """Stream events until the reader disconnects or the stream ends; return the internal code.

    Raises:
        Exception: the command failed before it began.
    """
    stream = await follow(call)
    try:
        await send_stream(request, await begin_events(request, call), stream)
    finally:
        stream.reader.close()
    return 0


async def send_stream(request: Request, response: Any, stream: Stream) -> None:
    """Send events until the reader disconnects or the stream ends; `response` is one that Sanic has begun."""
    reader, now = stream.reader, asyncio.get_running_loop().time

    async def send(block: bytes) -> None:
        async with asyncio.timeout(SLOW_S):
            await response.send(block)

    try:
        # Sends the headers at once, and the place from which a reader goes on that is cut off before an event.
        await send(b": a stream of Parley's\nid: %d\n\n" % reader.last)
        reader.passes_to(_straight_to(request))
        used = now()
        while (block := await reader.next(min(SILENT_S, stream.use_every_s))) is not None:
            if now() >= used + stream.use_every_s:
                used = now()
                await stream.use()
            await send(block or STILL_HERE)
        await response.eof()
    except TimeoutError:  # the reader takes nothing, so it can't be told either
        transport: Any = request.transport
        transport.abort()


def _straight_to(request: Request) -> Callable[[bytes], bool]:
    """Return a function that writes to a connection at once, without a turn of the reader's task.

    It returns False where the connection can't take the block at once.
    """
    transport: Any = request.transport
    can_write: asyncio.Event = transport.get_protocol()._can_write
    framed = _as_it_is if request.version == "1.0" else _as_chunk

    def write(block: bytes) -> bool:
        if not can_write.is_set() or transport.is_closing():
            return False
        transport.write(framed(block))
        return True

    return write


def _as_it_is(block: bytes) -> bytes:
    return block


def _as_chunk(block: bytes) -> bytes:
    """Frame a block as Sanic does (RFC 9112, 7.1), once for all readers that get the same block."""
    global _framed
    if _framed[0] is not block:
        _framed = block, b"%x\r\n%b\r\n" % (len(block), block)
    return _framed[1]
