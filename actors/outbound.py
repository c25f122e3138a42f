"""Outgoing HTTP on users' behalf, with aiohttp: no address is connected to that the egress policy refuses.

The check is made where the socket is opened, on the very address that it will be connected to. So it holds for IP
literals, which skip resolvers, and for names that resolve to something else each time (DNS rebinding).
"""

import asyncio
import errno
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from actors.egress import address_refusal, url_refusal

LOOKUPS = 64
"""Names that are looked up at the same time: a name server that hangs is not to hold up the others' names."""

LOOKUP_S = 5.0
"""How long the check of a new URL waits for its name."""

KEEP_ALIVE_S = 4.0
"""Less than most servers keep an idle connection: one that the receiver is closing fails an attempt."""

AddrInfo = tuple[Any, Any, int, str, Any]


class EgressRefused(OSError):
    """The address that a name resolved to, or that the URL holds, is one that the policy refuses."""

    def __init__(self) -> None:
        # One text for all addresses of a name: aiohappyeyeballs keeps the type of errors only where they read the same.
        super().__init__(errno.EACCES, "the address is not a globally routable unicast address")


class ThreadResolver(AbstractResolver):
    """The system's resolver in threads of its own, which end with the process even where a lookup hangs.

    The loop's own executor has few threads (uvloop's four), so a few names that hang would stop all others.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Resolve a name to the addresses that this machine can use.

        Raises:
            OSError: there are none.
        """
        async with self._slots:
            found = await _in_thread(
                partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
            )
        results: list[ResolveResult] = []
        for family_, _, protocol, _, address in found:
            ip, port_ = str(address[0]), int(address[1])
            if family_ == socket.AF_INET6 and len(address) == 4 and address[3]:
                ip = f"{ip.partition('%')[0]}%{address[3]}"
            results.append(
                ResolveResult(
                    hostname=host,
                    host=ip,
                    port=port_,
                    family=family_,
                    proto=protocol,
                    flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
                )
            )
        return results

    async def close(self) -> None:
        """Nothing is held; lookups under way end by themselves."""


async def _in_thread(work: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: Exception | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, name="dns", daemon=True).start()
    return await future


class Outbound:
    """Opens sessions to the world, and tells which URLs may be called.

    Args:
        allow_insecure: let `http` and private addresses through, for development.
        ca_file: a PEM file of certificate authorities to trust beside the system's.
        resolver: makes a resolver; for tests.
    """

    def __init__(
        self,
        *,
        allow_insecure: bool = False,
        ca_file: Path | None = None,
        resolver: Callable[[], AbstractResolver] = ThreadResolver,
    ) -> None:
        self.allow_insecure = allow_insecure
        self._ca_file = ca_file
        self._resolver = resolver

    def tls(self) -> ssl.SSLContext:
        """Make the context that receivers' certificates are verified in."""
        context = ssl.create_default_context()
        if self._ca_file is not None:
            context.load_verify_locations(cafile=self._ca_file)
        return context

    def url_refusal(self, url: str) -> str | None:
        """Tell why a URL must not be called, as far as it shows that as written, or None."""
        return url_refusal(url, allow_insecure=self.allow_insecure)

    async def refusal(self, url: str) -> str | None:
        """Tell why a URL must not be called, also by what its name resolves to now, or None.

        A name that does not resolve is let through: each connection is checked again.
        """
        refused = await self._refusal(url)
        if refused is None or url_refusal(url, allow_insecure=True) is not None:
            return refused
        return f"{refused}; for development, the operator may allow it with PARLEY_WEBHOOKS_ALLOW_INSECURE=true"

    async def _refusal(self, url: str) -> str | None:
        refused = self.url_refusal(url)
        if refused is not None or self.allow_insecure:
            return refused
        parts = urlsplit(url)
        host = parts.hostname or ""
        if not host.rpartition(".")[2].isdigit() and ":" not in host:
            resolver = self._resolver()
            try:
                async with asyncio.timeout(LOOKUP_S):
                    found = await resolver.resolve(host, parts.port or 443)
            except (OSError, TimeoutError, UnicodeError):
                return None
            finally:
                await resolver.close()
            for result in found:
                reason = address_refusal(result["host"])
                if reason is not None:
                    return f"its name resolves to an address that is refused: {reason}"
        return None

    def session(self, *, timeout_s: float) -> aiohttp.ClientSession:
        """Open a session: guarded, without proxies, cookies, decompression; ask it for no redirects.

        `timeout_s` bounds each request, from the lookup of the name to the last byte read.
        """
        connector = aiohttp.TCPConnector(
            limit=0,
            ssl=self.tls(),
            resolver=self._resolver(),
            keepalive_timeout=KEEP_ALIVE_S,
            socket_factory=self._open_socket,
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

    def _open_socket(self, found: AddrInfo) -> socket.socket:
        """Make the socket for an address, if it may be connected to.

        Raises:
            EgressRefused: it may not.
        """
        family, kind, protocol, _, address = found
        if address_refusal(str(address[0]), allow_insecure=self.allow_insecure) is not None:
            raise EgressRefused
        return socket.socket(family, kind, protocol)
