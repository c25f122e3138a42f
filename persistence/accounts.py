"""Users as operators see them: with what they own and when they were last there."""

import json
from dataclasses import dataclass

from persistence.store import Params, Query
from persistence.users import COLUMNS, UserRow, from_columns, name_key

ROLES = ("user", "auditor", "operator")


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A user with the numbers of what it owns; `last_used_at` in ms since the epoch, None if no credential was used.

    `reserved` is the bound of its requests on its latest `day`, see `QuotaRow`.
    """

    user: UserRow
    agents: int
    domains: int
    banks: int
    api_keys: int
    last_used_at: int | None
    day: int
    reserved: int


_OWNED = """
    (SELECT count(*) FROM agents WHERE owner_id = users.id),
    (SELECT count(*) FROM domains JOIN agents ON agents.id = domains.founder_id WHERE agents.owner_id = users.id),
    (SELECT count(*) FROM banks WHERE owner_id = users.id),
    (SELECT count(*) FROM credentials WHERE user_id = users.id AND kind <> 'session'),
    (SELECT max(used) FROM (SELECT max(last_used_at) AS used FROM credentials WHERE user_id = users.id
        UNION ALL SELECT max(last_at) FROM logon_places WHERE user_id = users.id) AS uses),
    coalesce(quota_windows.day, 0), coalesce(quota_windows.reserved, 0)
"""
_FROM = "users LEFT JOIN quota_windows ON quota_windows.user_id = users.id"


def _account(row: Params) -> AccountRow:
    *columns, agents, domains, banks, api_keys, last_used_at, day, reserved = row
    return AccountRow(from_columns(columns), agents, domains, banks, api_keys, last_used_at or None, day, reserved)


def by_name(name: str) -> Query[AccountRow]:
    """Read the user of a name, in any case."""
    return Query(f"SELECT {COLUMNS}, {_OWNED} FROM {_FROM} WHERE name_key = ?", (name_key(name),), _account)


def listed(
    prefix: str, role: str | None, operators: list[str], suspended: bool | None, after_key: str, limit: int
) -> Query[AccountRow]:
    """List users by name, after a cursor; those of `operators` (keys of names) are operators whatever is stored."""
    return Query(
        f"SELECT {COLUMNS}, {_OWNED} FROM {_FROM} WHERE name_key > :after AND substr(name_key, 1, :length) = :prefix"
        " AND (:any_role = 1 OR :role = CASE WHEN name_key IN @list_text(:operators) THEN 'operator' ELSE role END)"
        " AND (:any_state = 1 OR (suspended_at IS NOT NULL) = (:suspended = 1)) ORDER BY name_key LIMIT :limit",
        {
            "after": after_key,
            "length": len(prefix),
            "prefix": name_key(prefix),
            "any_role": int(role is None),
            "role": role or "",
            "operators": json.dumps(operators),
            "any_state": int(suspended is None),
            "suspended": int(bool(suspended)),
            "limit": limit,
        },
        _account,
    )
