"""The JSON-RPC binding's envelope (JSON-RPC 2.0; A2A 1.0, section 9)."""

from typing import Any, NamedTuple, cast

import orjson

from actors.errors import ServiceError
from routes.a2a.errors import InvalidParams, InvalidRequest, MethodNotFound, meaning_of, rpc_error
from routes.http.bodies import json_value

Id = str | int | float | None


class Request(NamedTuple):
    """A request; `params` are as they were sent."""

    id: Id
    method: str
    params: Any


def request_of(body: bytes) -> Request:
    """Read a request.

    Raises:
        MalformedBody: the body is no JSON, or too deep.
        InvalidRequest: it is no request of JSON-RPC 2.0, a batch, or a notification, which A2A doesn't have.
    """
    sent = json_value(body)
    if not isinstance(sent, dict):
        raise InvalidRequest("Send one JSON-RPC request, an object; batches are not taken.")
    members = cast(dict[str, Any], sent)
    method = members.get("method")
    if members.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise InvalidRequest('A request has "jsonrpc": "2.0" and a method.')
    if "id" not in members or not _is_id(members["id"]):
        raise InvalidRequest("A request has an id, a string or a number.")
    return Request(members["id"], method, members.get("params"))


def params_of(sent: Request, methods: frozenset[str]) -> dict[str, Any]:
    """Return the parameters of a request to one of these methods; they are empty if it has none.

    Raises:
        MethodNotFound: it names none of the methods.
        InvalidParams: `params` is no object.
    """
    if sent.method not in methods:
        raise MethodNotFound(f"There is no method {sent.method[:64]!r}; the methods are {', '.join(sorted(methods))}.")
    params = sent.params
    if params is not None and not isinstance(params, dict):
        raise InvalidParams("params", "must be an object")
    return cast(dict[str, Any], params or {})


def _is_id(value: object) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def id_of(body: bytes) -> Id:
    """Return the id of a request that may be malformed, None if it has none."""
    try:
        sent: Any = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    id = cast(dict[str, Any], sent).get("id") if isinstance(sent, dict) else None
    return id if _is_id(id) else None


def result(id: Id, value: Any) -> dict[str, Any]:
    """Return a response."""
    return {"jsonrpc": "2.0", "id": id, "result": value}


def failure(id: Id, error: ServiceError) -> dict[str, Any]:
    """Return an error response."""
    return {"jsonrpc": "2.0", "id": id, "error": rpc_error(error)}


def http_status(error: ServiceError) -> int:
    """Return the HTTP status of an error response: 200 if the error is the method's, as clients expect it."""
    meaning = meaning_of(error)
    return meaning.status if meaning.outside else 200
