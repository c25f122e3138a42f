"""aiohttp sessions that connect only to addresses allowed by the egress policy (actors/egress/outbound.py)."""

import asyncio
import socket
from collections.abc import Iterator
from functools import partial
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader

from actors.egress.outbound import Outbound, looked_up_for

KEEP_ALIVE_S = 4.0
"""Shorter than most servers' idle time-outs, because an attempt fails on a connection that the receiver is closing."""

MAX_RECEIVED = 98_304
"""The number of bytes taken of one answer: its head, the framing of its body, and interim answers (1xx) before it."""

MAX_HEADS = 16
"""The number of heads of one answer: its own, and those of interim answers."""

_PIECE = 4_096


class _PolicyResolver(AbstractResolver):
    """Resolves names for aiohttp to the addresses that may be called."""

    def __init__(self, outbound: "Outbound") -> None:
        self._outbound = outbound

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._outbound.addresses(looked_up_for.get(), host, family)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=family_,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for family_, protocol, address in found
        ]

    async def close(self) -> None:
        """Do nothing; look-ups under way end by themselves."""


class _Answers(ResponseHandler):
    """Parses the answers to requests, piece by piece, and cuts off a receiver that sends too much.

    aiohttp bounds neither the answers before the final one (1xx) nor what frames a body, and parses all that has come
    in one step. It drops a head if the body that comes with it breaks HTTP, for example that of a 204 with a body; here
    the status stands, because the head is a piece of its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._received = 0
        self._heads = 0

    def set_response_params(self, **params: Any) -> None:
        """Begin to count for a new request; connections are reused."""
        self._received = self._heads = 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, up to the bounds."""
        taken = data[: max(MAX_RECEIVED - self._received, 0)]
        self._received += len(data)
        for piece in _pieces(taken):
            super().data_received(piece)
            if self.exception() is not None:
                return
            if self._heads > MAX_HEADS:
                self._cut_off()
                return
        if self._received > MAX_RECEIVED:
            self._cut_off()

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Count and queue a parsed head; an interim one is dropped, because nobody waits for it."""
        self._heads += 1
        if not 100 <= data[0].code < 200 or data[0].code == 101:
            super().feed_data(data, size)

    def _cut_off(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        self.set_exception(HttpProcessingError(message="the receiver sent more than an answer"))


def _pieces(data: bytes) -> Iterator[bytes]:
    """Split received bytes into pieces that are parsed quickly; a head ends its piece."""
    for start in range(0, len(data), _PIECE):
        head, blank_line, rest = data[start : start + _PIECE].partition(b"\r\n\r\n")
        yield head + blank_line
        if rest:
            yield rest
    if not data:
        yield data  # aiohttp's sign to go on after a pause


def open_session(outbound: Outbound, *, timeout_s: float) -> aiohttp.ClientSession:
    """Open a guarded session without proxies, cookies and decompression; callers turn redirects off.

    `timeout_s` bounds each request, from the lookup of the name to the last byte read.
    """
    connector = aiohttp.TCPConnector(
        limit=0,
        ssl=outbound.tls(),
        resolver=_PolicyResolver(outbound),
        use_dns_cache=False,  # its cache would let users wait for each other; `Lookups` caches
        keepalive_timeout=KEEP_ALIVE_S,
        socket_factory=outbound.open_socket,
    )
    # No public option names the class of connections.
    connector._factory = partial[ResponseHandler](  # pyright: ignore[reportPrivateUsage]
        _Answers, loop=asyncio.get_running_loop()
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        trust_env=False,
        auto_decompress=False,
        read_bufsize=16_384,
        skip_auto_headers=("Accept", "Accept-Encoding"),
    )
