"""One request to /mcp on its way through the SDK, and the ASGI bridge that takes it there."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sanic import HTTPResponse, Request

from actors.calls.call import Call
from routes.bus.bus import BusRequest
from routes.http.answers import BusAnswer

Application = Callable[[Any, Any, Any], Awaitable[None]]

PATH = "/mcp"
SCOPE_KEY = "parley"
"""The key of the message in the ASGI scope, where the tools find it again."""
_OPTIONAL_SPACE = " \t"


@dataclass(slots=True)
class McpMessage:
    """A message of MCP, the groups of tools that it is offered, and the bus's answer where it called a tool.

    `call` is for a message that calls no tool; the bus counts the others.
    """

    request: BusRequest
    call: Call
    body: bytes = b""
    groups: frozenset[str] = frozenset()
    arguments: dict[str, Any] | None = None
    """A tool's, where they are long: the SDK takes too long to read them."""
    answer: BusAnswer | None = None
    service: str = ""


async def through_asgi(application: Application, request: Request, body: bytes, asked: McpMessage) -> HTTPResponse:
    """Hand a request to an ASGI application and gather its answer."""
    received = False
    status, headers, pieces = 500, dict[str, str](), list[bytes]()

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:  # a client that goes away cancels all of this
            await asyncio.Event().wait()
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        nonlocal status, headers
        if event["type"] == "http.response.start":
            status = event["status"]
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event["headers"]}
        else:
            pieces.append(event.get("body", b""))

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": _headers_of(request),
        "client": None,
        "server": None,
        "state": {},
        SCOPE_KEY: asked,
    }
    await application(scope, receive, send)
    headers.pop("content-length", None)
    media_type = headers.pop("content-type", None)
    return HTTPResponse(b"".join(pieces), status, headers, media_type)


def _headers_of(request: Request) -> list[tuple[bytes, bytes]]:
    """List the headers as ASGI has them, without the white space around a value (RFC 9110, 5.5)."""
    sent: Any = request.headers
    listed = [
        (str(name).lower().encode("latin-1"), str(value).strip(_OPTIONAL_SPACE).encode("latin-1", "replace"))
        for name, value in sent.items()
        if str(name).lower() != "content-type"
    ]
    return [*listed, (b"content-type", b"application/json")]
