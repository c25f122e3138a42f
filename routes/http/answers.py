"""Answers and errors as HTTP responses (docs/contract.md, "Answers" and "Errors")."""

import re
from collections.abc import Callable, Iterator, Sequence
from email.utils import formatdate
from http import HTTPStatus
from time import time
from typing import Any

import orjson
from msgspec import Struct
from sanic import HTTPResponse, Request

from actors.calls.call import Call
from actors.calls.context import NOBODY
from actors.errors import InternalError, RequestTimeout, ServiceError, WrongMediaType, WrongMethod
from actors.ids import random_hex, system_clock
from actors.runtime.future import AsyncFuture
from actors.wire import iso
from routes.http.bodies import header

JSON = "application/json"
REPLAYED = "Idempotency-Replayed"
"""The header of an answer replayed for an Idempotency-Key."""
RUN_ID = "X-Run-Id"
"""The header with the id of a chat's run."""
NOT_STORED = {"Cache-Control": "no-store"}
"""The header of answers that no cache may store, the browser's included."""
OK_STATUS = {"success": True, "internal_code": 0, "http_code": 200}

BUS_STATUSES = (200, 400, 401, 429, 500)
"""The HTTP statuses of the command bus; all others are mapped to these."""
KEEPS_STATUS = (WrongMethod.internal_code, RequestTimeout.internal_code, WrongMediaType.internal_code)
"""Routing and protocol errors keep their HTTP status everywhere."""

_status_lines = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_request_id = re.compile(r"[A-Za-z0-9_-]{8,64}\Z")


class JsonAnswer(HTTPResponse):
    """A JSON response of this gateway.

    Its headers are made here or checked already (the request id), so they need no cleaning per response.
    """

    @property
    def processed_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """Encode all headers at once, as the first one's line, because Sanic would add them one by one."""
        headers: Any = self.headers
        rest = "".join([f"\r\n{name}: {value}" for name, value in headers.items()])
        yield b"content-type", f"{JSON}{rest}".encode("ascii")


class HttpAnswer(Struct):
    """An answer of the command bus or of a gateway route before it is written to the connection."""

    body: bytes
    status: int
    headers: dict[str, str]
    media_type: str = JSON
    deferred: AsyncFuture[Any] | None = None
    """The commit of its request's count, which must end before the answer is sent."""
    rest: Sequence[bytes] = ()
    """The rest of a long answer in pieces, each sent in a turn of the loop."""

    def released(self) -> "HttpAnswer":
        """Return the answer after `deferred` is resolved, or an error if the count could not be stored."""
        error = self.deferred and self.deferred.error
        self.deferred = None
        if error is None:
            return self
        failed = error if isinstance(error, ServiceError) else InternalError("The gateway failed to count this.")
        return bus_error(self.headers["X-Request-Id"], None, failed)

    def response(self) -> HTTPResponse:
        """Return it as a Sanic response, of which `rest` is no part."""
        if not self.body:
            return HTTPResponse(status=self.status, headers=self.headers)
        if self.media_type != JSON:
            return HTTPResponse(self.body, self.status, self.headers, self.media_type)
        return JsonAnswer(self.body, self.status, self.headers)

    def wire(self, more: str = "") -> bytes:
        """Return its HTTP/1.1 bytes, for a connection that stays open and without the `rest`; `more` are header lines.

        Each of these begins with a line end.
        """
        length = len(self.body) + sum(map(len, self.rest)) if self.rest else len(self.body)
        rest = "".join([f"\r\n{name}: {value}" for name, value in self.headers.items()])
        kind = self.media_type
        head = f"HTTP/1.1 {_status_lines[self.status]}\r\ncontent-type: {kind}{rest}{more}\r\ncontent-length: {length}"
        return f"{head}\r\ndate: {http_date()}\r\nconnection: keep-alive\r\n\r\n".encode("ascii") + self.body


_second = 0
_date = ""


def http_date() -> str:
    """Return the value of the header Date (RFC 9110, 6.6.1), computed once per second."""
    global _second, _date
    second = int(time())
    if second != _second:
        _second, _date = second, formatdate(second, usegmt=True)
    return _date


def request_id_of(request: Request) -> str:
    """Return the id of a request; repeated calls return the same id."""
    known: str | None = getattr(request.ctx, "request_id", None)
    if known is None:
        known = request.ctx.request_id = request_id(header(request, "x-request-id"))
    return known


def identify(request: Request, response: HTTPResponse) -> None:
    """Add the request id to a response: middleware for pages, which are no `JsonAnswer`."""
    response.headers["X-Request-Id"] = request_id_of(request)


def request_id(sent: str | None) -> str:
    """Return the caller's own request id if it is well formed, else a new UUID."""
    return sent if sent is not None and _request_id.match(sent) else _uuid4()


def _uuid4() -> str:
    """Return a UUIDv4 (RFC 9562, 5.4) with 120 random bits, at a lower cost than the uuid module."""
    digits = random_hex(30)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{digits[18:]}"


def credential_of(header: Callable[[str], str | None]) -> str | None:
    """Return the credential of a request; Authorization takes precedence over X-Api-Key.

    `header` returns the value of a header; names are in lower case.
    """
    authorization = header("authorization")
    if authorization is None:
        return header("x-api-key")
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else authorization


def quota_headers(call: Call) -> dict[str, str]:
    """Return the headers with the rest of the daily quota, if the request was counted and the plan has a limit."""
    quota = call.quota
    if quota is None or quota.limit is None:
        return {}
    return {
        "RateLimit-Policy": f'"day";q={quota.limit};w=86400',
        "RateLimit": f'"day";r={quota.remaining};t={quota.seconds_left(call.core.clock())}',
    }


def caller_headers(call: Call) -> dict[str, str]:
    """Return the headers of an answer that belongs to its caller: no cache may store it, and the rest of the quota.

    Without them a shared cache may give it to others, unless the credential came in Authorization (RFC 9111, 3).
    """
    if call.caller is None and not call.by_secret:
        return {}
    return NOT_STORED | quota_headers(call)


def status_of(error: ServiceError) -> dict[str, Any]:
    """Return the status object of an error."""
    return {
        "success": False,
        "internal_code": error.internal_code,
        "http_code": error.http_code,
        "note": error.note,
    }


def tps_body(
    service: str | None,
    request_id: str,
    context: dict[str, str | None],
    *,
    status: dict[str, Any] = OK_STATUS,
    profile: Sequence[dict[str, Any]] = (),
    content: Sequence[dict[str, Any]] = (),
    next_cursor: str | None = None,
) -> bytes:
    """Return a TPSResponse as JSON."""
    return orjson.dumps(
        {
            "header": {
                "service": service,
                "request_id": request_id,
                "time": iso(system_clock()),
                "context": context,
                "next": next_cursor,
            },
            "status": status,
            "profile": profile,
            "content": content,
        }
    )


def bus_status(error: ServiceError) -> int:
    """Return the HTTP status of an error on the command bus."""
    if error.http_code in BUS_STATUSES or error.internal_code in KEEPS_STATUS:
        return error.http_code
    return 400 if error.http_code < 500 else 500


def headers_of(error: ServiceError) -> dict[str, str]:
    """Return the headers of an error."""
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.http_code == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.run is not None:
        headers[RUN_ID] = error.run
    return headers


def door_headers_of(error: ServiceError) -> dict[str, str]:
    """Return the headers of an error of an open protocol, which also name the conversation of the run."""
    named = {} if error.conversation is None else {"X-Conversation-Id": error.conversation}
    return headers_of(error) | named


def error_answer(request_id: str, error: ServiceError, extra: dict[str, str] | None = None) -> HttpAnswer:
    """Return the answer to an error outside the command bus: the precise HTTP status and the status object."""
    headers = headers_of(error) | (extra or {}) | {"X-Request-Id": request_id}
    return HttpAnswer(orjson.dumps({"status": status_of(error)}), error.http_code, headers)


def bus_error(
    request_id: str,
    service: str | None,
    error: ServiceError,
    context: dict[str, str | None] = NOBODY,
    extra: dict[str, str] | None = None,
) -> HttpAnswer:
    """Return the answer to an error on the command bus."""
    body = tps_body(service, request_id, context, status=status_of(error))
    return HttpAnswer(body, bus_status(error), headers_of(error) | (extra or {}) | {"X-Request-Id": request_id})
