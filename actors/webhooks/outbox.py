"""The outbox: how anything tells webhooks what happened (product 7 and 9).

An event's rows and those of its deliveries go into the unit of its cause, so neither is stored without the other. Once
that unit is durable, a tell wakes the dispatcher; one that is lost costs nothing but time, for the rows are the truth
(design 2.8).
"""

import uuid
from collections.abc import Callable
from typing import Any

import orjson

from actors.errors import InvalidField
from actors.ids import Clock, new_id
from actors.webhooks.event_types import pattern_of
from persistence import deliveries, events
from persistence.events import EventRow
from persistence.store import Write

MAX_EVENT_BYTES = 262_144
"""The body of a delivery has so many bytes at most."""

ENVELOPE_BYTES = 256
"""What the envelope around `data` takes at most: id, type, time and their names."""


class Outbox:
    """Makes the rows of events; `woken` is called after they were stored."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.woken: Callable[[], None] | None = None

    def emit(
        self, user_id: str, kind: str, data: dict[str, Any], *, at: int | None = None, event_id: str | None = None
    ) -> tuple[Write, ...]:
        """Make the rows of one event that concerns a user; pass `stored` to the commit as what to do after it.

        `at` is when it happened, in ms since the epoch: the time of the change that the event tells of; None is now.
        `event_id` is a UUID that the caller wants to tell of; one is made where it has none. Writes of the same unit
        that change endpoints go first: the event goes to the endpoints as they leave them.
        """
        now = self._clock() if at is None else at
        id = event_id or str(uuid.uuid4())
        return (
            events.insert(EventRow(id, user_id, kind, data, now)),
            deliveries.fan_out(id, new_id("dlv")[:20], pattern_of(kind), now),
        )

    def stored(self) -> None:
        """Say that a unit with events was stored."""
        if self.woken is not None:
            self.woken()


def check_size(data: dict[str, Any]) -> None:
    """Refuse data that a user gives for an event where its body would be too long.

    Raises:
        InvalidField: it would.
    """
    if len(orjson.dumps(data)) > MAX_EVENT_BYTES - ENVELOPE_BYTES:
        raise InvalidField("Invalid value of data: an event's body is at most 256 KiB; send less.")
