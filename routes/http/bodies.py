"""A request's headers, and its body with the checks that come before all others."""

import asyncio
from typing import Any, cast

import orjson
from sanic import Request
from sanic.exceptions import PayloadTooLarge

from actors.errors import BodyTooLarge, MalformedBody, WrongMediaType

MAX_DISCARDED_BYTES = 16 * 2**20
"""The part of a too large body that is read after its answer: a connection that is closed over unread bytes may lose
its answer (RFC 9112, 9.6)."""


LONG_BODY_BYTES = 65_536
"""Above this a body is read in several turns of the loop."""


def header(request: Request, name: str) -> str | None:
    """Return a request header's value; Sanic's headers are untyped."""
    headers: Any = request.headers
    return headers.get(name)


def whole_header(request: Request, name: str) -> str | None:
    """Return the values of all headers of a name, joined by commas (RFC 9110, 5.3)."""
    headers: Any = request.headers
    return ",".join(headers.getall(name, [])) or None


async def received_body(request: Request) -> bytes:
    """Receive the body, within the time that `StrictHttp` gives it.

    Raises:
        RequestTimeout: it did not arrive in time.
    """
    stream: Any = request.stream
    try:
        await request.receive_body()
    except PayloadTooLarge:
        # Sanic reads on after its answer, but only as far as a body may go
        stream.request_max_size = stream.protocol.request_max_size = MAX_DISCARDED_BYTES
        raise
    return request.body


async def next_turn(body: bytes) -> None:
    """Let others have their turn where a body is long, so that reading it is not one step of the loop."""
    if len(body) > LONG_BODY_BYTES:
        await asyncio.sleep(0)


def json_object(body: bytes, media_type: str | None, max_bytes: int) -> dict[str, Any]:
    """Read a body as a JSON object; `media_type` is its Content-Type.

    Raises:
        BodyTooLarge: it is larger than `max_bytes`.
        WrongMediaType: the body says that it is something else.
        MalformedBody: it is no JSON, not valid Unicode, too deep, or no object.
    """
    require_size(body, max_bytes)
    require_json(media_type)
    if not body:
        raise MalformedBody("The body is empty; send {...}, a JSON object.")
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"The body is not JSON in valid Unicode: {error}.") from None
    if not isinstance(value, dict):
        raise MalformedBody("The body is JSON but not an object; send {...}.")
    return cast(dict[str, Any], value)


def require_size(body: bytes, max_bytes: int) -> None:
    """Refuse a body that is too large.

    Raises:
        BodyTooLarge: it is larger than `max_bytes`.
    """
    if len(body) > max_bytes:
        raise BodyTooLarge(f"The body is larger than the {max_bytes:,} bytes that this gateway takes; send less.")


def require_json(media_type: str | None) -> None:
    """Refuse a body whose Content-Type says that it is no JSON.

    Raises:
        WrongMediaType: it says so.
    """
    if media_type is not None and media_type != "application/json":
        named = media_type.partition(";")[0].strip().lower()
        if named and named != "application/json":
            raise WrongMediaType("Send the body as Content-Type: application/json.")
