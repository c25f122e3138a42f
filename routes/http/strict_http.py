"""Sanic's HTTP/1.1 with strict checks of heads and chunks, and time limits for arriving bytes.

Its answers have a Date; those to HTTP/1.0 have no chunks.
"""

import asyncio
import re
from contextlib import suppress
from time import monotonic
from typing import Any, NoReturn

from sanic.exceptions import BadRequest
from sanic.headers import format_http1_response
from sanic.http import Http, Stage

from actors.errors import BodyTooLarge, RequestTimeout, ServiceError
from routes.http.answers import http_date, request_id_of
from routes.http.head import read_head, require_whole_lines, target_of

MAX_DISCARDED_BYTES = 16 * 2**20
"""Bytes of a body that are read after its answer: closing a connection with unread bytes may lose the answer (RFC
9112, 9.6)."""
LINGER_S = 1.0
"""Seconds for which a refused connection is still read, so that its answer is not lost (RFC 9112, 9.6)."""
MAX_CHUNK_LINE_BYTES = 256
MAX_EXTENSION_BYTES = 16_384
"""Bytes of all chunk extensions of a body together (RFC 9112, 7.1.1 asks for a limit)."""
CHUNKS_A_STEP = 256
"""Chunks read per turn of the loop, because a body of one-byte chunks must not block others."""

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_QUOTED = rb'"(?:[\t !#-\[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*"'
_CHUNK_LINE = re.compile(  # RFC 9112, 7.1: 1*HEXDIG, then extensions
    rb"([0-9A-Fa-f]{1,16})((?:[ \t]*;[ \t]*%b(?:[ \t]*=[ \t]*(?:%b|%b))?)*)" % (_TOKEN, _TOKEN, _QUOTED)
)

_Http: Any = Http  # Sanic leaves most of its attributes untyped


class StrictHttp(_Http):
    """The requests of one connection that don't take the fast path.

    The request time-out covers a head from its first byte, and once more the body from the end of the head.
    """

    __slots__ = ("_begun", "_chunks", "_deadline", "_extension_bytes", "_max_body_bytes", "_refusal", "_waited")
    request_body: Any
    response_func: Any
    recv_buffer: bytearray

    def __init__(self, protocol: Any) -> None:
        _Http.__init__(self, protocol)
        self._deadline: float | None = None
        self._begun = 0.0
        self._chunks = 0
        self._extension_bytes = 0
        self._max_body_bytes: int = protocol.request_max_size
        self._refusal: ServiceError | None = None
        self._waited = False
        self._receive_more = self._receive_in_time

    def init_for_request(self) -> None:
        """Wait for a request; only the time-out of idle connections limits this."""
        self.protocol.request_max_size = self._max_body_bytes
        _Http.init_for_request(self)
        self._deadline = None
        self._chunks = self._extension_bytes = 0

    async def http1_request_header(self) -> None:
        """Receive a head, check it, and hand it to Sanic in one canonical form.

        Raises:
            BadHead: it breaks RFC 9112.
            BodyTooLarge: it is longer than the limit of heads.
            RequestTimeout: it did not arrive in time.
        """
        self._begun = monotonic()
        self._set_deadline()
        buffer = self.recv_buffer
        if not self._waited:  # pipelined requests must not become one step of the loop
            await asyncio.sleep(0)
        self._waited = False
        try:
            end = await self._head_end()
            buffer[:end] = read_head(bytes(buffer[:end])).wire()
        except ServiceError as error:
            self._refusal = error
            self.url = target_of(bytes(buffer[: self.HEADER_MAX_SIZE]))  # the answer has the shape of its path
            raise
        await _Http.http1_request_header(self)
        self.upgrade_websocket = False  # upgrades are not supported, and Sanic would drop its time-outs
        self._set_deadline()

    async def read(self) -> bytes | None:
        """Read the next part of the body.

        Raises:
            BadRequest: its chunks break RFC 9112, 7.1.
            RequestTimeout: it did not arrive in time.
        """
        if self.request_body == "chunked" and not self.request_bytes_left:
            await self._require_chunk_line()
        return await _Http.read(self)

    async def http1_response_header(self, data: bytes, end_stream: bool) -> None:
        """Send the head of an answer and the available part of its body."""
        answer = self.response
        answer.headers["date"] = http_date()
        if self.protocol.ending and not self.recv_buffer:  # a pipelined request is answered too
            self.keep_alive = False
        if self.request_body:  # Sanic reads it on after the answer, but only up to the limit of bodies
            self.request_max_size = self.protocol.request_max_size = MAX_DISCARDED_BYTES
        streamed = not end_stream and not getattr(answer, "body", None) and "content-length" not in answer.headers
        if streamed and self.request.version == "1.0":
            await self._answer_until_close(data)
        else:
            await _Http.http1_response_header(self, data, end_stream)

    async def _answer_until_close(self, data: bytes) -> None:
        """Begin a streamed answer to HTTP/1.0, which has no chunks: it ends with the connection (RFC 9112, 6.3)."""
        answer = self.response
        self.keep_alive = False
        answer.headers["connection"] = "close"
        head = format_http1_response(answer.status, answer.processed_headers)
        await self._send(head if self.head_only else head + data)
        self.response_func = self.head_response_ignored if self.head_only else self._send_as_it_is
        self.stage = Stage.RESPONSE

    async def head_response_ignored(self, data: bytes, end_stream: bool) -> None:
        """Send nothing of a streamed body in answer to HEAD; Sanic's own, which is awaited, is no coroutine."""
        _Http.head_response_ignored(self, data, end_stream)

    async def _send_as_it_is(self, data: bytes, end_stream: bool) -> None:
        if data:
            await self._send(data)
        if end_stream:
            self.response_func = None
            self.stage = Stage.IDLE

    async def error_response(self, exception: Exception) -> None:
        """Answer an error; after a refused head, also log it in one line and make sure that the answer arrives."""
        await _Http.error_response(self, exception)
        if self._refusal is not None:
            seconds = monotonic() - self._begun
            status = self.response.status if self.response else 0
            self.protocol.log_refused_head(request_id_of(self.request), status, self._refusal.internal_code, seconds)
            await self._linger()

    def _set_deadline(self) -> None:
        """Start the request time-out of the next request."""
        self._deadline = asyncio.get_running_loop().time() + self.protocol.request_timeout

    async def _receive_in_time(self) -> None:
        """Wait for more bytes of a request, or for its first ones."""
        try:
            async with asyncio.timeout_at(self._deadline):
                self._waited = True
                await self.protocol.receive_more()
        except TimeoutError:
            self.keep_alive = False
            self.request_body = None  # and don't wait for its rest after the answer
            if self.stage is Stage.IDLE:  # it was answered already, and read only to be dropped
                raise BadRequest from None
            raise RequestTimeout("The request did not arrive in time; send it whole, at once.") from None

    async def _head_end(self) -> int:
        """Receive until the head is whole; return the position of its end."""
        buffer = self.recv_buffer
        seen = 0
        while True:
            while not seen and buffer.startswith(b"\r\n"):
                del buffer[:2]  # empty lines before a request are ignored (RFC 9112, 2.2)
            end = buffer.find(b"\r\n\r\n", max(0, seen - 3))
            require_whole_lines(buffer, max(0, seen - 1), len(buffer) if end < 0 else end)
            if (len(buffer) if end < 0 else end) >= self.HEADER_MAX_SIZE:
                raise BodyTooLarge(
                    f"The request's head is larger than the {self.HEADER_MAX_SIZE:,} bytes that this gateway takes."
                )
            if end >= 0:
                return end
            seen = 0 if bytes(buffer) in {b"", b"\r"} else len(buffer)
            await self._receive_more()

    async def _require_chunk_line(self) -> None:
        """Receive the line before a chunk, with the CR LF that ended the last one, and check it."""
        buffer = self.recv_buffer
        while (end := buffer.find(b"\r\n", 2, MAX_CHUNK_LINE_BYTES)) < 0:
            if len(buffer) >= MAX_CHUNK_LINE_BYTES:
                self._refuse_chunks()
            await self._receive_more()
        line = _CHUNK_LINE.fullmatch(buffer, 2, end) if buffer.startswith(b"\r\n") else None
        self._extension_bytes += len(line[2]) if line else 0
        if line is None or self._extension_bytes > MAX_EXTENSION_BYTES:
            self._refuse_chunks()
        self._chunks += 1
        if not self._chunks % CHUNKS_A_STEP:
            await asyncio.sleep(0)

    def _refuse_chunks(self) -> NoReturn:
        self.keep_alive = False
        self.request_body = None  # the end of the body is unknown
        raise BadRequest("Bad chunked encoding")

    async def _linger(self) -> None:
        transport: Any = self.protocol.transport
        if transport is None or transport.is_closing():
            return
        transport.write_eof()
        buffer = self.recv_buffer
        left = MAX_DISCARDED_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S):
                while (left := left - len(buffer)) > 0:
                    buffer.clear()
                    await self.protocol.receive_more()
