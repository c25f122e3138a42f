"""POST /ag-ui/{agent}: a run of AG-UI is a run of Parley.

The protocol's models are imported with the first request, in a thread, because that takes a third of a second.
"""

import asyncio
import importlib
import sys
from typing import TYPE_CHECKING

import orjson

from actors.agents.messages import NothingSaid
from actors.calls.targets import agent_named
from actors.commands.runs import follow_run
from actors.commands.talk import talk
from actors.conversations.conversation import RunBegun
from actors.errors import ServiceError
from actors.slices import sliced
from routes.ag_ui.threads import GO_ON, name_of, saying_of, turn_to_say, under_way
from routes.doors.door import Door, Refusal
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.answers import status_of
from routes.http.exchange import Received
from routes.openapi.headers import OF_CHATS
from routes.openapi.schemas import Schema, array, nullable, ref, text

if TYPE_CHECKING:
    from routes.ag_ui.run_request import RunRequest


def _refusal(error: ServiceError, _: bytes) -> Refusal:
    return Refusal(error.http_code, orjson.dumps({"status": status_of(error)}))


def _stream_error(error: ServiceError, _: bytes) -> bytes:
    from routes.ag_ui.events import run_error  # noqa: PLC0415 - loaded by now

    return run_error(error)


DOOR = Door(_refusal, _stream_error, ref("Error"), GO_ON, prefix="/ag-ui")


async def parse(received: Received) -> "RunRequest":
    """Read the body, a RunAgentInput.

    Raises:
        ServiceError: it is not one that the gateway takes.
    """
    if "routes.ag_ui.run_request" not in sys.modules:
        await asyncio.to_thread(importlib.import_module, "routes.ag_ui.run_request")
    from routes.ag_ui.run_request import reading  # noqa: PLC0415 - see above

    return await sliced(reading(received))


async def run_agent(request: RouteCall) -> RouteReply:
    """Say the user's last message to the agent, and stream the events of the run."""
    from routes.ag_ui.events import RunEvents  # noqa: PLC0415 - loaded by now

    call, stream, asked = request.call, request.stream, request.body
    assert stream is not None
    agent = (await agent_named(call, request.params["agent"])).row
    events = RunEvents(stream, asked)
    name = name_of(call, agent, asked, asked.message_id)
    async with turn_to_say(call, asked, name) as said:

        def begun(run: RunBegun) -> None:
            if not run.waits:
                said()
            events.begun(run)

        call.stream_to(events.piece, begun)
        async with saying_of(call, agent, asked, name) as saying:
            joined = None if saying.key is None else await under_way(call, saying.key)
            if joined is None:
                try:
                    events.end(await talk(call, agent.id, saying))
                except NothingSaid:
                    if not stream.begun:
                        raise
                    events.cancelled()
                return RouteReply()
    events.begun(RunBegun(joined.id, joined.message, joined.conversation))
    async for piece in follow_run(call, joined.id):
        events.follow(piece)
    return RouteReply()


_PARTS: Schema = array({"type": "object", "properties": {"type": text(), "text": text()}, "required": ["type"]})
_MESSAGE: Schema = {
    "type": "object",
    "properties": {
        "id": text(),
        "role": text(enum=["user", "assistant", "system", "developer", "tool", "activity", "reasoning"]),
        "content": {"oneOf": [text(), _PARTS], "description": "A text, or its parts."},
    },
    "required": ["id", "role"],
}
RUN_AGENT_INPUT: Schema = {
    "type": "object",
    "description": "What AG-UI's clients send; members that are not named here are ignored.",
    "properties": {
        "threadId": text("A `cnv_` id, or an id of your own.", minLength=1, maxLength=200),
        "runId": text("An id of your own; the same one again joins or replays the run.", minLength=1, maxLength=200),
        "parentRunId": nullable(text()),
        "messages": array(_MESSAGE),
        "context": nullable(
            array(
                {
                    "type": "object",
                    "properties": {"description": text(), "value": text()},
                    "required": ["description", "value"],
                }
            )
        ),
    },
    "required": ["threadId", "runId", "messages"],
}

ROUTES = (
    Route(
        "POST",
        "/ag-ui/{agent}",
        "runAgent",
        "AG-UI",
        "Say the last message to an agent, in AG-UI 1.0, and hear the events of the run.",
        run_agent,
        errors=(404, 409, 502),
        headers=OF_CHATS,
        mutates=True,
        described_body={
            "required": True,
            "content": {
                "application/json": {
                    "schema": ref("RunAgentInput"),
                    "example": {
                        "threadId": "3d7c1f6e-8a55-4f0e-9a52-0c8f6f1f7b11",
                        "runId": "9f0a2f6c-0d7e-4c43-8f7b-5f0f0a3c2d21",
                        "messages": [{"id": "1", "role": "user", "content": "How far is the Moon?"}],
                    },
                }
            },
        },
        door=DOOR,
        parse=parse,
        streams=True,
        safe_to_resend=True,
    ),
)
SCHEMAS = {"RunAgentInput": RUN_AGENT_INPUT}
