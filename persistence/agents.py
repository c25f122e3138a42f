"""Agents."""

from dataclasses import dataclass

from persistence.store import Params, Query, Write
from persistence.users import name_key


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


_SELECT = """
    SELECT agents.id, agents.owner_id, users.name, agents.name, agents.description, agents.profile,
           agents.access, agents.online, agents.created_at, agents.updated_at
    FROM agents JOIN users ON users.id = agents.owner_id
"""


def _row(row: Params) -> AgentRow:
    return AgentRow(*row)


def insert(agent: AgentRow) -> Write:
    """Add an agent; refused as `agents.name_key` when the name is taken, `FOREIGN_KEY` without its owner."""
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
    """What AP_Update or AP_Modify changes of an agent; None leaves a member as it is."""

    name: str | None
    description: str | None
    profile: str | None
    access: str | None


def update(agent_id: str, changes: AgentChanges, at: int) -> Write:
    """Change just the members given; refused as `agents.name_key` when the name is taken."""
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
    """Store an agent's state and when it changed."""
    return Write(
        "UPDATE agents SET online = ?, updated_at = ? WHERE id = ? AND destroyed_at IS NULL",
        (int(online), at, agent_id),
        rows=1,
    )


def destroy(agent_id: str, at: int) -> tuple[Write, ...]:
    """End an agent: free its name, take it from its owner, every roster, bank and selection."""
    return (
        Write(
            "UPDATE agents SET destroyed_at = ?, online = 0, owner_id = NULL WHERE id = ? AND destroyed_at IS NULL",
            (at, agent_id),
            rows=1,
        ),
        Write("DELETE FROM roster WHERE agent_id = ?", (agent_id,)),
        Write("DELETE FROM attachments WHERE agent_id = ?", (agent_id,)),
        Write("UPDATE sessions SET agent_id = NULL WHERE agent_id = ?", (agent_id,)),
    )


def destroy_all_of(owner_id: str, at: int) -> tuple[Write, ...]:
    """End every agent of an owner, as `destroy` does."""
    owned = "(SELECT id FROM agents WHERE owner_id = ?)"
    return (
        Write(f"DELETE FROM roster WHERE agent_id IN {owned}", (owner_id,)),
        Write(f"DELETE FROM attachments WHERE agent_id IN {owned}", (owner_id,)),
        Write(f"UPDATE sessions SET agent_id = NULL WHERE agent_id IN {owned}", (owner_id,)),
        Write(
            "UPDATE agents SET destroyed_at = ?, online = 0, owner_id = NULL WHERE owner_id = ?",
            (at, owner_id),
        ),
    )


def by_id(agent_id: str) -> Query[AgentRow]:
    """Read one agent that is not destroyed."""
    return Query(f"{_SELECT} WHERE agents.id = ? AND agents.destroyed_at IS NULL", (agent_id,), _row)


def id_by_name(name: str) -> Query[str]:
    """Find the agent of that name, in any case."""
    return Query(
        "SELECT id FROM agents WHERE name_key = ? AND destroyed_at IS NULL",
        (name_key(name),),
        lambda row: row[0],
    )


def _opened_by_access(viewer_id: str) -> tuple[str, Params]:
    """Make the condition that the agent's access opens it to the viewer; the one place that knows each access."""
    shares_bank = (
        "SELECT 1 FROM attachments AS common"
        " JOIN attachments AS theirs ON theirs.bank_id = common.bank_id AND theirs.permission <> 'none'"
        " JOIN agents AS other ON other.id = theirs.agent_id"
        " WHERE common.agent_id = agents.id AND common.permission <> 'none' AND other.owner_id = ?"
    )
    return f"(agents.access = 'public' OR (agents.access = 'bank' AND EXISTS ({shares_bank})))", (viewer_id,)


def opened_to(agent_id: str, viewer_id: str) -> Query[int]:
    """Tell, by a row or none, whether the agent's access opens it to the viewer."""
    opened, params = _opened_by_access(viewer_id)
    return Query(
        f"SELECT 1 FROM agents WHERE id = ? AND destroyed_at IS NULL AND {opened}",
        (agent_id, *params),
        lambda row: row[0],
    )


def listed_for(viewer_id: str, prefix: str, after_key: str, limit: int) -> Query[AgentRow]:
    """List own agents and those of the roster that the viewer may still see, by name, after a cursor."""
    opened, params = _opened_by_access(viewer_id)
    return Query(
        f"{_SELECT} WHERE agents.destroyed_at IS NULL AND agents.name_key > ?"
        " AND substr(agents.name_key, 1, ?) = ? AND (agents.owner_id = ?"
        f" OR (agents.id IN (SELECT agent_id FROM roster WHERE user_id = ?) AND {opened}))"
        " ORDER BY agents.name_key LIMIT ?",
        (after_key, len(prefix), name_key(prefix), viewer_id, viewer_id, *params, limit),
        _row,
    )


def visible_of(owner_id: str, viewer_id: str, prefix: str, after_key: str, limit: int) -> Query[AgentRow]:
    """List an owner's agents that the viewer may see, by name, after a cursor."""
    opened, params = _opened_by_access(viewer_id)
    return Query(
        f"{_SELECT} WHERE agents.owner_id = ? AND agents.name_key > ?"
        f" AND substr(agents.name_key, 1, ?) = ? AND (agents.owner_id = ? OR {opened})"
        " ORDER BY agents.name_key LIMIT ?",
        (owner_id, after_key, len(prefix), name_key(prefix), viewer_id, *params, limit),
        _row,
    )
