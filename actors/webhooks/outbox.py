"""The outbox: the way by which events reach webhooks (docs/contract.md, "Event data").

An event's rows and those of its deliveries go into the unit of its cause, so neither is stored without the other. Once
that unit is durable, a notice wakes the dispatcher; a lost one costs only time, because the dispatcher reads the rows.
"""

import uuid
from collections.abc import Callable
from typing import Any

import orjson

from actors.errors import InvalidField
from actors.ids import Clock, new_id
from actors.runtime.mailbox import Tell
from actors.runtime.notices import Told
from actors.webhooks.event_types import EVENT_TYPES
from actors.webhooks.messages import DISPATCHER, Woken, one_dispatcher
from actors.webhooks.signing import body_of
from persistence import deliveries, events
from persistence.events import EventRow
from persistence.store import Write

MAX_EVENT_BYTES = 262_144
"""The largest size of a delivery's body, in bytes."""


class Outbox:
    """Makes the rows of events."""

    def __init__(self, clock: Clock, dispatcher_of: Callable[[str], str] = one_dispatcher) -> None:
        """Make rows with the times of a clock; `dispatcher_of` returns the key of a user's dispatcher."""
        self._clock = clock
        self._dispatcher_of = dispatcher_of

    def emit(
        self, user_id: str, kind: str, data: dict[str, Any], *, at: int | None = None, event_id: str | None = None
    ) -> tuple[Write, ...]:
        """Make the rows of one event of a user, for a unit with the notice `woken`.

        `at` is the time of the change that the event reports, in ms since the epoch; None is now. `event_id` is the
        event's UUID; a new one if None. Writes of the same unit that change endpoints go first, because the event goes
        to the endpoints after these writes.

        Raises:
            KeyError: `kind` is not in the catalog.
        """
        now = self._clock() if at is None else at
        id = event_id or str(uuid.uuid4())
        return (
            events.insert(EventRow(id, user_id, kind, data, now)),
            deliveries.fan_out(id, new_id("dlv")[:20], EVENT_TYPES[kind].pattern, now),
        )

    def woken(self, user_id: str) -> Told:
        """Make the notice that wakes the dispatcher after a unit with events of a user."""
        return self.told(user_id, Woken(user_id))

    def told(self, user_id: str, message: Tell) -> Told:
        """Make a notice for the dispatcher of a user's endpoints."""
        return Told(DISPATCHER, self._dispatcher_of(user_id), message)


def check_size(kind: str, data: dict[str, Any]) -> None:
    """Refuse a user's data for an event of this type if the body would be too long.

    Raises:
        InvalidField: the body would be too long.
    """
    # Every event id has the length of a UUID and every time the same length, so these stand for those to come.
    if len(body_of(str(uuid.UUID(int=0)), kind, 0, "")) + len(orjson.dumps(data)) > MAX_EVENT_BYTES:
        raise InvalidField("Invalid value of data: an event's body has up to 256 KiB; send less.")
