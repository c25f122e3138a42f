"""Threads of AG-UI: the conversation that a thread's id leads to, and what is said there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from actors.agents.messages import no_such_conversation
from actors.calls.conversation_targets import own_conversation
from actors.commands.talk import Saying, key_digest
from actors.conversations.ids import number_of
from actors.conversations.place import RunKey
from actors.engines.options import EngineOptions
from persistence import conversations

if TYPE_CHECKING:
    from actors.calls.call import Call
    from routes.ag_ui.asked import Asked


async def saying_of(call: Call, agent_id: str, asked: Asked) -> Saying:
    """Return what is said for a run, and where: in the thread's conversation or a new one.

    Raises:
        NotFound: the thread is a conversation's id, and the caller has no such conversation with the agent.
    """
    thread, user_id, fetch = asked.thread_id, call.user.user_id, call.core.store.fetch
    name = key_digest(user_id, "ag-ui message", agent_id, thread, asked.message_id)
    digest = key_digest(user_id, "ag-ui", agent_id, thread, asked.run_id)
    key = RunKey(digest, key_digest(asked.text), names=(name,))
    options = EngineOptions(instructions=asked.instructions) if asked.instructions else None
    saying = Saying(asked.text, earlier=asked.earlier, key=key, options=options)
    bound_as = thread if number_of(thread) is None else f"ag-ui {thread}"  # no client's own id has a space
    bound = await fetch(conversations.bound_to(user_id, agent_id, bound_as))
    if bound or bound_as == thread:
        return replace(saying, client_id=bound_as)
    row = await own_conversation(call, thread)
    if row.agent_id != agent_id:
        raise no_such_conversation()
    return replace(saying, conversation=thread)
