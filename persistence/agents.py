"""Agents: their rows, and the conditions by which others may see them."""

import json
from dataclasses import dataclass
from typing import Any

from persistence.kept_to import Ids, kept_to
from persistence.store import Params, Query, Write
from persistence.users import name_key

NAME_TAKEN = "agents.name_key"
"""Refuses an agent whose name another has."""


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as stored, with its owner's name; times in ms since the epoch."""

    id: str
    owner_id: str
    owner: str
    name: str
    description: str
    profile: str | None
    access: str
    online: bool
    created_at: int
    updated_at: int
    stopped: bool = False
    """Whether an operator has stopped it."""
    suspended: bool = False
    """Whether its owner is suspended."""

    @property
    def answers(self) -> bool:
        """Whether it may be chatted with."""
        return self.online and not self.silenced

    @property
    def silenced(self) -> bool:
        """Whether an operator keeps it from answering."""
        return self.stopped or self.suspended


_SELECT = """
    SELECT agents.id, agents.owner_id, users.name, agents.name, agents.description, agents.profile,
           agents.access, agents.online, agents.created_at, agents.updated_at, agents.stopped_at IS NOT NULL,
           users.suspended_at IS NOT NULL
    FROM agents JOIN users ON users.id = agents.owner_id
"""


SHARE_A_DOMAIN = """
    EXISTS (
        SELECT 1 FROM memberships AS theirs JOIN memberships AS mine ON mine.domain_id = theirs.domain_id
        JOIN agents AS my_agents ON my_agents.id = mine.agent_id
        WHERE theirs.agent_id = {agent} AND theirs.state = 'member' AND mine.state = 'member'
        AND my_agents.owner_id = {viewer}
    )
"""
"""Whether an agent of `viewer`'s is a member of a domain that `agent` is a member of."""

SHARE_A_BANK = """
    EXISTS (
        SELECT 1 FROM attachments AS theirs JOIN attachments AS mine ON mine.bank_id = theirs.bank_id
        JOIN agents AS my_agents ON my_agents.id = mine.agent_id
        WHERE theirs.agent_id = {agent} AND theirs.permission <> 'none' AND mine.permission <> 'none'
        AND my_agents.owner_id = {viewer}
    )
"""
"""Whether an agent of `viewer`'s is attached to a bank that `agent` is attached to."""


def _opened(viewer: str) -> str:
    """Write the condition that the access of an agent opens it to the viewer; the one place that knows each access."""
    return f"""
    (agents.access = 'public'
     OR (agents.access = 'domain' AND {SHARE_A_DOMAIN.format(agent="agents.id", viewer=viewer)})
     OR (agents.access = 'bank' AND {SHARE_A_BANK.format(agent="agents.id", viewer=viewer)}))
"""


_OPENED = _opened(":viewer")


def name_shown(viewer: str, otherwise: str) -> str:
    """Write the name of an agent for a viewer, `otherwise` if the viewer does not see it; a destroyed one keeps its."""
    shown = f"agents.owner_id = {viewer} OR agents.destroyed_at IS NOT NULL OR {_opened(viewer)}"
    return f"CASE WHEN {shown} THEN agents.name ELSE {otherwise} END"


def _row(row: Params) -> AgentRow:
    *columns, online, created_at, updated_at, stopped, suspended = row
    return AgentRow(
        *columns,
        online=bool(online),
        created_at=created_at,
        updated_at=updated_at,
        stopped=bool(stopped),
        suspended=bool(suspended),
    )


def insert(agent: AgentRow) -> Write:
    """Add an agent; refused as `NAME_TAKEN` if the name is taken, `FOREIGN_KEY` without its owner."""
    return Write(
        "INSERT INTO agents (id, owner_id, name, name_key, description, profile, access, online, created_at,"
        " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            agent.id,
            agent.owner_id,
            agent.name,
            name_key(agent.name),
            agent.description,
            agent.profile,
            agent.access,
            int(agent.online),
            agent.created_at,
            agent.updated_at,
        ),
    )


@dataclass(frozen=True, slots=True)
class AgentChanges:
    """The members of an agent that AP_Update or AP_Modify changes; None leaves a member as it is."""

    name: str | None
    description: str | None
    profile: str | None
    access: str | None


def update(agent_id: str, changes: AgentChanges, at: int) -> Write:
    """Change only the given members; refused as `NAME_TAKEN` when the name is taken."""
    return Write(
        "UPDATE agents SET name = coalesce(?, name), name_key = coalesce(?, name_key),"
        " description = coalesce(?, description), profile = coalesce(?, profile),"
        " access = coalesce(?, access), updated_at = ? WHERE id = ? AND destroyed_at IS NULL",
        (
            changes.name,
            changes.name and name_key(changes.name),
            changes.description,
            changes.profile,
            changes.access,
            at,
            agent_id,
        ),
        rows=1,
    )


def set_online(agent_id: str, online: bool, at: int) -> Write:
    """Store an agent's state and the time of its change."""
    return Write(
        "UPDATE agents SET online = ?, updated_at = ? WHERE id = ? AND destroyed_at IS NULL",
        (int(online), at, agent_id),
        rows=1,
    )


def set_stopped(agent_id: str, stopped_at: int | None) -> Write:
    """Store that an operator has stopped an agent, or with None that it may answer again."""
    return Write(
        "UPDATE agents SET stopped_at = ? WHERE id = ? AND destroyed_at IS NULL", (stopped_at, agent_id), rows=1
    )


_NAME_LEFT = "online = 0, owner_id = NULL, description = '', profile = NULL"


def destroy(agent_id: str, at: int) -> tuple[Write, ...]:
    """End an agent: free its name, and remove it from its owner and from all rosters, banks, offers and selections.

    Of its texts the row keeps the name, for what the agent said.
    """
    return (
        Write(
            f"UPDATE agents SET destroyed_at = ?, {_NAME_LEFT} WHERE id = ? AND destroyed_at IS NULL",
            (at, agent_id),
            rows=1,
        ),
        Write("DELETE FROM roster WHERE agent_id = ?", (agent_id,)),
        Write("DELETE FROM attachments WHERE agent_id = ?", (agent_id,)),
        Write("DELETE FROM offers WHERE agent_id = ?", (agent_id,)),
        Write("UPDATE credentials SET agent_id = NULL WHERE agent_id = ?", (agent_id,)),
    )


def destroy_all_of(owner_id: str, at: int) -> tuple[Write, ...]:
    """End every agent of an owner, as `destroy` does."""
    owned = "(SELECT id FROM agents WHERE owner_id = ?)"
    return (
        Write(f"DELETE FROM roster WHERE agent_id IN {owned}", (owner_id,)),
        Write(f"DELETE FROM attachments WHERE agent_id IN {owned}", (owner_id,)),
        Write(f"DELETE FROM offers WHERE agent_id IN {owned}", (owner_id,)),
        Write(f"UPDATE credentials SET agent_id = NULL WHERE agent_id IN {owned}", (owner_id,)),
        Write(f"UPDATE agents SET destroyed_at = ?, {_NAME_LEFT} WHERE owner_id = ?", (at, owner_id)),
    )


def still_there(agent_id: str) -> Write:
    """Change nothing; refused as `ROWS` when the agent is gone."""
    return Write("UPDATE agents SET online = online WHERE id = ? AND destroyed_at IS NULL", (agent_id,), rows=1)


def by_id(agent_id: str) -> Query[AgentRow]:
    """Read one agent that is not destroyed."""
    return Query(f"{_SELECT} WHERE agents.id = ? AND agents.destroyed_at IS NULL", (agent_id,), _row)


def is_destroyed(agent_id: str) -> str:
    """Make the condition that the agent of an SQL expression has been destroyed; false where that is null."""
    return f"EXISTS (SELECT 1 FROM agents WHERE agents.id = {agent_id} AND agents.destroyed_at IS NOT NULL)"


def destroyed(agent_id: str) -> Query[str]:
    """Read the name that a destroyed agent had."""
    return Query("SELECT name FROM agents WHERE id = ? AND destroyed_at IS NOT NULL", (agent_id,), lambda row: row[0])


def id_by_name(name: str) -> Query[str]:
    """Find the agent of that name, in any case."""
    return Query(
        "SELECT id FROM agents WHERE name_key = ? AND destroyed_at IS NULL",
        (name_key(name),),
        lambda row: row[0],
    )


def opened_to(agent_id: str, viewer_id: str) -> Query[int]:
    """Return one row if the agent's access opens it to the viewer, else none."""
    return Query(
        f"SELECT 1 FROM agents WHERE id = :agent AND destroyed_at IS NULL AND {_OPENED}",
        {"agent": agent_id, "viewer": viewer_id},
        lambda row: row[0],
    )


def listed_for(viewer_id: str, prefix: str, after_key: str, limit: int, ids: Ids = None) -> Query[AgentRow]:
    """List the viewer's agents and those of its roster that it may still see, of `ids`, by name, after a cursor."""
    return Query(
        f"{_SELECT} WHERE agents.destroyed_at IS NULL AND agents.name_key > :after"
        " AND substr(agents.name_key, 1, :length) = :prefix AND (agents.owner_id = :viewer"
        f" OR ({_OPENED} AND agents.id IN (SELECT agent_id FROM roster WHERE user_id = :viewer)))"
        f"{kept_to('agents.id', ids)} ORDER BY agents.name_key LIMIT :limit",
        _page(viewer_id, prefix, after_key, limit, ids),
        _row,
    )


def public(after_key: str, limit: int) -> Query[AgentRow]:
    """List the agents that everybody may see, by name, after a cursor."""
    return Query(
        f"{_SELECT} WHERE agents.access = 'public' AND agents.destroyed_at IS NULL AND agents.name_key > ?"
        " ORDER BY agents.name_key LIMIT ?",
        (after_key, limit),
        _row,
    )


def visible_of(
    owner_id: str, viewer_id: str, prefix: str, after_key: str, limit: int, ids: Ids = None
) -> Query[AgentRow]:
    """List an owner's agents that the viewer may see, of `ids`, by name, after a cursor."""
    return Query(
        f"{_SELECT} WHERE agents.owner_id = :owner AND agents.name_key > :after"
        f" AND substr(agents.name_key, 1, :length) = :prefix AND (agents.owner_id = :viewer OR {_OPENED})"
        f"{kept_to('agents.id', ids)} ORDER BY agents.name_key LIMIT :limit",
        _page(viewer_id, prefix, after_key, limit, ids) | {"owner": owner_id},
        _row,
    )


def online_members_named(domain_id: str, names: list[str]) -> Query[AgentRow]:
    """List the online members of a domain that have one of these names, in any case, and may answer."""
    return Query(
        f"{_SELECT} JOIN memberships ON memberships.agent_id = agents.id"
        " WHERE memberships.domain_id = ? AND memberships.state = 'member' AND agents.online = 1"
        " AND agents.stopped_at IS NULL AND users.suspended_at IS NULL AND agents.name_key IN @list_text(?)",
        (domain_id, json.dumps([name_key(name) for name in names])),
        _row,
    )


def _page(viewer_id: str, prefix: str, after_key: str, limit: int, ids: Ids) -> dict[str, Any]:
    return {
        "viewer": viewer_id,
        "length": len(prefix),
        "prefix": name_key(prefix),
        "after": after_key,
        "limit": limit,
        "ids": json.dumps(ids),
    }
