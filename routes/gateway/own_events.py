"""GET /api/webhooks/stream: own events as server-sent events (docs/contract.md, "The stream of events")."""

from typing import Annotated

import orjson
from pydantic import Field, StringConstraints

from actors.commands.own_events import EventStream, SignedEvent, position_of
from actors.wire import json_event
from routes.gateway.route import Query, Route, RouteCall, RouteReply
from routes.http.server_sent_events import SILENT_S, SLOW_S, STILL_HERE


class StreamAsked(Query):
    """The query of the stream."""

    events: Annotated[str, StringConstraints(max_length=2_000)] | None = Field(
        default=None, description="Exact types, or `group.*`, separated by commas; absent or empty means all."
    )


async def stream_events(request: RouteCall) -> RouteReply:
    """Stream the caller's events from `Last-Event-ID` on, or from now on."""
    query: StreamAsked = request.query
    last_id, answer = request.received.header("last-event-id"), request.stream
    assert answer is not None
    after = position_of(last_id) if last_id else None
    stream = EventStream(request.call, query.events.split(",") if query.events else ())
    try:
        position = await stream.begin(after)
        answer.begin(failure=lambda _: b"")  # the client comes back with the id of its last event
        answer.send(json_event(orjson.dumps({"secret": stream.secret}), "secret", str(position)))
        while (block := await stream.next(SILENT_S)) is not None:
            answer.send(b"".join(map(_written, block)) or STILL_HERE)
            if not await answer.flushed(SLOW_S):
                return RouteReply()
        answer.send(json_event(orjson.dumps({"reason": stream.reason}), "end"))
    finally:
        stream.close()
    return RouteReply()


def _written(event: SignedEvent) -> bytes:
    data = orjson.dumps({"headers": event.headers, "body": event.body.decode()})
    return json_event(data, id=str(event.position))


ROUTE = Route(
    "GET",
    "/api/webhooks/stream",
    "streamEvents",
    "Webhooks",
    "Follow your own events, signed like their deliveries, from Last-Event-ID or from now on.",
    stream_events,
    query=StreamAsked,
    errors=(409,),
    streams=True,
    endless=True,
)
