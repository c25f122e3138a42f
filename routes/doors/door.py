"""A door of an open protocol: the shapes of its errors, as HTTP answers and at the end of a stream."""

from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.calls.call import Call
from actors.errors import ServiceError
from routes.http.exchange import Received
from routes.openapi.schemas import Schema

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as an HTTP answer. The frame adds Retry-After, WWW-Authenticate, X-Request-Id and the quota."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    media_type: str = JSON


def _no_headers(_: int) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Door:
    """The errors of a protocol's routes.

    Args:
        refusal: writes an error from the request's body, which is empty if it has not been received.
        stream_error: writes an error as the last piece of a stream that has begun.
        error_schema: the OpenAPI schema of an error's body.
        go_on: the sentence that tells how to go on with a message that is kept although the engine failed.
        prefix: the path below which unknown routes are refused by this door, without a final slash; empty for none.
        refused: told of the refusal of an authenticated request before it is answered, with the time of the request's
            arrival in ms since the epoch.
        names_request: whether an error names the request by its body, which is then received for the refusal of an
            authenticated request that came before it.
        media_type: returns the media type of refusals from the request's headers; None leaves it to `refusal`.
        media_types: the media types of its answers, for the OpenAPI document.
        error_headers: returns the names of the headers that its errors of an HTTP status have of their own, for the
            same (routes/openapi/headers.py).
    """

    refusal: Callable[[ServiceError, bytes], Refusal]
    stream_error: Callable[[ServiceError, bytes], bytes]
    error_schema: Schema
    go_on: str
    prefix: str = ""
    refused: Callable[[Call, Received, ServiceError, int], Coroutine[Any, Any, None]] | None = None
    names_request: bool = False
    media_type: Callable[[Callable[[str], str | None]], str] | None = None
    media_types: tuple[str, ...] = (JSON,)
    error_headers: Callable[[int], tuple[str, ...]] = _no_headers


def door_of(path: str, doors: Iterable[Door]) -> Door | None:
    """Return the door that refuses an unknown path, if one does."""
    for door in doors:
        if door.prefix and (path == door.prefix or path.startswith(f"{door.prefix}/")):
            return door
    return None
