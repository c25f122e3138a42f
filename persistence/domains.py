"""Domains, their memberships and zones."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from persistence.agents import SHARE_A_BANK, SHARE_A_DOMAIN
from persistence.kept_to import Ids, kept_to
from persistence.store import Params, Query, Write
from persistence.users import name_key

NAME_TAKEN = "domains.name_key"
"""Refuses a domain whose name another has."""


@dataclass(frozen=True, slots=True)
class DomainRow:
    """A domain as stored, with its founder's and its owner's names; times in ms since the epoch."""

    id: str
    owner_id: str
    owner: str
    founder_id: str
    founder: str
    name: str
    description: str
    profile: str | None
    access: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class MembershipRow:
    """A membership as stored, with the agent's name and owner."""

    agent_id: str
    agent: str
    owner_id: str
    state: str
    since: int


@dataclass(frozen=True, slots=True)
class ZoneRow:
    """A zone as stored; `last_seq` is also the number of its messages."""

    id: str
    name: str
    created_at: int
    last_seq: int = 0


@dataclass(frozen=True, slots=True)
class DomainChanges:
    """The members of a domain that DM_Update changes; None leaves a member as it is."""

    name: str
    description: str
    profile: str | None
    access: str | None


_SELECT = """
    SELECT domains.id, users.id, users.name, founders.id, founders.name, domains.name, domains.description,
           domains.profile, domains.access, domains.created_at, domains.updated_at
    FROM domains JOIN agents AS founders ON founders.id = domains.founder_id JOIN users ON users.id = founders.owner_id
"""


def _shared(viewer: str) -> str:
    """Write the condition that the viewer sees a domain because it shares a domain or a bank with the founder."""
    return f"""
    ((domains.access = 'domain' AND {SHARE_A_DOMAIN.format(agent="domains.founder_id", viewer=viewer)})
     OR (domains.access = 'bank' AND {SHARE_A_BANK.format(agent="domains.founder_id", viewer=viewer)}))
"""


def _visible(viewer: str) -> str:
    """Write the condition that the viewer sees a domain; `viewer` may add conditions on `my_agents`, the viewer's."""
    return f"""
    (founders.owner_id = :viewer OR domains.access = 'public'
     OR EXISTS (
        SELECT 1 FROM memberships JOIN agents AS my_agents ON my_agents.id = memberships.agent_id
        WHERE memberships.domain_id = domains.id AND memberships.state IN ('invited', 'member')
        AND my_agents.owner_id = {viewer})
     OR {_shared(viewer)})
"""


_SHARED = _shared(":viewer")

_VISIBLE = _visible(":viewer")
"""Whether the viewer sees a domain (docs/contract.md, "Domains")."""

_VISIBLE_WITHOUT = f"(founders.id <> :agent AND {_visible(':viewer AND my_agents.id <> :agent')})"
"""Whether the viewer will see a domain when an agent of its own has left it."""


def _row(row: Params) -> DomainRow:
    return DomainRow(*row)


def insert(domain: DomainRow) -> Write:
    """Add a domain; refused as `NAME_TAKEN` when the name is taken, `ROWS` when its founder is gone."""
    return Write(
        "INSERT INTO domains (id, founder_id, name, name_key, description, profile, access, created_at, updated_at)"
        " SELECT ?, id, ?, ?, ?, ?, ?, ?, ? FROM agents WHERE id = ? AND owner_id = ? AND destroyed_at IS NULL",
        (
            domain.id,
            domain.name,
            name_key(domain.name),
            domain.description,
            domain.profile,
            domain.access,
            domain.created_at,
            domain.updated_at,
            domain.founder_id,
            domain.owner_id,
        ),
        rows=1,
    )


def update(domain_id: str, changes: DomainChanges, at: int) -> Write:
    """Change a domain; refused as `NAME_TAKEN` when the name is taken, `ROWS` when it is gone."""
    return Write(
        "UPDATE domains SET name = ?, name_key = ?, description = ?, profile = coalesce(?, profile),"
        " access = coalesce(?, access), updated_at = ? WHERE id = ?",
        (
            changes.name,
            name_key(changes.name),
            changes.description,
            changes.profile,
            changes.access,
            at,
            domain_id,
        ),
        rows=1,
    )


def delete(domain_id: str) -> Write:
    """Remove a domain, and by cascade its memberships, zones and selections; its founder's end may have done so."""
    return Write("DELETE FROM domains WHERE id = ?", (domain_id,))


def leave_all(agent_id: str) -> tuple[Write, ...]:
    """Take an agent out of every domain; those that it founded go with it, and an erasure is due if there are any."""
    return (
        Write(
            "UPDATE erasure SET due = due + 1 WHERE EXISTS (SELECT 1 FROM domains WHERE founder_id = ?)", (agent_id,)
        ),
        Write("DELETE FROM domains WHERE founder_id = ?", (agent_id,)),
        Write("DELETE FROM memberships WHERE agent_id = ?", (agent_id,)),
    )


def leave_all_of(owner_id: str) -> tuple[Write, ...]:
    """Take every agent of an owner out of every domain, as `leave_all` does."""
    owned = "(SELECT id FROM agents WHERE owner_id = ?)"
    return (
        Write(f"DELETE FROM domains WHERE founder_id IN {owned}", (owner_id,)),
        Write(f"DELETE FROM memberships WHERE agent_id IN {owned}", (owner_id,)),
    )


def put_membership(domain_id: str, agent_id: str, state: str, since: int) -> Write:
    """Store a membership's state; refused as `ROWS` when the agent is gone, `FOREIGN_KEY` when the domain is."""
    return Write(
        "INSERT INTO memberships (domain_id, agent_id, state, since)"
        " SELECT ?, id, ?, ? FROM agents WHERE id = ? AND destroyed_at IS NULL"
        " ON CONFLICT (domain_id, agent_id) DO UPDATE SET state = excluded.state, since = excluded.since",
        (domain_id, state, since, agent_id),
        rows=1,
    )


def delete_membership(domain_id: str, agent_id: str) -> Write:
    """Remove a membership."""
    return Write("DELETE FROM memberships WHERE domain_id = ? AND agent_id = ?", (domain_id, agent_id))


def insert_zone(domain_id: str, zone: ZoneRow) -> Write:
    """Add a zone; its actor knows that the name is free. Refused as `FOREIGN_KEY` when the domain is gone."""
    return Write(
        "INSERT INTO zones (id, domain_id, name, name_key, created_at) VALUES (?, ?, ?, ?, ?)",
        (zone.id, domain_id, zone.name, name_key(zone.name), zone.created_at),
    )


def delete_zone(zone_id: str) -> Write:
    """Remove a zone, and by cascade its messages and selections; the domain keeps their last number.

    It may be gone with its domain.
    """
    return Write("DELETE FROM zones WHERE id = ?", (zone_id,))


def by_id(domain_id: str) -> Query[DomainRow]:
    """Read one domain."""
    return Query(f"{_SELECT} WHERE domains.id = ?", (domain_id,), _row)


def id_by_name(name: str) -> Query[str]:
    """Find the domain of that name, in any case."""
    return Query("SELECT id FROM domains WHERE name_key = ?", (name_key(name),), lambda row: row[0])


_MEMBERSHIPS = """
    SELECT agents.id, agents.name, agents.owner_id, memberships.state, memberships.since
    FROM memberships JOIN agents ON agents.id = memberships.agent_id
"""


def memberships(domain_id: str) -> Query[MembershipRow]:
    """List a domain's memberships."""
    return Query(f"{_MEMBERSHIPS} WHERE memberships.domain_id = ?", (domain_id,), lambda row: MembershipRow(*row))


def memberships_after(domain_id: str, after_key: str, limit: int) -> Query[MembershipRow]:
    """List a domain's memberships by the agents' names, after a cursor."""
    return Query(
        f"{_MEMBERSHIPS} WHERE memberships.domain_id = ? AND agents.name_key > ? ORDER BY agents.name_key LIMIT ?",
        (domain_id, after_key, limit),
        lambda row: MembershipRow(*row),
    )


def zones(domain_id: str) -> Query[ZoneRow]:
    """List a domain's zones in the order of their ids, by which ZN_List pages."""
    return Query(
        "SELECT id, name, created_at, (SELECT coalesce(max(seq), 0) FROM zone_messages WHERE zone_id = zones.id)"
        " FROM zones WHERE domain_id = ? ORDER BY id",
        (domain_id,),
        lambda row: ZoneRow(*row),
    )


class ZoneName(NamedTuple):
    """The names of a zone and its domain, with their keys, by which `zones_of_member` pages."""

    domain: str
    zone: str
    domain_key: str
    zone_key: str


def zones_of_member(viewer_id: str, after: tuple[str, str], limit: int) -> Query[ZoneName]:
    """List the zones of the domains in which an agent of the viewer is a member, by their names' keys, after these."""
    return Query(
        "SELECT domains.name, zones.name, domains.name_key, zones.name_key"
        " FROM domains JOIN zones ON zones.domain_id = domains.id"
        " WHERE domains.id IN (SELECT memberships.domain_id FROM memberships"
        " JOIN agents ON agents.id = memberships.agent_id WHERE memberships.state = 'member' AND agents.owner_id = ?)"
        " AND (domains.name_key > ? OR (domains.name_key = ? AND zones.name_key > ?))"
        " ORDER BY domains.name_key, zones.name_key LIMIT ?",
        (viewer_id, after[0], *after, limit),
        lambda row: ZoneName(*row),
    )


def names_of_member(viewer_id: str, prefix: str, limit: int) -> Query[str]:
    """List the names of the domains in which an agent of the viewer is a member, by prefix."""
    return Query(
        "SELECT name FROM domains WHERE id IN (SELECT memberships.domain_id FROM memberships"
        " JOIN agents ON agents.id = memberships.agent_id WHERE memberships.state = 'member' AND agents.owner_id = ?)"
        " AND substr(name_key, 1, ?) = ? ORDER BY name_key LIMIT ?",
        (viewer_id, len(prefix), name_key(prefix), limit),
        lambda row: row[0],
    )


def of_agent(agent_id: str) -> Query[str]:
    """List the ids of the domains in which an agent has any state."""
    return Query("SELECT domain_id FROM memberships WHERE agent_id = ?", (agent_id,), lambda row: row[0])


def founded_by(agent_id: str) -> Query[str]:
    """List the ids of the domains that an agent founded."""
    return Query("SELECT id FROM domains WHERE founder_id = ?", (agent_id,), lambda row: row[0])


def of_owner(owner_id: str) -> Query[tuple[str, str]]:
    """List the memberships of an owner's agents, in any state: the domain's id and the agent's name."""
    return Query(
        "SELECT domain_id, agents.name FROM memberships JOIN agents ON agents.id = agent_id WHERE agents.owner_id = ?",
        (owner_id,),
        lambda row: (row[0], row[1]),
    )


def names_of_agent(agent_id: str, viewer_id: str) -> Query[str]:
    """List the names of those domains of an agent that the viewer sees."""
    return Query(
        "SELECT domains.name FROM memberships AS joined JOIN domains ON domains.id = joined.domain_id"
        " JOIN agents AS founders ON founders.id = domains.founder_id"
        f" WHERE joined.agent_id = :agent AND joined.state = 'member' AND {_VISIBLE} ORDER BY domains.name_key",
        {"agent": agent_id, "viewer": viewer_id},
        lambda row: row[0],
    )


def names_of(domain_ids: Sequence[str]) -> Query[str]:
    """List the names of domains."""
    return Query(
        "SELECT name FROM domains WHERE id IN @list_text(?)", (json.dumps(list(domain_ids)),), lambda row: row[0]
    )


def visible_to(viewer_id: str, prefix: str, after_key: str, limit: int, ids: Ids = None) -> Query[DomainRow]:
    """List the domains that a viewer sees, of `ids`, by name, after a cursor."""
    return Query(
        f"{_SELECT} WHERE domains.name_key > :after AND substr(domains.name_key, 1, :length) = :prefix AND {_VISIBLE}"
        f"{kept_to('domains.id', ids)} ORDER BY domains.name_key LIMIT :limit",
        {
            "after": after_key,
            "length": len(prefix),
            "prefix": name_key(prefix),
            "viewer": viewer_id,
            "limit": limit,
            "ids": json.dumps(ids),
        },
        _row,
    )


def shown_by_sharing(domain_id: str, viewer_id: str) -> Query[int]:
    """Return whether a viewer sees a domain because it shares something with the founder: a row if so."""
    return Query(
        f"SELECT 1 FROM domains WHERE id = :domain AND {_SHARED}",
        {"domain": domain_id, "viewer": viewer_id},
        lambda row: row[0],
    )


def visible_without(domain_id: str, agent_id: str, viewer_id: str) -> Query[int]:
    """Return whether a viewer will see a domain once an agent has left it: a row if so."""
    return Query(
        "SELECT 1 FROM domains JOIN agents AS founders ON founders.id = domains.founder_id"
        f" WHERE domains.id = :domain AND {_VISIBLE_WITHOUT}",
        {"domain": domain_id, "agent": agent_id, "viewer": viewer_id},
        lambda row: row[0],
    )
