"""The life of one incarnation of an actor, from start to end."""

import asyncio
import enum
import itertools
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any

from actors.errors import InternalError, Overloaded, ServiceError
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Envelope
from actors.runtime.notices import Notifier
from actors.runtime.pykka_actor import PykkaActor
from persistence.store import StoreUnavailable

log = logging.getLogger("parley.actors")
_incarnations = itertools.count(1)


class State(enum.Enum):
    """The stages of an actor's life."""

    STARTING = "starting"
    LIVE = "live"
    STOPPING = "stopping"
    STOPPED = "stopped"


LIVE = State.LIVE  # an enum's attribute is slower to look up


class Lifecycle(PykkaActor):
    """The life of one incarnation; a subclass has the mailbox.

    Each open unit holds the incarnation, so it ends only when every unit is settled.
    """

    __slots__ = (
        "_begin_error",
        "_holds",
        "_notifier",
        "_on_stopping",
        "_stopped",
        "_task",
        "active_at",
        "incarnation",
        "key",
        "life",
        "started_at",
    )

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.incarnation = next(_incarnations)
        self.life = State.STARTING
        self.started_at = self.active_at = monotonic()
        self._holds = 0
        self._stopped: AsyncFuture[None] | None = None
        self._notifier: Notifier | None = None
        self._on_stopping: Callable[[Any, list[Envelope]], None] | None = None
        self._begin_error: ServiceError | None = None
        self._task: asyncio.Task[None] | None = None

    # what subclasses override

    async def on_begin(self) -> None:
        """Load the state, before any message is handled. A `ServiceError` is the answer to all that wait."""

    def begin_error(self, raised: Exception) -> ServiceError:
        """Return the error for those who wait when `on_begin` raised something other than a `ServiceError`."""
        log.error("%s failed to start", self.actor_urn, exc_info=raised)
        return InternalError("The gateway failed to load this; it has been logged.")

    async def on_end(self) -> None:
        """Release resources; no more messages come."""

    def on_leaving(self) -> None:
        """Begin no more work outside the mailbox: the actor ends once it is idle, and goes on on another node."""

    def on_finished(self) -> None:
        """Do the last cleanup, once this incarnation is gone for good."""

    def on_live(self) -> None:
        """Handle what waits, now that the state is loaded."""
        raise NotImplementedError

    def drain(self) -> list[Envelope]:
        """Take all messages that wait."""
        raise NotImplementedError

    @property
    def stopped(self) -> AsyncFuture[None]:
        """The future that resolves when this incarnation has ended and all its units are settled."""
        if self._stopped is None:
            self._stopped = AsyncFuture()
            if self.life is State.STOPPED:
                self._stopped.set(None)
        return self._stopped

    @property
    def holds_something(self) -> bool:
        """Whether `on_end` has anything to release."""
        return type(self).on_end is not Lifecycle.on_end

    @property
    def stopping(self) -> bool:
        """Whether the actor accepts no more messages."""
        return self.life in {State.STOPPING, State.STOPPED}

    def begin(
        self,
        predecessor: "Lifecycle | None",
        on_stopping: "Callable[[Any, list[Envelope]], None] | None",
        notifier: Notifier | None = None,
    ) -> None:
        """Start once `predecessor`, an earlier incarnation of this key, is gone.

        `on_stopping` is called once, with the unhandled messages, when this actor accepts no more.
        `notifier` takes the notices of the actor's units.
        """
        self._on_stopping = on_stopping
        self._notifier = notifier
        self._hold()
        self._task = asyncio.create_task(self._begin(predecessor))

    async def _begin(self, predecessor: "Lifecycle | None") -> None:
        try:
            if predecessor is not None:
                await predecessor.stopped
            await self.on_begin()
            if self.life is State.STARTING:
                self.life = State.LIVE
                self.on_live()
            else:  # retired meanwhile
                await self._end()
        except ServiceError as error:
            self._begin_error = error
            self.retire()
        except Exception as raised:
            self._begin_error = self.begin_error(raised)
            self.retire()
        finally:
            self._task = None
            self._release()

    def retire(self) -> None:
        """Accept no more messages, hand back those that wait, and end when no unit is open."""
        if self.life in (State.STOPPING, State.STOPPED):
            return
        live = self.life is State.LIVE
        self.life = State.STOPPING
        leftovers = [envelope for envelope in self.drain() if not envelope.own]
        error = self._begin_error
        if error is not None or self._on_stopping is None:
            for envelope in leftovers:
                envelope.fail(error or Overloaded("The gateway is stopping; try again."))
            leftovers = []
        if self._on_stopping is not None:
            self._on_stopping(self, leftovers)
        if live and self.holds_something:
            self._hold()
            self._task = asyncio.create_task(self._end_and_release())
        elif self._holds == 0:
            self._finish()

    async def _end_and_release(self) -> None:
        await self._end()
        self._task = None
        self._release()

    async def _end(self) -> None:
        try:
            await self.on_end()
        except StoreUnavailable as error:
            log.warning("%s ended without its last state stored: %s", self.actor_urn, error)
        except Exception:
            log.exception("%s failed to end", self.actor_urn)

    def _finish(self) -> None:
        self.life = State.STOPPED
        self.on_finished()
        if self._stopped is not None:
            self._stopped.set(None)

    def fail(self, error: BaseException) -> None:
        """Stop because of a fault; the next ask starts a new incarnation from the store."""
        if self.life in (State.STARTING, State.LIVE):
            log.warning("%s stops after a fault: %s", self.actor_urn, error)
        self.retire()

    def _hold(self) -> None:
        """Keep this incarnation from ending while something of it is open."""
        self._holds += 1

    def _release(self) -> None:
        self._holds -= 1
        if self._holds == 0 and self.life is State.STOPPING:
            self._finish()
