"""aiohttp sessions that connect only to addresses allowed by the egress policy (actors/egress/outbound.py)."""

import asyncio
import socket
from functools import partial

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler

from actors.egress.outbound import Outbound, looked_up_for

KEEP_ALIVE_S = 4.0
"""Shorter than most servers' idle time-outs, because an attempt fails on a connection that the receiver is closing."""


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


class _HeadFirst(ResponseHandler):
    """Parses a head before the body that comes in one piece with it, so its status stands if the body breaks HTTP.

    aiohttp alone drops such a head, for example that of a 204 with a body.
    """

    def data_received(self, data: bytes) -> None:
        head, blank_line, body = data.partition(b"\r\n\r\n")
        if blank_line and body:
            super().data_received(head + blank_line)
            if self.exception() is None:
                super().data_received(body)
        else:
            super().data_received(data)


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
        _HeadFirst, loop=asyncio.get_running_loop()
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
