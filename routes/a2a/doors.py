"""The doors of A2A's two bindings: how each writes errors, and how both write answers and events."""

from collections.abc import Callable
from typing import Any

import orjson

from actors.errors import ServiceError
from actors.wire import json_event
from routes.a2a import jsonrpc
from routes.a2a.errors import GO_ON, http_error, meaning_of
from routes.doors.door import JSON, Door, Refusal
from routes.gateway.route import RouteReply
from routes.http.exchange import Received
from routes.openapi.schemas import array, number, record, ref, text

A2A_JSON = "application/a2a+json"

_DETAILS = array({"type": "object", "description": "A typed detail, google.rpc.ErrorInfo first."})

ERROR = record(
    "A google.rpc.Status.",
    error=record(
        "The error.", code=number("The HTTP status."), status=text("Its gRPC name."), message=text(), details=_DETAILS
    ),
)
RPC_ERROR = record("A JSON-RPC error.", code=number(), message=text(), data=_DETAILS)
RPC_REFUSAL = record(
    "A JSON-RPC error response.",
    jsonrpc=text(enum=["2.0"]),
    id={"description": "The request's id; null if it could not be read."},
    error=RPC_ERROR,
)


def _refused(error: ServiceError, _: bytes) -> Refusal:
    return Refusal(meaning_of(error).status, orjson.dumps(http_error(error)))


def _stream_error(error: ServiceError, _: bytes) -> bytes:
    return event(http_error(error), "error")


def _rpc_refused(error: ServiceError, body: bytes) -> Refusal:
    answer = jsonrpc.failure(jsonrpc.id_of(body), error)
    return Refusal(jsonrpc.http_status(error), orjson.dumps(answer))


def _rpc_stream_error(error: ServiceError, body: bytes) -> bytes:
    return event(jsonrpc.failure(jsonrpc.id_of(body), error))


def media_type_of(header: Callable[[str], str | None]) -> str:
    """Return the media type of an answer of HTTP+JSON: application/a2a+json where a request names that."""
    named = (header(name) or "" for name in ("content-type", "accept"))
    return A2A_JSON if any(A2A_JSON in each.lower() for each in named) else JSON


HTTP_JSON = Door(
    _refused,
    _stream_error,
    ref("A2AError"),
    GO_ON,
    prefix="/a2a",
    media_type=media_type_of,
    media_types=(JSON, A2A_JSON),
)
JSON_RPC = Door(_rpc_refused, _rpc_stream_error, ref("A2ARpcError"), GO_ON, names_request=True)


def event(value: Any, name: str = "") -> bytes:
    """Return a server-sent event with a JSON value."""
    return json_event(orjson.dumps(value), name)


def answered(received: Received, value: Any, status: int = 200) -> RouteReply:
    """Return an answer of HTTP+JSON."""
    return RouteReply(value, status, media_type=media_type_of(received.header))
