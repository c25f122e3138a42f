"""Actors whose state is kept in the store: every change is one unit, answered when it is durable."""

from collections.abc import Callable, Mapping
from typing import Any

from actors.errors import ServiceError, StorageUnavailable
from actors.runtime import Actor, AsyncFuture
from persistence.store import NO_REFUSALS, Store, Unit, Write

Refusals = Mapping[str, Callable[[], ServiceError]]


class DurableActor(Actor):
    """An actor that changes its memory first and answers when the store has followed (design 2.3, 2.4).

    When a unit fails, memory and store disagree: the actor stops, the writer refuses all that it submitted
    after, and the next ask loads a new incarnation.
    """

    def __init__(self, key: str, store: Store) -> None:
        super().__init__(key)
        self.store = store

    def commit(
        self,
        *writes: Write,
        reply: Callable[[], Any] | None = None,
        applied: Callable[[], None] | None = None,
        refusals: Refusals | None = None,
    ) -> AsyncFuture[Any]:
        """Submit one unit; the future resolves to `reply()` when it is durable.

        Args:
            writes: the rows of the command.
            reply: makes the answer, after the commit.
            applied: changes memory after the commit. A unit that may be refused changes it here and nowhere else.
            refusals: the constraints that may refuse the unit, each with its error.
        """
        answered: AsyncFuture[Any] = AsyncFuture()
        self._hold()
        if refusals is None:
            self._unsettled = answered

        def settled(error: Exception | None) -> None:
            try:
                if error is None:
                    if applied is not None:
                        applied()
                    answered.set(None if reply is None else reply())
                elif isinstance(error, ServiceError):
                    answered.fail(error)
                else:
                    self.fail(error)
                    answered.fail(
                        StorageUnavailable("The gateway could not store this, so it was not done; try again.")
                    )
            finally:
                self._release()

        # Without refusals memory has changed already, so a failure must fence this incarnation.
        incarnations = (self.incarnation,) if refusals is None else ()
        self.store.submit(Unit(writes, incarnations, NO_REFUSALS if refusals is None else refusals), settled)
        return answered

    def on_finished(self) -> None:
        """Let the writer forget this incarnation: it submits no more."""
        self.store.forget(self.incarnation)
