"""The private conversations of one agent: loading, waiting, answering, storing."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Collection
from copy import copy
from typing import Any

from msgspec import structs

from actors.agents.chat_storing import ChatStoring, begun
from actors.agents.conversation_messages import FindBound
from actors.agents.conversations_in_use import ConversationLoaded, ConversationsInUse
from actors.agents.host import AgentHost
from actors.agents.keyed_runs import KeyedRuns
from actors.agents.messages import (
    CancelRun,
    RanBefore,
    SendChat,
    no_such_agent,
    no_such_conversation,
    refusal_of_waiting,
    user_gone,
)
from actors.agents.runs_under_way import RunsUnderWay, RunUnderWay
from actors.agents.waiting_chats import RunsWaiting, WaitingChats, refusal_at
from actors.conversations.conversation import WAITING_LIMIT, Chat, ChatSent, Conversation, new_message
from actors.conversations.ids import reply_of, run_of
from actors.conversations.place import Binding
from actors.conversations.stored import CensoredMeanwhile, censored_meanwhile, in_sight, is_seen, unless_censored
from actors.engines.answering import EngineRunner, Outcome, Unfinished
from actors.engines.message import Utterance
from actors.engines.turn import Engine, Reply, Turn
from actors.errors import Overloaded, ServiceError
from actors.ids import Clock, new_id, new_number
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from persistence.agents import AgentRow


class EngineEnded(OwnTell, frozen=True):
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

    __slots__ = ("_clock", "_conversations", "_engine", "_host", "_keyed", "_stale", "_storing", "_waiting", "runs")

    def __init__(self, host: AgentHost, engine: Engine, clock: Clock, runs_waiting: RunsWaiting) -> None:
        self._host, self._clock = host, clock
        self._engine = EngineRunner(engine, host.actor_urn)
        self._conversations = ConversationsInUse(host, self._engine, clock)
        self._keyed: KeyedRuns | None = None  # from the first chat with a key on
        self._storing = ChatStoring(host, clock)
        self.runs = RunsUnderWay()
        self._waiting = WaitingChats(host, self.runs, runs_waiting, clock)
        self._stale = False  # messages were removed, so the actor is loaded again once no chat is under way

    def send(self, agent: AgentRow, message: SendChat) -> AsyncFuture[ChatSent] | RanBefore:
        """Answer a message of a user, after those that wait in the same conversation.

        Raises:
            Overloaded: too many wait already.
        """
        key = message.key
        if key is not None:
            keyed = self._keyed = self._keyed or KeyedRuns(self._clock)
            joined = keyed.join(message.viewer_id, key)
            if isinstance(joined, Chat):
                self._waiting.join(joined, self._host.begun)
                return joined.answer
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
            message.with_tools,
        )
        if key is not None and self._keyed is not None:
            self._keyed.begin(message.viewer_id, key, chat)
        if not conversation.kept:
            chat.answer.then(lambda _: self._conversations.discard(conversation))
        if conversation.loaded and not conversation.at_work:
            self._begin(agent, conversation, chat)
        else:
            self._waiting.add(conversation, chat)
        return chat.answer

    def bound(self, message: FindBound) -> Binding:
        """Return what is known of a client's own id of a conversation."""
        return self._conversations.binding(message.viewer_id, message.client_id)

    def forget(self, user_id: str) -> None:
        """Drop the conversations of a destroyed user; the next incarnation of the actor counts the messages left."""
        for conversation in self._conversations.all_of(user_id):
            self._drop(conversation, user_gone())
        self.load_anew()

    def erase(self, number: int, key: str | int, ended: AsyncFuture[None]) -> Conversation | None:
        """Drop a conversation that is being erased, and return it if it was in memory."""
        erased = self._conversations.erase(number, key, ended)
        for conversation in filter(None, (erased, *self._conversations.copies_of(number))):
            self._drop(conversation, no_such_conversation())
        return erased

    def _drop(self, conversation: Conversation, error: ServiceError) -> None:
        """Drop a conversation, and fail the chats that are under way in it; an engine at work there is stopped."""
        for chat in self._conversations.drop(conversation):
            self.runs.end_work(chat.message_id)
            chat.answer.fail(copy(error))

    def reload(self, numbers: Collection[int]) -> bool:
        """Load redacted conversations anew, and fail the chats at work there; return False if no chat is under way."""
        if not self.any_under_way:
            return False
        for conversation in self._conversations.that_may_be(numbers):
            chat = conversation.at_work
            self._conversations.reload(conversation)
            if chat is not None:
                self.runs.end_work(chat.message_id)
                self._fail(conversation, chat, censored_meanwhile())
        return True

    def load_anew(self) -> None:
        """Let the next incarnation of the actor count the messages, which are not what this one has counted."""
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
        error, stored = message.error, self._conversations.still_stored(message)
        if isinstance(error, CensoredMeanwhile) and stored is not None:
            self._conversations.reload(conversation)
            return
        if error is None and stored is None and isinstance(conversation.key, int):
            error = no_such_conversation()
        if error is not None:
            self._drop(conversation, error)
            self._retire_if_stale()
            return
        if stored is not None and message.newest is not None:
            conversation.take(self._host.store, *stored, message.newest)
        conversation.loaded = True
        self._go_on(conversation)
        self._waiting.tell(conversation)

    # answering

    def _go_on(self, conversation: Conversation) -> None:
        """Answer the chats that waited, until one needs a task."""
        while conversation.waiting and conversation.loaded and not conversation.at_work:
            chat, conversation.waiting = conversation.waiting[0], conversation.waiting[1:]
            agent = self._host.agent
            if (refused := refusal_of_waiting(agent, conversation.user_id)) is None and agent is not None:
                self._begin(agent, conversation, chat)
            else:
                self._host.defer(chat.answer, None, refused)
        self._retire_if_stale()

    def _begin(self, agent: AgentRow, conversation: Conversation, chat: Chat) -> None:
        place = chat.place
        if place is not None and (refused := refusal_at(conversation, place)) is not None:
            self._host.defer(chat.answer, None, refused)
            return
        if conversation.id is None:
            conversation.number_as(new_number())
        seq = conversation.last_seq + 1
        said = chat.resumes or new_message(
            self._host.key, "user", chat.user_name, chat.content, seq, self._clock(), id=chat.message_id
        )
        run = self.runs.get(chat.message_id)
        if run is not None and run.cancelled:
            self._storing.cancelled(conversation, chat, said, run.cancelled_at)
            return
        archive = conversation.older(self._host.store, streams=self._engine.streams)
        turn = Turn(self._host.persona, agent.name, chat.memories, conversation.window, chat.content, archive=archive)
        if self._engine.streams:
            self._begin_streaming(agent, conversation, chat, said, structs.replace(turn, options=chat.options))
            return
        outcome = self._engine.reply(turn)
        if isinstance(outcome, Unfinished):
            conversation.at_work = chat
            run = self.runs.of(conversation.user_id, chat)
            run.said, run.task = said, self._engine.in_background(self._finish(outcome, conversation, chat, said))
        else:
            self._conclude(agent, conversation, chat, said, outcome)

    async def _finish(self, unfinished: Unfinished, conversation: Conversation, chat: Chat, said: Utterance) -> None:
        outcome = await unless_censored(self._host.store, await self._engine.finish(unfinished), chat.memories)
        self._host.tell_self(EngineEnded(conversation, chat, said, outcome))

    def _begin_streaming(
        self, agent: AgentRow, conversation: Conversation, chat: Chat, said: Utterance, turn: Turn
    ) -> None:
        run = self.runs.of(conversation.user_id, chat)
        turn = structs.replace(
            turn,
            window=conversation.window.before(said.seq),
            owner_id=conversation.user_id if chat.with_tools and conversation.user_id == agent.owner_id else "",
            speaker_id=conversation.user_id,
            halt=run.halt,
        )
        saved = self._storing.message(conversation, chat, said)
        conversation.at_work = chat
        run.begin(chat, saved, begun(conversation, said))
        run.positions.update([memory.position for memory in chat.memories])
        is_open = agent.access == "public" or agent.owner_id == conversation.user_id
        ended = EngineEnded(conversation, chat, said, no_such_agent(), saved)
        self._engine.in_background(self._stream(turn, run, ended, is_open=is_open))

    async def _stream(self, turn: Turn, run: RunUnderWay, ended: EngineEnded, *, is_open: bool) -> None:
        store = self._host.store
        if is_open or await is_seen(store, self._host.key, turn.speaker_id):
            outcome = await self._engine.stream(await in_sight(store, turn), run.progress, run.positions.add)
            outcome = await unless_censored(store, outcome, ended.chat.memories)
            ended = structs.replace(ended, outcome=outcome)
        self._host.tell_self(ended)

    def engine_ended(self, ended: EngineEnded) -> None:
        """Store the outcome of an engine that worked in a task, and go on with the chats that waited."""
        conversation, chat, outcome = ended.conversation, ended.chat, ended.outcome
        if not self._conversations.holds(conversation):
            return
        conversation.at_work = None
        agent, run = self._host.agent, self.runs.get(chat.message_id)
        if run is not None and run.cancelled and (isinstance(outcome, ServiceError) or not outcome.text.strip()):
            self._storing.cancelled(conversation, chat, ended.said, run.cancelled_at, is_stored=True)
        elif ended.saved is not None and isinstance(outcome, ServiceError):
            self._storing.failed(conversation, chat, ended.said, outcome, ended.saved)
        elif agent is None:
            self._host.defer(chat.answer, None, no_such_agent())
        elif ended.saved is None or isinstance(outcome, ServiceError):
            self._conclude(agent, conversation, chat, ended.said, outcome)
        else:
            seq = conversation.last_seq + 1
            answer = self._reply(agent, outcome, ended.said, seq)
            self._storing.reply(conversation, chat, ended.said, outcome, answer, streamed=True)
        self._go_on(conversation)

    def _conclude(
        self, agent: AgentRow, conversation: Conversation, chat: Chat, said: Utterance, outcome: Outcome
    ) -> None:
        """Store a chat that an instant engine has finished."""
        if isinstance(outcome, ServiceError):
            self._storing.failed(conversation, chat, said, outcome)
            return
        new = () if chat.resumes else (said,)
        seq = conversation.last_seq + len(new) + 1
        answer = self._reply(agent, outcome, said, seq)
        self._storing.reply(conversation, chat, said, outcome, *new, answer)

    def _reply(self, agent: AgentRow, outcome: Reply, said: Utterance, seq: int) -> Utterance:
        text, sources, id = outcome.text, outcome.sources, reply_of(said.id)
        mark = "cancelled" if outcome.halted else None
        return new_message(self._host.key, "agent", agent.name, text, seq, self._clock(), sources, id, mark)

    def cancel(self, message: CancelRun) -> AsyncFuture[None] | None:
        """End a run early; return a future that resolves when it has ended, None if it has, or ends at its turn."""
        run, found = self.runs.get(message.message_id), self._conversations.under_way(message.message_id)
        if run is None or run.user_id != message.viewer_id:
            return None
        if found is None:  # the reply is being stored
            return run.when_ended()
        conversation, chat = found
        if conversation.at_work is not chat:
            run.cancelled_at = run.cancelled_at or self._clock()
            if chat.resumes is None:  # it is stored at its turn, because the order decides its seq
                return None
            if conversation.loaded:
                conversation.waiting = tuple([other for other in conversation.waiting if other is not chat])
                self._storing.cancelled(conversation, chat, chat.resumes, run.cancelled_at, is_stored=True)
        elif self._engine.streams:
            run.halt.call()
            run.cancelled_at = run.cancelled_at or (self._clock() if run.halt.called else None)
        elif run.task is not None and run.said is not None and not run.task.done():
            run.cancelled_at = self._clock() if run.task.cancel() else None
            conversation.at_work = None
            is_stored = chat.resumes is not None
            self._storing.cancelled(conversation, chat, run.said, run.cancelled_at, is_stored=is_stored)
            self._go_on(conversation)
        return run.when_ended()

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
        """Stop the engine."""
        self._engine.stop()

    def refuse(self, silence: ServiceError | None) -> None:
        """Fail the chats that are not answered yet, because of the agent's silence or of this actor's end."""
        error = silence or Overloaded("The agent ended before it answered; look at AP_History, then try again.")
        for conversation in list(self._conversations):  # a failed chat that is not kept drops its conversation
            for chat in conversation.under_way():
                self._fail(conversation, chat, error)

    def _fail(self, conversation: Conversation, chat: Chat, error: ServiceError) -> None:
        """Fail a chat without storing that; the error names the run of a message that is kept."""
        streams = self._engine.streams and conversation.at_work is chat
        is_stored = conversation.kept and (streams or chat.resumes is not None)
        chat.answer.fail(copy(error).of_run(run_of(chat.message_id), conversation.name) if is_stored else error)

    def snapshot(self) -> list[dict[str, Any]]:
        """Show the conversations in memory, without their texts."""
        return self._conversations.snapshot()
