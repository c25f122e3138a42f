"""The fast path, by which plain requests reach the command bus and some routes without Sanic's parser and router.

Sanic takes longer between socket and handler than most commands take to run. An ordinary request that arrives whole is
served here; all others (most routes, half-sent, pipelined or chunked ones, streamed answers, doubtful heads,
connections to be closed) take Sanic's path. `CommandBus.serve` and `GatewayRoutes.serve` run both.
"""

import logging
import re
from collections.abc import Coroutine, Iterator
from functools import lru_cache
from time import monotonic
from typing import Any

from sanic.http import Stage
from sanic.server import HttpProtocol

from routes.bus.bus import CommandBus
from routes.gateway.fast import FastRoutes
from routes.http.answers import HttpAnswer
from routes.http.background import BackgroundTasks
from routes.http.connections import Connections
from routes.http.head import BadHead, read_head
from routes.http.ready_answers import ReadyAnswers
from routes.http.slow_reader import SlowReader
from routes.http.strict_http import StrictHttp

UNUSUAL = frozenset(("transfer-encoding", "content-encoding", "expect", "upgrade", "origin"))
"""Headers that change the reading or the answer of a request; Sanic's path adds those of CORS."""
CREDENTIALS = frozenset(("authorization", "x-api-key"))
MAX_HEAD_BYTES = 8_192
HEADS_REMEMBERED = 256
"""Number of cached heads, because a client repeats the same one; up to 2 MiB."""

# The whole line, which `read_head` would take too; others go to Sanic's path.
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength:[ \t]*([0-9]{1,9})[ \t]*\r\n").search

log = logging.getLogger("parley.fastpath")

_Connection: Any = HttpProtocol  # Sanic leaves most of its attributes untyped


class FastPath(_Connection):
    """A Sanic connection with the fast path in front.

    Sanic's stage is set for a request on the fast path too, so Sanic's time-outs and orderly stop hold for both paths.
    """

    HTTP_CLASS = StrictHttp
    __slots__ = (
        "_arriving",
        "_bus",
        "_caller",
        "_connections",
        "_gone",
        "_ready",
        "_routes",
        "_serving",
        "_slow_reader",
        "_varies",
        "_work",
        "fresh",
    )
    recv_buffer: bytearray

    def __init__(self, **options: Any) -> None:
        _Connection.__init__(self, **options)
        self._bus: CommandBus = self.app.ctx.bus
        self._routes: FastRoutes = self.app.ctx.fast_routes
        self._work: BackgroundTasks = self.app.ctx.work
        self._varies: str = self.app.ctx.varies  # all paths served here are of those that pages may call
        self._connections: Connections = self.app.ctx.connections
        self._caller: str | None = None  # the caller that the connection is counted for
        self._serving: Coroutine[Any, Any, HttpAnswer | None] | None = None
        self._ready: ReadyAnswers = self.app.ctx.ready_answers
        self._slow_reader: SlowReader | None = None  # while more waits to be sent than the transport wants to hold
        self._arriving = False  # its request is served in the very step in which it has arrived
        self._gone = False  # the client has closed the connection
        self.fresh = True  # nothing has arrived yet

    def connection_made(self, transport: Any) -> None:
        """Count the connection; close it at once, without an answer, if its address has too many."""
        peer: tuple[str, int] | None = transport.get_extra_info("peername")  # None if the connection is gone already
        self._caller = self._connections.admit(peer[0]) if peer else None
        if self._caller is None:
            transport.abort()
        else:
            _Connection.connection_made(self, transport)

    def data_received(self, data: bytes) -> None:
        """Serve a whole plain request at once; pass anything else to Sanic."""
        self.fresh = False
        if self._serving is not None:
            self._hold(data)
            return
        found = plain_request(data) if self._is_idle() else None
        serving = None
        if found is not None:
            peer = self.conn_info.client_ip
            serving = self._bus.begin(*found, peer) or self._routes.begin(*found, peer)
        if serving is None:
            _Connection.data_received(self, data)
            return
        self._time = monotonic()
        self._serving = serving
        self._arriving = True
        try:
            self._go_on()
        finally:
            self._arriving = False

    def pause_writing(self) -> None:
        """Look from now on whether the client reads its answers."""
        _Connection.pause_writing(self)
        self._slow_reader = SlowReader(self.loop, self.transport)
        self._slow_reader.begin()

    def resume_writing(self) -> None:
        """Go on without looking, because the client has read nearly all."""
        _Connection.resume_writing(self)
        self._end_looking()

    def _end_looking(self) -> None:
        if self._slow_reader is not None:
            self._slow_reader.end()
            self._slow_reader = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Continue the current request without writing, because a command may have steps after its commit."""
        self._end_looking()
        if self._caller is None:
            return  # it was refused
        self._connections.release(self._caller)
        _Connection.connection_lost(self, exc)
        self._gone = True
        if self._serving is not None:
            self._work.add(self)

    @property
    def ending(self) -> bool:
        """Whether the next answer is the last one, because the gateway stops."""
        return self._connections.ending

    def log_refused_head(self, request_id: str, status: int, code: int, seconds: float) -> None:
        """Log a request with a refused head, in one line that repeats nothing of it."""
        self._bus.log_refused(request_id, status, code, seconds, self.conn_info.client_ip)

    def _is_idle(self) -> bool:
        """Return whether Sanic waits for a request on this connection and has no byte of it yet."""
        http = self.http
        return (
            http is not None
            and http.stage is Stage.IDLE
            and http.keep_alive
            and not self._connections.ending  # Sanic's answer has `Connection: close`
            and not self.recv_buffer
            and not self._data_received.is_set()
            and self._can_write.is_set()  # Sanic waits for a slow reader
        )

    def _hold(self, data: bytes) -> None:
        """Keep bytes pipelined behind the current request; stop reading from a client that sends too much."""
        self.recv_buffer += data
        if len(self.recv_buffer) >= self.app.config.REQUEST_BUFFER_SIZE:
            self.transport.pause_reading()

    def _go_on(self, _: object = None) -> None:
        """Run the request until it waits or is answered.

        This replaces a task, which would take three more turns of the loop.
        """
        serving = self._serving
        assert serving is not None
        try:
            awaited: Any = serving.send(None)
        except StopIteration as end:
            self._answer(end.value)
            return
        except Exception:
            log.exception("a request failed on its way")
            self._done()
            self.abort()
            return
        if not self._gone:
            self._http.stage = Stage.HANDLER
        if awaited is None:
            self.loop.call_soon(self._go_on)
        else:
            awaited._asyncio_future_blocking = False
            awaited.add_done_callback(self._go_on)

    def _done(self) -> None:
        self._serving = None
        if self._gone:
            self._work.discard(self)

    def _answer(self, answer: HttpAnswer) -> None:
        deferred = answer.deferred
        if deferred is not None:
            deferred.then(lambda _: self._release(answer))
        elif self._arriving:
            self._http.stage = Stage.HANDLER
            self._ready.add(self.loop, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: HttpAnswer) -> None:
        if self._gone:
            self._done()
            return
        self.transport.write(answer.wire(self._varies))
        if answer.rest:
            self._http.stage = Stage.HANDLER
            self._write_on(iter(answer.rest))
        else:
            self._answered()

    def _write_on(self, pieces: Iterator[bytes]) -> None:
        """Write the rest of a long answer, one piece per turn of the loop."""
        piece = None if self._gone else next(pieces, None)
        if piece is None:
            self._answered()
        else:
            self.transport.write(piece)
            self.loop.call_soon(self._write_on, pieces)

    def _answered(self) -> None:
        """Prepare for the next request, which may have arrived already."""
        self._done()
        if self._gone:
            return
        self._http.stage = Stage.IDLE
        self._time = monotonic()
        if self.recv_buffer:
            held = bytes(self.recv_buffer)
            self.recv_buffer.clear()
            self.transport.resume_reading()
            self.data_received(held)

    def _release(self, answer: HttpAnswer) -> None:
        """Send a deferred answer."""
        self._answer(answer.released())


def plain_request(data: bytes) -> tuple[str, dict[str, str], bytes] | None:
    """Parse a request into its request line, its headers by lower-case names, and its body.

    Returns None unless `data` is one whole request with an unambiguous head (RFC 9112), which Sanic would parse alike.
    Other requests share the headers: do not change them. Content-Length is left out of them.
    """
    end = data.find(b"\r\n\r\n")
    if not 0 < end <= MAX_HEAD_BYTES:
        return None
    length = _LENGTH(data, 0, end + 2)
    if length is None or len(data) - end - 4 != int(length[1]):
        return None
    # Without its length, because that differs while a client's other lines stay the same.
    head = _plain_head(data[: length.start()] + data[length.end() - 2 : end])
    return None if head is None else (head[0], head[1], data[end + 4 :])


@lru_cache(maxsize=HEADS_REMEMBERED)
def _plain_head(head: bytes) -> tuple[str, dict[str, str]] | None:
    """Parse a head without its first Content-Length; return None if it is ambiguous, for instance has a second one."""
    if not head.isascii():
        return None
    try:
        read = read_head(head)
    except BadHead:
        return None  # Sanic's path answers it
    headers = read.headers
    if "content-length" in headers or len(headers) != len(read.fields):
        return None
    if "cookie" in headers and CREDENTIALS.isdisjoint(headers):
        return None  # the cookie may be the console's
    if headers.get("connection", "keep-alive").lower() != "keep-alive" or not UNUSUAL.isdisjoint(headers):
        return None
    return read.line, headers
