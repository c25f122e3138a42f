"""The agent actor: one agent, its state, and its private conversations."""

from __future__ import annotations  # nested functions would build theirs at each call

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from actors.agents.events import deployment_event
from actors.agents.messages import (
    AgentView,
    DestroyAgent,
    MemoriesNeeded,
    ReadAgent,
    SendChat,
    SetOnline,
    StandingChanged,
    UpdateAgent,
    UserGone,
    no_such_agent,
)
from actors.agents.records import agent_record
from actors.conversations.conversation import (
    WAITING_LIMIT,
    Chat,
    ChatSent,
    Conversation,
)
from actors.conversations.stored import append, from_row, quote_notes, with_answers_notes
from actors.engines.answering import engine_error
from actors.engines.message import Source, Utterance
from actors.engines.turn import InstantEngine, Persona, Reply, StreamingEngine, Turn, collect
from actors.engines.window import CAPACITY, Window
from actors.errors import (
    InternalError,
    InvalidCredential,
    NotPermitted,
    Overloaded,
    ServiceError,
    StateConflict,
    StorageUnavailable,
)
from actors.ids import Clock, new_id, new_number
from actors.names import name_taken
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Tell
from actors.runtime.notices import ReloadConcerning
from actors.slices import Work
from actors.webhooks.outbox import Outbox
from actors.wire import Record
from persistence import agents, conversations, domains, quotes
from persistence.agents import AgentRow
from persistence.store import ROWS, Store, StoreUnavailable, Write

Engine = InstantEngine | StreamingEngine

WARM_CONVERSATIONS = 256
"""Conversations that one agent remembers at rest; others are read again when they go on."""

log = logging.getLogger("parley.agent")


@dataclass(frozen=True, slots=True)
class _Loaded(Tell):
    """A conversation was read from the store; `error` where it could not be."""

    conversation: Conversation
    stored: tuple[int, int] | None = None
    messages: tuple[Utterance, ...] = ()
    error: ServiceError | None = None


@dataclass(frozen=True, slots=True)
class _ReplyFound(Tell):
    """An instant engine that had much to read is done with a chat, of which nothing is stored yet."""

    conversation: Conversation
    chat: Chat
    said: Utterance
    outcome: Reply | ServiceError


@dataclass(frozen=True, slots=True)
class _EngineEnded(Tell):
    """A slow engine is done with a chat: with a reply, or an error."""

    conversation: Conversation
    chat: Chat
    said: Utterance
    stored: AsyncFuture[None]
    outcome: Reply | ServiceError


class AgentActor(DurableActor):
    """Owns one agent; its key is the agent's id.

    A chat is answered in the actor's own step where the engine is instant, as one unit of both messages; where that
    takes long, the engine goes on in a task, in slices. A streaming engine works in a task of its own: the message is
    stored first, the reply when it is there. Other conversations go on meanwhile.
    """

    kind = "agent"
    __slots__ = (
        "_agent",
        "_clock",
        "_conversations",
        "_has_banks",
        "_has_domains",
        "_has_offers",
        "_instant",
        "_messages",
        "_outbox",
        "_persona",
        "_record",
        "_stale",
        "_streaming",
        "_tasks",
    )

    def __init__(self, key: str, store: Store, clock: Clock, engine: Engine, outbox: Outbox) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._outbox = outbox
        self._instant = None if isinstance(engine, StreamingEngine) else engine
        self._streaming = engine if isinstance(engine, StreamingEngine) else None
        self._agent: AgentRow | None = None
        self._record: Record = {}
        self._persona = Persona("", "", "", "")
        self._messages = 0
        self._has_banks = self._has_offers = self._has_domains = False
        self._conversations: dict[str, Conversation] = {}
        self._tasks: set[asyncio.Task[None]] | None = None
        self._stale = False  # messages were removed, so it is to be loaded anew once no chat is under way

    async def on_begin(self) -> None:
        """Load the agent.

        Raises:
            NotFound: there is no such agent.
        """
        found = await self.store.fetch(agents.by_id(self.key))
        if not found:
            raise no_such_agent()
        self._hold_agent(found[0])
        # Whoever attaches it to a bank, offers it one or makes it a member of a domain tells it. That it no longer is
        # one is not told: it costs a look-up.
        (standing,) = await self.store.fetch(conversations.standing(self.key))
        self._messages, self._has_banks, self._has_offers, self._has_domains = standing

    def _hold_agent(self, agent: AgentRow) -> None:
        """Keep the agent, with its record and persona made once per change."""
        self._agent = agent
        self._record = agent_record(agent)
        self._persona = Persona(agent.id, agent.name, agent.description, agent.profile or "")

    def _seen_by(self, viewer_id: str, access_granted: bool) -> AgentRow:
        """The agent, for one who may see it; for others it is not there."""
        agent = self._agent
        if agent is None:
            raise no_such_agent()
        if agent.owner_id == viewer_id or agent.access == "public" or (access_granted and agent.access != "agent"):
            return agent
        raise no_such_agent()

    def _owned_by(self, viewer_id: str) -> AgentRow:
        """The agent, for its owner; whoever else asks has read it before, so that it is there is no secret."""
        agent = self._agent
        if agent is None:
            raise no_such_agent()
        if agent.owner_id != viewer_id:
            raise NotPermitted(f"Only the owner of {agent.name} may do this; ask {agent.owner}.")
        return agent

    def _view(self, preview: AgentRow | None = None) -> AgentView:
        """The agent as it is, or as a row that is not stored yet will show it."""
        agent = preview or self._agent
        assert agent is not None
        record = self._record if preview is None else agent_record(agent)
        return AgentView(agent, record, self._messages, self._has_banks, self._has_offers, self._has_domains)

    @handles(ReadAgent)
    def _read(self, message: ReadAgent) -> AgentView:
        self._seen_by(message.viewer_id, message.access_granted)
        return self._view()

    @handles(UpdateAgent)
    def _update(self, message: UpdateAgent) -> AsyncFuture[AgentView]:
        agent = self._owned_by(message.viewer_id)
        changes, now = message.changes, self._clock()
        given = {member: text for member, text in asdict(changes).items() if text is not None}

        def applied() -> None:
            self._change(now, **given)
            self._outbox.stored()

        return self.commit_or_refuse(
            agents.update(self.key, changes, now),
            *self._outbox.emit(agent.owner_id, *deployment_event("updated", replace(agent, **given)), at=now),
            reply=self._view,
            preview=lambda: self._view(replace(agent, updated_at=now, **given)),
            applied=applied,
            constraint_errors={"agents.name_key": name_taken, ROWS: no_such_agent},
        )

    def _change(self, at: int, **changes: Any) -> None:
        """Follow a stored change of the agent's row; the row in memory is always one that is stored."""
        if self._agent is not None:
            self._hold_agent(replace(self._agent, updated_at=at, **changes))

    @handles(SetOnline)
    def _set_online(self, message: SetOnline) -> AsyncFuture[AgentView] | AgentView:
        agent = self._owned_by(message.viewer_id)
        if agent.online == message.online:
            return self._view()
        now = self._clock()
        return self.commit_or_refuse(
            agents.set_online(self.key, message.online, now),
            reply=self._view,
            preview=lambda: self._view(replace(agent, updated_at=now, online=message.online)),
            applied=lambda: self._change(now, online=message.online),
            constraint_errors={ROWS: no_such_agent},
        )

    @handles(DestroyAgent)
    def _destroy(self, message: DestroyAgent) -> AsyncFuture[AgentView]:
        agent = self._owned_by(message.viewer_id)
        view, now = self._view(), self._clock()
        self._agent = None

        def applied() -> None:
            self._outbox.stored()
            self.retire()

        return self.commit(
            *domains.leave_all(self.key),
            *agents.destroy(self.key, now),
            *self._outbox.emit(agent.owner_id, *deployment_event("deleted", agent), at=now),
            reply=lambda: view,
            applied=applied,
            notices=(ReloadConcerning(self.key, ("domain", "bank")),),
        )

    # what others tell it

    @handles(StandingChanged)
    def _standing_changed(self, message: StandingChanged) -> None:
        self._has_banks = self._has_banks or message.has_banks
        self._has_offers = self._has_offers or message.has_offers
        self._has_domains = self._has_domains or message.has_domains

    @handles(UserGone)
    def _forget(self, message: UserGone) -> None:
        """Drop the conversation of a user that is gone; the messages left are counted by the next incarnation."""
        conversation = self._conversations.pop(message.user_id, None)
        for chat in () if conversation is None else conversation.under_way():
            chat.answer.fail(InvalidCredential("The user was destroyed before the agent answered."))
        self._stale = True
        self._retire_if_stale()

    def _retire_if_stale(self) -> None:
        if self._stale and not any(known.under_way() for known in self._conversations.values()):
            self.retire()

    def _dropped(self, conversation: Conversation) -> bool:
        """Tell whether a conversation's user is gone, so that nothing of it may be stored."""
        return self._conversations.get(conversation.user_id) is not conversation

    # chat

    @handles(SendChat)
    def _send_chat(self, message: SendChat) -> AsyncFuture[ChatSent] | MemoriesNeeded:
        agent = self._seen_by(message.viewer_id, message.access_granted)
        if not agent.online:
            raise StateConflict(f"{agent.name} is offline; its owner logs it on with AP_LogOn.")
        if self._has_banks and message.memories is None:
            return MemoriesNeeded()
        conversation = self._conversation_of(message.viewer_id)
        if len(conversation.waiting) >= WAITING_LIMIT:
            raise Overloaded("Too many messages wait in this conversation already; try again in a second.")
        chat = Chat(
            message.user_name,
            message.content,
            AsyncFuture(),
            self.progress,
            message.memories or (),
            self.take_receipt(),
            message.resumes,
        )
        if conversation.loaded and not conversation.at_work:
            self._begin_chat(agent, conversation, chat)
        else:
            conversation.waiting.append(chat)
        return chat.answer

    def _conversation_of(self, user_id: str) -> Conversation:
        """Find a conversation, or begin to load it."""
        known = self._conversations.pop(user_id, None)
        conversation = known or Conversation(user_id)
        self._conversations[user_id] = conversation  # last used, last in the dict
        if known is None:
            self._in_background(self._load(conversation))
            self._drop_resting()
        return conversation

    def _drop_resting(self) -> None:
        """Keep the number of remembered conversations bounded: the longest unused at rest go."""
        excess = len(self._conversations) - WARM_CONVERSATIONS
        if excess > 0:
            resting = [user_id for user_id, known in self._conversations.items() if known.at_rest]
            for user_id in resting[:excess]:
                del self._conversations[user_id]

    async def _load(self, conversation: Conversation) -> None:
        try:
            found = await self.store.fetch(conversations.between(self.key, conversation.user_id))
            rows = await self.store.fetch(conversations.page_before(*found[0], CAPACITY)) if found else []
        except StoreUnavailable:
            error = StorageUnavailable("The gateway could not read this conversation; try again.")
            self.tell_self(_Loaded(conversation, error=error))
        except Exception:
            log.exception("%s failed to load a conversation", self.actor_urn)
            self.tell_self(_Loaded(conversation, error=InternalError("This conversation can't be read; it is logged.")))
        else:
            messages = tuple(from_row(row) for row in reversed(rows))
            self.tell_self(_Loaded(conversation, found[0] if found else None, messages))

    @handles(_Loaded)
    def _loaded(self, message: _Loaded) -> None:
        conversation = message.conversation
        if self._dropped(conversation):
            return
        if message.error is not None:
            del self._conversations[conversation.user_id]
            for chat in conversation.waiting:
                chat.answer.fail(message.error)
            self._retire_if_stale()
            return
        if message.stored is not None:
            conversation.id, conversation.last_seq = message.stored
        for utterance in message.messages:
            conversation.window.append(utterance)
        conversation.loaded = True
        self._go_on(conversation)
        self._retire_if_stale()

    def _go_on(self, conversation: Conversation) -> None:
        """Answer the chats that waited, until one needs a slow engine."""
        while conversation.waiting and not conversation.at_work:
            chat = conversation.waiting.popleft()
            if self._agent is None or not self._agent.online:
                offline = StateConflict("The agent went offline before this message's turn came.")
                self.defer(chat.answer, None, offline)
            else:
                self._begin_chat(self._agent, conversation, chat)

    def _begin_chat(self, agent: AgentRow, conversation: Conversation, chat: Chat) -> None:
        said = chat.resumes or self._utterance("user", chat.user_name, chat.content, conversation.last_seq + 1)
        new = () if chat.resumes else (said,)
        turn = Turn(self._persona, agent.name, chat.memories, conversation.window, chat.content)
        if self._instant is None:
            owner_id = conversation.user_id if conversation.user_id == agent.owner_id else ""
            window, speaker_id = _before(conversation.window, said.seq), conversation.user_id
            turn = turn._replace(window=window, owner_id=owner_id, speaker_id=speaker_id)
            stored = self._store_said(conversation, chat, said, *new)
            conversation.at_work = chat
            self._in_background(self._run_engine(turn, conversation, chat, said, stored))
            return
        work = Work(self._instant.replying(turn))
        try:
            if not work.slice():
                conversation.at_work = chat
                self._in_background(self._read_on(work, conversation, chat, said))
                return
        except Exception as raised:
            self._conclude(agent, conversation, chat, said, engine_error(raised, self.actor_urn))
        else:
            self._conclude(agent, conversation, chat, said, work.result)

    def _conclude(
        self, agent: AgentRow, conversation: Conversation, chat: Chat, said: Utterance, outcome: Reply | ServiceError
    ) -> None:
        """Store what an instant engine's chat comes to."""
        new = () if chat.resumes else (said,)
        if isinstance(outcome, ServiceError):
            _fail_once_stored(chat, outcome, self._store_said(conversation, chat, said, *new))
        else:
            seq = conversation.last_seq + len(new) + 1
            answer = self._utterance("agent", agent.name, outcome.text, seq, outcome.sources)
            self._store_reply(conversation, chat, ChatSent(said, answer), *new, answer)

    async def _read_on(self, work: Work[Reply], conversation: Conversation, chat: Chat, said: Utterance) -> None:
        outcome: Reply | ServiceError
        try:
            outcome = await work.rest()
        except Exception as raised:
            outcome = engine_error(raised, self.actor_urn)
        self.tell_self(_ReplyFound(conversation, chat, said, outcome))

    @handles(_ReplyFound)
    def _reply_found(self, found: _ReplyFound) -> None:
        conversation, chat = found.conversation, found.chat
        if self._dropped(conversation):
            return
        conversation.at_work = None
        if self._agent is None:
            self.defer(chat.answer, None, no_such_agent())
        else:
            self._conclude(self._agent, conversation, chat, found.said, found.outcome)
        self._go_on(conversation)
        self._retire_if_stale()

    async def _run_engine(
        self,
        turn: Turn,
        conversation: Conversation,
        chat: Chat,
        said: Utterance,
        stored: AsyncFuture[None],
    ) -> None:
        assert self._streaming is not None
        outcome: Reply | ServiceError
        try:
            outcome = await collect(self._streaming.stream(turn), chat.progress)
        except Exception as raised:
            outcome = engine_error(raised, self.actor_urn)
        self.tell_self(_EngineEnded(conversation, chat, said, stored, outcome))

    @handles(_EngineEnded)
    def _engine_ended(self, ended: _EngineEnded) -> None:
        conversation, chat, outcome = ended.conversation, ended.chat, ended.outcome
        if self._dropped(conversation):
            return
        conversation.at_work = None
        if isinstance(outcome, ServiceError):
            _fail_once_stored(chat, outcome, ended.stored)
        elif self._agent is None:
            self.defer(chat.answer, None, no_such_agent())
        else:
            answer = self._utterance(
                "agent", self._agent.name, outcome.text, conversation.last_seq + 1, outcome.sources
            )
            self._store_reply(conversation, chat, ChatSent(ended.said, answer), answer, streamed=outcome)
        self._go_on(conversation)
        self._retire_if_stale()

    def _utterance(
        self,
        role: Literal["user", "agent"],
        name: str,
        content: str,
        seq: int,
        sources: tuple[Source, ...] = (),
    ) -> Utterance:
        return Utterance(new_id("msg"), role, name, content, seq, self._clock(), sources)

    def _store_said(
        self, conversation: Conversation, chat: Chat, said: Utterance, *messages: Utterance
    ) -> AsyncFuture[None]:
        """Store the user's message, unless it is already, where there is no reply, or none yet."""
        writes = self._add(conversation, messages)
        if chat.receipt is not None:
            writes += chat.receipt.begin(said.id)
        return self.commit(*writes, applied=conversation.unit_stored)

    def _store_reply(
        self,
        conversation: Conversation,
        chat: Chat,
        sent: ChatSent,
        *messages: Utterance,
        streamed: Reply | None = None,
    ) -> None:
        """Store the last messages of a chat, with all that the reply leaves, and answer the chat once they are.

        A reply that was not `streamed` is passed on as one piece then.
        """
        writes = self._add(conversation, messages)
        assert conversation.id is not None
        if chat.memories or chat.receipt is not None or streamed is not None:
            writes += _left_by_reply(conversation.id, chat, sent, streamed)

        def applied() -> None:
            conversation.unit_stored()
            if chat.progress is not None and streamed is None:
                chat.progress(sent.reply.content)

        self.commit(*writes, reply=lambda: sent, applied=applied, resolves=chat.answer)

    def _add(self, conversation: Conversation, messages: tuple[Utterance, ...]) -> list[Write]:
        """Add messages to the conversation in memory, and make the writes that follow."""
        conversation.open_units += 1
        self._messages += len(messages)
        for message in messages:
            conversation.last_seq = message.seq
            conversation.window.append(message)
        if conversation.id is not None:
            return [append(conversation.id, message) for message in messages]
        id = conversation.id = new_number()
        return [
            conversations.begin(id, conversation.user_id, self.key),
            *(append(id, message) for message in messages),
        ]

    # life

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks = self._tasks or set()
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def holds_something(self) -> bool:
        """Tell whether an engine or a load is to be stopped."""
        return bool(self._tasks) or any(known.under_way() for known in self._conversations.values())

    @property
    def engaged(self) -> bool:
        """Tell whether an engine is at work or a conversation is being loaded."""
        return bool(self._tasks)

    async def on_end(self) -> None:
        """Stop the engines and answer the chats that still wait."""
        for task in self._tasks or ():
            task.cancel()
        stopped = Overloaded("The agent was stopped before it answered; look at AP_History, then try again.")
        for conversation in self._conversations.values():
            for chat in conversation.under_way():
                chat.answer.fail(stopped)

    def concerns(self, user_id: str) -> bool:
        """Tell whether it is an agent of this user's."""
        return self._agent is not None and self._agent.owner_id == user_id

    @property
    def title(self) -> str | None:
        """The agent's name."""
        return self._agent and self._agent.name

    def snapshot(self) -> dict[str, Any]:
        """Show state and conversations; never what was said."""
        agent = self._agent
        if agent is None:
            return {"destroyed": True}
        return {
            "name": agent.name,
            "owner": agent.owner,
            "access": agent.access,
            "state": "online" if agent.online else "offline",
            "messages": self._messages,
            "conversations": [
                {
                    "user_id": conversation.user_id,
                    "last_seq": conversation.last_seq,
                    "remembered": len(conversation.window),
                    "waiting": len(conversation.waiting),
                    "engine_at_work": conversation.at_work is not None,
                }
                for conversation in self._conversations.values()
            ],
        }


def _before(window: Window, seq: int) -> Window:
    """What was said before a message."""
    return Window(utterance for utterance in window if utterance.seq < seq)


def _left_by_reply(conversation_id: int, chat: Chat, sent: ChatSent, streamed: Reply | None) -> list[Write]:
    """Make what a reply leaves beside its message: notes of what it quotes, what the receipt says, and its echoes.

    A streamed one may repeat anything that it was given, and so may the answer that the receipt keeps of it.
    """
    seq, receipt, whole = sent.reply.seq, chat.receipt, streamed is not None
    writes = quote_notes(
        sent.reply,
        chat.memories,
        lambda position, seq, source: quotes.quote(position, conversation_id, seq, source, whole=whole),
    )
    if receipt is not None:
        writes += receipt.writes(sent)
    if streamed is not None:
        notes = [
            quotes.quote(position, conversation_id, seq, quotes.UNSEEN, whole=True) for position in streamed.positions
        ]
        if streamed.echoes:
            notes.append(quotes.echo(conversation_id, streamed.echoes, seq))
        writes += with_answers_notes(notes, "quotes", conversation_id, seq, receipt)
    return writes


def _fail_once_stored(chat: Chat, error: ServiceError, stored: AsyncFuture[None]) -> None:
    """Refuse a chat whose engine failed when the user's message is stored, since the error says that it is kept."""
    stored.then(lambda done: chat.answer.fail(done.error or error))
