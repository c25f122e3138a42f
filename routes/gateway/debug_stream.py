"""GET /debug/stream: the gateway's figures, one event a second (docs/operations.md, "Live figures")."""

import orjson

from actors.calls.acts import INTERNAL, note_read, require_role
from actors.calls.admission import authenticate
from actors.errors import ServiceError
from actors.wire import json_event
from routes.gateway.live import LiveReader
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.answers import credential_of
from routes.http.server_sent_events import SLOW_S


async def stream_figures(request: RouteCall) -> RouteReply:
    """Stream the figures until the reader goes, or may not read them any more."""
    call, answer, live = request.call, request.stream, request.live
    assert answer is not None
    assert live is not None
    caller, streams = call.caller, call.core.open_streams
    reader = LiveReader(caller.user_id, caller.credential_id) if caller else LiveReader("", INTERNAL)
    streams.add(reader)
    try:
        await note_read(call)
        live.add(reader)
        answer.begin(failure=lambda _: b"")
        while (event := await reader.next()) is not None and await _still_permitted(request, reader):
            answer.send(event)
            if not await answer.flushed(SLOW_S):
                return RouteReply()
        answer.send(json_event(orjson.dumps({"reason": reader.reason}), "end"))
    finally:
        live.discard(reader)
        streams.discard(reader)
    return RouteReply()


async def _still_permitted(request: RouteCall, reader: LiveReader) -> bool:
    """Return whether the reader still has its role; the secret stays what it was."""
    call = request.call
    if call.caller is not None:
        try:
            await authenticate(call, credential_of(request.received.header))
            require_role(call, changes=False)
        except ServiceError:
            reader.end("not permitted")
    return not reader.reason


ROUTE = Route(
    "GET",
    "/debug/stream",
    "streamFigures",
    "Internal",
    "Follow the gateway's figures, one event a second: rates, times, queues, actors, memory.",
    stream_figures,
    streams=True,
    endless=True,
    entrance="operator",
)
