"""Recoveries: failed deliveries are queued again in chunks, and each chunk is stored with the position reached.

Users take turns with their chunks, so that nobody waits for all of another's.
"""

from collections.abc import Callable
from typing import Any, Protocol

from actors.ids import Clock, new_id
from actors.runtime.future import AsyncFuture
from actors.webhooks.due import NextRecovery
from actors.webhooks.messages import CHUNK
from persistence import deliveries
from persistence.deliveries import Recovery
from persistence.store import Write


class RecoveriesHost(Protocol):
    """The dispatcher as recoveries use it."""

    def commit(self, *writes: Write, applied: Callable[[], None] | None = None) -> AsyncFuture[Any]:
        """Submit a unit that no constraint can refuse."""
        ...

    def look_at(self, number: int) -> None:
        """Load the due deliveries of an endpoint."""
        ...


class Recoveries:
    """Knows whether a recovery is under way, and queues its next chunk."""

    __slots__ = ("_clock", "_host", "_last_user", "_queueing", "_unread")

    def __init__(self, host: RecoveriesHost, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._unread = False
        self._last_user = ""
        self._queueing = False  # a chunk is being stored

    def begun(self) -> None:
        """Note that a recovery was stored."""
        self._unread = True

    @property
    def wanted(self) -> bool:
        """Whether the next read of the store should list deliveries to queue again."""
        return self._unread and not self._queueing

    def ask(self) -> NextRecovery | None:
        """Return which deliveries the next read lists."""
        if not self.wanted:
            return None
        self._unread = False
        return NextRecovery(CHUNK, self._last_user)

    def queue_again(self, recovery: Recovery, positions: list[int]) -> None:
        """Queue the deliveries that a read has listed."""
        self._queueing, self._last_user = True, recovery.user_id
        writes: list[Write] = []
        if positions:
            writes.append(deliveries.repeat_all(positions, new_id("dlv")[:20], self._clock()))
        if len(positions) == CHUNK:
            writes.append(deliveries.recovered(recovery, positions[-1]))
        else:
            writes.append(deliveries.end_recovery(recovery))

        def applied() -> None:
            self._queueing = False
            self._unread = True
            self._host.look_at(recovery.endpoint)

        self._host.commit(*writes, applied=applied)
