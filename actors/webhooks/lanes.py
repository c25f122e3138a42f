"""Lanes: the dispatcher's state in memory of each endpoint with deliveries.

A lane is a window on the rows: a few deliveries under way and a few loaded ahead. Its size does not depend on the
number of deliveries that wait.
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
"""The number of loaded deliveries below which more are loaded."""
LANES_AT_REST = 2_000
"""The number of cached endpoints without deliveries, so that their rows need not be read for each event."""
LOADED = MAX_OPEN + REFILL_BELOW + 40
"""The number of rows that a load reads of an endpoint: the known ones, and up to forty more."""


log = logging.getLogger("parley.webhooks")


@dataclass(slots=True)
class Receiver:
    """The cached part of an endpoint's row while its lane lives; see `EndpointRow`."""

    id: str
    user_id: str
    url: str
    events: tuple[str, ...]
    active: bool
    keys: tuple[Keys, ...]
    failing_since: int | None


class Lane:
    """One endpoint's deliveries: those under way, those loaded ahead, and the due time of the next other one."""

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
        """None until the row is loaded, and after each change of it."""
        self.open: set[int] = set()
        """The positions of deliveries that are under way, or whose outcome is not stored yet."""
        self.sending = 0
        """The number of deliveries under way."""
        self.ready: deque[DueRow] = deque()
        self.next_due: int | None = None
        """The earliest due time of a delivery that is neither open nor ready; None if there is none."""
        self.breaker = Breaker()
        self.queued = False
        """Whether it waits to be loaded."""
        self.wakes_at: int | None = None
        self.version = 0
        """Increases when the rows of a read under way become outdated."""

    @property
    def at_rest(self) -> bool:
        """Whether it has no state beyond the store's."""
        return not (self.open or self.ready or self.queued or self.breaker.failures or self.next_due is not None)

    def room(self, now: int) -> int:
        """Return the number of attempts that may begin now."""
        return min(self.breaker.room(self.sending, now), MAX_OPEN - len(self.open))

    def expect(self, due: int) -> None:
        """Note the due time of a delivery that is not loaded."""
        if self.next_due is None or due < self.next_due:
            self.next_due = due

    def let_go(self) -> None:
        """Drop the deliveries loaded ahead; they will be loaded again."""
        for row in self.ready:
            self.expect(row.due)
        self.ready.clear()

    def changed(self) -> None:
        """Note that its endpoint's row was changed, so that everything is loaded again."""
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
    """Return the receiver of an endpoint's row.

    None if the row is gone, if its secrets can't be opened, and while its user is suspended.
    """
    if endpoint is None or endpoint.suspended:
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
        """Wake a lane up at this time or earlier, in ms since the epoch."""
        if lane.wakes_at is None or at < lane.wakes_at:
            lane.wakes_at = at
            heappush(self._heap, (at, lane.number))

    def due(self, lanes: dict[int, Lane], now: int) -> list[Lane]:
        """Remove and return the lanes whose time has come."""
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
        """The time of the next wake-up, or an earlier one."""
        return self._heap[0][0] if self._heap else None


class Lanes(dict[int, Lane]):
    """The lanes of a dispatcher, by the endpoint's number, and when they wake up."""

    def __init__(self) -> None:
        super().__init__()
        self._limit = LANES_AT_REST
        self.wakeups = WakeupHeap()

    def of(self, number: int) -> Lane:
        """Return the lane of an endpoint; a new one wakes up at once."""
        lane = self.get(number)
        if lane is None:
            if len(self) >= self._limit:
                self._drop_resting()
            lane = self[number] = Lane(number)
            self.wakeups.set(lane, 0)
        return lane

    def _drop_resting(self) -> None:
        for number in [lane.number for lane in self.values() if lane.at_rest]:
            del self[number]
        self._limit = max(LANES_AT_REST, 2 * len(self))  # so that this is done rarely

    def due(self, now: int) -> list[Lane]:
        """Return the lanes whose time to wake up has come."""
        return self.wakeups.due(self, now)

    @property
    def at_rest(self) -> bool:
        """Whether no lane has state beyond the store's."""
        return all(lane.at_rest for lane in self.values())
