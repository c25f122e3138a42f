"""One attempt of a delivery: an HTTP POST and its outcome."""

import asyncio
import ssl
from collections.abc import Mapping
from functools import lru_cache
from time import perf_counter

import aiohttp
from yarl import URL

from actors.egress.aiohttp_session import open_session
from actors.egress.outbound import EgressRefused, Outbound, looked_up_for
from actors.webhooks.messages import Failure, Outcome

MAX_BODY_BYTES = 65_536
"""The number of bytes read of an answer's body, so that the connection can be reused; a longer body is cut off."""
BODY_S = 2.0
"""Seconds to wait for the body after the status, which alone decides the outcome."""
EXCERPT_BYTES = 1_024
"""The number of characters of an answer's body in the log."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class Sender:
    """Posts deliveries; one sender for all endpoints, so that connections are reused."""

    def __init__(self, outbound: Outbound, timeout_s: float) -> None:
        self._outbound = outbound
        self._session = open_session(outbound, timeout_s=timeout_s)

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def post(self, user_id: str, url: str, headers: Mapping[str, str], body: bytes) -> Outcome:
        """Make one attempt for a user, and return its outcome, whatever happens."""
        looked_up_for.set(user_id)
        if self._outbound.url_refusal(url) is not None:
            return Outcome(None, 0, "address_refused", None)
        started = perf_counter()
        status: int | None = None
        error: Failure | None = None
        excerpt: str | None = None
        retry_after: str | None = None
        try:
            async with self._session.post(_parsed(url), data=body, headers=headers, allow_redirects=False) as response:
                status = response.status
                retry_after = response.headers.get("Retry-After")
                excerpt = await _excerpt(response)
        except Exception as raised:
            if status is None:
                error = why(raised)
        if status is not None:
            error = None if 200 <= status < 300 else "redirect" if status in _REDIRECTS else "http_status"
        return Outcome(status, round((perf_counter() - started) * 1000), error, excerpt, retry_after)


@lru_cache(maxsize=4_096)
def _parsed(url: str) -> URL:
    return URL(url, encoded=True)  # as it was checked, without requoting


async def _excerpt(response: aiohttp.ClientResponse) -> str | None:
    """Read a bounded part of the body and return its beginning; a longer body closes its connection."""
    content = response.content
    if content.is_eof():  # the usual answer is short and came in one piece
        return _text(content.read_nowait())
    kept = b""
    read = 0
    try:
        async with asyncio.timeout(BODY_S):
            while read <= MAX_BODY_BYTES:
                piece = await content.readany()
                if not piece:
                    break
                if len(kept) < EXCERPT_BYTES:
                    kept += piece[: EXCERPT_BYTES - len(kept)]
                read += len(piece)
            else:
                response.close()
    except (TimeoutError, aiohttp.ClientError, OSError):
        response.close()
    return _text(kept)


def _text(body: bytes) -> str | None:
    return body[:EXCERPT_BYTES].decode("utf-8", "replace").replace("\0", "\ufffd") or None


def why(raised: Exception) -> Failure:
    """Name the fault that left a request without an answer."""
    match raised:
        case TimeoutError():
            return "timeout"
        case aiohttp.ClientConnectorDNSError():
            return "dns_failure"
        case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientSSLError() | ssl.SSLError():
            return "tls_error"
        case aiohttp.ClientConnectorError():
            return _of_connecting(raised.os_error)
        case aiohttp.InvalidURL():
            return "address_refused"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError() | ConnectionError():
            return "connection_reset"
        case aiohttp.ClientResponseError() | aiohttp.ClientPayloadError():
            return "invalid_response"
        case _:
            return "connection_failed"


def _of_connecting(error: OSError) -> Failure:
    match error:
        case EgressRefused():
            return "address_refused"
        case ConnectionRefusedError():
            return "connection_refused"
        case ConnectionError():
            return "connection_reset"
        case _:
            return "connection_failed"
