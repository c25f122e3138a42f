"""What a request carries: its headers, and its body with the checks before all others."""

import asyncio
from typing import Any, cast

import orjson
from sanic import Request

from actors.errors import BodyTooLarge, MalformedBody, RequestTimeout, WrongMediaType


def header(request: Request, name: str) -> str | None:
    """Return a request header's value; Sanic's headers are untyped."""
    headers: Any = request.headers
    return headers.get(name)


async def json_object(request: Request, max_bytes: int) -> dict[str, Any]:
    """Receive the body and read it as a JSON object.

    Raises:
        RequestTimeout: it did not arrive in time.
        BodyTooLarge: it is larger than `max_bytes`.
        WrongMediaType: the body says that it is something else.
        MalformedBody: it is no JSON, not valid Unicode, too deep, or no object.
    """
    await _receive(request)
    if len(request.body) > max_bytes:
        raise BodyTooLarge(f"The body is larger than the {max_bytes:,} bytes that this gateway takes; send less.")
    media_type = header(request, "content-type")
    if media_type is not None and media_type != "application/json":
        named = media_type.partition(";")[0].strip().lower()
        if named and named != "application/json":
            raise WrongMediaType("Send the body as Content-Type: application/json.")
    try:
        body: Any = orjson.loads(request.body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"The body is not JSON in valid Unicode: {error}.") from None
    if not isinstance(body, dict):
        raise MalformedBody("The body is JSON but not an object; send {...}.")
    return cast(dict[str, Any], body)


async def _receive(request: Request) -> None:
    """Receive the body; Sanic would wait for the rest of a half-sent one as long as for an answer."""
    stream: Any = request.stream
    if stream.request_body is True and len(stream.recv_buffer) >= stream.request_bytes_left:
        await request.receive_body()  # all of it is here
        return
    try:
        async with asyncio.timeout(request.app.config.REQUEST_TIMEOUT):
            await request.receive_body()
    except TimeoutError:
        stream.request_body = None  # don't wait for the rest of it after the answer either
        stream.keep_alive = False
        raise RequestTimeout("The request did not arrive in time; send it whole, at once.") from None
