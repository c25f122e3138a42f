"""Streamed answers of routes: on a connection of this node, or on their way to the node that has the connection."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from sanic import Request

from actors.errors import ServiceError
from routes.http.background import BackgroundTasks
from routes.http.server_sent_events import EVENT_STREAM, STILL_HERE, STREAM_HEADERS, Silence

T = TypeVar("T")


class HeadSent(Exception):
    """The head of a stream was sent, which is the whole answer to HEAD."""


class AnswerStream:
    """The streamed answer of one request.

    The route calls `begin` once and then `send`; neither waits. A route that fails before `begin` is refused like any
    other; one that returns without `begin` is answered with its `RouteReply`.
    """

    def __init__(self) -> None:
        self.begun = False
        self.headers: dict[str, str] = {}
        """Headers of every answer, which the frame sets before the route runs."""
        self.goes_on = True
        """Whether the route goes on when its client disconnects."""
        self.silent_s: float | None = None
        """Seconds of silence before a comment, in a stream of events on a connection of this node; None: the usual."""
        self.failure: Callable[[ServiceError], bytes] | None = None
        """Writes an error as the last piece; None leaves that to the door."""
        self.on_begun: Callable[[], None] | None = None
        """Told of the beginning."""

    def begin(
        self,
        headers: Mapping[str, str] | None = None,
        *,
        media_type: str = EVENT_STREAM,
        failure: Callable[[ServiceError], bytes] | None = None,
    ) -> None:
        """Begin an answer with status 200."""
        self.failure = failure
        self.open({"content-type": media_type} | STREAM_HEADERS | self.headers | dict(headers or {}))

    def open(self, headers: dict[str, str]) -> None:
        """Begin an answer with exactly these headers."""
        self.begun = True
        self._open(headers)
        if self.on_begun is not None:
            self.on_begun()

    def send(self, piece: bytes) -> None:
        """Send a piece, whole characters of UTF-8."""
        raise NotImplementedError

    async def flushed(self, timeout_s: float) -> bool:
        """Wait until no piece waits here; cut the connection and return False if its client takes them too slowly."""
        raise NotImplementedError

    async def carry(self, running: Coroutine[Any, Any, T], work: BackgroundTasks) -> T:
        """Run a coroutine, sending its pieces as they come; return its result. A disconnect may cancel it.

        Raises:
            HeadSent: the request is HEAD, and the answer has begun; the coroutine is cancelled.
        """
        raise NotImplementedError

    async def end(self, last: bytes = b"") -> None:
        """Send the last piece, if any, and end the answer."""
        raise NotImplementedError

    def _open(self, headers: dict[str, str]) -> None:
        raise NotImplementedError


class ConnectionStream(AnswerStream):
    """A streamed answer on a connection of this node."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._listens = False
        self._silence: Silence | None = None
        self._request: Any = request  # Sanic leaves its responses untyped
        self._response: Any = None
        self._opening: dict[str, str] = {}
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    def _open(self, headers: dict[str, str]) -> None:
        self._opening = headers
        self.send(b"")  # so that the head is sent at once
        if self._listens and headers.get("content-type") == EVENT_STREAM:
            self._silence = Silence(lambda: self._pieces.put_nowait(STILL_HERE), self.silent_s)
            self._silence.begin()

    def send(self, piece: bytes) -> None:
        """Send a piece when the connection takes it."""
        if self._silence is not None:
            self._silence.heard()
        self._pieces.put_nowait(piece)

    async def flushed(self, timeout_s: float) -> bool:
        """Wait until the connection has taken all pieces."""
        try:
            await asyncio.wait_for(self._pieces.join(), timeout_s)
        except TimeoutError:
            self._request.transport.abort()
            return False
        return True

    async def carry(self, running: Coroutine[Any, Any, T], work: BackgroundTasks) -> T:
        """Run a coroutine in a task of its own, which may go on when the client disconnects."""
        self._listens, is_head = True, self._request.method == "HEAD"
        task = work.begin(running)
        task.add_done_callback(lambda _: self._pieces.put_nowait(None))
        try:
            while (piece := await self._pieces.get()) is not None:
                await self._write(piece)
                self._pieces.task_done()
                if is_head:
                    raise HeadSent
        except BaseException:  # the client has gone, or takes no more
            work.abandon(task)
            if not self.goes_on:
                task.cancel()
            raise
        finally:
            self._listens = False
            if self._silence is not None:
                self._silence.end()
        return task.result()

    async def end(self, last: bytes = b"") -> None:
        """Send the last piece, if any, and end the answer."""
        await self._write(last)
        await self._response.eof()

    async def _write(self, piece: bytes) -> None:
        if self._response is None:
            media_type = self._opening.pop("content-type", EVENT_STREAM)
            self._response = await self._request.respond(content_type=media_type, headers=self._opening)
            await self._response.send(piece)
        elif piece:
            await self._response.send(piece)


class ForwardedStream(AnswerStream):
    """A streamed answer on its way to another node.

    Args:
        opened: sends the headers.
        sent: sends a piece.
    """

    def __init__(self, opened: Callable[[dict[str, str]], None], sent: Callable[[str], None]) -> None:
        super().__init__()
        self._opened = opened
        self._sent = sent

    def _open(self, headers: dict[str, str]) -> None:
        self._opened(headers)

    def send(self, piece: bytes) -> None:
        """Send a piece to the other node."""
        self._sent(piece.decode())

    async def flushed(self, timeout_s: float) -> bool:
        """Return at once: the other node takes all pieces."""
        del timeout_s
        return True

    async def carry(self, running: Coroutine[Any, Any, T], work: BackgroundTasks) -> T:
        """Run a coroutine; requests of other nodes go on when their client disconnects."""
        del work
        return await running

    async def end(self, last: bytes = b"") -> None:
        """Send the last piece, if any."""
        if last:
            self.send(last)
