"""Headers and framing of answers as server-sent events."""

from typing import Any

from sanic import Request

from actors.calls.admission import count_stored
from actors.calls.call import Call
from routes.http.answers import quota_headers
from routes.http.event_stream import EVENT_STREAM, STREAM_HEADERS


async def begin_events(
    request: Request, call: Call, more: dict[str, str] | None = None, *, endless: bool = True
) -> Any:
    """Send the head of an event stream; return Sanic's untyped response, which takes the events."""
    await count_stored(call)
    if endless:
        call.begins_stream()
    untyped: Any = request
    headers = {"X-Request-Id": call.request_id} | STREAM_HEADERS | quota_headers(call) | (more or {})
    return await untyped.respond(content_type=EVENT_STREAM, headers=headers)


def named_event(name: str, data: bytes, id: str = "") -> bytes:
    """Write one server-sent event (WHATWG HTML, 9.2), with an id if it has one; JSON has no line breaks."""
    event = b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
    return b"id: " + id.encode() + b"\n" + event if id else event
