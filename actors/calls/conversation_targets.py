"""The conversation that a command names as `target.conversation`."""

from actors.agents.messages import no_such_conversation
from actors.calls.call import Call
from actors.calls.targets import target_agent, target_agent_id
from actors.calls.user_targets import require_meant
from actors.conversations.ids import conversation_id, number_of
from actors.errors import InvalidField, NotFound
from persistence import conversations
from persistence.conversations import ConversationRow
from persistence.users import name_key

DEFAULT = "default"
"""Names the default conversation with the target agent."""


async def own_conversation(call: Call, id: str) -> ConversationRow:
    """Read one of the caller's conversations by its id.

    Raises:
        NotFound: there is none of this id that is the caller's.
        NotPermitted: the sender's API key is not for its agent.
    """
    number = number_of(id)
    rows = [] if number is None else await call.core.store.fetch(conversations.of_user(number, call.user.user_id))
    if not rows or id != conversation_id(rows[0].number, rows[0].agent_id):
        raise no_such_conversation()
    call.require_in_scope("agents", rows[0].agent_id)
    return rows[0]


async def target_conversation(call: Call) -> ConversationRow:
    """Read the caller's conversation that `target.conversation` names, by its id or as the default one.

    Raises:
        NotFound: there is none such; or no such agent, or `target.user` is not its owner.
        NothingSelected: the default one is named without an agent, and none is selected.
        InvalidField: the named agent is not the conversation's.
        NotPermitted: the sender's API key is not for its agent.
    """
    id = call.target.conversation or ""
    if id != DEFAULT:
        row = await own_conversation(call, id)
        await require_agent_of(call, row)
        return row
    named = call.target.agent is not None
    agent_id = await target_agent_id(call) if named else (await target_agent(call)).row.id
    for row in await call.core.store.fetch(conversations.default_of(agent_id, call.user.user_id)):
        return row
    raise NotFound("You have no default conversation with this agent; the first AP_Chat begins it.")


async def require_agent_of(call: Call, row: ConversationRow) -> None:
    """Check that a named agent is the one of the conversation, which decides the agent, and a named user its owner.

    Raises:
        InvalidField: it is another agent.
        NotFound: `target.user` is neither the owner of the agent nor the caller.
    """
    name = call.target.agent
    if name is not None and name_key(name) != name_key(row.agent):
        raise InvalidField(
            f"Invalid value of target.agent: the conversation is one with {row.agent}; leave target.agent out."
        )
    await require_meant(call, row.agent_id)


def require_no_zone(call: Call) -> None:
    """Check that a command with `target.conversation` names no zone.

    Raises:
        InvalidField: it names one, or a domain.
    """
    if call.target.domain is not None or call.target.zone is not None:
        raise InvalidField(
            "Invalid value of target.conversation: a conversation is private; leave target.domain and target.zone out."
        )
