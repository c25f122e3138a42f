"""Connections of httpx2 to peers that may send anything: no answer takes for ever to begin, and none floods the loop.

Importing this imports httpx2, as `actors/egress/httpx_transport.py` does.
"""

import asyncio
import re
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore2

MAX_HEAD = 32_768
"""The largest number of bytes of an answer's head."""

MAX_INTERIM = 16
"""The largest number of interim answers (1xx) before an answer."""

BYTES_PER_S = 16e6
"""The pace, in bytes per second, at which a connection is read whose peer sends faster than the gateway reads."""

_PILED_UP = 16_384
"""A read of more bytes shows that the peer is that fast."""

_HEAD_END = re.compile(rb"\n\r?\n")
_INTERIM = re.compile(rb"HTTP/\d\.\d 1(?!01)\d\d")  # 101 switches protocols, which ends HTTP


class BoundedStream(httpcore2.AsyncNetworkStream):
    """A connection that passes heads on whole, and drops interim answers, of which httpcore2 takes any number.

    Each of them would take a tenth of a millisecond, and thousands come with one read.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._begun = False  # whether the answer to the last request has begun
        self._head = b""
        self._interim = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what has come, at first a whole head; nothing at the end.

        Raises:
            RemoteProtocolError: the head is too long, or too many interim answers come before it.
            ReadError, ReadTimeout: nothing can be read.
        """
        while not self._begun:
            piece = await self._read(max_bytes, timeout)
            self._head += piece
            self._drop_interim()
            whole = _HEAD_END.search(self._head)
            if (whole.end() if whole else len(self._head)) > MAX_HEAD:
                raise httpcore2.RemoteProtocolError("its answer's head is too long")
            if whole or not piece or not self._head.startswith(b"HTTP/"[: len(self._head)]):
                self._begun = True
                return self._head
        return await self._read(max_bytes, timeout)

    def _drop_interim(self) -> None:
        while _INTERIM.match(self._head) and (end := _HEAD_END.search(self._head)):
            self._head = self._head[end.end() :]
            self._interim += 1
            if self._interim > MAX_INTERIM:
                raise httpcore2.RemoteProtocolError("its answer does not begin")

    async def _read(self, max_bytes: int, timeout: float | None) -> bytes:
        piece = await self._stream.read(max_bytes, timeout)
        if len(piece) > _PILED_UP:
            await asyncio.sleep(len(piece) / BYTES_PER_S)
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write a part of a request, whose answer begins after it."""
        self._begun, self._head, self._interim = False, b"", 0
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """Begin TLS."""
        return BoundedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        """Return what the connection knows of itself."""
        return self._stream.get_extra_info(info)


class BoundedBackend(httpcore2.AsyncNetworkBackend):
    """Opens bounded connections by another backend."""

    def __init__(self, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to a port.

        Raises:
            ConnectError, ConnectTimeout: nobody answers there.
        """
        return BoundedStream(await self._backend.connect_tcp(host, port, timeout, local_address, socket_options))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._backend.sleep(seconds)
