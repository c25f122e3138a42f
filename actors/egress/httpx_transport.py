"""The egress policy for httpx2, the HTTP client of the MCP SDK: checked addresses, no redirects, no proxies, bounded.

Importing this imports httpx2; `actors/tools/http.py` does so when the first tool server is connected by URL.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import httpcore2
import httpx2

from actors.egress.bounded_stream import BoundedStream
from actors.egress.outbound import NoPublicAddress, Outbound

MAX_CONNECTIONS = 20


class GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to addresses that the egress policy allows.

    A name is resolved here and the connection opened to a checked address, so that no other answer can come in between;
    TLS still checks the certificate for the name.
    """

    def __init__(self, outbound: Outbound, user_id: str) -> None:
        self._outbound = outbound
        self._user_id = user_id
        self._backend: Any = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Resolve a name and connect to the first of its addresses that is allowed and answers.

        Raises:
            ConnectError: it has no allowed address, or none answers.
            ConnectTimeout: an address did not answer in time.
        """
        failure: Exception | None = None
        for address in await self._addresses(host, timeout):
            try:
                return BoundedStream(
                    await self._backend.connect_tcp(address, port, timeout, local_address, socket_options)
                )
            except httpcore2.ConnectTimeout:
                failure = httpcore2.ConnectTimeout(f"{host} did not answer in time")
            except httpcore2.ConnectError as error:
                failure = httpcore2.ConnectError(f"{host}: {_reason(error)}")
        assert failure is not None  # `_addresses` returns at least one
        raise failure

    async def _addresses(self, host: str, timeout: float | None) -> list[str]:
        """Resolve a name to the addresses that are allowed; an address resolves to itself.

        Raises:
            ConnectError: it has none.
            ConnectTimeout: no name server answered in time.
        """
        try:
            async with asyncio.timeout(timeout):
                found = await self._outbound.addresses(self._user_id, host)
        except TimeoutError:
            raise httpcore2.ConnectTimeout(f"{host} was not resolved in time") from None
        except NoPublicAddress as error:
            raise httpcore2.ConnectError(str(error)) from None
        return list(dict.fromkeys(entry.address for entry in found))

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def _reason(error: BaseException | None) -> str:
    """Return why there is no connection, without the address, because users must not learn addresses behind names."""
    while error is not None:
        if isinstance(error, OSError) and error.strerror and error.errno:
            return os.strerror(error.errno)
        error = error.__cause__ or error.__context__
    return "no connection"


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport of httpx2 over guarded connections.

    Args:
        tls: the context that checks certificates.
        outbound: looks names up and decides which addresses are allowed.
        user_id: the user on whose behalf it sends.
        allow: may answer a request, which then is not sent; None lets it through.
        pacer: called with a response's status and headers; returns a function that is called with each piece and
            returns the seconds to wait before the next one, or raises to cut the response off.
    """

    def __init__(
        self,
        tls: ssl.SSLContext,
        outbound: Outbound,
        user_id: str,
        allow: Callable[[httpx2.Request], httpx2.Response | None],
        pacer: Callable[[int, httpx2.Headers], Callable[[bytes], float]],
    ) -> None:
        self._outbound = outbound
        self._allow = allow
        self._pacer = pacer
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls,
            max_connections=MAX_CONNECTIONS,
            keepalive_expiry=60.0,
            network_backend=GuardedBackend(outbound, user_id),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            ConnectError: its URL or address is refused, or nobody answers there.
            TransportError: sending or receiving failed.
        """
        answer = self._allow(request)
        if answer is not None:
            return answer
        refusal = self._outbound.url_refusal(str(request.url))
        if refusal is not None:
            raise httpx2.ConnectError(f"the URL is refused: {refusal}")
        sent = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(
                scheme=request.url.raw_scheme,
                host=request.url.raw_host,
                port=request.url.port,
                target=request.url.raw_path,
            ),
            headers=request.headers.raw,
            content=request.stream,  # pyright: ignore[reportArgumentType]
            extensions=request.extensions,
        )
        try:
            received = await self._pool.handle_async_request(sent)
        except _FAILURES as error:
            raise _translated(error) from error
        headers = httpx2.Headers(received.headers)
        pieces = _Pieces(received, self._pacer(received.status, headers))
        return httpx2.Response(received.status, headers=headers, stream=pieces)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()


class _Pieces(httpx2.AsyncByteStream):
    """A response's body, piece by piece at the allowed pace."""

    def __init__(self, response: httpcore2.Response, pace: Callable[[bytes], float]) -> None:
        self._response = response
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_stream():
                await asyncio.sleep(self._pace(piece))
                yield piece
        except _FAILURES as error:
            raise _translated(error) from error

    async def aclose(self) -> None:
        await self._response.aclose()


_FAILURES = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)


def _translated(error: Exception) -> httpx2.TransportError:
    """Translate httpcore2's error into httpx2's, which callers of httpx2 catch."""
    match error:
        case httpcore2.ConnectTimeout():
            return httpx2.ConnectTimeout(str(error))
        case httpcore2.TimeoutException():
            return httpx2.ReadTimeout(str(error))
        case httpcore2.ConnectError():
            return httpx2.ConnectError(str(error))
        case httpcore2.NetworkError():
            return httpx2.ReadError(str(error))
        case _:
            return httpx2.RemoteProtocolError(str(error))
