"""Long messages and answers of /mcp, kept from the SDK because it would block the loop with them."""

from typing import Any, cast

import orjson
from sanic import HTTPResponse, Request

from actors.slices import sliced
from routes.http.answers import HttpAnswer
from routes.http.pieces import Insertions, send_pieces
from routes.mcp.asgi_bridge import McpMessage


def without_arguments(message: dict[str, Any], asked: McpMessage) -> bytes:
    """Remove the arguments from a tool call; return the rest of the message."""
    params: Any = message.get("params")
    if message.get("method") == "tools/call" and isinstance(params, dict):
        called = cast(dict[str, Any], params)
        if isinstance(called.get("arguments"), dict):
            asked.arguments = called["arguments"]
            message = message | {"params": called | {"arguments": {}}}
    return orjson.dumps(message)


async def send_long_answer(request: Request, response: HTTPResponse, answer: HttpAnswer) -> None:
    """Send the SDK's answer to a tool call, with the bus's answer in place of its placeholders."""
    message: Any = orjson.loads(response.body or b"")
    insertions = Insertions()
    result = message["result"]
    result["content"][0]["text"], result["structuredContent"] = insertions.as_text, insertions.as_value
    pieces = await sliced(insertions.inserted(orjson.dumps(message), (answer.body, *answer.rest)))
    await send_pieces(request, HTTPResponse(None, response.status, response.headers, response.content_type), pieces)
