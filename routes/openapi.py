"""The OpenAPI 3.0.3 document, built from the commands table and the models; served, and committed as openapi.json.

`python -m routes.openapi --check` fails when the committed file differs from the code; `--write` renews it.
"""

import argparse
import sys
from pathlib import Path
from typing import Any, cast

import orjson
import yaml
from sanic import Blueprint, HTTPResponse, Request

from actors.commands import COMMANDS, GROUPS, Command
from actors.request import TPSRequest
from routes.gateway import PlanChange
from routes.schemas import HEADER, RECORDS, STATUS, Schema, array, nullable, number, record, ref, response, text

VERSION = "2026-03-19"
FILE = Path(__file__).parent.parent / "openapi.json"

_CREDENTIALS: list[Schema] = [{"bearer": []}, {"apiKey": []}]
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait.", "schema": number(minimum=1)}}


def document(brand: str = "Svc") -> Schema:
    """Build the whole document for a gateway whose command bus has this brand in its path."""
    bus = f"/demo/v1/{brand}/tps"
    paths: Schema = {bus: {"post": _bus_operation()}}
    for command in COMMANDS.values():
        paths[bus + command.alias] = {"post": _alias_operation(command)}
    paths |= _gateway_paths()
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Parley",
            "version": VERSION,
            "description": "A gateway for workspaces of AI agents: one JSON command bus, and the routes around it.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [*({"name": tag} for tag in GROUPS.values()), {"name": "Gateway"}, {"name": "Internal"}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A session token, from US_LogOn.",
                },
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "An API key."},
                "internalSecret": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Internal-Secret",
                    "description": "The operator's secret (INTERNAL_SECRET); without one these routes are not there.",
                },
            },
            "responses": _shared_responses(),
            "schemas": _schemas(),
        },
    }


# the command bus


def _bus_operation() -> Schema:
    example = {"service": "AP_Chat", "content": "Hello!"}
    body = {
        "allOf": [
            ref("TPSRequest"),
            {
                "type": "object",
                "required": ["service"],
                "properties": {"service": text("The command.", enum=list(COMMANDS))},
            },
        ]
    }
    return {
        "tags": ["Gateway"],
        "operationId": "commandBus",
        "summary": "Carry out the command that `service` names.",
        "security": [*_CREDENTIALS, {}],
        "requestBody": _json(body, example),
        "responses": _bus_responses({"description": "The command's answer.", **_json(response())}),
    }


def _alias_operation(command: Command) -> Schema:
    profile = ref(RECORDS[command.profile][0]) if command.profile else None
    content = ref(RECORDS[command.content[0]][0]) if command.content else None
    answer = _json(response(profile, content, success=command.available))
    if command.follow:
        answer = {
            "content": {
                "text/event-stream": {
                    "schema": text(
                        "Events whose data is `{type: message, message}` or `{type: membership, membership}`; the last "
                        "is `event: end` with a `reason`. Send an event's id as Last-Event-ID to go on after it."
                    )
                }
            }
        }
    if command.streams:
        answer["content"]["text/event-stream"] = {
            "schema": text("Events `delta` with `{text}`, then `response` with the whole answer, or `error`.")
        }
    members = ", ".join(f"`{path}`" for path in command.uses) or "none"
    codes = ", ".join(str(code) for code in command.errors)
    operation: Schema = {
        "tags": [GROUPS[command.group]],
        "operationId": command.service,
        "summary": command.summary,
        "description": f"Members used: {members}."
        + (f" Errors of its own: {codes}." if codes else "")
        + ("" if command.available else " Not available yet: answers 1005."),
        "security": [] if command.public else _CREDENTIALS,
        "requestBody": _json(_alias_body(command), command.example),
        "responses": _bus_responses({"description": "The command's answer.", **answer}),
    }
    links = _LINKS.get(command.service)
    if links:
        operation["responses"]["200"]["links"] = {
            target: {
                "operationId": target,
                "requestBody": {"target": {"agent": "$response.body#/profile/0/name"}},
                "description": "The agent's name is the target.",
            }
            for target in links
        }
    return operation


_LINKS = {"AP_Create": ("AP_Read", "AP_LogOn", "AP_Select", "AP_History", "AP_LogOff", "AP_Destroy")}
"""Commands that go on with the agent that another one made."""


def _alias_body(command: Command) -> Schema:
    """Narrow TPSRequest to what the wrapper demands of a command."""
    required: dict[str, list[str]] = {}
    for path in command.requires:
        part, _, member = path.partition(".")
        required.setdefault(part, [])
        if member:
            required[part].append(member)
    if not required:
        return ref("TPSRequest")
    properties = {
        part: {"type": "object", "required": members} if members else text(minLength=1)
        for part, members in required.items()
    }
    return {
        "allOf": [
            ref("TPSRequest"),
            {"type": "object", "required": list(required), "properties": properties},
        ]
    }


_REFUSALS = {
    "400": ("Refused", "The request is wrong, or the command was refused; `status` says why."),
    "401": ("Unauthorized", "No credential, or not a valid one."),
    "408": ("Late", "The request did not arrive in time."),
    "415": ("NotJson", "The media type is not application/json."),
    "429": ("TooMany", "Too many requests; `Retry-After` says when to try again."),
    "500": ("Failed", "The gateway could not carry it out."),
}
"""How a command may be refused, by HTTP status: the name of the response in the document, and what it means."""


def _bus_responses(ok: Schema) -> Schema:
    refusals = {status: {"$ref": f"#/components/responses/{name}"} for status, (name, _) in _REFUSALS.items()}
    return {"200": ok, **refusals}


def _shared_responses() -> Schema:
    shared: Schema = {}
    for status, (name, description) in _REFUSALS.items():
        shared[name] = {"description": description, **_json(response())}
        if status in ("429", "500"):
            shared[name]["headers"] = _RETRY_AFTER
    return shared


# the gateway's own routes


def _gateway_paths() -> Schema:
    secret: list[Schema] = [{"internalSecret": []}]
    health = ref("Health")
    plan_path = {
        "name": "name",
        "in": "path",
        "required": True,
        "schema": text(pattern=r"^[A-Za-z0-9_.-]{1,64}$"),
        "description": "The user's name.",
    }
    actor_params = [
        {"name": name, "in": "path", "required": True, "schema": text(pattern=r"^[A-Za-z0-9_-]{1,64}$")}
        for name in ("kind", "key")
    ]
    list_params: list[Schema] = [
        {"name": "kind", "in": "query", "schema": text(), "description": "Only actors of this kind."},
        {
            "name": "limit",
            "in": "query",
            "schema": number(minimum=1, maximum=10_000),
            "description": "Actors listed; 1,000 when absent.",
        },
    ]
    return {
        "/api/health": {
            "get": _operation(
                "Gateway",
                "getHealth",
                "Tell whether the gateway can do its work.",
                {"200": _reply("It can.", health), "503": _reply("The storage takes no writes.", health)},
            )
        },
        "/api/tps/openapi.json": {
            "get": _operation(
                "Gateway",
                "getOpenapiJson",
                "This document as JSON.",
                {"200": _reply("The document.", {"type": "object"})},
            )
        },
        "/api/tps/openapi.yaml": {
            "get": _operation(
                "Gateway",
                "getOpenapiYaml",
                "This document as YAML.",
                {"200": _reply("The document.", {"type": "object"}, "application/yaml")},
            )
        },
        "/docs": {
            "get": _operation(
                "Gateway",
                "getDocs",
                "This document as a page.",
                {"200": _reply("The page.", text(), "text/html; charset=utf-8")},
            )
        },
        "/metrics": {
            "get": _operation(
                "Gateway",
                "getMetrics",
                "What the gateway counts, as Prometheus text.",
                {"200": _reply("The metrics.", text(), "text/plain; version=0.0.4; charset=utf-8")},
            )
        },
        "/api/admin/users/{name}/plan": {
            "put": _operation(
                "Internal",
                "setPlan",
                "Put a user on a plan: the billing hook.",
                {"200": _reply("The user.", ref("OwnUser"))} | _errors(400, 401, 404, 408, 413, 415, 503),
                security=secret,
                parameters=[plan_path],
                requestBody=_json(ref("PlanChange"), {"plan": "builder"}),
            )
        },
        "/debug/actors": {
            "get": _operation(
                "Internal",
                "listActors",
                "List the live actors.",
                {
                    "200": _reply(
                        "The actors.",
                        record("Live actors.", counts={"type": "object"}, actors=array(ref("Actor"))),
                    )
                }
                | _errors(400, 401, 404),
                security=secret,
                parameters=list_params,
            )
        },
        "/debug/actors/{kind}/{key}": {
            "get": _operation(
                "Internal",
                "getActor",
                "Look into one live actor.",
                {"200": _reply("The actor and its state.", ref("Actor"))} | _errors(401, 404),
                security=secret,
                parameters=actor_params,
            )
        },
    }


def _operation(tag: str, name: str, summary: str, responses: Schema, **more: Any) -> Schema:
    return {
        "tags": [tag],
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": responses,
        **more,
    }


def _errors(*statuses: int) -> Schema:
    return {
        str(status): _reply("Refused; `status` says why.", record("An error.", status=ref("Status")))
        | ({"headers": _RETRY_AFTER} if status == 503 else {})
        for status in statuses
    }


def _reply(description: str, schema: Schema, media_type: str = "application/json") -> Schema:
    return {"description": description, "content": {media_type: {"schema": schema}}}


def _json(schema: Schema, example: object = None) -> Schema:
    media: Schema = {"schema": schema}
    body: Schema = {"content": {"application/json": media}}
    if example is not None:
        media["example"] = example
        body["required"] = True
    return body


# schemas


def _schemas() -> Schema:
    schemas: Schema = {"Status": STATUS, "Header": HEADER}
    for model in (TPSRequest, PlanChange):
        generated = model.model_json_schema(ref_template="#/components/schemas/{model}")
        for name, schema in generated.pop("$defs", {}).items():
            schemas[name] = _openapi_30(schema)
        schemas[model.__name__] = _openapi_30(generated)
    schemas |= dict(RECORDS.values())
    schemas["Health"] = record(
        "How the gateway is.",
        status=text(enum=["ok", "unavailable"]),
        version=text(),
        uptime_s={"type": "number"},
        storage=text(enum=["ok", "unavailable"]),
        actors=number(),
    )
    schemas["Actor"] = record(
        "A live actor; times in seconds.",
        kind=text(),
        key=text(),
        name=nullable(text()),
        life=text(enum=["starting", "live", "engaged", "stopping", "stopped"]),
        mailbox=number("Messages that wait."),
        handled=number("Messages handled so far."),
        age_s={"type": "number"},
        idle_s={"type": "number"},
        incarnation=number("Counts the actors that this process started."),
    )
    return schemas


def _openapi_30(value: Any) -> Any:
    """Turn pydantic's JSON Schema into OpenAPI 3.0's dialect: `nullable` for a union with null, no titles, no nulls."""
    if isinstance(value, list):
        return [_openapi_30(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    schema = cast(dict[str, Any], value)
    made: Schema = {
        key: _openapi_30(item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str)) and not (key == "default" and item is None)
    }
    branches: list[Schema] = made.get("anyOf") or []
    if {"type": "null"} in branches:
        (branch,) = [branch for branch in branches if branch != {"type": "null"}]
        del made["anyOf"]
        # a reference allows no siblings in 3.0
        inner = {"allOf": [branch]} if "$ref" in branch else branch
        made = {**inner, **made, "nullable": True}
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    return made


# serving and checking


def as_json(brand: str = "Svc") -> bytes:
    """Write the document as it is committed: indented JSON with a last line break."""
    return orjson.dumps(document(brand), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def as_yaml(brand: str = "Svc") -> bytes:
    """Write the document as YAML."""
    return yaml.safe_dump(document(brand), sort_keys=False, allow_unicode=True).encode()


def openapi_blueprint(brand: str) -> Blueprint:
    """Make the routes of the document."""
    blueprint = Blueprint("openapi", url_prefix="/api/tps")
    documents = {"openapi.json": (as_json(brand), "application/json")}
    documents["openapi.yaml"] = (as_yaml(brand), "application/yaml")

    @blueprint.get("/openapi.json")
    async def openapi_json(_: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        body, media_type = documents["openapi.json"]
        return HTTPResponse(body, content_type=media_type)

    @blueprint.get("/openapi.yaml")
    async def openapi_yaml(_: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        body, media_type = documents["openapi.yaml"]
        return HTTPResponse(body, content_type=media_type)

    return blueprint


def main() -> int:
    """Check or renew the committed document."""
    parser = argparse.ArgumentParser(description="Keep openapi.json in step with the code.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="fail when the file differs from the code")
    what.add_argument("--write", action="store_true", help="renew the file")
    if parser.parse_args().write:
        FILE.write_bytes(as_json())
        return 0
    if not FILE.exists() or FILE.read_bytes() != as_json():
        print("openapi.json differs from the code: run `make openapi` and commit it.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
