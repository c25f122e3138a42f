"""Routes for runs: the state of a chat on its way, its events, and its end (docs/contract.md, "Runs")."""

import re

import orjson

from actors.calls.context import context
from actors.commands import runs
from actors.commands.runs import Run, RunPiece
from actors.conversations.records import message_record
from actors.errors import InvalidField
from actors.wire import json_event
from routes.bus.chat_events import END
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.answers import RUN_ID, tps_body
from routes.http.server_sent_events import STILL_HERE
from routes.openapi.schemas import RECORDS, STATUS, ident, nullable, parameter, record, ref, text

_EVENT_ID = re.compile(r"([0-9]{1,6})(\.end)?\Z")


async def read(request: RouteCall) -> RouteReply:
    """Return a run."""
    return RouteReply((await runs.read_run(request.call, request.params["id"])).record())


async def cancel(request: RouteCall) -> RouteReply:
    """End a run with what was said so far."""
    return RouteReply((await runs.cancel_run(request.call, request.params["id"])).record())


async def events(request: RouteCall) -> RouteReply:
    """Stream a run's events from `Last-Event-ID` on."""
    call, run_id, stream = request.call, request.params["id"], request.stream
    assert stream is not None
    after, is_over = _position(request.received.header("last-event-id"))
    run = await runs.read_run(call, run_id)
    if is_over:
        return RouteReply(status=204)
    stream.begin({RUN_ID: run.id}, failure=lambda _: b"")  # the client comes back with the id of its last event
    async for heard in runs.follow_run(call, run_id, after):
        if isinstance(heard, RunPiece):
            after = heard.upto
            stream.send(_delta(heard) if heard.text else STILL_HERE)
        else:
            stream.send(await _last(request, heard, after))
    return RouteReply()


def _position(last_event_id: str | None) -> tuple[int, bool]:
    """Return the number of characters that a client has had, and whether it has had the last event.

    Raises:
        InvalidField: it is no id of an event.
    """
    if not last_event_id:
        return 0, False
    found = _EVENT_ID.match(last_event_id)
    if found is None:
        raise InvalidField("Invalid value of Last-Event-ID: send the id of the last event that you have had.")
    return int(found[1]), found[2] is not None


def _delta(piece: RunPiece) -> bytes:
    return json_event(orjson.dumps({"text": piece.text}), "delta", str(piece.upto))


async def _last(request: RouteCall, run: Run, after: int) -> bytes:
    """Write the last event: AP_Chat's whole answer, or its error."""
    call, reply, id = request.call, run.reply, f"{after}{END}"
    if reply is None:
        assert run.error is not None  # a run ends with a reply or an error
        return json_event(orjson.dumps(run.error.status()), "error", id)
    content = [message_record(message, None, run.conversation) for message in (run.message, reply)]
    body = tps_body("AP_Chat", call.request_id, await context(call), content=content)
    return json_event(body, "response", id)


RUN = record(
    "An AP_Chat on its way, or after its end.",
    id=ident("run"),
    conversation=ident("cnv"),
    state=text(enum=["working", "completed", "failed", "cancelled"]),
    message=ref("Message"),
    # a reference that may be null is none in OpenAPI 3.0.3: what it leads to takes no null
    reply=nullable(
        {**RECORDS["message"][1], "title": "Reply", "description": "What the agent said; null until it is stored."}
    ),
    error=nullable(
        {**STATUS, "title": "Error", "description": "Why it ended without a reply; null if it has one or is working."}
    ),
)

SCHEMAS = {"Run": RUN}

_LAST_EVENT_ID = parameter(
    "Last-Event-ID",
    "header",
    text(pattern=r"^[0-9]{1,6}(\.end)?$"),
    "Go on after the event with this id, the number of characters that you have had; without it from the beginning.",
)

ROUTES = (
    Route(
        "GET",
        "/api/runs/{id}",
        "readRun",
        "Gateway",
        "Read a run: an AP_Chat on its way, or after its end.",
        read,
        reply=ref("Run"),
        errors=(403, 404),
        counts=False,
        service="AP_Chat",
    ),
    Route(
        "GET",
        "/api/runs/{id}/events",
        "followRun",
        "Gateway",
        "Stream the events of a run, from Last-Event-ID on.",
        events,
        headers=(RUN_ID,),
        parameters=(_LAST_EVENT_ID,),
        may_be_empty=True,
        errors=(400, 403, 404),
        streams=True,
        counts=False,
        service="AP_Chat",
    ),
    Route(
        "POST",
        "/api/runs/{id}/cancel",
        "cancelRun",
        "Gateway",
        "Stop the agent's engine; what it said so far is stored.",
        cancel,
        reply=ref("Run"),
        errors=(403, 404),
        mutates=True,
        safe_to_resend=True,
        service="AP_Chat",
    ),
)
