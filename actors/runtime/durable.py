"""Actors whose state is kept in the store: every change is one unit, answered when it is durable."""

from __future__ import annotations  # nested functions would build theirs at each call

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from actors.errors import InternalError, ServiceError, StorageUnavailable
from actors.idempotency.records import Receipt
from actors.runtime.actor import Actor, AsyncFuture
from persistence.store import NO_REFUSALS, Store, StoreUnavailable, Unit, Write

log = logging.getLogger("parley.actors")

Refusals = Mapping[str, Callable[[], ServiceError]]


class RowCount:
    """The number of rows that the last write of a unit touched, known once the unit has run."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows = 0


class DurableActor(Actor):
    """An actor that changes its memory first and answers when the store has followed (design 2.3, 2.4).

    When a unit fails, memory and store disagree: the actor stops, the writer refuses all that it submitted
    after, and the next ask loads a new incarnation.
    """

    __slots__ = ("store",)

    def __init__(self, key: str, store: Store) -> None:
        super().__init__(key)
        self.store = store

    def commit(
        self,
        *writes: Write,
        reply: Callable[[], Any] | None = None,
        applied: Callable[[], None] | None = None,
        refusals: Refusals | None = None,
        foreseen: Callable[[], Any] | None = None,
        counts: RowCount | None = None,
        awaited: bool = True,
        resolves: AsyncFuture[Any] | None = None,
    ) -> AsyncFuture[Any]:
        """Submit one unit; the future resolves to `reply()` when it is durable.

        The first unit of a message with a receipt takes what that has to say into it.

        Args:
            writes: the rows of the command.
            reply: makes the answer; called now, or after `applied` for a unit that may be refused. It shows what is
                kept now and what `applied` has set, never what a later unit may fail to store.
            applied: changes memory after the commit. A unit that may be refused changes it here and nowhere else.
            refusals: the constraints that may refuse the unit, each with its error.
            foreseen: makes the answer as it will be, where `reply` shows what only `applied` sets.
            counts: is told how many rows the last of `writes` touched, for an answer that says so. `foreseen` is then
                called by the writer's thread: it may look at nothing that the actor may change meanwhile. As for a unit
                that may be refused, memory changes in `applied`, and `reply` is called after that.
            awaited: whether what the actor answers from now on has to wait for this, where nothing can refuse it.
            resolves: the future of the answer, where one is waited for already; nobody else may resolve it from now on.
        """
        receipt: Receipt | None = self.take_receipt()
        then = None
        if counts is not None:
            then = partial(_told, counts, receipt, foreseen or reply)
        elif receipt is not None:
            foresee = foreseen or reply
            writes = (*writes, *receipt.writes(foresee() if foresee is not None else None))
        # Memory is as this unit leaves it now, and only now, unless the change is yet to be applied.
        now = refusals is None and counts is None
        answer = reply() if reply is not None and now else None
        outcome: AsyncFuture[Any] = AsyncFuture() if resolves is None else resolves
        assert not outcome.done()  # else what is answered from now on would not wait for this unit
        self._hold()
        if now and awaited:
            self._unsettled = outcome

        def settled(error: Exception | None) -> None:
            try:
                if error is None:
                    if applied is not None:
                        applied()
                    outcome.set(answer if reply is None or now else reply())
                elif isinstance(error, ServiceError):
                    outcome.fail(error)
                else:
                    self.fail(error)
                    outcome.fail(not_stored())
            except Exception as fault:
                log.exception("%s failed after a commit", self.actor_urn)
                self.fail(fault)
                outcome.fail(InternalError("The gateway did this but failed to tell of it; it has been logged."))
            finally:
                if self._unsettled is outcome:
                    self._unsettled = None  # it holds the answer
                self._release()

        unit = Unit(writes, (self.incarnation,), NO_REFUSALS if refusals is None else refusals, then)
        self.store.submit(unit, settled)
        return outcome

    def begin_error(self, raised: Exception) -> ServiceError:
        """Say that the store can't be read, where that is why it did not start."""
        if isinstance(raised, StoreUnavailable):
            return StorageUnavailable("The gateway could not read what this needs; try again.")
        return super().begin_error(raised)

    def on_finished(self) -> None:
        """Let the writer forget this incarnation: it submits no more."""
        self.store.forget(self.incarnation)


def _told(counts: RowCount, receipt: Receipt | None, foresee: Callable[[], Any] | None, rows: int) -> Sequence[Write]:
    """Note how many rows were touched, and make what the receipt leaves now that the answer is known."""
    counts.rows = rows
    return () if receipt is None else receipt.writes(foresee() if foresee is not None else None)


def not_stored() -> StorageUnavailable:
    """Make the error for a command whose unit was not stored."""
    return StorageUnavailable("The gateway could not store this, so it was not done; try again.")
