"""The graph around one user, for operators: agents, domains and banks, and the relations between them."""

from typing import NamedTuple

from persistence.store import Query

_OWN = "SELECT id FROM agents WHERE owner_id = :user AND destroyed_at IS NULL"
_OWN_DOMAINS = f"SELECT id FROM domains WHERE founder_id IN ({_OWN})"
_OWN_BANKS = "SELECT id FROM banks WHERE owner_id = :user"

_AGENTS = f"""
    SELECT 'agent' AS kind, agents.id AS id, agents.name AS name, users.name AS owner,
        agents.stopped_at IS NOT NULL AS stopped
    FROM agents JOIN users ON users.id = agents.owner_id WHERE agents.destroyed_at IS NULL AND (agents.owner_id = :user
        OR agents.id IN (SELECT agent_id FROM memberships WHERE domain_id IN ({_OWN_DOMAINS}))
        OR agents.id IN (SELECT agent_id FROM attachments WHERE bank_id IN ({_OWN_BANKS}))
        OR agents.id IN (SELECT agent_id FROM offers WHERE bank_id IN ({_OWN_BANKS})))
"""
_DOMAINS = f"""
    SELECT 'domain', domains.id, domains.name, users.name, 1 = 0
    FROM domains JOIN agents ON agents.id = domains.founder_id JOIN users ON users.id = agents.owner_id
    WHERE agents.owner_id = :user OR domains.id IN (SELECT domain_id FROM memberships WHERE agent_id IN ({_OWN}))
"""
_BANKS = f"""
    SELECT 'bank', banks.id, banks.name, users.name, 1 = 0
    FROM banks JOIN users ON users.id = banks.owner_id
    WHERE banks.owner_id = :user OR banks.id IN (SELECT bank_id FROM attachments WHERE agent_id IN ({_OWN}))
        OR banks.id IN (SELECT bank_id FROM offers WHERE agent_id IN ({_OWN}))
"""

_RELATIONS = f"""
    SELECT memberships.agent_id AS agent, memberships.domain_id AS held,
        CASE WHEN domains.founder_id = memberships.agent_id THEN 'founder' ELSE memberships.state END AS relation
    FROM memberships JOIN domains ON domains.id = memberships.domain_id
    WHERE memberships.agent_id IN ({_OWN}) OR memberships.domain_id IN ({_OWN_DOMAINS})
    UNION ALL SELECT agent_id, bank_id, permission FROM attachments
    WHERE permission <> 'none' AND (agent_id IN ({_OWN}) OR bank_id IN ({_OWN_BANKS}))
    UNION ALL SELECT agent_id, bank_id, 'offered' FROM offers WHERE agent_id IN ({_OWN}) OR bank_id IN ({_OWN_BANKS})
"""


class Held(NamedTuple):
    """An agent, domain or bank, with its owner's name; `stopped` is of agents that an operator has stopped."""

    kind: str
    id: str
    name: str
    owner: str
    stopped: bool


class Relation(NamedTuple):
    """How an agent stands to a domain or bank: founder, member, invited, banned; read, write, admin, offered."""

    agent: str
    held: str
    relation: str


def around(user_id: str, limit: int) -> Query[Held]:
    """List what a user owns, and what its agents, domains and banks are related to; its own first."""
    return Query(
        f"SELECT kind, id, name, owner, stopped FROM ({_AGENTS} UNION ALL {_DOMAINS} UNION ALL {_BANKS}) AS around"
        " ORDER BY (owner <> (SELECT name FROM users WHERE id = :user)), kind, id LIMIT :limit",
        {"user": user_id, "limit": limit},
        lambda row: Held(*row[:-1], stopped=bool(row[-1])),
    )


def relations(user_id: str, limit: int) -> Query[Relation]:
    """List the relations of a user's agents, domains and banks."""
    return Query(
        f"SELECT agent, held, relation FROM ({_RELATIONS}) AS related ORDER BY agent, held, relation LIMIT :limit",
        {"user": user_id, "limit": limit},
        lambda row: Relation(*row),
    )
