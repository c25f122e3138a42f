"""Quotas: a bound, reserved ahead, on the number of requests of a user in its latest UTC day."""

from dataclasses import dataclass

from persistence.store import Query, Write


@dataclass(frozen=True, slots=True)
class QuotaRow:
    """A user's plan and its latest window; `day` in days since the epoch, 0 before the first request."""

    plan: str
    plan_limit: int | None
    day: int
    reserved: int
    told: int


def of_user(user_id: str) -> Query[QuotaRow]:
    """Read a user's plan and window."""
    return Query(
        "SELECT users.plan, users.plan_limit, coalesce(day, 0), coalesce(reserved, 0), coalesce(told, 0)"
        " FROM users LEFT JOIN quota_windows ON user_id = users.id WHERE users.id = ?",
        (user_id,),
        lambda row: QuotaRow(*row),
    )


def reserve(user_id: str, day: int, reserved: int, told: int) -> Write:
    """Store a window's bound and the highest reported threshold, if the user still exists."""
    return Write(_RESERVE, (user_id, day, reserved, told), many=_RESERVE_MANY)


def of_key(key_id: str) -> Query[QuotaRow]:
    """Read the plan of a key's user, the key's own limit in place of the plan's, and its window."""
    return Query(
        "SELECT users.plan, credentials.day_limit, coalesce(day, 0), coalesce(reserved, 0), 0 FROM credentials"
        " JOIN users ON users.id = credentials.user_id LEFT JOIN key_windows ON credential_id = credentials.id"
        " WHERE credentials.id = ?",
        (key_id,),
        lambda row: QuotaRow(*row),
    )


def reserve_for_key(key_id: str, day: int, reserved: int) -> Write:
    """Store the bound of a key's window, if the key still exists."""
    return Write(
        "INSERT INTO key_windows (credential_id, day, reserved) SELECT ?1, ?2, ?3"
        " WHERE EXISTS (SELECT 1 FROM credentials WHERE id = ?1)"
        " ON CONFLICT (credential_id) DO UPDATE SET day = excluded.day, reserved = excluded.reserved",
        (key_id, day, reserved),
    )


_UPSERT = (
    "INSERT INTO quota_windows (user_id, day, reserved, told) SELECT {}"
    " WHERE EXISTS (SELECT 1 FROM users WHERE id = {})"
    " ON CONFLICT (user_id) DO UPDATE SET day = excluded.day, reserved = excluded.reserved, told = excluded.told"
)
_RESERVE = _UPSERT.format("?1, ?2, ?3, ?4", "?1")
_RESERVE_MANY = _UPSERT.format(
    "* FROM @rows(?, user_id text, day bigint, reserved bigint, told bigint) AS made", "made.user_id"
)
