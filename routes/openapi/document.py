"""The OpenAPI 3.0.3 document, built from the tables; the gateway serves it, and docs/openapi.json is a copy.

`python -m routes.openapi --check` fails when the committed file differs from the code; `--write` renews it.
"""

import argparse
import asyncio
import sys
from pathlib import Path

import orjson
import yaml
from sanic import Blueprint, HTTPResponse, Request

from routes.gateway.table import PARAMETERS, ROUTES, SCHEMAS
from routes.openapi.commands import LAST_EVENT_ID_PARAMETER, command_paths, command_schemas
from routes.openapi.console import COOKIE_SCHEME, console_paths, console_schemas
from routes.openapi.errors import ERROR, refusal_responses
from routes.openapi.headers import HEADERS, REQUEST_ID, REQUEST_ID_PARAMETER, with_headers
from routes.openapi.introduction import introduction, tags
from routes.openapi.open_routes import mcp_path, open_paths
from routes.openapi.operations import IDEMPOTENCY_PARAMETER, route_paths, route_schemas
from routes.openapi.schemas import HEADER, RECORDS, STATUS, Schema, array, nullable, number, record, ref, text
from routes.pages.static import etag, static_answer, version_of

VERSION = "2026-03-19"
FILE = Path(__file__).resolve().parents[2] / "docs" / "openapi.json"
_REQUEST_ID: Schema = {"$ref": "#/components/parameters/RequestId"}


def document(brand: str = "Svc") -> Schema:
    """Return the whole document for a gateway with this brand in its bus's path."""
    bus = f"/demo/v1/{brand}/tps"
    paths = command_paths(bus) | open_paths() | route_paths(ROUTES) | mcp_path() | console_paths()
    doors = dict.fromkeys(route.door for route in ROUTES if route.door is not None)
    responses = _identified(_used(refusal_responses(doors), "responses", paths))
    for methods in paths.values():
        for operation in methods.values():
            operation["parameters"] = [*operation.get("parameters", ()), _REQUEST_ID]
            operation["responses"] = _identified(operation["responses"])
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Parley",
            "version": VERSION,
            "description": introduction(bus),
            "contact": {"name": "The operator of this gateway"},
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "servers": [{"url": "/", "description": "The gateway that serves this document."}],
        "tags": tags(),
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A session token, from US_LogOn.",
                },
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-Api-Key", "description": "An API key."},
                "consoleCookie": COOKIE_SCHEME,
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
                "RequestId": REQUEST_ID_PARAMETER,
                **PARAMETERS,
            },
            "headers": HEADERS,
            "responses": responses,
            "schemas": _schemas(),
        },
    }


def _identified(responses: Schema) -> Schema:
    """Return the responses with the header of every answer."""
    return {name: with_headers(response, REQUEST_ID) for name, response in responses.items()}


def _used(components: Schema, kind: str, where: Schema) -> Schema:
    """Return the components with at least one reference to them."""
    written = orjson.dumps(where).decode()
    return {name: value for name, value in components.items() if f'"#/components/{kind}/{name}"' in written}


def _schemas() -> Schema:
    schemas: Schema = {"Status": STATUS, "Header": HEADER, "Error": ERROR}
    schemas |= command_schemas() | route_schemas(ROUTES) | dict(RECORDS.values()) | SCHEMAS | console_schemas()
    schemas["Health"] = record(
        "How the gateway is.",
        status=text(enum=["ok", "degraded", "draining", "unavailable"]),
        version=text(),
        uptime_s={"type": "number"},
        storage=text(enum=["ok", "unavailable"]),
        actors=number(),
    )
    schemas["Health"]["properties"]["note"] = text("What is wrong; absent if nothing is.")
    actor = schemas["Actor"] = record(
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
    actor["properties"] |= {
        "node": text("Of several nodes: the one that it is on."),
        "state": {"type": "object", "description": "Of one actor: its state, by kind."},
        "messages": array(ref("HandledMessage")),
    }
    schemas["HandledMessage"] = record(
        "One of the last 50 messages that an actor handled, newest last, without its text.",
        type=text(),
        waiting_ms={"type": "number", "description": "Time in the mailbox; 0 if it was handled at once."},
        handling_ms={"type": "number", "description": "Time of the handler's own step, without what runs after it."},
        outcome=text(enum=["done", "refused", "failed"]),
        internal_code=number("Of the error; 0 if it was done."),
    )
    return schemas


# serving and checking


def as_json(document: Schema) -> bytes:
    """Return the document as indented JSON with a final line break, as it is committed."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def as_yaml(document: Schema) -> bytes:
    """Return the document as YAML."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode()


def openapi_blueprint(brand: str) -> Blueprint:
    """Return the routes of the document."""
    blueprint = Blueprint("openapi", url_prefix="/api/tps")
    served = document(brand)
    in_json = as_json(served)
    json_headers = _headers(in_json)
    in_yaml: asyncio.Future[tuple[bytes, dict[str, str]]] | None = None

    @blueprint.get("/openapi.json")
    async def openapi_json(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        return await static_answer(request, in_json, "application/json", json_headers)

    @blueprint.get("/openapi.yaml")
    async def openapi_yaml(request: Request) -> HTTPResponse:  # pyright: ignore[reportUnusedFunction]
        nonlocal in_yaml
        if in_yaml is None:  # YAML takes 0.25 s, so it is written on the first request, in a thread
            in_yaml = asyncio.ensure_future(asyncio.to_thread(_in_yaml, served))
        body, headers = await asyncio.shield(in_yaml)
        return await static_answer(request, body, "application/yaml", headers)

    return blueprint


def _in_yaml(served: Schema) -> tuple[bytes, dict[str, str]]:
    body = as_yaml(served)
    return body, _headers(body)


def _headers(body: bytes) -> dict[str, str]:
    return {"Cache-Control": "no-cache", "ETag": etag(version_of(body))}


def main() -> int:
    """Check or renew the committed document."""
    parser = argparse.ArgumentParser(description="Keep docs/openapi.json in step with the code.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--check", action="store_true", help="fail when the file differs from the code")
    what.add_argument("--write", action="store_true", help="renew the file")
    if parser.parse_args().write:
        FILE.write_bytes(as_json(document()))
        return 0
    if not FILE.exists() or FILE.read_bytes() != as_json(document()):
        print("docs/openapi.json differs from the code: run `make openapi` and commit it.", file=sys.stderr)
        return 1
    return 0
