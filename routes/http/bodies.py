"""Headers and bodies of requests, with the first checks of the contract's order."""

import asyncio
from typing import Any, cast

import orjson
from sanic import Request

from actors.errors import BodyTooLarge, MalformedBody, WrongMediaType

MAX_DEPTH = 128
"""Levels of objects and arrays in a body. orjson reads more of them than it writes, and answers repeat parts of it."""

_WRITABLE_DEPTH = 254
"""The levels that orjson writes."""

LONG_BODY_BYTES = 65_536
"""Bytes above which a body is parsed in a step of its own."""


COMPRESSIONS = frozenset(("gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd"))
"""Content codings of compressed bodies (RFC 9110, 8.4.1), which no route takes. Other values are ignored, because some
clients send `utf-8` there."""


def header(request: Request, name: str) -> str | None:
    """Return the value of a request header; Sanic's headers are untyped."""
    headers: Any = request.headers
    return headers.get(name)


def whole_header(request: Request, name: str) -> str | None:
    """Return the values of all headers with this name, joined by commas (RFC 9110, 5.3)."""
    headers: Any = request.headers
    return ",".join(headers.getall(name, [])) or None


async def received_body(request: Request) -> bytes:
    """Receive the body within the time limit of `StrictHttp`.

    Raises:
        PayloadTooLarge: it is larger than the limit of bodies.
        RequestTimeout: it did not arrive in time.
        WrongMediaType: it is compressed.
    """
    await request.receive_body()
    codings = (whole_header(request, "content-encoding") or "").lower().split(",")
    if request.body and not COMPRESSIONS.isdisjoint(coding.strip() for coding in codings):
        raise WrongMediaType("Send the body uncompressed, without Content-Encoding.")
    return request.body


async def drop_body(request: Request) -> None:
    """Receive the body of a request that needs none, because Sanic logs the path of one whose body is left unread.

    Raises:
        PayloadTooLarge, RequestTimeout, WrongMediaType: as `received_body`.
    """
    await received_body(request)


async def next_turn(body: bytes) -> None:
    """Yield to the loop before a long body is parsed, so that its parsing is a step of its own."""
    if len(body) > LONG_BODY_BYTES:
        await asyncio.sleep(0)


def json_object(body: bytes, media_type: str | None, max_bytes: int) -> dict[str, Any]:
    """Parse a body as a JSON object; `media_type` is its Content-Type.

    Raises:
        BodyTooLarge: it is larger than `max_bytes`.
        WrongMediaType: its Content-Type is not JSON.
        MalformedBody: it is not JSON, not valid Unicode, too deep, or not an object.
    """
    require_size(body, max_bytes)
    require_json(media_type)
    if not body:
        raise MalformedBody("The body is empty; send {...}, a JSON object.")
    value = json_value(body)
    if not isinstance(value, dict):
        raise MalformedBody("The body is JSON but not an object; send {...}.")
    return cast(dict[str, Any], value)


def json_value(body: bytes) -> Any:
    """Parse a body as JSON.

    Raises:
        MalformedBody: it is not JSON, not valid Unicode, or has more than `MAX_DEPTH` levels.
    """
    try:
        value: Any = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(_why_malformed(body, error)) from None
    if len(body) > 2 * MAX_DEPTH and body.count(b"{") + body.count(b"[") > MAX_DEPTH and _is_too_deep(value):
        raise MalformedBody(f"The body is nested in more than {MAX_DEPTH} levels; send a flatter one.")
    return value


def _why_malformed(body: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        body.decode()
    except UnicodeDecodeError as wrong:  # of which orjson tells no place
        return f"The body is not valid UTF-8, from byte {wrong.start} on; send JSON in UTF-8."
    return f"The body is not JSON in valid Unicode: {error}."


def _is_too_deep(value: Any) -> bool:
    """Return whether a parsed value has more than `MAX_DEPTH` levels, as fast as it can be written."""
    for _ in range(_WRITABLE_DEPTH - MAX_DEPTH):
        value = [value]
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:  # what was read from JSON can be written but for its depth
        return True
    return False


def require_size(body: bytes, max_bytes: int) -> None:
    """Refuse an oversized body.

    Raises:
        BodyTooLarge: it is larger than `max_bytes`.
    """
    if len(body) > max_bytes:
        raise BodyTooLarge(f"The body is larger than the {max_bytes:,} bytes that this gateway takes; send less.")


def require_json(media_type: str | None) -> None:
    """Refuse a body with a Content-Type other than JSON.

    Raises:
        WrongMediaType: its Content-Type is not JSON.
    """
    if media_type is not None and media_type != "application/json":
        named = media_type.partition(";")[0].strip().lower()
        if named and named != "application/json":
            raise WrongMediaType("Send the body as Content-Type: application/json.")
