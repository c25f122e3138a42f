"""Threads of AG-UI: the conversation that a thread's id leads to, and what is said there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import structs

from actors.agents.messages import of_another_agent, require_answering
from actors.calls.conversation_targets import own_conversation
from actors.commands.conversations import forked
from actors.commands.runs import keyed_run
from actors.commands.talk import IMPORTED, KEY_MS, Saying, key_digest
from actors.conversations.conversation import WAITING_LIMIT
from actors.conversations.place import RunKey
from actors.conversations.stored import from_row
from actors.engines.options import EngineOptions
from actors.errors import Overloaded
from actors.throttle import CountedLock
from persistence import conversations, run_keys
from persistence.conversations import ConversationRow

if TYPE_CHECKING:
    from actors.calls.call import Call
    from actors.commands.runs import Run
    from actors.engines.message import Utterance
    from persistence.agents import AgentRow
    from routes.ag_ui.run_request import RunRequest


GO_ON = "Your message is kept; run it again with the same threadId and runId to go on with it."
"""How to go on with a message on which the engine failed."""


def name_of(call: Call, agent: AgentRow, asked: RunRequest, message_id: str) -> str:
    """Return the name by which a message is found from its client's own id, as long as it is stored."""
    return key_digest(call.user.user_id, "ag-ui message", agent.id, asked.thread_id, message_id)


@asynccontextmanager
async def turn_to_say(call: Call, asked: RunRequest, name: str) -> AsyncGenerator[Callable[[], None]]:
    """Wait until no other run is about to store the message of a name; the block calls what it gets once it has.

    So of several runs with one message each finds it stored by the one before, as if they came one after another.

    Raises:
        Overloaded: too many wait already.
    """
    if not asked.message_id:  # no run finds its message, so it waits in its conversation alone
        yield lambda: None
        return
    saying = call.core.saying
    lock = saying.get(name)
    if lock is None:
        lock = saying[name] = CountedLock(WAITING_LIMIT)
    await lock.acquire_or_refuse(
        Overloaded("Too many runs with this message wait in this thread already; try again in a second.")
    )
    held = ExitStack()
    held.callback(lock.release)
    with held:
        yield held.close


@asynccontextmanager
async def saying_of(call: Call, agent: AgentRow, asked: RunRequest, name: str) -> AsyncGenerator[Saying]:
    """Make what is said for a run, and where: in the thread's conversation, a fork of it, or a new one.

    A message that is stored already begins a fork before it, to which the thread is bound then, unless this is its own
    run again.

    Raises:
        NotFound: the thread is a conversation's id, and the caller has no such conversation with the agent.
        NotPermitted: the sender's API key is not for the agent of that conversation.
        InvalidField: the thread is new, and a message that it would begin with is too long.
        StateConflict: the agent is offline, and a fork would begin.
    """
    agent_id = agent.id
    thread, user_id, fetch = asked.thread_id, call.user.user_id, call.core.store.fetch
    digest = key_digest(user_id, "ag-ui", agent_id, thread, asked.run_id)
    key = RunKey(digest, key_digest(asked.text), names=(name,) if asked.message_id else ())
    options = EngineOptions(instructions=asked.instructions) if asked.instructions else None
    saying = Saying(asked.text, earlier=asked.earlier, key=key, options=options)
    stored = await _stored(call, agent_id, asked.message_id, name) if asked.message_id else None
    bound_as = f"ag-ui {thread}" if thread.startswith("cnv_") else thread  # see conversations.INNER_NAME
    # A run is looked for after its message, because both are stored as one unit.
    if stored is not None and not await fetch(run_keys.of_key(digest, call.core.clock() - KEY_MS)):
        require_answering(agent)  # before the work on a fork that nothing would be said in
        row, message = stored
        async with forked(call, row, message.seq - 1) as fork:
            yield structs.replace(saying, fork=fork, client_id=bound_as)
        return
    bound = await fetch(conversations.bound_to(user_id, agent_id, bound_as))
    if bound or bound_as == thread:
        if not bound:
            asked.require_importable()
        names = () if bound else _earlier_names(call, agent, asked)
        yield structs.replace(saying, client_id=bound_as, earlier_names=names)
        return
    row = await own_conversation(call, thread)
    if row.agent_id != agent_id:
        raise of_another_agent()
    yield structs.replace(saying, conversation=thread)


def _earlier_names(call: Call, agent: AgentRow, asked: RunRequest) -> tuple[str, ...]:
    """Name the messages that a new thread begins with, so that each of the user's is found when it is edited."""
    ids, left_out = asked.earlier_ids, max(len(asked.earlier_ids) - IMPORTED, 0)
    return ("",) * left_out + tuple([id and name_of(call, agent, asked, id) for id in ids[left_out:]])


async def under_way(call: Call, key: RunKey) -> Run | None:
    """Find the run of a repeated request, if it is under way, or was cancelled before the agent said anything."""
    run = await keyed_run(call, key, KEY_MS)
    if run is None or run.state in ("completed", "failed") or run.reply is not None:
        return None
    return run


async def _stored(call: Call, agent_id: str, message_id: str, name: str) -> tuple[ConversationRow, Utterance] | None:
    """Find a message by the client's own id or Parley's, with its conversation."""
    fetch, user_id = call.core.store.fetch, call.user.user_id
    named = await fetch(run_keys.of_key(name, 0))
    for number, row in await fetch(conversations.message(user_id, named[0].message_id if named else message_id)):
        for conversation in await fetch(conversations.of_user(number, user_id)):
            if conversation.agent_id == agent_id:
                return conversation, from_row(row)
    return None
