"""The outbox: events for webhooks, each written in the unit of its cause (docs/contract.md, "Webhooks")."""

from dataclasses import dataclass
from typing import Any

import orjson

from persistence.store import Write


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
