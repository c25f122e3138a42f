"""The outbox: how anything tells webhooks what happened (product 7 and 9).

An event's rows go into the unit of its cause, so neither is stored without the other. Once that unit is durable, a
tell wakes who delivers; one that is lost costs nothing but time, for the rows are the truth (design 2.8).
"""

import uuid
from collections.abc import Callable
from typing import Any

from actors.ids import Clock
from persistence import events
from persistence.events import EventRow
from persistence.store import Write


class Outbox:
    """Makes the rows of events; `woken` is called after they were stored."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.woken: Callable[[], None] | None = None

    def emit(self, user_id: str, kind: str, data: dict[str, Any], *, event_id: str | None = None) -> tuple[Write, ...]:
        """Make the rows of one event that concerns a user; pass `stored` to the commit as what to do after it.

        `event_id` is a UUID that the caller wants to tell of; one is made where it has none.
        """
        event = EventRow(event_id or str(uuid.uuid4()), user_id, kind, data, self._clock())
        return (events.insert(event),)

    def stored(self) -> None:
        """Say that a unit with events was stored."""
        if self.woken is not None:
            self.woken()
