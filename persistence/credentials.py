"""Credentials: the sessions and API keys of users, each with its selected context."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from persistence.store import Params, Query, Write


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session or an API key as stored, with its user's name; times in ms since the epoch.

    `kind` is session, key or sandbox; `name`, `prefix`, `expires_at`, `scopes` (JSON) and `day_limit` (requests) are a
    key's. `role` and `suspended` are the user's.
    """

    id: str
    user_id: str
    user_name: str
    token_hash: bytes = field(repr=False)
    created_at: int
    last_used_at: int
    agent_id: str | None = None
    domain_id: str | None = None
    zone_id: str | None = None
    kind: str = "session"
    name: str | None = None
    prefix: str | None = None
    expires_at: int | None = None
    scopes: str | None = None
    day_limit: int | None = None
    role: str = "user"
    suspended: bool = False


_SELECT = """
    SELECT credentials.id, credentials.user_id, users.name, credentials.token_hash, credentials.created_at,
           credentials.last_used_at, credentials.agent_id, credentials.domain_id, credentials.zone_id,
           credentials.kind, credentials.name, credentials.prefix, credentials.expires_at, credentials.scopes,
           credentials.day_limit, users.role, users.suspended_at IS NOT NULL
    FROM credentials JOIN users ON users.id = credentials.user_id
"""


def _row(row: Params) -> SessionRow:
    *columns, suspended = row
    return SessionRow(*columns, suspended=bool(suspended))


def insert(session: SessionRow) -> Write:
    """Add a session; refused as `FOREIGN_KEY` when the user is gone."""
    return Write(
        "INSERT INTO credentials (id, user_id, token_hash, created_at, last_used_at, agent_id, kind, name, prefix,"
        " expires_at, scopes, day_limit) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            session.id,
            session.user_id,
            session.token_hash,
            session.created_at,
            session.last_used_at,
            session.agent_id,
            session.kind,
            session.name,
            session.prefix,
            session.expires_at,
            session.scopes,
            session.day_limit,
        ),
    )


def touch(session_id: str, last_used_at: int) -> Write:
    """Store the time of a session's last use."""
    return Write("UPDATE credentials SET last_used_at = ? WHERE id = ?", (last_used_at, session_id))


def select_agent(session_id: str, agent_id: str | None) -> Write:
    """Store a session's selected agent; refused as `FOREIGN_KEY` or `ROWS` when either is gone."""
    return Write("UPDATE credentials SET agent_id = ? WHERE id = ?", (agent_id, session_id), rows=1)


def select_zone(session_id: str, domain_id: str, zone_id: str) -> Write:
    """Store a session's selected domain and zone; refused as `FOREIGN_KEY` or `ROWS` when one of them is gone."""
    return Write(
        "UPDATE credentials SET domain_id = ?, zone_id = ? WHERE id = ?", (domain_id, zone_id, session_id), rows=1
    )


def unselect_agent(agent_id: str, user_id: str) -> Write:
    """Take an agent out of the selections of a user's sessions."""
    return Write("UPDATE credentials SET agent_id = NULL WHERE agent_id = ? AND user_id = ?", (agent_id, user_id))


def delete(session_id: str) -> Write:
    """Remove a session."""
    return Write("DELETE FROM credentials WHERE id = ?", (session_id,))


def delete_others(user_id: str, kept_id: str) -> Write:
    """Remove all sessions of a user but one; its API keys stay."""
    return Write("DELETE FROM credentials WHERE user_id = ? AND kind = 'session' AND id <> ?", (user_id, kept_id))


def delete_sessions(user_id: str) -> Write:
    """Remove all sessions of a user; its API keys stay."""
    return Write("DELETE FROM credentials WHERE user_id = ? AND kind = 'session'", (user_id,))


def delete_several(session_ids: Sequence[str]) -> Write:
    """Remove sessions."""
    listed = orjson.dumps(session_ids).decode()
    return Write("DELETE FROM credentials WHERE id IN @list_text(?)", (listed,))


def delete_unused_since(before: int) -> Write:
    """Remove sessions that were last used before a time."""
    return Write("DELETE FROM credentials WHERE kind = 'session' AND last_used_at < ?", (before,))


def by_id(session_id: str) -> Query[SessionRow]:
    """Read one session."""
    return Query(f"{_SELECT} WHERE credentials.id = ?", (session_id,), _row)


def ids_by_token_hash(token_hash: bytes) -> Query[tuple[str, str]]:
    """Find the credential of a token by its SHA-256: its id and its user's."""
    return Query(
        "SELECT id, user_id FROM credentials WHERE token_hash = ?", (token_hash,), lambda row: (row[0], row[1])
    )


def by_token_hash(token_hash: bytes) -> Query[SessionRow]:
    """Read the credential of a token by its SHA-256."""
    return Query(f"{_SELECT} WHERE credentials.token_hash = ?", (token_hash,), _row)


def delete_key(key_id: str, user_id: str) -> Write:
    """Remove a user's API key; refused as `ROWS` if there is none of that id."""
    return Write(
        "DELETE FROM credentials WHERE id = ? AND user_id = ? AND kind <> 'session'", (key_id, user_id), rows=1
    )


def keys_of(user_id: str) -> Query[SessionRow]:
    """List a user's API keys, the oldest first."""
    return Query(
        f"{_SELECT} WHERE credentials.user_id = ? AND kind <> 'session' ORDER BY credentials.id",
        (user_id,),
        _row,
    )


def ids_of_user(user_id: str) -> Query[tuple[str, bool]]:
    """List the ids of all a user's credentials in order of creation, and whether each is a session."""
    return Query(
        "SELECT id, kind = 'session' FROM credentials WHERE user_id = ? ORDER BY id",
        (user_id,),
        lambda row: (row[0], bool(row[1])),
    )


def ids_used_since(user_id: str, used_since: int) -> Query[str]:
    """List the ids of a user's sessions used since a time."""
    return Query(
        "SELECT id FROM credentials WHERE user_id = ? AND kind = 'session' AND last_used_at >= ?",
        (user_id, used_since),
        lambda row: row[0],
    )


def of_user(user_id: str, after_id: str, used_since: int, limit: int) -> Query[SessionRow]:
    """List a user's sessions used since a time, in order of creation, after a cursor."""
    return Query(
        f"{_SELECT} WHERE credentials.user_id = ? AND kind = 'session' AND credentials.id > ?"
        " AND credentials.last_used_at >= ? ORDER BY credentials.id LIMIT ?",
        (user_id, after_id, used_since, limit),
        _row,
    )
