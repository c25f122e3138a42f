"""POST /v1/responses, GET and DELETE /v1/responses/{id}."""

from collections.abc import Mapping

from msgspec import structs

from actors.agents.messages import HistoryMoved
from actors.agents.runs_under_way import REMEMBERED_S
from actors.calls.call import Call
from actors.calls.conversation_targets import own_conversation
from actors.commands.conversations import forked
from actors.commands.runs import Run, forget_response, read_run
from actors.commands.talk import Saying, Talked, remembered_outcome, repeated, talk
from actors.conversations.ids import run_of
from actors.engines.options import estimated_usage
from actors.engines.turn import Reply
from actors.errors import MessageKept, NotFound, ServiceError
from actors.slices import sliced
from persistence import deleted_responses, run_keys
from routes.gateway.route import RouteCall, RouteReply
from routes.http.bodies import json_object, next_turn
from routes.http.exchange import Received
from routes.openai_api.answers import Answered, Heading, message_of_response, unique_part
from routes.openai_api.errors import GO_ON
from routes.openai_api.models import agent_id_of
from routes.openai_api.references import with_referenced
from routes.openai_api.refusals import BadRequest, no_such_response, of_another_model, unsupported
from routes.openai_api.repeats import CONVERSATION_ID
from routes.openai_api.request import CheckedRequest, read_response
from routes.openai_api.response_object import Events, Json, completed_response, failed_response, response_object
from routes.openai_api.saying import answered_by, headers_of, require_possible, said_to, saying_of
from routes.openai_api.streaming import StreamedAnswer


async def parse_response(received: Received) -> CheckedRequest:
    """Check the body of a response.

    Raises:
        ServiceError: it is not JSON, or a member is missing, wrong or unsupported.
    """
    body = json_object(received.body, received.header("content-type"), len(received.body))
    await next_turn(received.body)
    return await sliced(read_response(body, received.header(CONVERSATION_ID)))


async def create_response(request: RouteCall) -> RouteReply:
    """Say the last message to the agent, and answer with a response, whole or in events."""
    call, stream = request.call, request.stream
    require_possible(call, request.body, "text.format")
    agent_id = await agent_id_of(call, request.body)
    asked = await with_referenced(call, request.body)
    saying, streamed = await _unless_deleted(call, saying_of(structs.replace(request, body=asked))), None
    if asked.stream and stream is not None:
        streamed = StreamedAnswer(stream, asked.model, lambda heading: Events(heading, asked.echoed))
        await streamed.open(call, saying)
    talked = await _talked(call, agent_id, asked, saying)
    answered = answered_by(talked, asked)
    if streamed is not None:
        streamed.end(answered)
        return RouteReply()
    whole = completed_response(answered, asked.echoed)
    return RouteReply(whole, quoted=talked.quoted, headers=headers_of(answered.heading, talked.replayed))


async def retrieve_response(request: RouteCall) -> RouteReply:
    """Read a response again, as it is stored."""
    _require_no_stream(request.received.args)
    run = await run_of_response(request.call, request.params["response_id"], "response_id")
    row = await own_conversation(request.call, run.conversation)
    return RouteReply(_as_response(run, row.agent, await _rest_of(request.call, run)))


async def _rest_of(call: Call, run: Run) -> Reply | None:
    """Return what the store lacks of a reply: calls of functions, the end, the usage; None if nobody knows."""
    if run.reply is None or call.core.clock() - run.reply.at > REMEMBERED_S * 1000:
        return None
    try:
        return await remembered_outcome(call, run.agent_id, run.message.id)
    except ServiceError:  # the agent can't be reached now
        return None


async def delete_response(request: RouteCall) -> RouteReply:
    """Forget a response; its messages stay."""
    call, response_id = request.call, request.params["response_id"]
    run = await run_of_response(call, response_id, "response_id")
    try:
        await forget_response(call, run)
    except NotFound:
        raise no_such_response(response_id) from None
    return RouteReply({"id": response_id, "object": "response", "deleted": True})


def _require_no_stream(args: Mapping[str, str]) -> None:
    """Refuse to stream a stored response, because its events are not stored.

    Raises:
        BadRequest: the query asks for a stream.
    """
    stream = args.get("stream", "false").lower()
    if stream not in ("true", "false"):
        raise BadRequest("Invalid value of stream: send true or false.", "stream")
    for param in ("stream", "starting_after"):
        if param in args and args[param].lower() != "false":
            raise unsupported(
                param, "a response streams only while it is made; GET /api/runs/{id}/events follows its run."
            )


async def _unless_deleted(call: Call, saying: Saying) -> Saying:
    """Return what a repeat says; as a first try's, if the response that it would get again was deleted."""
    key = saying.key
    if key is None or key.latest:
        return saying
    for run in await call.core.store.fetch(run_keys.of_key(key.digest, call.core.clock() - saying.key_ms)):
        if await call.core.store.fetch(deleted_responses.of_message(run.message_id)):
            return structs.replace(saying, key=structs.replace(key, latest=True))
    return saying


async def _talked(call: Call, agent_id: str, asked: CheckedRequest, saying: Saying) -> Talked:
    """Say something after a previous response, if one is named; in a fork if that is not its conversation's last.

    Raises:
        Unknown: there is no such response of the caller with this agent.
        BadRequest: it has no answer to go on from.
        NotPermitted: the sender's API key is not for the agent.
    """
    if (previous_id := asked.previous) is None:
        return await said_to(call, agent_id, asked, saying)
    earlier_try = await repeated(call, agent_id, saying)
    if earlier_try is not None:
        return earlier_try
    previous = await run_of_response(call, previous_id, "previous_response_id")
    if previous.agent_id != agent_id:
        raise of_another_model(previous_id)
    if previous.reply is None:
        raise BadRequest("The previous response has no answer to go on from.", "previous_response_id")
    seq = previous.reply.seq
    follows = structs.replace(saying, conversation=previous.conversation, client_id=None, matches=False, earlier=())
    row = await own_conversation(call, previous.conversation)
    if row.last_seq == seq:
        try:
            return await talk(call, agent_id, structs.replace(follows, last_seq=seq))
        except HistoryMoved:
            row = await own_conversation(call, previous.conversation)
    async with forked(call, row, seq) as fork:
        return await talk(call, agent_id, structs.replace(follows, fork=fork))


async def run_of_response(call: Call, response_id: str, param: str) -> Run:
    """Read the run of a response.

    Raises:
        Unknown: there is no such response of the caller, or it was deleted.
    """
    message_id = message_of_response(response_id)
    if message_id is None or await call.core.store.fetch(deleted_responses.of_message(message_id)):
        raise no_such_response(response_id, param)
    try:
        return await read_run(call, run_of(message_id))
    except NotFound:
        raise no_such_response(response_id, param) from None


def _as_response(run: Run, model: str, outcome: Reply | None) -> Json:
    """Return a run as a response; the members of its request are not stored."""
    heading = Heading(unique_part(run.message.id), model, run.message.at, run.conversation)
    if run.reply is not None:
        reply, rest = run.reply, outcome or Reply(run.reply.content)
        usage = rest.usage or estimated_usage([run.message.content], reply.content)
        cancelled = run.state == "cancelled"
        return completed_response(
            Answered(heading, reply.content, reply.at, usage, reply.sources, rest.calls, rest.finish, cancelled), {}
        )
    if run.state == "failed":
        note = "The agent did not answer." if run.error is None else MessageKept.note_with(run.error.note, GO_ON)
        return failed_response(heading, {}, note)
    return response_object(heading, "cancelled" if run.state == "cancelled" else "in_progress", {})
