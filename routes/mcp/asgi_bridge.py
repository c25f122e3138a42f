"""The ASGI bridge that passes a request to /mcp through the MCP SDK."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from sanic import HTTPResponse, Request

from actors.calls.call import Call
from actors.wire import on_one_line
from routes.bus.request import BusRequest
from routes.http.answers import HttpAnswer
from routes.http.server_sent_events import EVENT_STREAM, SLOW_S, begin_events

Application = Callable[[Any, Any, Any], Awaitable[None]]

PATH = "/mcp"
STREAM = "mcp_stream"
"""The service, in logs and metrics, of streams of changes, which last as long as their clients."""
SCOPE_KEY = "parley"
"""The key of the message in the ASGI scope, from which the tools read it."""
_OPTIONAL_SPACE = " \t"


@dataclass(slots=True)
class McpMessage:
    """A message of MCP with its groups of tools, and the bus's answer if it called a tool.

    `call` is for a message that calls no tool; the bus counts the others.
    """

    request: BusRequest
    call: Call
    body: bytes = b""
    groups: frozenset[str] = frozenset()
    arguments: dict[str, Any] | None = None
    """Long arguments of a tool, kept from the SDK because it parses them too slowly."""
    answer: HttpAnswer | None = None
    service: str = ""
    gone: bool = False
    """Whether the session that it names is not there."""
    code: int = 0
    """The internal code of a refusal that is an error of JSON-RPC, for the log."""


async def through_asgi(
    application: Application, request: Request, body: bytes, asked: McpMessage
) -> HTTPResponse | None:
    """Pass a request to an ASGI application and collect its answer; one that is an event stream is sent at once.

    Returns None if the answer was sent.
    """
    received = False
    status, headers, pieces = 500, dict[str, str](), list[bytes]()
    stream: Any = None

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:  # a disconnect of the client cancels all of this
            await asyncio.Event().wait()
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        nonlocal status, headers, stream
        if event["type"] == "http.response.start":
            status = event["status"]
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event["headers"]}
            if headers.get("content-type", "").startswith(EVENT_STREAM):
                asked.call.service = STREAM
                stream = await begin_events(request, asked.call)
        elif stream is not None:
            await send_piece(request, stream, on_one_line(event.get("body", b"")))
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
    if stream is not None:
        await stream.eof()
        return None
    headers.pop("content-length", None)
    media_type = headers.pop("content-type", None)
    return HTTPResponse(b"".join(pieces), status, headers, media_type)


async def send_piece(request: Request, stream: Any, piece: bytes) -> None:
    """Send a piece of an event stream; cut off a client that takes nothing, which can't be told either."""
    try:
        async with asyncio.timeout(SLOW_S):
            await stream.send(piece)
    except TimeoutError:
        transport: Any = request.transport
        transport.abort()
        raise asyncio.CancelledError from None


def _headers_of(request: Request) -> list[tuple[bytes, bytes]]:
    """Return the headers in ASGI's form, with trimmed values (RFC 9110, 5.5); no Accept takes all (12.5.1)."""
    sent: Any = request.headers
    listed = [
        (str(name).lower().encode("latin-1"), str(value).strip(_OPTIONAL_SPACE).encode("latin-1", "replace"))
        for name, value in sent.items()
        if str(name).lower() != "content-type"
    ]
    accept = [] if "accept" in sent else [(b"accept", b"*/*")]
    return [*listed, *accept, (b"content-type", b"application/json")]
