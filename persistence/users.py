"""Users and their rosters."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from persistence.store import Query, Write

NAME_TAKEN = "users.name_key"
"""Refuses a user whose name another has."""


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user as stored; times in ms since the epoch, `plan_limit` in requests a day for enterprise.

    `development_plan`: whether a development start gave it the plan, and nobody has set one since. `suspended_at`: None
    unless it is suspended.
    """

    id: str
    name: str
    description: str | None
    profile: str | None
    secret_hash: str = field(repr=False)
    plan: str
    plan_limit: int | None
    created_at: int
    development_plan: bool = False
    role: str = "user"
    suspended_at: int | None = None


@dataclass(frozen=True, slots=True)
class OnDevelopmentPlan:
    """The users with a plan from a development start: their number, and the names of the oldest."""

    count: int
    names: tuple[str, ...]


NO_PASSWORD = ""
"""Stored in place of a password's hash for the user of a sandbox key; no password matches it."""

SANDBOX_PREFIX = "sandbox-"
"""Prefix of the names of the users of sandbox keys."""

_NEW = "id, name, description, profile, secret_hash, plan, plan_limit, created_at, development_plan"

COLUMNS = f"{_NEW}, role, suspended_at"


def name_key(name: str) -> str:
    """Fold a name to its unique key, because two names must differ in more than case.

    Names are ASCII. Other text stays as it is, because a letter such as the Kelvin sign would fold to an ASCII one.
    """
    return name.lower() if name.isascii() else name


def has_sandbox_name(name: str) -> bool:
    """Return whether a name is one of those that are for the users of sandbox keys."""
    return name_key(name).startswith(SANDBOX_PREFIX)


def insert(user: UserRow) -> Write:
    """Add a user; refused as `NAME_TAKEN` when the name is taken."""
    return Write(
        f"INSERT INTO users ({_NEW}, name_key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            user.id,
            user.name,
            user.description,
            user.profile,
            user.secret_hash,
            user.plan,
            user.plan_limit,
            user.created_at,
            user.development_plan,
            name_key(user.name),
        ),
    )


def update(user: UserRow) -> Write:
    """Store the members of a user that may change."""
    return Write(
        "UPDATE users SET description = ?, profile = ?, secret_hash = ?, plan = ?, plan_limit = ?,"
        " development_plan = ?, role = ?, suspended_at = ? WHERE id = ?",
        (
            user.description,
            user.profile,
            user.secret_hash,
            user.plan,
            user.plan_limit,
            user.development_plan,
            user.role,
            user.suspended_at,
            user.id,
        ),
        rows=1,
    )


def delete(user_id: str) -> Write:
    """Remove a user, and by cascade its sessions, roster and conversations."""
    return Write("DELETE FROM users WHERE id = ?", (user_id,), rows=1)


def from_columns(row: Sequence[Any]) -> UserRow:
    """Return the user of a row of `COLUMNS`."""
    *columns, development_plan, role, suspended_at = row
    return UserRow(*columns, development_plan=bool(development_plan), role=role, suspended_at=suspended_at)


def by_id(user_id: str) -> Query[UserRow]:
    """Read one user."""
    return Query(f"SELECT {COLUMNS} FROM users WHERE id = ?", (user_id,), from_columns)


def id_by_name(name: str) -> Query[str]:
    """Find the id of the user of that name, in any case."""
    return Query("SELECT id FROM users WHERE name_key = ?", (name_key(name),), lambda row: row[0])


def on_development_plan(names: int) -> Query[OnDevelopmentPlan]:
    """Count the users with a plan from a development start; list up to `names` of them, oldest first."""
    return Query(
        "SELECT (SELECT count(*) FROM users WHERE development_plan = 1), (SELECT @json_array(name) FROM"
        " (SELECT name FROM users WHERE development_plan = 1 ORDER BY created_at, id LIMIT ?) AS oldest)",
        (names,),
        lambda row: OnDevelopmentPlan(row[0], tuple(json.loads(row[1]))),
    )


def sandboxes_unused_since(before: int) -> Query[str]:
    """List the users of sandbox keys that were last used before a time, or were revoked."""
    after = SANDBOX_PREFIX[:-1] + chr(ord(SANDBOX_PREFIX[-1]) + 1)
    return Query(
        "SELECT id FROM users WHERE name_key >= ? AND name_key < ? AND secret_hash = ?"
        " AND NOT EXISTS (SELECT 1 FROM credentials WHERE user_id = users.id AND last_used_at >= ?) LIMIT 1000",
        (SANDBOX_PREFIX, after, NO_PASSWORD, before),
        lambda row: row[0],
    )


def owned(user_id: str) -> Query[tuple[int, int, int, int]]:
    """Count the agents, the domains, the banks and the API keys that a user owns."""
    return Query(
        "SELECT (SELECT count(*) FROM agents WHERE owner_id = :user),"
        " (SELECT count(*) FROM domains JOIN agents ON agents.id = domains.founder_id WHERE agents.owner_id = :user),"
        " (SELECT count(*) FROM banks WHERE owner_id = :user),"
        " (SELECT count(*) FROM credentials WHERE user_id = :user AND kind <> 'session')",
        {"user": user_id},
        lambda row: (row[0], row[1], row[2], row[3]),
    )


def add_to_roster(user_id: str, agent_id: str, since: int) -> Write:
    """Put an agent on a roster, if absent; refused as `ROWS` when it is gone, `FOREIGN_KEY` when the user is."""
    return Write(
        "INSERT INTO roster (user_id, agent_id, since)"
        " SELECT ?, id, ? FROM agents WHERE id = ? AND destroyed_at IS NULL"
        " ON CONFLICT (user_id, agent_id) DO UPDATE SET since = roster.since",
        (user_id, since, agent_id),
        rows=1,
    )


def remove_from_roster(user_id: str, agent_id: str) -> Write:
    """Take an agent off a roster."""
    return Write("DELETE FROM roster WHERE user_id = ? AND agent_id = ?", (user_id, agent_id))


def roster(user_id: str) -> Query[str]:
    """List the ids of the agents on a user's roster."""
    return Query("SELECT agent_id FROM roster WHERE user_id = ?", (user_id,), lambda row: row[0])
