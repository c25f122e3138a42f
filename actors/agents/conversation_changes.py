"""The changes of an agent's conversations that are no chats: they begin, get titles, are forked, and are erased."""

from __future__ import annotations  # nested functions would build theirs at each call

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from actors.agents.conversation_messages import BeginConversation, EraseConversation, ForkConversation, SetTitle
from actors.agents.messages import no_such_agent, no_such_conversation
from actors.agents.private_chats import AgentHost, PrivateChats
from actors.conversations.forking import copy_messages
from actors.errors import InternalError, ServiceError, StateConflict, StorageUnavailable
from actors.idempotency.records import Receipt
from actors.ids import Clock, new_number
from actors.runtime.durable import ConstraintErrors
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from persistence import censoring, conversation_copies, conversations, idempotency_records, own_conversations
from persistence.agents import AgentRow
from persistence.conversations import ConversationRow
from persistence.store import FOREIGN_KEY, ROWS, StoreUnavailable, Write

log = logging.getLogger("parley.agent")


class ChangesHost(AgentHost, Protocol):
    """The agent's actor as these changes see it."""

    def commit_or_refuse(
        self,
        *writes: Write,
        constraint_errors: ConstraintErrors | None = None,
        reply: Callable[[], Any] | None = None,
    ) -> AsyncFuture[Any]:
        """Submit a unit that a constraint may refuse; see `DurableActor.commit_or_refuse`."""
        ...


@dataclass(frozen=True, slots=True)
class MessagesCopied(OwnTell):
    """The copy of a conversation is stored, but nobody sees it yet; `error` where it could not be made."""

    answer: AsyncFuture[ConversationRow]
    receipt: Receipt | None
    copy: ConversationRow
    error: ServiceError | None = None


def begin_conversation(host: ChangesHost, agent: AgentRow, message: BeginConversation) -> AsyncFuture[ConversationRow]:
    """Begin a conversation, without messages."""
    row = _new_row(message.viewer_id, agent.id, agent.name, message.title)
    return host.commit_or_refuse(
        conversations.begin_other(row.number, row.user_id, agent.id, title=row.title),
        reply=lambda: row,
        constraint_errors={FOREIGN_KEY: no_such_agent},
    )


def _new_row(user_id: str, agent_id: str, agent: str, title: str | None) -> ConversationRow:
    return ConversationRow(new_number(), user_id, agent_id, agent, False, title, None, None, 0, 0, None, None)


def set_title(host: ChangesHost, clock: Clock, message: SetTitle) -> AsyncFuture[ConversationRow]:
    """Set a conversation's title."""
    now, known = clock(), message.conversation
    row = known._replace(title=message.title, titled_at=now)
    return host.commit_or_refuse(
        own_conversations.set_title(row.number, row.user_id, message.title, now),
        reply=lambda: row,
        constraint_errors={ROWS: no_such_conversation},
    )


def fork(host: ChangesHost, chats: PrivateChats, message: ForkConversation) -> AsyncFuture[ConversationRow]:
    """Begin a conversation with a copy of another one's messages, which is made in a task."""
    source = message.conversation
    if host.agent is None:
        raise StateConflict(f"{source.agent} was destroyed: its conversations can be read and erased, not continued.")
    copy = _new_row(source.user_id, source.agent_id, source.agent, message.title)._replace(
        last_seq=message.upto, first_at=source.first_at, last_at=None
    )
    answer: AsyncFuture[ConversationRow] = AsyncFuture()
    receipt = host.take_receipt()

    async def copying() -> None:
        error: ServiceError | None = None
        try:
            await copy_messages(host.store, source.number, copy.number, copy.user_id, copy.last_seq, copy.title)
        except ServiceError as raised:
            error = raised
        except StoreUnavailable:
            error = StorageUnavailable("The gateway could not store the copy of this conversation; try again.")
        except Exception:
            log.exception("%s failed to copy a conversation", host.actor_urn)
            error = InternalError("This conversation can't be copied; the fault has been logged.")
        host.tell_self(MessagesCopied(answer, receipt, copy, error))

    chats.in_background(copying())
    return answer


def finish_fork(host: ChangesHost, copied: MessagesCopied) -> None:
    """Show the copy of a conversation, and answer."""
    copy, receipt = copied.copy, copied.receipt
    if copied.error is not None:
        copied.answer.fail(copied.error)
        return
    host.messages += copy.last_seq
    writes = [conversation_copies.finish(copy.number)]
    if receipt is not None:
        writes += receipt.writes(copy)
    host.commit(*writes, reply=lambda: copy, resolves=copied.answer)


def erase(host: ChangesHost, chats: PrivateChats, message: EraseConversation) -> AsyncFuture[None]:
    """Erase a conversation; chats that are under way in it fail, and nothing of them is stored any more."""
    row = message.conversation
    messages = max(chats.erase(row.number, row.user_id if row.is_default else row.number), row.last_seq)
    host.messages = max(host.messages - messages, 0)
    return host.commit_or_refuse(
        idempotency_records.redact_of_conversation(row.number),
        *own_conversations.erase(row.number, row.user_id),
        censoring.DUE,
        constraint_errors={ROWS: no_such_conversation},
    )
