"""Webhook endpoints: the URLs that a user's events go to. A deleted one keeps its row while deliveries refer to it."""

from dataclasses import dataclass, field, replace

import orjson

from persistence.store import Params, Query, Write


@dataclass(frozen=True, slots=True)
class EndpointRow:
    """An endpoint as stored; `secrets` is sealed, times in ms since the epoch.

    `failing_since` is the time of the first failed attempt after the last successful one.
    """

    number: int
    id: str
    user_id: str
    url: str
    events: tuple[str, ...]
    active: bool
    deleted: bool
    description: str | None
    secrets: bytes = field(repr=False)
    disabled_reason: str | None
    failing_since: int | None
    created_at: int
    updated_at: int
    suspended: bool = False
    """Whether its user is suspended; as `numbered` reads it."""


_COLUMNS = (
    "number, id, user_id, url, events, active, deleted, description, secrets, disabled_reason, failing_since,"
    " created_at, updated_at"
)


def _row(row: Params) -> EndpointRow:
    number, id, user_id, url, events, active, deleted, *rest = row
    return EndpointRow(number, id, user_id, url, tuple(orjson.loads(events)), bool(active), bool(deleted), *rest)


def insert(endpoint: EndpointRow, most: int) -> Write:
    """Add an endpoint.

    Refused as `FOREIGN_KEY` when its user is gone, as `ROWS` when the user has `most` that are not deleted.
    """
    return Write(
        f"INSERT INTO endpoints ({_COLUMNS}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"
        " WHERE (SELECT count(*) FROM endpoints WHERE user_id = ? AND deleted = 0) < ?",
        (
            endpoint.number,
            endpoint.id,
            endpoint.user_id,
            endpoint.url,
            orjson.dumps(endpoint.events).decode(),
            int(endpoint.active),
            int(endpoint.deleted),
            endpoint.description,
            endpoint.secrets,
            endpoint.disabled_reason,
            endpoint.failing_since,
            endpoint.created_at,
            endpoint.updated_at,
            endpoint.user_id,
            most,
        ),
        rows=1,
    )


def update(endpoint: EndpointRow, *, active_too: bool) -> Write:
    """Store the members that its owner may change; each change resets the dispatcher's counts.

    Without `active_too`, `active` is not written, because the dispatcher may have disabled the endpoint just now.
    """
    return Write(
        "UPDATE endpoints SET url = ?1, events = ?2, description = ?3, secrets = ?4, updated_at = ?5,"
        " failing_since = NULL, active = CASE WHEN ?6 = 1 THEN ?7 ELSE active END,"
        " disabled_reason = CASE WHEN ?6 = 1 THEN ?8 ELSE disabled_reason END WHERE number = ?9 AND deleted = 0",
        (
            endpoint.url,
            orjson.dumps(endpoint.events).decode(),
            endpoint.description,
            endpoint.secrets,
            endpoint.updated_at,
            int(active_too),
            int(endpoint.active),
            endpoint.disabled_reason,
            endpoint.number,
        ),
        rows=1,
    )


def delete(number: int, at: int) -> Write:
    """Delete an endpoint for good: URL, description and secrets are erased."""
    return Write(
        "UPDATE endpoints SET deleted = 1, active = 0, url = '', events = '[]', description = NULL, secrets = ?,"
        " updated_at = ? WHERE number = ? AND deleted = 0",
        (b"", at, number),
        rows=1,
    )


def disable(number: int, url: str, reason: str, at: int) -> Write:
    """Disable an endpoint because of its receiver; refused as `ROWS` if it is not active at that URL."""
    return Write(
        "UPDATE endpoints SET active = 0, disabled_reason = ?, updated_at = ?"
        " WHERE number = ? AND url = ? AND active = 1",
        (reason, at, number, url),
        rows=1,
    )


def set_failing_since(number: int, url: str, since: int | None) -> Write:
    """Store the time since which every attempt at that URL has failed, or None after a success."""
    return Write("UPDATE endpoints SET failing_since = ? WHERE number = ? AND url = ?", (since, number, url))


def forget_failures(user_id: str) -> Write:
    """Count the failures of a user's endpoints anew."""
    return Write(
        "UPDATE endpoints SET failing_since = NULL WHERE user_id = ? AND failing_since IS NOT NULL", (user_id,)
    )


def drop_deleted() -> Write:
    """Remove the rows of deleted endpoints that no delivery refers to."""
    return Write(
        "DELETE FROM endpoints WHERE deleted = 1 AND NOT EXISTS"
        " (SELECT 1 FROM deliveries WHERE deliveries.endpoint = endpoints.number)",
        (),
    )


def of_user(user_id: str) -> Query[EndpointRow]:
    """List a user's endpoints that are not deleted, oldest first."""
    return Query(
        f"SELECT {_COLUMNS} FROM endpoints WHERE user_id = ? AND deleted = 0 ORDER BY number", (user_id,), _row
    )


def number_of(user_id: str, endpoint_id: str) -> Query[int]:
    """Find the number of one of a user's endpoints, also of a deleted one that deliveries refer to."""
    return Query(
        "SELECT number FROM endpoints WHERE user_id = ? AND id = ?", (user_id, endpoint_id), lambda row: row[0]
    )


def numbered(numbers: list[int]) -> Query[EndpointRow]:
    """Read the endpoints of these numbers, deleted ones too, and whether their users are suspended."""
    return Query(
        f"SELECT {_COLUMNS}, (SELECT suspended_at IS NOT NULL FROM users WHERE users.id = user_id) FROM endpoints"
        " WHERE number IN @list_int(?)",
        (orjson.dumps(numbers).decode(),),
        lambda row: replace(_row(row[:-1]), suspended=bool(row[-1])),
    )
