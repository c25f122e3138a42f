"""Items of earlier responses that a request names by their ids, as some clients send the agent's messages."""

from msgspec import structs

from actors.calls.call import Call
from actors.conversations.ids import answered_by
from actors.conversations.place import Earlier
from persistence import conversations
from routes.openai_api.dialogue import CALL
from routes.openai_api.refusals import TOO_LONG, BadRequest, no_such_item
from routes.openai_api.request import CheckedRequest

MAX_REFERENCES = 1_000
MAX_REFERENCED = 1_000_000
"""The most messages that a request may name by their ids, and their characters: about as many as a body may hold."""


async def with_referenced(call: Call, asked: CheckedRequest) -> CheckedRequest:
    """Return a request with the texts of the messages that it names by their ids.

    Raises:
        Unknown: an id is of no stored message of an agent to the caller.
        BadRequest: they are too many, or too long.
        NotPermitted: the caller's API key is not for that agent.
    """
    wanted = [reference for reference in asked.references if not reference.id.startswith(CALL)]
    if not wanted:
        return asked
    if len(wanted) > MAX_REFERENCES:
        raise _too_much(f"{MAX_REFERENCES:,} messages")
    message_ids = [found for reference in wanted if (found := answered_by(reference.id))]
    texts: dict[str, str] = {}
    for id, agent_id, text in await call.core.store.fetch(conversations.replies_to(call.user.user_id, message_ids)):
        call.require_in_scope("agents", agent_id)
        texts[id] = text
    earlier: list[Earlier] = []
    taken = chars = silent = 0
    for id, before, param in wanted:
        if id not in texts:
            raise no_such_item(id, param)
        chars += len(texts[id])
        if chars > MAX_REFERENCED:
            raise _too_much(f"messages of {MAX_REFERENCED:,} characters")
        earlier += asked.earlier[taken:before]
        if texts[id].strip():
            earlier.append(Earlier("agent", texts[id]))
        else:
            silent += 1
        taken = before
    return structs.replace(asked, earlier=(*earlier, *asked.earlier[taken:]), silent=asked.silent + silent)


def _too_much(allowed: str) -> BadRequest:
    return BadRequest(
        f"input may name up to {allowed} by their ids; go on with previous_response_id.", "input", TOO_LONG
    )
