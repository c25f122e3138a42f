"""Answers and errors as HTTP responses (docs/contract.md, "Answers" and "Errors")."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import formatdate
from http import HTTPStatus
from time import time
from typing import Any

import orjson
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
"""The header of a repeat's answer, which was given before."""
OK_STATUS = {"success": True, "internal_code": 0, "http_code": 200}

BUS_STATUSES = (200, 400, 401, 429, 500)
"""The HTTP statuses of the command bus; others are folded to these."""
KEEPS_STATUS = (WrongMethod.internal_code, RequestTimeout.internal_code, WrongMediaType.internal_code)
"""Routing and protocol errors keep their HTTP status everywhere."""

_status_lines = {status.value: f"{status.value} {status.phrase}" for status in HTTPStatus}
_request_id = re.compile(r"[A-Za-z0-9_-]{8,64}\Z")


class JsonAnswer(HTTPResponse):
    """A JSON response of ours.

    Its headers are of our making or checked already (the request id), so they need not be cleaned once more for
    each response.
    """

    @property
    def processed_headers(self) -> Iterator[tuple[bytes, bytes]]:
        """Encode the headers for sending, all in the line of the first: Sanic adds one after another."""
        headers: Any = self.headers
        rest = "".join([f"\r\n{name}: {value}" for name, value in headers.items()])
        yield b"content-type", f"{JSON}{rest}".encode("ascii")


@dataclass(slots=True)
class BusAnswer:
    """An answer of the command bus, not yet written."""

    body: bytes
    status: int
    headers: dict[str, str]
    deferred: AsyncFuture[Any] | None = None
    """The commit that has to end before it is sent: that of the count of its request."""
    rest: Sequence[bytes] = ()
    """The pieces that follow the body of a long answer, to be sent in turns of the loop."""

    def released(self) -> "BusAnswer":
        """Return it once `deferred` is resolved; an error in its place where the count could not be stored."""
        error = self.deferred and self.deferred.error
        self.deferred = None
        if error is None:
            return self
        failed = error if isinstance(error, ServiceError) else InternalError("The gateway failed to count this.")
        return bus_error(self.headers["X-Request-Id"], None, failed)

    def response(self) -> HTTPResponse:
        """Make it a response of Sanic's."""
        return JsonAnswer(self.body, self.status, self.headers)

    def wire(self) -> bytes:
        """Write it as HTTP/1.1, on a connection that stays open; the `rest` is still to follow."""
        length = len(self.body) + sum(map(len, self.rest)) if self.rest else len(self.body)
        rest = "".join([f"\r\n{name}: {value}" for name, value in self.headers.items()])
        head = f"HTTP/1.1 {_status_lines[self.status]}\r\ncontent-type: {JSON}{rest}\r\ncontent-length: {length}"
        return f"{head}\r\ndate: {http_date()}\r\nconnection: keep-alive\r\n\r\n".encode("ascii") + self.body


_second = 0
_date = ""


def http_date() -> str:
    """Return the time as the header Date has it (RFC 9110, 6.6.1), written once a second."""
    global _second, _date
    second = int(time())
    if second != _second:
        _second, _date = second, formatdate(second, usegmt=True)
    return _date


def request_id_of(request: Request) -> str:
    """Return the request id of a request; the same whenever asked."""
    known: str | None = getattr(request.ctx, "request_id", None)
    if known is None:
        known = request.ctx.request_id = request_id(header(request, "x-request-id"))
    return known


def identify(request: Request, response: HTTPResponse) -> None:
    """Say in a response which request it answers: middleware for pages that are no answers of `JsonAnswer`'s."""
    response.headers["X-Request-Id"] = request_id_of(request)


def request_id(sent: str | None) -> str:
    """Return the caller's own request id where it is well formed, else a new UUID."""
    return sent if sent is not None and _request_id.match(sent) else _uuid4()


def _uuid4() -> str:
    """Make a UUIDv4 (RFC 9562, 5.4), 120 bits of it random, at a lower cost than the uuid module's objects."""
    digits = random_hex(30)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-8{digits[15:18]}-{digits[18:]}"


def credential_of(header: Callable[[str], str | None]) -> str | None:
    """Return the credential that a request carries: Authorization wins over X-Api-Key.

    `header` returns a header's value; the name in lower case.
    """
    authorization = header("authorization")
    if authorization is None:
        return header("x-api-key")
    scheme, _, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else authorization


def quota_headers(call: Call) -> dict[str, str]:
    """Make the headers with the rest of the day's quota, where the request was counted and there is a limit."""
    quota = call.quota
    if quota is None or quota.limit is None:
        return {}
    return {
        "RateLimit-Policy": f'"day";q={quota.limit};w=86400',
        "RateLimit": f'"day";r={quota.remaining};t={quota.seconds_left(call.core.clock())}',
    }


def status_of(error: ServiceError) -> dict[str, Any]:
    """Make the status object of an error."""
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
    """Write a TPSResponse."""
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
    """Fold an error's precise code to the HTTP status that it has on the command bus."""
    if error.http_code in BUS_STATUSES or error.internal_code in KEEPS_STATUS:
        return error.http_code
    return 400 if error.http_code < 500 else 500


def headers_of(error: ServiceError) -> dict[str, str]:
    """Make the headers that an error carries beside its body."""
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.http_code == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return headers


def error_answer(request_id: str, error: ServiceError, extra: dict[str, str] | None = None) -> HTTPResponse:
    """Answer an error outside the command bus: its precise HTTP status and the status object."""
    headers = headers_of(error) | (extra or {}) | {"X-Request-Id": request_id}
    return JsonAnswer(orjson.dumps({"status": status_of(error)}), error.http_code, headers)


def bus_error(
    request_id: str,
    service: str | None,
    error: ServiceError,
    context: dict[str, str | None] = NOBODY,
    extra: dict[str, str] | None = None,
) -> BusAnswer:
    """Answer an error on the command bus."""
    body = tps_body(service, request_id, context, status=status_of(error))
    return BusAnswer(body, bus_status(error), headers_of(error) | (extra or {}) | {"X-Request-Id": request_id})


def json_response(request: Request, value: Any, status: int = 200) -> HTTPResponse:
    """Answer a gateway route."""
    return JsonAnswer(orjson.dumps(value), status, {"X-Request-Id": request_id_of(request)})
