"""Offers of banks to agents, which the agents' owners accept or decline, and the list of a bank's agents."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence.banks import AttachmentRow
from persistence.store import Params, Query, Write
from persistence.users import name_key


class OfferRow(NamedTuple):
    """An offer as the agent's owner sees it: the bank's name and its owner's."""

    bank: str
    owner: str
    permission: str
    since: int


def put(bank_id: str, agent_id: str, permission: str, since: int, unless_held: Sequence[str]) -> Write:
    """Offer a bank to an agent, unless it holds one of these permissions; an equal offer stays unchanged."""
    return Write(
        "INSERT INTO offers (bank_id, agent_id, permission, since)"
        " SELECT ?, id, ?, ? FROM agents WHERE id = ? AND destroyed_at IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM attachments WHERE bank_id = ? AND agent_id = agents.id"
        " AND permission IN @list_text(?))"
        " ON CONFLICT (bank_id, agent_id) DO UPDATE SET permission = excluded.permission, since = excluded.since"
        " WHERE offers.permission <> excluded.permission",
        (bank_id, permission, since, agent_id, bank_id, json.dumps(unless_held)),
    )


def withdraw(bank_id: str, agent_id: str, permissions: Sequence[str]) -> Write:
    """Withdraw an agent's offer, if it is of one of these permissions."""
    return Write(
        "DELETE FROM offers WHERE bank_id = ? AND agent_id = ? AND permission IN @list_text(?)",
        (bank_id, agent_id, json.dumps(permissions)),
    )


def lower(bank_id: str, agent_id: str, permission: str, above: Sequence[str]) -> Write:
    """Lower an attached agent's permission, if it has one of those above."""
    return Write(
        "UPDATE attachments SET permission = ? WHERE bank_id = ? AND agent_id = ? AND permission IN @list_text(?)",
        (permission, bank_id, agent_id, json.dumps(above)),
    )


def accept(bank_id: str, agent_id: str, permission: str, since: int) -> tuple[Write, ...]:
    """Attach an agent with just the permission that it is offered; refused as `ROWS` if the offer is gone."""
    return (
        Write(
            "INSERT INTO attachments (bank_id, agent_id, permission, since)"
            " SELECT offers.bank_id, offers.agent_id, offers.permission, ?"
            " FROM offers JOIN agents ON agents.id = offers.agent_id AND agents.destroyed_at IS NULL"
            " WHERE offers.bank_id = ? AND offers.agent_id = ? AND offers.permission = ?"
            " ON CONFLICT (bank_id, agent_id) DO UPDATE SET permission = excluded.permission",
            (since, bank_id, agent_id, permission),
            rows=1,
        ),
        Write("DELETE FROM offers WHERE bank_id = ? AND agent_id = ?", (bank_id, agent_id)),
    )


def of_agent(agent_id: str, limit: int) -> Query[OfferRow]:
    """List the banks that an agent is offered, the newest offers first, so that old ones can't hide them."""
    return Query(
        "SELECT banks.name, users.name, offers.permission, offers.since"
        " FROM offers JOIN banks ON banks.id = offers.bank_id JOIN users ON users.id = banks.owner_id"
        " WHERE offers.agent_id = ? ORDER BY offers.since DESC, banks.name_key LIMIT ?",
        (agent_id, limit),
        lambda row: OfferRow(*row),
    )


def offered_in(bank_id: str, agent_name: str) -> Query[str]:
    """Find the agent of that name if it is offered the bank."""
    return Query(
        "SELECT agents.id FROM offers JOIN agents ON agents.id = offers.agent_id"
        " WHERE offers.bank_id = ? AND agents.name_key = ? AND agents.destroyed_at IS NULL",
        (bank_id, name_key(agent_name)),
        lambda row: row[0],
    )


_OF_BANK = """
    SELECT listed.agent_id, agents.owner_id, agents.name, listed.permission, listed.since, listed.state
    FROM (
        SELECT bank_id, agent_id, permission, since, 'attached' AS state FROM attachments WHERE bank_id = :bank
        UNION ALL
        SELECT bank_id, agent_id, permission, since, 'offered' AS state FROM offers WHERE bank_id = :bank
    ) AS listed
    JOIN agents ON agents.id = listed.agent_id AND agents.destroyed_at IS NULL
"""


def _attachment(row: Params) -> AttachmentRow:
    return AttachmentRow(*row)


def all_of_bank(bank_id: str) -> Query[AttachmentRow]:
    """List the agents that are attached to a bank or offered it; one can be both."""
    return Query(_OF_BANK, {"bank": bank_id}, _attachment)


def page_of_bank(bank_id: str, agent: str | None, after: str, limit: int) -> Query[AttachmentRow]:
    """List these agents by name, attachments before offers, after the `position_of` a row; all, or one agent."""
    name, _, state = after.partition(" ")
    return Query(
        f"{_OF_BANK} WHERE (agents.name_key, listed.state) > (:after_name, :after_state)"
        " AND coalesce(:agent, agents.name_key) = agents.name_key"
        " ORDER BY agents.name_key, listed.state LIMIT :limit",
        {
            "bank": bank_id,
            "after_name": name,
            "after_state": state,
            "agent": None if agent is None else name_key(agent),
            "limit": limit,
        },
        _attachment,
    )


def position_of(row: AttachmentRow) -> str:
    """Return the position of a row in the list; names have no blanks."""
    return f"{name_key(row.agent)} {row.state}"
