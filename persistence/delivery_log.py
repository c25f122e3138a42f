"""The log of deliveries: deliveries and attempts as their users see them, and the removal of old ones."""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from persistence.store import Query, Write


class DeliveryRow(NamedTuple):
    """A delivery as its user sees it; `position` is in the order in which deliveries were made."""

    position: int
    id: str
    endpoint: int
    endpoint_id: str
    event_id: str
    event_type: str
    state: str
    due: int | None
    created_at: int


class AttemptRow(NamedTuple):
    """One attempt of a delivery, as logged."""

    delivery: int
    at: int
    status: int | None
    latency_ms: int
    error: str | None
    response: str | None


_SEEN = """
    SELECT deliveries.place, deliveries.id, deliveries.endpoint, endpoints.id, events.id, events.type, deliveries.state,
           deliveries.due, deliveries.created_at
    FROM deliveries JOIN endpoints ON endpoints.number = deliveries.endpoint
    JOIN events ON events.place = deliveries.event
"""


def listed_for(
    user_id: str, endpoint: int | None, event_type: str | None, state: str | None, before: int, limit: int
) -> Query[DeliveryRow]:
    """List a user's deliveries before a position, newest first, as far as they match."""
    conditions = ["deliveries.place < :before"]
    conditions.append("@hint(+)deliveries.user_id = :user" if endpoint is not None else "deliveries.user_id = :user")
    if endpoint is not None:
        conditions.append("deliveries.endpoint = :endpoint")
    if event_type is not None:
        conditions.append("events.type = :type")
    if state is not None:
        conditions.append("deliveries.state = :state")
    asked = {"user": user_id, "endpoint": endpoint, "type": event_type, "state": state, "before": before}
    return Query(
        f"{_SEEN} WHERE {' AND '.join(conditions)} ORDER BY deliveries.place DESC LIMIT :limit",
        asked | {"limit": limit},
        lambda row: DeliveryRow(*row),
    )


def of_user(user_id: str, delivery_id: str) -> Query[DeliveryRow]:
    """Read one of a user's deliveries."""
    return Query(
        f"{_SEEN} WHERE deliveries.id = ? AND deliveries.user_id = ?",
        (delivery_id, user_id),
        lambda row: DeliveryRow(*row),
    )


def attempts_of(positions: Sequence[int]) -> Query[AttemptRow]:
    """Read the attempts of some deliveries, in order."""
    return Query(
        "SELECT delivery, at, status, latency_ms, error, response FROM attempts"
        " WHERE delivery IN @list_int(?) ORDER BY delivery, number",
        (orjson.dumps(positions).decode(),),
        lambda row: AttemptRow(*row),
    )


def old_events(after: int, limit: int) -> Query[tuple[int, int]]:
    """List the positions of events after a position, oldest first, with their times."""
    return Query(
        "SELECT place, created_at FROM events WHERE place > ? ORDER BY place LIMIT ?",
        (after, limit),
        lambda row: (row[0], row[1]),
    )


def forget_events(positions: Sequence[int], before: int) -> Write:
    """Remove events with their deliveries and attempts, except those with a delivery that waits or is younger."""
    return Write(
        "DELETE FROM events WHERE place IN @list_int(?) AND NOT EXISTS (SELECT 1 FROM deliveries"
        " WHERE deliveries.event = events.place AND (deliveries.due IS NOT NULL OR deliveries.created_at >= ?))",
        (orjson.dumps(positions).decode(), before),
    )
