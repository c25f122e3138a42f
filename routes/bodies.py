"""What a request carries: its headers, and its body with the checks before all others."""

from typing import Any, cast

import orjson
from sanic import Request

from actors.errors import MalformedBody, WrongMediaType


def header(request: Request, name: str) -> str | None:
    """Return a request header's value; Sanic's headers are untyped."""
    headers: Any = request.headers
    return headers.get(name)


def json_object(request: Request) -> dict[str, Any]:
    """Read the body as a JSON object.

    Raises:
        WrongMediaType: the body says that it is something else.
        MalformedBody: it is no JSON, not valid Unicode, too deep, or no object.
    """
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
