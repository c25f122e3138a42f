"""Tool servers by URL (MCP, "streamable HTTP"), under the egress policy."""

import asyncio
import math
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any

from actors.egress.flow import EVENT_END, Flooded, TokenBucket, ValueCount
from actors.egress.outbound import Outbound
from actors.errors import InvalidField
from actors.tools.limits import MAX_MESSAGE_BYTES, MAX_VALUES, VALUES_OF_LINE, ToolLimits

if TYPE_CHECKING:
    from httpx2 import Headers, Request, Response
    from mcp.client._transport import TransportStreams

MAX_HEADERS = 16
MAX_HEADER_CHARS = 4_096
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_VALUE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_OWN_HEADERS = frozenset(
    (
        # the connection's own, and hop-by-hop ones (RFC 9110, 7.6.1)
        *("connection", "host", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"),
        *("trailer", "transfer-encoding", "upgrade", "content-length", "expect"),
        # what the MCP client sets
        *("accept", "accept-encoding", "content-encoding", "content-type", "last-event-id", "user-agent"),
    )
)
_LINES = (1_000.0, 2_000.0)
"""Lines per second of all a user's event streams, and of their first burst; an event has two, and costs a step of the
event loop. `VALUES_OF_LINE` values, which take about as long, count as a line, and so does a piece without one."""
_FREE_PIECES = 64
"""The number of pieces of an answer that is no event stream, before each counts as a line."""
_BYTES = (4e6, 2e6)
_MOST_BYTES = 8e6
_EVENTS = "text/event-stream"
_SECRET_CHARS = 4
"""A shorter value of a header is no secret, and may be a part of any word."""
_METHOD_NOT_FOUND = -32601
_NO_SESSION = -32000


def require_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Check a user's headers for a tool server.

    Raises:
        InvalidField: a header is invalid (CR, LF, ...), or belongs to the connection or the protocol.
    """
    if len(headers) > MAX_HEADERS:
        raise InvalidField(f"Invalid value of headers: send up to {MAX_HEADERS}.")
    seen: set[str] = set()
    for name, value in headers.items():
        lower = name.lower()
        if not _TOKEN.fullmatch(name):
            raise InvalidField("Invalid value of headers: a name has letters, digits and !#$%&'*+-.^_`|~ only.")
        if lower in _OWN_HEADERS or lower.startswith("mcp-"):
            raise InvalidField(f"Invalid value of headers.{name}: this header is the gateway's own to set.")
        if lower in seen:
            raise InvalidField(f"Invalid value of headers.{name}: it is given twice.")
        if len(value) > MAX_HEADER_CHARS or not _VALUE.fullmatch(value):
            raise InvalidField(
                f"Invalid value of headers.{name}: send 1 to {MAX_HEADER_CHARS} visible ASCII characters."
            )
        seen.add(lower)
    return dict(headers)


def stream_pace() -> TokenBucket:
    """Make the token bucket for the event streams of a user's servers."""
    return TokenBucket(*_LINES, math.inf)


class HttpTransport:
    """The transport to a tool server by URL: requests as needed, without a permanent connection.

    `lines` limits the event streams of all its user's servers together.
    """

    is_process = False

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: ToolLimits,
        lines: TokenBucket,
        tls: Any,
        outbound: Outbound,
        user_id: str,
    ) -> None:
        self._lines = lines
        self._url = url
        self._headers = headers
        values = {
            part for value in headers.values() for part in (value, value.rpartition(" ")[2])
        }  # without its scheme
        self._secrets = sorted((value for value in values if len(value) >= _SECRET_CHARS), key=len, reverse=True)
        self._limits = limits
        self._tls = tls
        self._outbound = outbound
        self._user_id = user_id
        self._status = 0
        self.lost = asyncio.Event()
        self.reason = "it ended"

    def remark(self) -> str:
        """Name the last HTTP status that was an error, if any."""
        return f" (HTTP {self._status})" if self._status else ""

    def call_begins(self) -> None:
        """Forget earlier remarks."""
        self._status = 0

    def forgotten(self, code: int) -> bool:
        """Return whether a call's answer, an error with this code, says that the server does not know the session.

        MCP says so by HTTP 404, which 2026-07-28 uses for unknown methods too. Servers like the examples of the
        TypeScript SDK say it by HTTP 400 and -32000.
        """
        if self._status == HTTPStatus.NOT_FOUND:
            return code != _METHOD_NOT_FOUND
        return self._status == HTTPStatus.BAD_REQUEST and code == _NO_SESSION

    def masked(self, text: str) -> str:
        """Return a server's text without the values of the user's headers, which some servers repeat."""
        for secret in self._secrets:
            text = text.replace(secret, "[masked]")
        return text

    @asynccontextmanager
    async def open(self) -> AsyncGenerator["TransportStreams"]:
        """Open the client."""
        import httpx2  # noqa: PLC0415
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        from actors.egress.httpx_transport import GuardedTransport  # noqa: PLC0415

        transport = GuardedTransport(self._tls, self._outbound, self._user_id, self._refuse_listening, self._pacer)
        client = httpx2.AsyncClient(
            transport=transport,
            trust_env=False,
            max_redirects=0,  # the SDK follows those within an origin, whatever `follow_redirects` says
            headers=dict(self._headers) | {"accept-encoding": "identity", "user-agent": "Parley"},
            timeout=httpx2.Timeout(self._limits.call_timeout_s + 5, connect=self._limits.connect_timeout_s / 2),
        )
        async with (
            client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
        ):
            yield streams

    def _refuse_listening(self, request: "Request") -> "Response | None":
        """Answer GETs locally: the gateway wants no unrequested messages, and the SDK would retry for ever."""
        import httpx2  # noqa: PLC0415

        return httpx2.Response(405, request=request) if request.method == "GET" else None

    def _pacer(self, status: int, headers: "Headers") -> Callable[[bytes], float]:
        """Return the function that slows a flooding response down, and cuts off one that is too large."""
        import httpx2  # noqa: PLC0415

        if status >= 400:
            self._status = status
        stream = headers.get("content-type", "").lower().startswith(_EVENTS)
        if stream:
            headers["content-type"] = _EVENTS  # they are UTF-8 whatever the header says, and counted as such
        flow = TokenBucket(*_BYTES, _MOST_BYTES if stream else MAX_MESSAGE_BYTES)
        count = ValueCount(MAX_VALUES, EVENT_END if stream else None)
        packed = headers.get("content-encoding", "identity") != "identity"
        free = 0 if stream else _FREE_PIECES

        def pace(piece: bytes) -> float:
            nonlocal free
            free -= 1
            now = monotonic()
            try:
                if packed:
                    raise Flooded("it compresses its answers, against the request")
                wait = flow.took(len(piece), now)
                values = count.took(piece)
                if free >= 0:
                    return wait
                lines = max(piece.count(b"\n"), piece.count(b"\r")) if stream else 0  # both end a line
                return max(wait, self._lines.took(max(lines, 1) + values / VALUES_OF_LINE, now))
            except Flooded as flood:
                self.reason = str(flood)
                self.lost.set()
                raise httpx2.ReadError(str(flood)) from None

        return pace
