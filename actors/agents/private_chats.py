"""The private conversations of one agent: loading, waiting, answering, storing."""

from __future__ import annotations  # nested functions would build theirs at each call

from dataclasses import dataclass
from typing import Any, Protocol

from actors.agents.begun import telling_begun
from actors.agents.conversations_in_use import ConversationLoaded, ConversationsInUse
from actors.agents.keyed_runs import KeyedRuns
from actors.agents.messages import HistoryMoved, RanBefore, SendChat, no_such_agent, no_such_conversation
from actors.conversations.conversation import WAITING_LIMIT, Chat, ChatSent, Conversation, RunBegun, new_message
from actors.conversations.host import ChatHost
from actors.conversations.ids import reply_of, run_of
from actors.conversations.place import ChatPlace
from actors.engines.answering import EngineRunner, Outcome, Unfinished
from actors.engines.message import Utterance
from actors.engines.turn import Engine, Persona, Reply, Turn
from actors.errors import InvalidCredential, Overloaded, ServiceError, StateConflict
from actors.ids import Clock, new_id, new_number
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from persistence.agents import AgentRow


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

    __slots__ = ("_clock", "_conversations", "_engine", "_host", "_keyed", "_stale")

    def __init__(self, host: AgentHost, engine: Engine, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._engine = EngineRunner(engine, host.actor_urn)
        self._conversations = ConversationsInUse(host, self._engine, clock)
        self._keyed: KeyedRuns | None = None  # from the first chat with a key on
        self._stale = False  # messages were removed, so the actor is loaded again once no chat is under way

    def send(self, agent: AgentRow, message: SendChat) -> AsyncFuture[ChatSent] | RanBefore:
        """Answer a message of a user, after those that wait in the same conversation.

        Raises:
            Overloaded: too many wait already.
        """
        key = message.key
        if key is not None:
            keyed = self._keyed = self._keyed or KeyedRuns(self._clock)
            joined = keyed.join(key)
            if joined is not None:
                return joined
        conversation = self._conversations.of(agent, message)
        if len(conversation.waiting) >= WAITING_LIMIT:
            raise Overloaded("Too many messages wait in this conversation already; try again in a second.")
        host, resumes = self._host, message.resumes
        chat = Chat(
            new_id("msg", host.key) if resumes is None else resumes.id,
            message.user_name,
            message.content,
            AsyncFuture(),
            host.progress,
            message.memories or (),
            host.take_receipt(),
            resumes,
            message.place,
            key,
            message.options,
            host.begun,
        )
        if key is not None and self._keyed is not None:
            self._keyed.begin(key, chat)
        if not conversation.kept:
            chat.answer.then(lambda _: self._drop(conversation))
        if conversation.loaded and not conversation.at_work:
            self._begin(agent, conversation, chat)
        else:
            conversation.waiting.append(chat)
        return chat.answer

    def _drop(self, conversation: Conversation) -> None:
        self._conversations.drop(conversation)

    def forget(self, user_id: str) -> None:
        """Drop the conversations of a destroyed user; the next incarnation of the actor counts the messages left."""
        for conversation in self._conversations.all_of(user_id):
            for chat in self._conversations.drop(conversation):
                chat.answer.fail(InvalidCredential("The user was destroyed before the agent answered."))
        self._stale = True
        self._retire_if_stale()

    def _retire_if_stale(self) -> None:
        if self._stale and not self.any_under_way:
            self._host.retire()

    def loaded(self, message: ConversationLoaded) -> None:
        """Take a conversation that was read, and answer the chats that waited for it."""
        conversation = message.conversation
        if not self._conversations.holds(conversation):
            return
        error = message.error
        if error is None and message.stored is None and isinstance(conversation.key, int):
            error = no_such_conversation()
        if error is not None:
            for chat in self._conversations.drop(conversation):
                chat.answer.fail(error)
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
        place = chat.place
        if place is not None and not self._is_at(conversation, place, chat):
            return
        if conversation.id is None:
            conversation.number_as(new_number())
        seq = conversation.last_seq + 1
        said = chat.resumes or new_message(
            self._host.key, "user", chat.user_name, chat.content, seq, self._clock(), id=chat.message_id
        )
        archive = conversation.older(self._host.store, streams=self._engine.streams)
        turn = Turn(self._host.persona, agent.name, chat.memories, conversation.window, chat.content, archive=archive)
        if self._engine.streams:
            self._begin_streaming(agent, conversation, chat, said, turn._replace(options=chat.options))
            return
        outcome = self._engine.reply(turn)
        if isinstance(outcome, Unfinished):
            conversation.at_work = chat
            self._engine.in_background(self._finish(outcome, conversation, chat, said))
        else:
            self._conclude(agent, conversation, chat, said, outcome)

    def _is_at(self, conversation: Conversation, place: ChatPlace, chat: Chat) -> bool:
        """Return whether a chat may go on in a conversation as it is now; if not, fail the chat."""
        if place.is_default and conversation.id != place.number:  # another one is the default by now
            self._host.defer(chat.answer, None, no_such_conversation())
        elif place.last_seq not in (None, conversation.last_seq):
            self._host.defer(chat.answer, None, HistoryMoved("The conversation has gone on meanwhile; read it again."))
        else:
            return True
        return False

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
        if chat.begun is not None:
            chat = telling_begun(chat, chat.begun, saved, _begun(conversation, said))
        self._engine.in_background(self._stream(turn, conversation, chat, said, saved))

    async def _stream(
        self, turn: Turn, conversation: Conversation, chat: Chat, said: Utterance, saved: AsyncFuture[None]
    ) -> None:
        outcome = await self._engine.stream(turn, chat.progress)
        self._host.tell_self(EngineEnded(conversation, chat, said, outcome, saved))

    def engine_ended(self, ended: EngineEnded) -> None:
        """Store the outcome of an engine that worked in a task, and go on with the chats that waited."""
        conversation, chat, outcome = ended.conversation, ended.chat, ended.outcome
        if not self._conversations.holds(conversation):
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
            answer = self._reply(agent, outcome, ended.said, seq)
            self._store_reply(conversation, chat, ended.said, outcome, answer, streamed=True)
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
        answer = self._reply(agent, outcome, said, seq)
        self._store_reply(conversation, chat, said, outcome, *new, answer)

    def _reply(self, agent: AgentRow, outcome: Reply, said: Utterance, seq: int) -> Utterance:
        text, sources, id = outcome.text, outcome.sources, reply_of(said.id)
        return new_message(self._host.key, "agent", agent.name, text, seq, self._clock(), sources, id)

    # storing

    def _store_said(self, conversation: Conversation, chat: Chat, said: Utterance) -> AsyncFuture[None]:
        """Store the user's message without a reply, unless it is stored already, or nothing is to be kept."""
        messages = () if chat.resumes else (said,)
        writes = conversation.add(messages)
        if not conversation.kept:
            conversation.unit_stored()
            saved: AsyncFuture[None] = AsyncFuture()
            saved.set()
            return saved
        self._host.messages += len(messages)
        if messages and (chat.key is not None or chat.place is not None):
            writes += chat.beside_message(conversation, said.at)
        if chat.receipt is not None:
            writes += chat.receipt.begin(said.id)
        return self._host.commit(*writes, applied=conversation.unit_stored)

    def _store_reply(
        self,
        conversation: Conversation,
        chat: Chat,
        said: Utterance,
        outcome: Reply,
        *messages: Utterance,
        streamed: bool = False,
    ) -> None:
        """Store the last messages of a chat with all their notes; the commit answers the chat.

        A reply that was not `streamed` is then passed on as one piece.
        """
        reply, id = messages[-1], conversation.id
        assert id is not None
        sent = ChatSent(said, reply, conversation.name if conversation.kept else None, outcome)
        writes = conversation.add(messages, answers=said.seq if reply.seq != said.seq + 1 else None)
        if not conversation.kept:
            writes += () if chat.receipt is None else chat.receipt.writes(sent)
        else:
            self._host.messages += len(messages)
            if len(messages) > 1 and (chat.key is not None or chat.place is not None):
                writes += chat.beside_message(conversation, said.at)
            if chat.memories or chat.receipt is not None or outcome.echoes or streamed:
                writes += chat.beside_reply(id, sent, outcome, streamed=streamed)

        def applied() -> None:
            conversation.unit_stored()
            if not streamed:
                if chat.begun is not None:
                    chat.begun(_begun(conversation, said))
                if chat.progress is not None:
                    chat.progress(sent.reply.content)

        self._host.commit(*writes, reply=lambda: sent, applied=applied, resolves=chat.answer)

    # life

    @property
    def any_under_way(self) -> bool:
        """Whether a chat is not answered yet."""
        return any(known.under_way() for known in self._conversations)

    @property
    def has_tasks(self) -> bool:
        """Whether an engine is at work or a conversation is being loaded."""
        return self._engine.tasks > 0

    def stop(self) -> None:
        """Stop the engine and refuse the chats that still wait."""
        self._engine.stop()
        stopped = Overloaded("The agent was stopped before it answered; look at AP_History, then try again.")
        for conversation in self._conversations:
            for chat in conversation.under_way():
                chat.answer.fail(stopped)

    def snapshot(self) -> list[dict[str, Any]]:
        """Show the conversations in memory, without their texts."""
        return self._conversations.snapshot()


def _begun(conversation: Conversation, said: Utterance) -> RunBegun:
    return RunBegun(run_of(said.id), said, conversation.name if conversation.kept else None)
