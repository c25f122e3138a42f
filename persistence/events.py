"""The outbox: events for webhooks, each written in the unit of its cause (docs/contract.md, "Webhooks")."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from persistence.store import Query, Write

INLINE_CHARS = 4_096
"""The longest data that `after` reads with an event, in characters."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as stored; `id` is a plain UUID, `created_at` in ms since the epoch."""

    id: str
    user_id: str
    type: str
    data: dict[str, Any]
    created_at: int


def insert(event: EventRow) -> Write:
    """Add an event, if its user still exists."""
    params = (event.id, event.user_id, event.type, orjson.dumps(event.data).decode(), event.created_at)
    return Write(_INSERT, params, None, _INSERT_MANY)


_INSERT = (
    "INSERT INTO events (id, user_id, type, data, created_at)"
    " SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM users WHERE id = ?2)"
)
_INSERT_MANY = (
    "INSERT INTO events (id, user_id, type, data, created_at)"
    " SELECT id, user_id, type, data, created_at"
    " FROM @rows_in_order(?, id text, user_id text, type text, data text, created_at bigint) AS made"
    " WHERE EXISTS (SELECT 1 FROM users WHERE users.id = made.user_id) ORDER BY ordinal"
)


def forget_url(user_id: str, endpoint_id: str) -> Write:
    """Take the URL out of the events that tell of an endpoint, so that neither streams nor deliveries have it."""
    begins = f'{{"endpoint_id":"{endpoint_id}",'
    return Write(
        "UPDATE events SET data = @with_null(data, url) WHERE user_id = ? AND type IN ('webhook.endpoint.created',"
        " 'webhook.endpoint.updated') AND substr(data, 1, ?) = ?",
        (user_id, len(begins), begins),
    )


class StreamedRow(NamedTuple):
    """An event for its user's stream; `data` is JSON, None if it is longer than INLINE_CHARS.

    `settled` is false while one with a lower place may still be committed.
    """

    place: int
    id: str
    type: str
    created_at: int
    data: str | None
    settled: bool


_SETTLED = """
    @sqlite(1)@postgres((age(xmin) > age(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS xid))
        OR created_at < extract(epoch FROM now()) * 1000 - 2000))
"""
"""Whether all transactions that began before an event's have ended, or it is two seconds old.

SQLite commits in the order of places. Several nodes on PostgreSQL may not, where a user and its agent are in two shards
(ids from before shards). The two seconds bound the wait for long transactions.
"""


def after(user_id: str, place: int, limit: int) -> Query[StreamedRow]:
    """Read a user's events after a place, in order."""
    return Query(
        f"SELECT place, id, type, created_at, CASE WHEN length(data) <= {INLINE_CHARS} THEN data END, {_SETTLED}"
        " FROM events WHERE user_id = ? AND place > ? ORDER BY place LIMIT ?",
        (user_id, place, limit),
        lambda row: StreamedRow(*row[:5], settled=bool(row[5])),
    )


def newest(user_id: str) -> Query[tuple[int, int]]:
    """Read the place and the time of a user's last event."""
    return Query(
        "SELECT place, created_at FROM events WHERE user_id = ? ORDER BY place DESC LIMIT 1",
        (user_id,),
        lambda row: (row[0], row[1]),
    )


def created_at(user_id: str, place: int) -> Query[int]:
    """Read the time of a user's event at a place."""
    return Query("SELECT created_at FROM events WHERE user_id = ? AND place = ?", (user_id, place), lambda row: row[0])


def first_since(user_id: str, at: int) -> Query[int]:
    """Read the place of a user's first event that was created after a time."""
    return Query(
        "SELECT place FROM events WHERE user_id = ? AND created_at > ? ORDER BY place LIMIT 1",
        (user_id, at),
        lambda row: row[0],
    )
