"""Lanes: what the dispatcher holds in memory of each endpoint that has something to deliver.

A lane is a window on the rows: a few deliveries under way and a few loaded ahead. How many wait behind them
makes no difference to it.
"""

import logging
from collections import deque
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from actors.sealing import Sealer, WrongMasterKey
from actors.webhooks.schedule import MAX_OPEN, Breaker
from actors.webhooks.signing import Keys, seal_purpose, unpack
from actors.wire import iso
from persistence.deliveries import DueRow
from persistence.endpoints import EndpointRow

REFILL_BELOW = 8
"""More deliveries are loaded when fewer are left that were loaded ahead."""
LOADED = MAX_OPEN + REFILL_BELOW + 40
"""Rows that a load reads of an endpoint: those that are known already, and up to forty more."""


log = logging.getLogger("parley.webhooks")


@dataclass(slots=True)
class Receiver:
    """What is known of an endpoint while its lane lives; see `EndpointRow`."""

    id: str
    user_id: str
    url: str
    events: tuple[str, ...]
    active: bool
    keys: tuple[Keys, ...]
    failing_since: int | None


class Lane:
    """One endpoint's deliveries: under way, loaded ahead, and when the next of the others is due."""

    __slots__ = (
        "breaker",
        "next_due",
        "number",
        "open",
        "queued",
        "ready",
        "receiver",
        "sending",
        "version",
        "wakes_at",
    )

    def __init__(self, number: int) -> None:
        self.number = number
        self.receiver: Receiver | None = None
        """None until it is loaded, and when it was changed since."""
        self.open: set[int] = set()
        """Places of the deliveries that are under way, or whose outcome is not stored yet."""
        self.sending = 0
        """How many of them are under way."""
        self.ready: deque[DueRow] = deque()
        self.next_due: int | None = None
        """No delivery that is neither open nor ready is due before this; None where there is none."""
        self.breaker = Breaker()
        self.queued = False
        """Whether it waits to be loaded."""
        self.wakes_at: int | None = None
        self.version = 0
        """Counts what makes rows that are being read now worthless."""

    @property
    def at_rest(self) -> bool:
        """Return whether it holds nothing that the store does not say as well."""
        return not (self.open or self.ready or self.queued or self.breaker.failures or self.next_due is not None)

    def room(self, now: int) -> int:
        """Tell how many attempts may begin now."""
        return min(self.breaker.room(self.sending, now), MAX_OPEN - len(self.open))

    def expect(self, due: int) -> None:
        """Note that a delivery which is not loaded is due then."""
        if self.next_due is None or due < self.next_due:
            self.next_due = due

    def let_go(self) -> None:
        """Forget what was loaded ahead; it will be loaded again."""
        for row in self.ready:
            self.expect(row.due)
        self.ready.clear()

    def changed(self) -> None:
        """Note that its endpoint's row was changed: all that was loaded is to be loaded anew."""
        self.receiver = None
        self.version += 1
        self.ready.clear()
        self.next_due = 0

    def take(self, rows: list[DueRow], now: int) -> None:
        """Take in the rows that are due first, of which `LOADED` were asked for."""
        known = self.open | {row.position for row in self.ready}
        self.next_due = None
        for row in rows:
            if row.position in known:
                continue
            if row.due > now:
                self.next_due = row.due
                return
            self.ready.append(row)
        if len(rows) == LOADED:
            self.next_due = rows[-1].due  # there may be more

    def snapshot(self) -> dict[str, Any]:
        """Return the state as maintainers see it; never bodies or secrets."""
        return {
            "endpoint": self.receiver and self.receiver.id,
            "open": len(self.open),
            "ready": len(self.ready),
            "next_due": None if self.next_due is None else iso(self.next_due),
            "failures_in_row": self.breaker.failures,
            "breaker_open_until": iso(self.breaker.open_until) if self.breaker.tripped else None,
        }


def receiver_of(endpoint: EndpointRow | None, sealer: Sealer) -> Receiver | None:
    """Return the receiver of an endpoint's row; None where it is gone, or its secrets can't be opened."""
    if endpoint is None:
        return None
    keys: tuple[Keys, ...] = ()
    if endpoint.active:
        try:
            secrets = unpack(sealer.open(endpoint.secrets, seal_purpose(endpoint.id)))
        except WrongMasterKey:
            log.error("the secrets of endpoint %s can't be opened; nothing is delivered to it", endpoint.id)
            return None
        keys = tuple(map(Keys.of, secrets))
    return Receiver(
        endpoint.id,
        endpoint.user_id,
        endpoint.url,
        endpoint.events,
        endpoint.active,
        keys,
        endpoint.failing_since,
    )


class WakeupHeap:
    """A min-heap of wake-up times; at most one live entry per lane."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int]] = []

    def set(self, lane: Lane, at: int) -> None:
        """See that a lane is looked at by then, in ms since the epoch."""
        if lane.wakes_at is None or at < lane.wakes_at:
            lane.wakes_at = at
            heappush(self._heap, (at, lane.number))

    def due(self, lanes: dict[int, Lane], now: int) -> list[Lane]:
        """Take the lanes whose time has come."""
        found: list[Lane] = []
        while self._heap and self._heap[0][0] <= now:
            at, number = heappop(self._heap)
            lane = lanes.get(number)
            if lane is not None and lane.wakes_at == at:
                lane.wakes_at = None
                found.append(lane)
        return found

    @property
    def first(self) -> int | None:
        """When the next lane is to be looked at, or a little before."""
        return self._heap[0][0] if self._heap else None
