"""Actors with stored state: every change is one unit, answered when it is durable."""

from __future__ import annotations  # nested functions would build theirs at each call

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar

from msgspec import structs

from actors.errors import InternalError, Overloaded, RefusedAlone, ServiceError, StorageUnavailable
from actors.idempotency.records import Receipt
from actors.runtime.actor import Actor
from actors.runtime.future import AsyncFuture
from actors.runtime.lifecycle import LIVE
from actors.runtime.mailbox import Envelope, Mailbox
from actors.runtime.notices import Notice
from persistence.store import NO_CONSTRAINT_ERRORS, InDoubt, Store, StoreUnavailable, Unit, Write

log = logging.getLogger("parley.actors")

D = TypeVar("D", bound="DurableActor")
M = TypeVar("M")
R = TypeVar("R")

ConstraintErrors = Mapping[str, Callable[[], ServiceError]]

SAVED_UNANSWERED = "The change was saved, but building the answer failed. Do not repeat it; the fault has been logged."


def in_turn(change: Callable[[D, M], R]) -> Callable[[D, M], R | AsyncFuture[Any]]:
    """Mark the handler of a change that waits while memory lacks another one, until that is stored or refused.

    So what it stores with the change, a kept answer and an event, shows what was stored before and nothing else.
    Several changes of the kind `SIDE_BY_SIDE` may be under way at once.
    """

    @wraps(change)
    def handler(self: D, message: M) -> R | AsyncFuture[Any]:
        if not self.may_begin(message):
            return self.wait_for_turn(message)
        self.takes_more = type(message) is self.SIDE_BY_SIDE
        return change(self, message)

    return handler


class RowCount:
    """The number of rows touched by the last write of a unit, known once the unit has run."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows = 0


class DurableActor(Actor):
    """An actor that changes its memory first and answers when the change is stored (docs/architecture.md).

    When a unit fails, memory and store disagree: the actor stops, the writer refuses all that it submitted
    after, and the next ask loads a new incarnation.
    """

    __slots__ = ("_later", "changing", "store", "takes_more")

    SIDE_BY_SIDE: ClassVar[type | None] = None
    """The changes that don't wait for each other; each is made on what those before it leave if they are stored."""

    def __init__(self, key: str, store: Store) -> None:
        super().__init__(key)
        self.store = store
        self.changing = 0
        """The number of units under way whose changes memory does not have yet."""
        self._later: Mailbox | None = None  # the changes that wait for these
        self.takes_more = False
        """Whether a change of the kind `SIDE_BY_SIDE` need not wait for those under way."""

    def commit(
        self,
        *writes: Write,
        reply: Callable[[], Any] | None = None,
        applied: Callable[[], None] | None = None,
        awaited: bool = True,
        resolves: AsyncFuture[Any] | None = None,
        notices: Sequence[Notice] = (),
        constraint_errors: ConstraintErrors | None = None,
    ) -> AsyncFuture[Any]:
        """Submit a unit that no constraint can refuse; the future resolves to the reply when the unit is durable.

        Memory already holds the change. The first unit of a message with a receipt takes the receipt's rows.

        Args:
            writes: the rows of the command.
            reply: makes the answer, called at once: it shows the state that this unit stores.
            applied: called after the commit.
            awaited: whether later answers of the actor wait for this unit.
            resolves: the future of the answer, if a caller has it already; only this unit resolves it from now on.
            notices: the unit's effects on other actors, delivered after the commit and before the answer, on whatever
                node they are.
            constraint_errors: rare exceptions: constraints whose refusal harms nobody else, with their errors,
                `RefusedAlone`. The actor goes on, with `on_refused` unless the error is `undone`.
        """
        receipt: Receipt | None = self.take_receipt()
        answer = None if reply is None else reply()
        if receipt is not None:
            writes = (*writes, *receipt.writes(answer))
        outcome: AsyncFuture[Any] = AsyncFuture() if resolves is None else resolves
        assert not outcome.done()  # else later answers would not wait for this unit
        if awaited:
            self._unsettled = outcome
        if constraint_errors is None:
            self._submit(Unit(writes, (self.incarnation,)), outcome, applied, None, answer, notices)
        else:
            unit = Unit(writes, (self.incarnation,), constraint_errors, rarely_refused=True)
            self._submit(unit, outcome, applied, None, answer, notices)
        return outcome

    def commit_or_refuse(
        self,
        *writes: Write,
        constraint_errors: ConstraintErrors | None = None,
        reply: Callable[[], Any] | None = None,
        applied: Callable[[], None] | None = None,
        counts: RowCount | None = None,
        notices: Sequence[Notice] = (),
    ) -> AsyncFuture[Any]:
        """Submit a unit that a constraint may refuse, or whose answer is known only once it has run.

        Memory changes in `applied` and nowhere else, because the unit may not be stored.

        Args:
            writes: the rows of the command.
            constraint_errors: the constraints that may refuse the unit, each with its error.
            reply: makes the answer, which shows the state that this unit stores. A receipt keeps it, so then it is
                called before the commit, else after `applied`.
            applied: changes memory after the commit.
            counts: receives the number of rows that the last of `writes` touched, for an answer that shows it. With a
                receipt, `reply` then runs in the writer's thread, so it reads nothing that the actor may change
                meanwhile.
            notices: as for `commit`.
        """
        receipt: Receipt | None = self.take_receipt()
        then = None
        if counts is not None:
            then = partial(_count, counts, receipt, reply)
        elif receipt is not None:
            writes = (*writes, *receipt.writes(reply() if reply is not None else None))
        outcome: AsyncFuture[Any] = AsyncFuture()
        errors = NO_CONSTRAINT_ERRORS if constraint_errors is None else constraint_errors
        changes = applied is not None
        self.changing += changes
        unit = Unit(writes, (self.incarnation,), errors, then)
        self._submit(unit, outcome, applied, reply, None, notices, changes=changes)
        return outcome

    def may_begin(self, message: Any) -> bool:
        """Return whether a change need not wait for those under way."""
        return not self.changing or (self.takes_more and type(message) is self.SIDE_BY_SIDE)

    def wait_for_turn(self, message: Any) -> AsyncFuture[Any]:
        """Handle a change again once memory has those that are under way.

        Raises:
            Overloaded: too many wait.
        """
        if self._later is None:
            self._later = Mailbox(self.mailbox_limit)
        answer: AsyncFuture[Any] = AsyncFuture()
        self._later.put(Envelope(message, answer, context=self.context))
        self.takes_more = False  # those that come now wait behind it
        return answer

    def _go_on(self) -> None:
        """Handle the changes that have waited, until one has to wait for those under way."""
        while self._later is not None and self.life is LIVE and self.may_begin(self._later.first()):
            envelope = self._later.get()
            if self._later.empty():
                self._later = None
            self._handle(envelope)
        if self._later is not None:
            self.takes_more = False

    @property
    def waiting(self) -> int:
        """The number of messages in the mailbox, and of changes that wait for their turn."""
        return super().waiting + (0 if self._later is None else len(self._later))

    def drain(self) -> list[Envelope]:
        """Take all messages that wait, also those that wait for their turn."""
        later, self._later = self._later, None
        return [*(later.drain() if later is not None else ()), *super().drain()]

    def _submit(
        self,
        unit: Unit,
        outcome: AsyncFuture[Any],
        applied: Callable[[], None] | None,
        reply: Callable[[], Any] | None,
        answer: Any,
        notices: Sequence[Notice],
        *,
        changes: bool = False,
    ) -> None:
        """Submit a unit to the store; `outcome` resolves to `reply()`, or to `answer` without a `reply`.

        `changes`: memory does not have the unit's change before `applied`.
        """
        self._hold()
        notifier = self._notifier if notices else None
        posting = None if notifier is None else notifier.prepare(notices)
        if posting is not None:
            # first, because the last write's rows may be counted
            unit = structs.replace(unit, writes=(*posting.writes, *unit.writes))

        def settled(error: Exception | None) -> None:
            under_way = None
            try:
                if error is None:
                    try:
                        self.on_stored()
                        if applied is not None:
                            applied()
                    finally:  # others hear of what is stored, whatever happens to this actor
                        if notifier is not None:
                            under_way = notifier.deliver(notices) if posting is None else posting.deliver()
                    _answer(outcome.set, answer if reply is None else reply(), under_way)
                elif isinstance(error, ServiceError):
                    outcome.fail(error)
                    if isinstance(error, RefusedAlone) and not error.undone:
                        self.on_refused()
                else:
                    self.fail(error)
                    outcome.fail(may_be_stored() if isinstance(error, InDoubt) else not_stored())
            except Exception as fault:
                log.exception("%s failed after a commit", self.actor_urn)
                self.fail(fault)
                _answer(outcome.fail, InternalError(SAVED_UNANSWERED), under_way)
            finally:
                if error is not None and posting is not None:
                    posting.drop()
                if self._unsettled is outcome:
                    self._unsettled = None  # it holds the answer
                self._release()
                if changes:
                    self.changing -= 1
                    self._go_on()

        self.store.submit(unit, settled)

    def on_stored(self) -> None:
        """Act on a change that is stored now, before memory has it and it is answered."""

    def on_refused(self) -> None:
        """Act on the refusal of a unit alone, whose change is in memory."""

    def begin_error(self, raised: Exception) -> ServiceError:
        """Return the error for an actor that could not start because the store can't be read."""
        if isinstance(raised, StoreUnavailable):
            return StorageUnavailable("The gateway could not read what this needs; try again.")
        return super().begin_error(raised)

    def on_finished(self) -> None:
        """Let the writer forget this incarnation, which submits no more units."""
        self.store.forget(self.incarnation)


def _answer(tell: Callable[[Any], None], value: Any, under_way: AsyncFuture[None] | None) -> None:
    """Answer now, or when all that the unit's notices concern have acted on them."""
    if under_way is None:
        tell(value)
    else:
        under_way.then(lambda _: tell(value))


def _count(counts: RowCount, receipt: Receipt | None, reply: Callable[[], Any] | None, rows: int) -> Sequence[Write]:
    """Note the number of rows touched, and make the receipt's writes now that the answer is known."""
    counts.rows = rows
    return () if receipt is None else receipt.writes(reply() if reply is not None else None)


def not_stored() -> StorageUnavailable:
    """Make the error for a command whose unit was not stored."""
    return StorageUnavailable("The gateway could not store this, so it was not done; try again.")


def may_be_stored() -> Overloaded:
    """Make the error for a command whose unit may be stored or not."""
    return Overloaded(
        "The database was lost while it stored this; it may have been carried out, so look before you send it again."
    )
