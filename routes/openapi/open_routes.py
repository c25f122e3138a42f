"""The OpenAPI operations of routes outside the tables: health, documents, metrics and MCP."""

from actors.commands.table import GROUPS
from routes.http.server_sent_events import EVENT_STREAM
from routes.openapi.errors import route_refusals
from routes.openapi.headers import RATE_LIMIT, with_headers
from routes.openapi.operations import CREDENTIALS, OPEN_TO_ALL, json_body, operation, reply
from routes.openapi.schemas import Schema, array, record, ref, text

_REFUSALS = route_refusals((400,), counted=False)
"""Every route refuses a request head that breaks the rules of HTTP."""


def mcp_path() -> Schema:
    """Return the operations of the gateway's MCP server."""
    message = {"type": "object", "description": "A message of JSON-RPC 2.0."}
    statuses = {
        "400": ("No JSON-RPC message, an unknown version or an unknown group; the body is a JSON-RPC error.", message),
        "401": ("The message needs a credential, or the one sent is invalid.", {"type": "object"}),
        "404": ("No such method (the body is a JSON-RPC error), or no such session.", {"type": "object"}),
        "406": ("The client takes no application/json.", message),
    }
    described = operation(
        "MCP",
        "mcp",
        "Speak MCP (streamable HTTP): a tool per service, banks and zones as resources, skills as prompts.",
        "Listing tools is open to all. All else needs a credential, unless a tool's command needs none, and each "
        "message with one counts as one request of the day. `subscriptions/listen` answers a stream of events.",
        {
            "200": with_headers(reply("The answer to a request.", message), "Mcp-Session-Id", *RATE_LIMIT),
            "202": {"description": "A notification was taken."},
        }
        | {status: reply(description, schema) for status, (description, schema) in statuses.items()}
        | {"401": with_headers(reply(*statuses["401"]), "WWW-Authenticate")}
        | route_refusals((403, 408, 413, 415), counted=False)
        | route_refusals((429,), counted=True),  # if the message calls no tool
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
        "description": "Offer only the tools and resources of these groups, separated by commas. Without it all are "
        "offered but tools that take a password, which need the group `user`.",
        "style": "form",
        "explode": False,
        "schema": array(text(enum=list(GROUPS))) | {"minItems": 1},
    }
    more: Schema = {
        "security": [*CREDENTIALS, {}],
        "parameters": [groups],
        "requestBody": json_body(message, example),
    }
    return {"/mcp": {"post": described | more, "get": _mcp_stream(), "delete": _mcp_end()}}


_SESSION: Schema = {
    "name": "Mcp-Session-Id",
    "in": "header",
    "description": "The session that `initialize` answered to a client before 2026-07-28.",
    "schema": text(),
}

_WITHOUT_SESSION: Schema = {"405": {"description": "The request names no session."}}


def _mcp_stream() -> Schema:
    answers = {
        "200": reply("Notifications, as server-sent events.", text(), EVENT_STREAM),
        "406": {"description": "The client takes no text/event-stream."},
    }
    return operation(
        "MCP",
        "mcpStream",
        "Follow the notifications of an MCP session.",
        "For clients before 2026-07-28: the changes of the resources that the session has subscribed to, and of the "
        "lists. Without a session it is 405. It doesn't count as a request of the day.",
        answers | _WITHOUT_SESSION | route_refusals((400, 401, 403, 404, 409), counted=False),
        CREDENTIALS,
    ) | {"parameters": [_SESSION]}


def _mcp_end() -> Schema:
    return operation(
        "MCP",
        "mcpEnd",
        "End an MCP session, with its subscriptions.",
        "Without a session it is 405. It doesn't count as a request of the day.",
        {"204": {"description": "It has ended."}}
        | _WITHOUT_SESSION
        | route_refusals((400, 401, 403, 404), counted=False),
        CREDENTIALS,
    ) | {"parameters": [_SESSION]}


_WELCOME = record(
    "The name and version of this gateway, and links.",
    name=text(example="Parley"),
    version=text("Of the gateway.", example="0.2.0"),
    links=record(
        "Paths of this gateway.",
        docs=text("The documentation, as a page."),
        health=text("Whether the gateway can do its work."),
        openapi=text("This document."),
        bus=text("The command bus."),
        console=text("The console; absent where it is disabled."),
    ),
)


def open_paths() -> Schema:
    """Return the operations of the document itself, of health and of metrics."""
    health = ref("Health")
    return {
        "/api/health": {
            "get": operation(
                "Gateway",
                "getHealth",
                "Read whether the gateway can do its work.",
                OPEN_TO_ALL,
                {"200": reply("It can.", health), "503": reply("The storage takes no writes.", health)} | _REFUSALS,
            )
        },
        "/api/tps/openapi.json": {
            "get": operation(
                "Gateway",
                "getOpenapiJson",
                "This document as JSON.",
                OPEN_TO_ALL,
                {"200": reply("The document.", {"type": "object"})} | _REFUSALS,
            )
        },
        "/api/tps/openapi.yaml": {
            "get": operation(
                "Gateway",
                "getOpenapiYaml",
                "This document as YAML.",
                OPEN_TO_ALL,
                {"200": reply("The document.", {"type": "object"}, "application/yaml")} | _REFUSALS,
            )
        },
        "/": {
            "get": operation(
                "Gateway",
                "getWelcome",
                "Read name, version and links to the documentation; a page if HTML is accepted.",
                OPEN_TO_ALL,
                {
                    "200": {
                        "description": "The welcome.",
                        "content": {
                            "application/json": {"schema": _WELCOME},
                            "text/html; charset=utf-8": {"schema": text()},
                        },
                    }
                }
                | _REFUSALS,
            )
        },
        "/docs": {
            "get": operation(
                "Gateway",
                "getDocs",
                "This document as a page.",
                OPEN_TO_ALL,
                {"200": reply("The page.", text(), "text/html; charset=utf-8")} | _REFUSALS,
            )
        },
        "/metrics": {
            "get": operation(
                "Gateway",
                "getMetrics",
                "Read the gateway's metrics as Prometheus text.",
                OPEN_TO_ALL,
                {"200": reply("The metrics.", text(), "text/plain; version=0.0.4; charset=utf-8")} | _REFUSALS,
            )
        },
    }
