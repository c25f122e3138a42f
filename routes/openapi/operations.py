"""The OpenAPI operations of gateway routes, derived from their tables, and their models as schemas."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from pydantic import BaseModel

from routes.doors.door import JSON
from routes.gateway.route import Entrance, Route
from routes.openapi.errors import route_refusals
from routes.openapi.headers import OF_CHATS, RATE_LIMIT, with_headers
from routes.openapi.schemas import Schema, parameter, ref, text

OPEN_TO_ALL = "Needs no credential and is not counted."
CREDENTIALS: list[Schema] = [{"bearer": []}, {"apiKey": []}]
_EVENT_ID: Schema = {
    "name": "Last-Event-ID",
    "in": "header",
    "schema": text(pattern=r"^[0-9]{1,18}\.[0-9]{1,15}$"),
    "description": "Go on after the event with this id, with nothing missed and nothing twice; 0.0 is from the first "
    "that is kept. Such a request is not counted, except with 0.0.",
}
_IF_NONE_MATCH = parameter("If-None-Match", "header", text(), "The ETag of the version that you have.")
IDEMPOTENCY_KEY: Schema = {"$ref": "#/components/parameters/IdempotencyKey"}
IDEMPOTENCY_PARAMETER: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": text(minLength=1, maxLength=255, pattern="^[!-~]+$"),
    "description": "Carry this out once in 24 hours: a repeat with the same key gets the first answer, marked "
    "`Idempotency-Replayed: true`.",
}

_SECURITY: dict[Entrance, list[Schema]] = {
    "member": CREDENTIALS,
    "guest": [*CREDENTIALS, {}],
    "operator": [*CREDENTIALS, {"internalSecret": []}],
    "internal": [{"internalSecret": []}],
    "open": [],
}
_DESCRIPTIONS: dict[Entrance, str] = {
    "member": "Takes a session token or an API key, and counts as one request of the day.",
    "guest": "Needs no credential; one that is sent must be valid.",
    "operator": "For operators, and for auditors where it only reads; without a credential it takes the gateway's "
    "secret in `X-Internal-Secret`, if one is set. It is not counted, and leaves a row in the audit log.",
    "internal": "For the operator: takes the gateway's secret in `X-Internal-Secret`. Exists only while one is set.",
    "open": OPEN_TO_ALL,
}
_REFUSALS: dict[Entrance, tuple[int, ...]] = {
    "member": (401, 403, 429, 503),
    "guest": (401, 403, 503),
    "operator": (401, 403, 404, 503),
    "internal": (401, 404, 503),
    "open": (400, 503),
}
_OF_A_BODY = (400, 408, 413, 415)

ID_IN_PATH = r"^[A-Za-z0-9_.-]{1,64}$"
_IN_PATH = {"model": r"^[A-Za-z0-9_.-]{1,64}(:once)?$"}
"""The patterns of parameters that are no plain ids."""


def route_paths(routes: Iterable[Route]) -> Schema:
    """Return the operations of routes, by path and method."""
    paths: Schema = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _of_route(route)
    return paths


def route_schemas(routes: Iterable[Route]) -> Schema:
    """Return the schemas of the routes' bodies, by name."""
    schemas: Schema = {}
    for route in routes:
        if route.body is not None:
            schemas |= model_schemas(route.body)
    return schemas


def _of_route(route: Route) -> Schema:
    has_key = route.takes_key or route.keys_runs
    success = _success(route)
    empty: Schema = {"204": {"description": "Done; there is nothing to show."}} if route.may_be_empty else {}
    if "ETag" in route.headers:
        empty["304"] = {"description": "You have this version already."}
    refusals = {*_REFUSALS[route.entrance], *route.errors}
    if route.takes_key:
        refusals |= {400, 409}  # an invalid key, or one used for another request
    if route.body is not None or route.reads_body or route.parse is not None or route.takes_no_body:
        refusals.update(_OF_A_BODY)
    elif route.method in ("POST", "PUT"):
        refusals |= {408, 413}  # a body is received although the route ignores it
    if route.query is not None:
        refusals.add(400)
    counted = route.entrance == "member" and route.counts
    if not route.counts:
        refusals.discard(429)
    if route.status >= 400:  # a placeholder, which always refuses
        responses = route_refusals((route.status,), counted=counted)
    else:
        responses = {str(int(route.status)): success} | empty
        headers = (*(("Idempotency-Replayed",) if has_key else ()), *(RATE_LIMIT if counted else ()))
        responses = {status: with_headers(response, *headers) for status, response in responses.items()}
        for status in responses.keys() - {"204"}:
            responses[status] = with_headers(responses[status], *route.headers)
    chats = set(OF_CHATS) <= set(route.headers)
    responses |= route_refusals(refusals, counted=counted, door=route.door, chats=chats)
    description = _DESCRIPTIONS[route.entrance]
    if route.entrance == "member" and not counted:
        description = "Takes a session token or an API key, and is not counted."
    described = operation(route.tag, route.name, route.summary, description, responses, _SECURITY[route.entrance])
    parameters = [*_path_parameters(route), *_query_parameters(route), *route.parameters]
    if has_key:
        parameters.append(IDEMPOTENCY_KEY)
    if route.endless and counted:
        parameters.append(_EVENT_ID)
    if "ETag" in route.headers:
        parameters.append(_IF_NONE_MATCH)
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        described["requestBody"] = json_body(ref(schema_name(route.body)), route.example)
    elif route.described_body is not None:
        described["requestBody"] = route.described_body
    return described


def _success(route: Route) -> Schema:
    media_types = (JSON,) if route.door is None else route.door.media_types
    content: Schema = {} if route.reply is None else {name: {"schema": route.reply} for name in media_types}
    if route.streams:
        content["text/event-stream"] = {"schema": text()}
    return {"description": "Done."} | ({"content": content} if content else {})


def _path_parameters(route: Route) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": text(pattern=_IN_PATH.get(name, ID_IN_PATH))}
        for name in re.findall(r"{(\w+)}", route.path)
    ]


def _query_parameters(route: Route) -> list[Schema]:
    if route.query is None:
        return []
    properties = openapi_30(route.query.model_json_schema())["properties"]
    return [
        {"name": name, "in": "query", "schema": schema, "description": schema.pop("description", "")}
        for name, schema in properties.items()
    ]


def operation(
    tag: str, name: str, summary: str, description: str, responses: Schema, security: Sequence[Schema] = ()
) -> Schema:
    """Return an operation, open to all unless `security` is given."""
    return {
        "tags": [tag],
        "operationId": name,
        "summary": summary,
        "description": description,
        "security": [*security],
        "responses": responses,
    }


def reply(description: str, schema: Schema, media_type: str = "application/json") -> Schema:
    """Return a response."""
    return {"description": description, "content": {media_type: {"schema": schema}}}


def json_body(schema: Schema, example: object = None) -> Schema:
    """Return a JSON body, required if there is an example."""
    media: Schema = {"schema": schema}
    body: Schema = {"content": {"application/json": media}}
    if example is not None:
        media["example"] = example
        body["required"] = True
    return body


def model_schemas(model: type[BaseModel]) -> Schema:
    """Return the schemas of a model and of its parts, by name."""
    generated = model.model_json_schema(ref_template="#/components/schemas/{model}")
    parts = {name: openapi_30(schema) for name, schema in generated.pop("$defs", {}).items()}
    return parts | {schema_name(model): openapi_30(generated)}


def schema_name(model: type[BaseModel]) -> str:
    """Return a model's name in the document, without the suffix `Body` of its class."""
    return model.__name__.removesuffix("Body")


def openapi_30(value: Any) -> Any:
    """Convert pydantic's JSON Schema to OpenAPI 3.0: `nullable` for a union with null, no titles, no nulls."""
    if isinstance(value, list):
        return [openapi_30(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    schema = cast(dict[str, Any], value)
    made: Schema = {
        key: openapi_30(item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str)) and not (key == "default" and item is None)
    }
    branches: list[Schema] = made.get("anyOf") or []
    if {"type": "null"} in branches:
        (branch,) = [branch for branch in branches if branch != {"type": "null"}]
        del made["anyOf"]
        # a reference allows no siblings in 3.0, and `nullable` has no meaning without a type
        inner = {"type": "object", "allOf": [branch]} if "$ref" in branch else branch
        made = {**inner, **made, "nullable": True}
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
            if isinstance(schema.get("title"), str):
                made["title"] = schema["title"]  # generators would make numbered types of it
    return made
