"""The audit log: an entry for each change, written with the change (docs/contract.md, "The audit log")."""

from dataclasses import dataclass
from typing import NamedTuple

from persistence.store import Query, Write

_COLUMNS = "user_id, at, credential_id, address, service, target, internal_code, request_id"
# No row for a user that is destroyed at the same time: its log is gone, and the unit may belong to another's actor.
_INSERT = (
    f"INSERT INTO audit ({_COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8"
    " WHERE EXISTS (SELECT 1 FROM users WHERE id = ?1)"
)
_INSERT_MANY = (
    f"INSERT INTO audit ({_COLUMNS}) SELECT {_COLUMNS} FROM @rows_in_order(?, user_id text, at bigint,"
    " credential_id text, address text, service text, target text, internal_code bigint, request_id text) AS made"
    " WHERE EXISTS (SELECT 1 FROM users WHERE id = made.user_id) ORDER BY ordinal"
)


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry as stored; `at` in ms since the epoch, `target` a JSON object of names."""

    position: int
    at: int
    credential_id: str
    address: str
    service: str
    target: str
    internal_code: int
    request_id: str
    user: str | None = None
    """The name of the user that made the request, in the log over all users."""


def insert(
    user_id: str,
    at: int,
    credential_id: str,
    address: str,
    service: str,
    target: str,
    internal_code: int,
    request_id: str,
) -> Write:
    """Add an entry, if the user still exists."""
    return Write(
        _INSERT,
        (user_id, at, credential_id, address, service, target, internal_code, request_id),
        many=_INSERT_MANY,
    )


def page(user_id: str, since: int, service: str | None, before: int, limit: int) -> Query[AuditRow]:
    """List a user's entries since a time and before a cursor, newest first."""
    return Query(
        "SELECT place, at, credential_id, address, service, target, internal_code, request_id FROM audit"
        " WHERE user_id = :user AND place < :before AND at >= :since AND service = coalesce(:service, service)"
        " ORDER BY place DESC LIMIT :limit",
        {"user": user_id, "before": before, "since": since, "service": service, "limit": limit},
        lambda row: AuditRow(*row),
    )


# operators' acts

AGAIN_MS = 60_000
"""Reads of one route with one credential leave one entry in this time, and so do a user's refused changes."""


class Act(NamedTuple):
    """An operator's act; `operator` is its name, None if the request had the internal secret."""

    at: int
    credential_id: str
    address: str
    service: str
    target: str
    internal_code: int
    request_id: str
    operator: str | None


_ACT = ", ".join(Act._fields)


def insert_act(act: Act) -> Write:
    """Add an entry of an operator's change."""
    return Write(f"INSERT INTO audit ({_ACT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", act)


def insert_read(act: Act) -> Write:
    """Add an entry of an operator's read, unless the credential has one of this service and the last minute."""
    return _insert_once_a_minute(act)


def insert_refused(act: Act) -> Write:
    """Add an entry of a refused change, unless the credential has one of this service and code and the last minute."""
    return _insert_once_a_minute(act, " AND internal_code = ?6")


def _insert_once_a_minute(act: Act, alike: str = "") -> Write:
    """Add an entry, unless the credential has one like it of the last minute.

    One of a later time than that was left before the clock was set back.
    """
    return Write(
        f"INSERT INTO audit ({_ACT}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS"
        " (SELECT 1 FROM audit WHERE user_id IS NULL AND credential_id = ?2 AND service = ?4 AND at > ?9 AND at < ?10"
        f"{alike})",
        (*act, act.at - AGAIN_MS, act.at + AGAIN_MS),
    )


def page_of_all(since: int, service: str | None, before: int, limit: int) -> Query[AuditRow]:
    """List the entries of all users, and of operators, since a time and before a cursor, newest first."""
    return Query(
        "SELECT place, at, credential_id, address, service, target, internal_code, request_id,"
        " coalesce(operator, users.name) FROM audit LEFT JOIN users ON users.id = audit.user_id"
        " WHERE place < :before AND at >= :since AND service = coalesce(:service, service)"
        " ORDER BY place DESC LIMIT :limit",
        {"before": before, "since": since, "service": service, "limit": limit},
        lambda row: AuditRow(*row),
    )
