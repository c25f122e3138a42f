"""The private conversations of one agent: loading, waiting, answering, storing."""

from __future__ import annotations  # nested functions would build theirs at each call

import logging
from dataclasses import dataclass
from typing import Any, Protocol

from actors.agents.messages import SendChat, no_such_agent
from actors.conversations.archive import CONVERSATION, Newest, read_window
from actors.conversations.conversation import WAITING_LIMIT, Chat, ChatSent, Conversation, new_message
from actors.conversations.host import ChatHost
from actors.engines.answering import EngineRunner, Outcome, Unfinished
from actors.engines.message import Utterance
from actors.engines.turn import Engine, Persona, Reply, Turn
from actors.errors import (
    InternalError,
    InvalidCredential,
    Overloaded,
    ServiceError,
    StateConflict,
    StorageUnavailable,
)
from actors.ids import Clock
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from persistence import conversations
from persistence.agents import AgentRow
from persistence.store import StoreUnavailable

WARM_CONVERSATIONS = 256
"""Idle conversations that one agent keeps in memory; others are read from the store when they continue."""

log = logging.getLogger("parley.agent")


class AgentHost(ChatHost, Protocol):
    """The agent's actor as its private chats see it."""

    messages: int
    """The number of messages in all private conversations."""

    @property
    def agent(self) -> AgentRow | None:
        """The agent; None once it is destroyed."""
        ...

    @property
    def persona(self) -> Persona:
        """The agent as engines see it."""
        ...

    def retire(self) -> None:
        """Take no more messages, so that the next ask loads the agent again."""
        ...


@dataclass(frozen=True, slots=True)
class ConversationLoaded(OwnTell):
    """A conversation was read from the store; `error` where it could not be."""

    conversation: Conversation
    stored: tuple[int, int] | None = None
    newest: Newest | None = None
    error: ServiceError | None = None


@dataclass(frozen=True, slots=True)
class EngineEnded(OwnTell):
    """An engine that worked in a task has finished a chat.

    `saved` resolves when the user's message is stored; None for an instant engine.
    """

    conversation: Conversation
    chat: Chat
    said: Utterance
    outcome: Outcome
    saved: AsyncFuture[None] | None = None


class PrivateChats:
    """Answers the private chats of one agent, one at a time in each conversation.

    An instant engine answers in the actor's own step, and both messages are one unit; long work continues in a task. A
    streaming engine always works in a task: the message is stored first, the reply when it is complete.
    """

    __slots__ = ("_clock", "_conversations", "_engine", "_host", "_stale")

    def __init__(self, host: AgentHost, engine: Engine, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._engine = EngineRunner(engine, host.actor_urn)
        self._conversations: dict[str, Conversation] = {}
        self._stale = False  # messages were removed, so the actor is loaded again once no chat is under way

    def send(self, agent: AgentRow, message: SendChat) -> AsyncFuture[ChatSent]:
        """Answer a message of a user, after those that wait in the same conversation.

        Raises:
            Overloaded: too many wait already.
        """
        conversation = self._conversation_of(message.viewer_id)
        if len(conversation.waiting) >= WAITING_LIMIT:
            raise Overloaded("Too many messages wait in this conversation already; try again in a second.")
        chat = Chat(
            message.user_name,
            message.content,
            AsyncFuture(),
            self._host.progress,
            message.memories or (),
            self._host.take_receipt(),
            message.resumes,
        )
        if conversation.loaded and not conversation.at_work:
            self._begin(agent, conversation, chat)
        else:
            conversation.waiting.append(chat)
        return chat.answer

    def forget(self, user_id: str) -> None:
        """Drop the conversation of a destroyed user; the next incarnation of the actor counts the messages left."""
        conversation = self._conversations.pop(user_id, None)
        for chat in () if conversation is None else conversation.under_way():
            chat.answer.fail(InvalidCredential("The user was destroyed before the agent answered."))
        self._stale = True
        self._retire_if_stale()

    def _retire_if_stale(self) -> None:
        if self._stale and not self.any_under_way:
            self._host.retire()

    def _dropped(self, conversation: Conversation) -> bool:
        """Return whether a conversation's user is destroyed, so that nothing of it may be stored."""
        return self._conversations.get(conversation.user_id) is not conversation

    # loading

    def _conversation_of(self, user_id: str) -> Conversation:
        """Find a conversation, or begin to load it."""
        known = self._conversations.pop(user_id, None)
        conversation = known or Conversation(user_id)
        self._conversations[user_id] = conversation  # last used, last in the dict
        if known is None:
            self._engine.in_background(self._load(conversation))
            self._drop_resting()
        return conversation

    def _drop_resting(self) -> None:
        """Drop idle conversations above the limit, those unused for longest first."""
        excess = len(self._conversations) - WARM_CONVERSATIONS
        if excess > 0:
            resting = [user_id for user_id, known in self._conversations.items() if known.at_rest]
            for user_id in resting[:excess]:
                del self._conversations[user_id]

    async def _load(self, conversation: Conversation) -> None:
        host = self._host
        try:
            found = await host.store.fetch(conversations.between(host.key, conversation.user_id))
            newest = await read_window(host.store, CONVERSATION, *found[0]) if found else None
        except StoreUnavailable:
            error = StorageUnavailable("The gateway could not read this conversation; try again.")
            host.tell_self(ConversationLoaded(conversation, error=error))
        except Exception:
            log.exception("%s failed to load a conversation", host.actor_urn)
            error = InternalError("This conversation can't be read; the fault has been logged.")
            host.tell_self(ConversationLoaded(conversation, error=error))
        else:
            host.tell_self(ConversationLoaded(conversation, found[0] if found else None, newest))

    def loaded(self, message: ConversationLoaded) -> None:
        """Take a conversation that was read, and answer the chats that waited for it."""
        conversation = message.conversation
        if self._dropped(conversation):
            return
        if message.error is not None:
            del self._conversations[conversation.user_id]
            for chat in conversation.waiting:
                chat.answer.fail(message.error)
            self._retire_if_stale()
            return
        if message.stored is not None and message.newest is not None:
            conversation.take(self._host.store, *message.stored, message.newest)
        conversation.loaded = True
        self._go_on(conversation)

    # answering

    def _go_on(self, conversation: Conversation) -> None:
        """Answer the chats that waited, until one needs a task."""
        while conversation.waiting and not conversation.at_work:
            chat = conversation.waiting.popleft()
            agent = self._host.agent
            if agent is None or not agent.online:
                offline = StateConflict("The agent went offline before this message's turn came.")
                self._host.defer(chat.answer, None, offline)
            else:
                self._begin(agent, conversation, chat)
        self._retire_if_stale()

    def _begin(self, agent: AgentRow, conversation: Conversation, chat: Chat) -> None:
        seq = conversation.last_seq + 1
        said = chat.resumes or new_message(self._host.key, "user", chat.user_name, chat.content, seq, self._clock())
        archive = conversation.older(self._host.store, streams=self._engine.streams)
        turn = Turn(self._host.persona, agent.name, chat.memories, conversation.window, chat.content, archive=archive)
        if self._engine.streams:
            self._begin_streaming(agent, conversation, chat, said, turn)
            return
        outcome = self._engine.reply(turn)
        if isinstance(outcome, Unfinished):
            conversation.at_work = chat
            self._engine.in_background(self._finish(outcome, conversation, chat, said))
        else:
            self._conclude(agent, conversation, chat, said, outcome)

    async def _finish(self, unfinished: Unfinished, conversation: Conversation, chat: Chat, said: Utterance) -> None:
        outcome = await self._engine.finish(unfinished)
        self._host.tell_self(EngineEnded(conversation, chat, said, outcome))

    def _begin_streaming(
        self, agent: AgentRow, conversation: Conversation, chat: Chat, said: Utterance, turn: Turn
    ) -> None:
        turn = turn._replace(
            window=conversation.window.before(said.seq),
            owner_id=conversation.user_id if conversation.user_id == agent.owner_id else "",
            speaker_id=conversation.user_id,
        )
        saved = self._store_said(conversation, chat, said)
        conversation.at_work = chat
        self._engine.in_background(self._stream(turn, conversation, chat, said, saved))

    async def _stream(
        self, turn: Turn, conversation: Conversation, chat: Chat, said: Utterance, saved: AsyncFuture[None]
    ) -> None:
        outcome = await self._engine.stream(turn, chat.progress)
        self._host.tell_self(EngineEnded(conversation, chat, said, outcome, saved))

    def engine_ended(self, ended: EngineEnded) -> None:
        """Store the outcome of an engine that worked in a task, and go on with the chats that waited."""
        conversation, chat, outcome = ended.conversation, ended.chat, ended.outcome
        if self._dropped(conversation):
            return
        conversation.at_work = None
        agent = self._host.agent
        if ended.saved is not None and isinstance(outcome, ServiceError):
            chat.fail_once(ended.saved, outcome)
        elif agent is None:
            self._host.defer(chat.answer, None, no_such_agent())
        elif ended.saved is None or isinstance(outcome, ServiceError):
            self._conclude(agent, conversation, chat, ended.said, outcome)
        else:
            seq = conversation.last_seq + 1
            answer = new_message(self._host.key, "agent", agent.name, outcome.text, seq, self._clock(), outcome.sources)
            self._store_reply(conversation, chat, ChatSent(ended.said, answer), outcome, answer, streamed=True)
        self._go_on(conversation)

    def _conclude(
        self, agent: AgentRow, conversation: Conversation, chat: Chat, said: Utterance, outcome: Outcome
    ) -> None:
        """Store a chat that an instant engine has finished."""
        if isinstance(outcome, ServiceError):
            chat.fail_once(self._store_said(conversation, chat, said), outcome)
            return
        new = () if chat.resumes else (said,)
        seq = conversation.last_seq + len(new) + 1
        answer = new_message(self._host.key, "agent", agent.name, outcome.text, seq, self._clock(), outcome.sources)
        self._store_reply(conversation, chat, ChatSent(said, answer), outcome, *new, answer)

    # storing

    def _store_said(self, conversation: Conversation, chat: Chat, said: Utterance) -> AsyncFuture[None]:
        """Store the user's message without a reply, unless it is stored already."""
        messages = () if chat.resumes else (said,)
        self._host.messages += len(messages)
        writes = conversation.add(messages, self._host.key)
        if chat.receipt is not None:
            writes += chat.receipt.begin(said.id)
        return self._host.commit(*writes, applied=conversation.unit_stored)

    def _store_reply(
        self,
        conversation: Conversation,
        chat: Chat,
        sent: ChatSent,
        outcome: Reply,
        *messages: Utterance,
        streamed: bool = False,
    ) -> None:
        """Store the last messages of a chat with all their notes; the commit answers the chat.

        A reply that was not `streamed` is then passed on as one piece.
        """
        self._host.messages += len(messages)
        writes = conversation.add(messages, self._host.key)
        assert conversation.id is not None
        if chat.memories or chat.receipt is not None or outcome.echoes or streamed:
            writes += chat.beside_reply(conversation.id, sent, outcome, streamed=streamed)

        def applied() -> None:
            conversation.unit_stored()
            if chat.progress is not None and not streamed:
                chat.progress(sent.reply.content)

        self._host.commit(*writes, reply=lambda: sent, applied=applied, resolves=chat.answer)

    # life

    @property
    def any_under_way(self) -> bool:
        """Whether a chat is not answered yet."""
        return any(known.under_way() for known in self._conversations.values())

    @property
    def has_tasks(self) -> bool:
        """Whether an engine is at work or a conversation is being loaded."""
        return self._engine.tasks > 0

    def stop(self) -> None:
        """Stop the engine and refuse the chats that still wait."""
        self._engine.stop()
        stopped = Overloaded("The agent was stopped before it answered; look at AP_History, then try again.")
        for conversation in self._conversations.values():
            for chat in conversation.under_way():
                chat.answer.fail(stopped)

    def snapshot(self) -> list[dict[str, Any]]:
        """Show the conversations in memory, without their texts."""
        return [conversation.snapshot() for conversation in self._conversations.values()]
