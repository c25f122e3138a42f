"""The tool servers (MCP) that users installed."""

from dataclasses import dataclass, field

from persistence.store import Query, Write
from persistence.users import name_key

NAME_TAKEN = "tool_servers.user_id"
"""Refuses a tool server whose name another of its user has."""


@dataclass(frozen=True, slots=True)
class ToolServerRow:
    """An installed tool server as stored: `entry` of the operator's catalog, or `url` with sealed `headers`.

    `tools` is JSON; None before the first connection. `created_at` is in ms since the epoch.
    """

    id: str
    user_id: str
    name: str
    entry: str | None
    url: str | None
    headers: bytes | None = field(repr=False)
    tools: str | None = field(repr=False)
    created_at: int


_COLUMNS = "id, user_id, name, entry, url, headers, offers, created_at"


def insert(server: ToolServerRow, most: int) -> Write:
    """Add a tool server.

    Refused as `NAME_TAKEN` if the user has one of its name, as `ROWS` if the user has `most` already.
    """
    return Write(
        f"INSERT INTO tool_servers ({_COLUMNS}, name_key) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?"
        " WHERE (SELECT count(*) FROM tool_servers WHERE user_id = ?) < ?",
        (
            server.id,
            server.user_id,
            server.name,
            server.entry,
            server.url,
            server.headers,
            server.tools,
            server.created_at,
            name_key(server.name),
            server.user_id,
            most,
        ),
        rows=1,
    )


def keep_tools(server_id: str, tools: str) -> Write:
    """Store the tools of a server, unless it was removed meanwhile."""
    return Write("UPDATE tool_servers SET offers = ? WHERE id = ?", (tools, server_id))


def delete(server_id: str) -> Write:
    """Remove a tool server."""
    return Write("DELETE FROM tool_servers WHERE id = ?", (server_id,))


def by_id(server_id: str) -> Query[ToolServerRow]:
    """Read one tool server."""
    return Query(f"SELECT {_COLUMNS} FROM tool_servers WHERE id = ?", (server_id,), lambda row: ToolServerRow(*row))


def id_by_name(user_id: str, name: str) -> Query[str]:
    """Find a user's tool server by its name, in any case."""
    return Query(
        "SELECT id FROM tool_servers WHERE user_id = ? AND name_key = ?",
        (user_id, name_key(name)),
        lambda row: row[0],
    )


def ids_of(user_id: str) -> Query[str]:
    """List a user's tool servers, by name."""
    return Query("SELECT id FROM tool_servers WHERE user_id = ? ORDER BY name_key", (user_id,), lambda row: row[0])
