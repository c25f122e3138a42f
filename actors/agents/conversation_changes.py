"""The changes of an agent's conversations that are no chats: they begin, get titles, are forked, and are erased."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Callable
from typing import Any, Protocol

from actors.agents.conversation_messages import BeginConversation, EraseConversation, SetTitle, ShowCopy
from actors.agents.messages import no_such_agent, no_such_conversation
from actors.agents.private_chats import AgentHost, PrivateChats
from actors.errors import StateConflict
from actors.ids import Clock, new_number
from actors.runtime.durable import ConstraintErrors
from actors.runtime.future import AsyncFuture
from persistence import censoring, conversation_copies, conversations, idempotency_records, own_conversations
from persistence.agents import AgentRow
from persistence.conversations import ConversationRow
from persistence.store import FOREIGN_KEY, ROWS, Write


class ChangesHost(AgentHost, Protocol):
    """The agent's actor as these changes see it."""

    def commit_or_refuse(
        self,
        *writes: Write,
        constraint_errors: ConstraintErrors | None = None,
        reply: Callable[[], Any] | None = None,
        applied: Callable[[], None] | None = None,
    ) -> AsyncFuture[Any]:
        """Submit a unit that a constraint may refuse; see `DurableActor.commit_or_refuse`."""
        ...


def begin_conversation(host: ChangesHost, agent: AgentRow, message: BeginConversation) -> AsyncFuture[ConversationRow]:
    """Begin a conversation, without messages."""
    row = ConversationRow(
        new_number(), message.viewer_id, agent.id, agent.name, False, message.title, None, None, 0, 0, None, None
    )
    return host.commit_or_refuse(
        conversations.begin_other(row.number, row.user_id, agent.id, title=row.title),
        reply=lambda: row,
        constraint_errors={FOREIGN_KEY: no_such_agent},
    )


def set_title(host: ChangesHost, clock: Clock, message: SetTitle) -> AsyncFuture[ConversationRow]:
    """Set a conversation's title."""
    now, known = clock(), message.conversation
    row = known._replace(title=message.title, titled_at=now)
    return host.commit_or_refuse(
        own_conversations.set_title(row.number, row.user_id, message.title, now),
        reply=lambda: row,
        constraint_errors={ROWS: no_such_conversation},
    )


def show_copy(host: ChangesHost, message: ShowCopy) -> AsyncFuture[ConversationRow]:
    """Begin a conversation with a copy that is complete; refused if its source was erased meanwhile."""
    copy = message.copy
    if host.agent is None:
        raise no_agent_to_go_on(copy.agent)

    def applied() -> None:
        host.messages += copy.last_seq

    return host.commit_or_refuse(
        conversation_copies.finish(copy.number),
        reply=lambda: copy,
        applied=applied,
        constraint_errors={ROWS: no_such_conversation},
    )


def no_agent_to_go_on(agent: str) -> StateConflict:
    """Make the error for a fork of a conversation with a destroyed agent."""
    return StateConflict(f"{agent} was destroyed: conversations with it can be read and erased, not continued.")


def erase(host: ChangesHost, chats: PrivateChats, message: EraseConversation) -> AsyncFuture[None]:
    """Erase a conversation; chats that are under way in it fail, and nothing of them is stored any more."""
    row = message.conversation
    ended: AsyncFuture[None] = AsyncFuture()
    dropped = chats.erase(row.number, row.user_id if row.is_default else row.number, ended)

    def applied() -> None:
        host.messages = max(host.messages - max(dropped.last_seq if dropped else 0, row.last_seq), 0)

    erased = host.commit_or_refuse(
        idempotency_records.redact_of_conversation(row.number),
        *own_conversations.erase(row.number, row.user_id),
        censoring.DUE,
        applied=applied,
        constraint_errors={ROWS: no_such_conversation},
    )
    erased.then(lambda _: ended.set())
    return erased
