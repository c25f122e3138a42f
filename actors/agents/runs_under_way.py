"""The runs of one agent that are under way: chats that wait, or that an engine answers in a task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any

from actors.agents.messages import HearRun, RunError, RunHeard
from actors.agents.remembered import Remembered
from actors.engines.halting import Halt
from actors.engines.turn import Reply
from actors.errors import InternalError, Overloaded, ServiceError
from actors.runtime.future import AsyncFuture

if TYPE_CHECKING:
    from actors.conversations.conversation import Chat, ChatSent, RunBegun
    from actors.engines.message import Utterance

LONGEST_WAIT_S = 15.0
"""The time after which a listener is answered even if nothing was said, in seconds."""

MAX_LISTENERS = 64
"""The largest number of listeners that wait for the next piece of one run."""

REMEMBERED_S = 600.0
"""How long the ends of runs are remembered, in seconds, as long as the actor lives."""


class RunUnderWay:
    """One run: the text so far, those who wait for more of it, and the means to end it early."""

    __slots__ = (
        "_answer",
        "_has_ended",
        "_listeners",
        "_pass_on",
        "_pieces",
        "cancelled_at",
        "chars",
        "halt",
        "positions",
        "said",
        "task",
        "user_id",
    )

    def __init__(self, user_id: str, answer: AsyncFuture[ChatSent]) -> None:
        self.user_id = user_id
        self.chars = 0
        """The number of characters so far."""
        self.cancelled_at: int | None = None
        """The time from which on it is to end with what was said so far, in ms since the epoch."""
        self.halt = Halt()
        self.task: asyncio.Task[None] | None = None
        self.positions: set[int] = set()
        """The memories whose words the text may have."""
        self.said: Utterance | None = None
        """The user's message, once the chat's turn has come."""
        self._answer = answer
        self._has_ended = False
        self._pieces: list[str] = []
        self._pass_on: Callable[[str], None] | None = None
        self._listeners: list[_Listener] = []

    @property
    def cancelled(self) -> bool:
        """Whether it is to end with what was said so far."""
        return self.cancelled_at is not None

    def begin(self, chat: Chat, saved: AsyncFuture[None], begun: RunBegun) -> None:
        """Pass pieces on to the chat's client; if it waits for the beginning, once the user's message is saved."""
        tell, pass_on = chat.begun, chat.progress
        if tell is None:
            self._pass_on = pass_on
            return

        def settled(done: AsyncFuture[None]) -> None:
            if done.error is not None or self._has_ended:
                return
            tell(begun)
            self._pass_on = pass_on
            if pass_on is not None:
                for piece in self._pieces:
                    pass_on(piece)

        saved.then(settled)

    def progress(self, piece: str) -> None:
        """Take the next piece of the engine's text; one that comes after the end is heard by nobody."""
        if self._has_ended:
            return
        self._pieces.append(piece)
        self.chars += len(piece)
        if self._pass_on is not None:
            self._pass_on(piece)
        if self._listeners:
            ready = [listener for listener in self._listeners if listener.after < self.chars]
            self._listeners = [listener for listener in self._listeners if listener.after >= self.chars]
            for listener in ready:
                listener.tell(self.heard(listener.after))

    def heard(self, after: int) -> RunHeard:
        """Return what was said after a number of characters."""
        return RunHeard("working", self._text()[after:])

    def listen(self, after: int, wait_s: float) -> RunHeard | AsyncFuture[RunHeard]:
        """Return what was said after a number of characters; wait if that is nothing yet.

        Raises:
            Overloaded: too many wait already.
        """
        if self.chars > after or wait_s <= 0:
            return self.heard(after)
        if len(self._listeners) >= MAX_LISTENERS:
            raise Overloaded("Too many clients follow this run already; read it with GET /api/runs/{id}.")
        listener = _Listener(after, min(wait_s, LONGEST_WAIT_S), self._leave)
        self._listeners.append(listener)
        return listener.told

    def _leave(self, listener: _Listener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
            listener.tell(RunHeard("working"))

    def ended(self, error: RunError | None) -> None:
        """Tell all who wait that the run has ended."""
        self._has_ended = True
        for listener in self._listeners:
            listener.tell(self.outcome(listener.after, error))
        self._listeners = []

    def outcome(self, after: int, error: RunError | None) -> RunHeard:
        """Return the end of the run, for a listener who has had the first `after` characters."""
        if error is None:
            return RunHeard("ended")
        return RunHeard("failed", self._text()[after:], error, tuple(self.positions))

    def when_ended(self) -> AsyncFuture[None]:
        """Return a future that resolves when the chat is answered."""
        ended: AsyncFuture[None] = AsyncFuture()
        self._answer.then(lambda _: ended.set())
        return ended

    def _text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


class _Listener:
    """Someone who has had `after` characters and waits for more."""

    __slots__ = ("_timer", "after", "told")

    def __init__(self, after: int, wait_s: float, leave: Callable[[_Listener], None]) -> None:
        self.after = after
        self.told: AsyncFuture[RunHeard] = AsyncFuture()
        self._timer = asyncio.get_running_loop().call_later(wait_s, leave, self)

    def tell(self, heard: RunHeard) -> None:
        self._timer.cancel()
        self.told.set(heard)


class RunsUnderWay:
    """Finds runs by the ids of their users' messages, and remembers of ended ones what the store has not."""

    __slots__ = ("_failed", "_outcomes", "_runs")

    def __init__(self) -> None:
        self._runs: dict[str, RunUnderWay] = {}
        # of the failed ones the text, of others the calls of the client's functions, the end and the usage
        self._failed = Remembered[tuple[RunUnderWay, RunError]](monotonic, REMEMBERED_S)
        self._outcomes = Remembered[RunHeard](monotonic, REMEMBERED_S)

    def of(self, user_id: str, chat: Chat) -> RunUnderWay:
        """Return the run of a user's chat; it is under way until the chat is answered."""
        id = chat.message_id
        run = self._runs.get(id)
        if run is None:
            run = self._runs[id] = RunUnderWay(user_id, chat.answer)
            self._failed.forget(user_id, id)
            chat.answer.then(lambda answer: self._ended(id, answer))
        return run

    def get(self, message_id: str) -> RunUnderWay | None:
        """Return a run that is under way."""
        return self._runs.get(message_id)

    def of_user(self, user_id: str) -> tuple[str, ...]:
        """List a user's runs that are under way, by the ids of its messages."""
        return tuple(id for id, run in self._runs.items() if run.user_id == user_id)

    def end_work(self, message_id: str) -> None:
        """Stop the engine's work on a run whose outcome counts no more."""
        run = self._runs[message_id]
        run.halt.call()
        if run.task is not None:
            run.task.cancel()

    def hear(self, message: HearRun) -> RunHeard | AsyncFuture[RunHeard]:
        """Tell a user what its run has said."""
        id, user_id = message.message_id, message.viewer_id
        run = self._runs.get(id)
        if run is not None and run.user_id == user_id:
            return run.listen(message.after, message.wait_s)
        failed = self._failed.get(user_id, id)
        if failed is not None:
            return failed[0].outcome(message.after, failed[1])
        return self._outcomes.get(user_id, id) or RunHeard("ended")

    def _ended(self, id: str, answer: AsyncFuture[Any]) -> None:
        run = self._runs.pop(id)
        error = None if answer.error is None or run.cancelled else _shown(answer.error)
        run.ended(error)
        if error is not None:
            self._failed.add(run.user_id, id, (run, error))
        elif answer.error is None:
            self._remember(id, run, answer.get())

    def _remember(self, id: str, run: RunUnderWay, sent: ChatSent) -> None:
        outcome = sent.outcome
        if outcome is None or not (outcome.calls or outcome.usage or outcome.finish != "stop"):
            return
        rest = Reply("", usage=outcome.usage, calls=outcome.calls, finish=outcome.finish)
        heard = RunHeard("ended", outcome=rest, positions=tuple(run.positions))
        self._outcomes.add(run.user_id, id, heard)


def _shown(raised: BaseException) -> RunError:
    error = (
        raised if isinstance(raised, ServiceError) else InternalError("The gateway failed on this; it has been logged.")
    )
    return RunError(error.internal_code, error.http_code, error.note)
