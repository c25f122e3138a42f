"""Stores the messages of an agent's private chats, each with the rows that belong into its unit."""

from __future__ import annotations  # nested functions would build theirs at each call

from functools import partial

from msgspec import structs

from actors.agents.conversations_in_use import ConversationLoaded
from actors.agents.host import AgentHost
from actors.agents.messages import nothing_said, user_gone
from actors.conversations.conversation import Chat, ChatSent, Conversation, RunBegun
from actors.conversations.ids import run_of
from actors.conversations.stored import CensoredMeanwhile, censored_meanwhile, may_be_refused
from actors.engines.message import Utterance
from actors.engines.turn import Reply
from actors.errors import ServiceError
from actors.ids import Clock
from actors.runtime.durable import ConstraintErrors
from actors.runtime.future import AsyncFuture
from persistence import conversations, failed_runs, quotes
from persistence.failed_runs import FailedRun
from persistence.store import FOREIGN_KEY, Write

_USER_GONE: ConstraintErrors = {FOREIGN_KEY: user_gone}


class ChatStoring:
    """Stores what was said in a chat; the commit of the last unit answers it.

    Units of a user who was destroyed meanwhile are refused, and only they. A reply with notes of quotes may be refused,
    too, after a censoring; until that is known, the conversation is as one that is being loaded.
    """

    __slots__ = ("_clock", "_host")

    def __init__(self, host: AgentHost, clock: Clock) -> None:
        self._host, self._clock = host, clock

    def cancelled(
        self, conversation: Conversation, chat: Chat, said: Utterance, at: int | None, *, is_stored: bool = False
    ) -> None:
        """Mark the user's message of a run in which nothing was said, and fail the chat once that is stored.

        `at` is the time at which it was cancelled.
        """
        error = nothing_said()
        if is_stored or chat.resumes is not None:
            assert conversation.id is not None
            mark = conversations.mark_cancelled(conversation.id, said.seq)
            marked = self._host.commit(mark, _failure(conversation, said, error, at))
        else:
            marked = self.message(conversation, chat, structs.replace(said, mark="cancelled"), error, at)
        chat.fail_once(marked, error, conversation)

    def failed(
        self,
        conversation: Conversation,
        chat: Chat,
        said: Utterance,
        error: ServiceError,
        saved: AsyncFuture[None] | None = None,
    ) -> None:
        """Store the error of a run, then fail the chat with it.

        `saved` resolves when the message is stored, if a unit of its own stores it.
        """
        if saved is None:
            saved = self.message(conversation, chat, said, error, self._clock())
        elif conversation.kept:
            told = self._host.commit(_failure(conversation, said, error, self._clock()))
            told.then(lambda _: chat.fail_once(saved, error, conversation))
            return
        chat.fail_once(saved, error, conversation)

    def message(
        self,
        conversation: Conversation,
        chat: Chat,
        said: Utterance,
        error: ServiceError | None = None,
        ended_at: int | None = None,
    ) -> AsyncFuture[None]:
        """Store the user's message without a reply, unless it is stored already, or nothing is to be kept.

        `error` is the one that the run has ended with, at the time `ended_at`.
        """
        messages = () if chat.resumes else (said,)
        count = len(messages) + conversation.to_import
        writes = conversation.add(messages)
        if not conversation.kept:
            conversation.unit_stored()
            saved: AsyncFuture[None] = AsyncFuture()
            saved.set()
            return saved
        self._host.messages += count
        if messages and (chat.key is not None or chat.place is not None):
            writes += chat.beside_message(conversation, said.at)
        if chat.receipt is not None:
            writes += chat.receipt.begin(said.id)
        if error is not None:
            writes.append(_failure(conversation, said, error, ended_at))
        elif chat.resumes is not None:
            writes.append(failed_runs.forget(said.id))
        return self._host.commit(*writes, applied=conversation.unit_stored, constraint_errors=_USER_GONE)

    def reply(
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
        kept, count = conversation.kept, len(messages) + conversation.to_import
        sent = ChatSent(said, reply, id, conversation.name, outcome) if kept else ChatSent(said, reply, outcome=outcome)
        stood = None if conversation.copy_of or not conversation.stored else (id, conversation.last_seq)
        writes = conversation.add(messages, answers=None if reply.seq == said.seq + 1 else said.seq)
        constraint_errors = _USER_GONE
        if not kept:
            writes += () if chat.receipt is None else chat.receipt.writes(sent)
        else:
            self._host.messages += count
            if chat.resumes is not None and not streamed:  # else its error is gone since it began
                writes.append(failed_runs.forget(said.id))
            if len(messages) > 1 and (chat.key is not None or chat.place is not None):
                writes += chat.beside_message(conversation, said.at)
            if chat.memories or chat.receipt is not None or outcome.echoes or streamed:
                writes += chat.beside_reply(id, sent, outcome, streamed=streamed)
            if may_be_refused(reply, outcome, chat.memories):
                conversation.loaded = False  # else other chats would build on a reply that the store refuses
                run = run_of(said.id) if streamed or chat.resumes is not None else None
                constraint_errors = {**_USER_GONE, quotes.CENSORED: partial(_refused, run, conversation.name)}

                def settled(answer: AsyncFuture[ChatSent]) -> None:
                    found = ConversationLoaded(conversation, (id, conversation.last_seq))
                    if isinstance(answer.error, CensoredMeanwhile):
                        found = ConversationLoaded(conversation, stood, error=answer.error)
                        self._host.messages -= count
                        conversation.last_seq -= len(messages)  # an erasure under way counts what was stored
                        if run is not None:
                            self._host.commit(
                                _failure(conversation, said, answer.error, self._clock()), constraint_errors=_USER_GONE
                            )
                    self._host.tell_self(found)

                chat.answer.then(settled)

        def applied() -> None:
            conversation.unit_stored()
            if not streamed:
                if chat.begun is not None:
                    chat.begun(begun(conversation, said))
                if chat.progress is not None:
                    chat.progress(sent.reply.content)

        self._host.commit(
            *writes, reply=lambda: sent, applied=applied, resolves=chat.answer, constraint_errors=constraint_errors
        )


def _refused(run: str | None, conversation: str) -> CensoredMeanwhile:
    error = censored_meanwhile()
    return error if run is None else error.of_run(run, conversation)  # whose message is kept


def _failure(conversation: Conversation, said: Utterance, error: ServiceError, at: int | None) -> Write:
    assert conversation.id is not None
    failed = FailedRun(said.id, error.internal_code, error.http_code, error.note, at)
    return failed_runs.remember(failed, conversation.id)


def begun(conversation: Conversation, said: Utterance) -> RunBegun:
    """Return what a client is told once the user's message is stored."""
    return RunBegun(run_of(said.id), said, conversation.name if conversation.kept else None)
