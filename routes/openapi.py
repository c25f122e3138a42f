"""The OpenAPI 3.0.3 document, built from the commands table and the models; served, and committed as openapi.json.

`python -m routes.openapi --check` fails when the committed file differs from the code; `--write` renews it.
"""

import argparse
import sys
from pathlib import Path

import orjson
import yaml
from sanic import Blueprint, HTTPResponse, Request

from actors.commands import COMMANDS, GROUPS, Command
from actors.request import TPSRequest
from routes.openapi_routes import (
    CREDENTIALS,
    IDEMPOTENCY_KEY,
    IDEMPOTENCY_PARAMETER,
    RATE_LIMIT,
    RATE_LIMIT_HEADERS,
    RETRY_AFTER,
    json_body,
    model_schemas,
    operation,
    reply,
    route_paths,
    route_schemas,
)
from routes.schemas import (
    HEADER,
    RECORDS,
    STATUS,
    TPS_RESPONSE,
    Schema,
    array,
    nullable,
    number,
    record,
    ref,
    response,
    text,
)
from routes.table import ROUTE_TAGS, ROUTES, SCHEMAS

LAST_EVENT_ID: Schema = {"$ref": "#/components/parameters/LastEventId"}
LAST_EVENT_ID_PARAMETER: Schema = {
    "name": "Last-Event-ID",
    "in": "header",
    "schema": text(pattern="^[0-9]{1,18}$", example="7"),
    "description": "Go on after the event with this id, with nothing missed and nothing twice; 0 is from the first.",
}

VERSION = "2026-03-19"
FILE = Path(__file__).parent.parent / "openapi.json"


def document(brand: str = "Svc") -> Schema:
    """Build the whole document for a gateway whose command bus has this brand in its path."""
    bus = f"/demo/v1/{brand}/tps"
    paths: Schema = {bus: {"post": _bus_operation()}}
    for command in COMMANDS.values():
        paths[bus + command.alias] = {"post": _alias_operation(command)}
    paths |= _open_paths() | route_paths(ROUTES) | _mcp_path()
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Parley",
            "version": VERSION,
            "description": "A gateway for workspaces of AI agents: one JSON command bus, and the routes around it.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": [*({"name": tag} for tag in GROUPS.values()), *({"name": tag} for tag in ROUTE_TAGS)],
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
            "parameters": {
                "IdempotencyKey": IDEMPOTENCY_PARAMETER,
                "LastEventId": LAST_EVENT_ID_PARAMETER,
            },
            "headers": RATE_LIMIT_HEADERS,
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
        "security": [*CREDENTIALS, {}],
        "parameters": [IDEMPOTENCY_KEY],
        "requestBody": json_body(body, example),
        "responses": _bus_responses(json_body(response())),
    }


def _alias_operation(command: Command) -> Schema:
    profile = ref(RECORDS[command.profile][0]) if command.profile else None
    content = ref(RECORDS[command.content[0]][0]) if command.content else None
    answer = json_body(response(profile, content, success=command.available))
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
    described: Schema = {
        "tags": [GROUPS[command.group]],
        "operationId": command.service,
        "summary": command.summary,
        "description": f"Members used: {members}."
        + (f" Errors of its own: {codes}." if codes else "")
        + ("" if command.available else " Not available yet: answers 1005."),
        "security": [] if command.public else CREDENTIALS,
        "requestBody": json_body(_alias_body(command), command.example),
        "responses": _bus_responses(answer, counted=not command.public),
    }
    if command.mutates and not command.public:
        described["parameters"] = [IDEMPOTENCY_KEY]
    if command.follow:
        described["parameters"] = [LAST_EVENT_ID]
    links = _LINKS.get(command.service)
    if links:
        described["responses"]["200"]["links"] = {
            target: {
                "operationId": target,
                "requestBody": {"target": {"agent": "$response.body#/profile/0/name"}},
                "description": "The agent's name is the target.",
            }
            for target in links
        }
    return described


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


def _bus_responses(answer: Schema, *, counted: bool = True) -> Schema:
    ok = {"description": "The command's answer.", **answer} | ({"headers": RATE_LIMIT} if counted else {})
    refusals = {status: {"$ref": f"#/components/responses/{name}"} for status, (name, _) in _REFUSALS.items()}
    return {"200": ok, **refusals}


def _shared_responses() -> Schema:
    shared: Schema = {}
    for status, (name, description) in _REFUSALS.items():
        shared[name] = {"description": description, **json_body(response())}
        if status != "401":
            shared[name]["headers"] = RATE_LIMIT | (RETRY_AFTER if status in ("429", "500") else {})
    return shared


# the routes that are open to all, and MCP


def _mcp_path() -> Schema:
    message = {"type": "object", "description": "A message of JSON-RPC 2.0."}
    refusal = record("An error.", status=ref("Status"))
    statuses = {
        "400": ("No JSON-RPC message, an unknown version or an unknown group; the body is a JSON-RPC error.", message),
        "401": ("The tool needs a credential, or the one that was sent is none.", {"type": "object"}),
        "403": ("A web page of another origin.", refusal),
        "404": ("No such method; the body is a JSON-RPC error.", message),
        "406": ("The client takes no application/json.", message),
        "408": ("The request did not arrive in time.", refusal),
        "413": ("The body is too large.", refusal),
        "415": ("The media type is not application/json.", refusal),
    }
    too_many = reply("No request is left today, and the message calls no tool.", refusal)
    described = operation(
        "MCP",
        "mcp",
        "Speak MCP (streamable HTTP, stateless): a tool per service, which answers its TPSResponse.",
        {
            "200": reply("The answer to a request.", message) | {"headers": RATE_LIMIT},
            "202": {"description": "A notification was taken."},
        }
        | {status: reply(description, schema) for status, (description, schema) in statuses.items()}
        | {"429": too_many | {"headers": RATE_LIMIT | RETRY_AFTER}},
    )
    example: Schema = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "US_Read", "arguments": {}},
    }
    groups: Schema = {
        "name": "groups",
        "in": "query",
        "description": "Offer only the tools of these groups, separated by commas. Without it all are offered but "
        "those that take a password, which need the group `user`.",
        "style": "form",
        "explode": False,
        "schema": array(text(enum=list(GROUPS))) | {"minItems": 1},
    }
    more: Schema = {
        "security": [*CREDENTIALS, {}],
        "parameters": [groups],
        "requestBody": json_body(message, example),
    }
    return {"/mcp": {"post": described | more}}


_WELCOME = record(
    "What this is, and where to go on.",
    name=text(example="Parley"),
    version=text("Of the gateway.", example="0.1.0"),
    links=record(
        "Paths of this gateway.",
        docs=text("The documentation, as a page."),
        health=text("Whether the gateway can do its work."),
        openapi=text("This document."),
        bus=text("The command bus."),
    ),
)


def _open_paths() -> Schema:
    health = ref("Health")
    return {
        "/api/health": {
            "get": operation(
                "Gateway",
                "getHealth",
                "Tell whether the gateway can do its work.",
                {"200": reply("It can.", health), "503": reply("The storage takes no writes.", health)},
            )
        },
        "/api/tps/openapi.json": {
            "get": operation(
                "Gateway",
                "getOpenapiJson",
                "This document as JSON.",
                {"200": reply("The document.", {"type": "object"})},
            )
        },
        "/api/tps/openapi.yaml": {
            "get": operation(
                "Gateway",
                "getOpenapiYaml",
                "This document as YAML.",
                {"200": reply("The document.", {"type": "object"}, "application/yaml")},
            )
        },
        "/": {
            "get": operation(
                "Gateway",
                "getWelcome",
                "Say what this is and where its documentation is; as a page where HTML is accepted.",
                {
                    "200": {
                        "description": "The welcome.",
                        "content": {
                            "application/json": {"schema": _WELCOME},
                            "text/html; charset=utf-8": {"schema": text()},
                        },
                    }
                },
            )
        },
        "/docs": {
            "get": operation(
                "Gateway",
                "getDocs",
                "This document as a page.",
                {"200": reply("The page.", text(), "text/html; charset=utf-8")},
            )
        },
        "/metrics": {
            "get": operation(
                "Gateway",
                "getMetrics",
                "What the gateway counts, as Prometheus text.",
                {"200": reply("The metrics.", text(), "text/plain; version=0.0.4; charset=utf-8")},
            )
        },
    }


# schemas


_SERVICE: Schema = {
    "description": "The command: a text, required on the command bus; on an alias the path says it.",
    "example": "AP_Chat",
}
"""Without a type, since an alias ignores whatever stands there."""


def _schemas() -> Schema:
    schemas: Schema = {"Status": STATUS, "Header": HEADER}
    schemas |= model_schemas(TPSRequest) | route_schemas(ROUTES)
    schemas["TPSRequest"]["properties"] = {"service": _SERVICE, **schemas["TPSRequest"]["properties"]}
    schemas["TPSResponse"] = TPS_RESPONSE
    schemas |= dict(RECORDS.values()) | SCHEMAS
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
