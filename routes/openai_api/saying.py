"""From a checked request to what is said to the agent, and from there to an answer."""

from actors.agents.messages import NoSuchConversation
from actors.calls.call import Call
from actors.commands.talk import KEY_MS, Saying, Talked, talk
from actors.engines.options import estimated_usage
from actors.engines.turn import Reply, StreamingEngine
from routes.gateway.route import RouteCall
from routes.http.answers import REPLAYED
from routes.openai_api.answers import Answered, Heading, unique_part
from routes.openai_api.refusals import Unknown, unsupported
from routes.openai_api.repeats import repeatable
from routes.openai_api.request import CheckedRequest


def require_possible(call: Call, asked: CheckedRequest, param: str) -> None:
    """Refuse a format that the engine can't keep to; `param` is the path of the member.

    Raises:
        BadRequest: JSON is asked of an engine that answers in sentences.
    """
    if asked.options.response_format is not None and not isinstance(call.core.engine, StreamingEngine):
        raise unsupported(param, "this gateway's agents answer in plain text.")


def saying_of(request: RouteCall) -> Saying:
    """Return what a request says, where it names no previous response."""
    asked: CheckedRequest = request.body
    named = None if asked.once else asked.conversation
    stored = named is not None and named.startswith("cnv_")
    known = repeatable(request.call, request.received)
    return Saying(
        asked.said,
        conversation=named if stored else None,
        client_id=None if stored else named,
        earlier=asked.earlier,
        matches=named is None and not asked.once,
        silent=asked.silent,
        scope=asked.scope,
        once=asked.once,
        key=known and known.key,
        key_ms=KEY_MS if known is None else known.for_ms,
        options=asked.options,
    )


async def said_to(call: Call, agent_id: str, asked: CheckedRequest, saying: Saying) -> Talked:
    """Say something to an agent, as `talk` does.

    Raises:
        Unknown: there is no such conversation, and `param` names it.
        ServiceError: see `talk`.
    """
    try:
        return await talk(call, agent_id, saying)
    except NoSuchConversation as error:
        if asked.conversation is None:
            raise
        raise Unknown(error.note, asked.conversation_param, "not_found") from None


def answered_by(talked: Talked, asked: CheckedRequest) -> Answered:
    """Return the answer to a request."""
    message, reply = talked.message, talked.reply
    heading = Heading(unique_part(message.id), asked.model, message.at, talked.conversation)
    outcome = talked.outcome or Reply(reply.content)
    usage = outcome.usage
    if usage is None:
        earlier = [text for _, text in asked.earlier]
        usage = estimated_usage((*asked.options.instructions, *earlier, asked.said), reply.content)
    cancelled = reply.mark == "cancelled"
    return Answered(heading, reply.content, reply.at, usage, reply.sources, outcome.calls, outcome.finish, cancelled)


def headers_of(heading: Heading, replayed: bool) -> dict[str, str]:
    """Return the headers that name the run and the conversation, if they are stored, and mark a replayed answer."""
    mark = {REPLAYED: "true"} if replayed else {}
    if heading.conversation is None:
        return mark
    return {"X-Run-Id": f"run_{heading.number}", "X-Conversation-Id": heading.conversation} | mark
