"""Memory banks: their rows, the users who may see them, and the agents that are attached to them."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence import search_index
from persistence.agents import SHARE_A_BANK, SHARE_A_DOMAIN
from persistence.kept_to import Ids, kept_to
from persistence.store import Params, Query, Write
from persistence.users import name_key

NAME_TAKEN = "banks.name_key"
"""Refuses a bank whose name another has."""


class BankRow(NamedTuple):
    """A bank as stored, with its owner's name and the number of its memories; times in ms since the epoch.

    `collection` is the number of its memories' collection in the index (persistence/search_index.py).
    """

    number: int
    id: str
    owner_id: str
    owner: str
    name: str
    description: str | None
    access: str
    memories: int
    created_at: int
    updated_at: int
    collection: int


class AttachmentRow(NamedTuple):
    """An agent's attachment to a bank (`attached`), or the offer of one (`offered`), with its name and owner."""

    agent_id: str
    owner_id: str
    agent: str
    permission: str
    since: int
    state: str


class BankChanges(NamedTuple):
    """The members of a bank that MB_Update or MB_Permissions changes; None leaves a member as it is."""

    name: str | None = None
    description: str | None = None
    access: str | None = None


_BANK = """
    SELECT banks.number, banks.id, banks.owner_id, users.name, banks.name, banks.description, banks.access,
           banks.memories, banks.created_at, banks.updated_at, collections.number
    FROM banks JOIN users ON users.id = banks.owner_id JOIN collections ON collections.bank_id = banks.id
"""


def _bank(row: Params) -> BankRow:
    return BankRow(*row)


# banks


def insert(bank: BankRow, version: str) -> tuple[Write, ...]:
    """Add a bank, numbered by the store, and its collection in the index.

    Refused as `NAME_TAKEN`, or `FOREIGN_KEY` without its owner. `version` names the tokenizer of the index.
    """
    return (
        Write(
            "INSERT INTO banks (id, owner_id, name, name_key, description, access, created_at, updated_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                bank.id,
                bank.owner_id,
                bank.name,
                name_key(bank.name),
                bank.description,
                bank.access,
                bank.created_at,
                bank.updated_at,
            ),
        ),
        search_index.begin_for_bank(bank.collection, bank.id, version),
    )


def update(bank_id: str, changes: BankChanges, at: int) -> Write:
    """Change only the given members; refused as `NAME_TAKEN` when the name is taken."""
    return Write(
        "UPDATE banks SET name = coalesce(?, name), name_key = coalesce(?, name_key),"
        " description = coalesce(?, description), access = coalesce(?, access), updated_at = ? WHERE id = ?",
        (changes.name, changes.name and name_key(changes.name), changes.description, changes.access, at, bank_id),
        rows=1,
    )


def updated(bank: BankRow, changes: BankChanges, at: int) -> BankRow:
    """Return a bank as `update` leaves it."""
    given = {member: text for member, text in changes._asdict().items() if text is not None}
    return bank._replace(updated_at=at, **given)


def delete(bank_id: str) -> Write:
    """Remove a bank, and by cascade its attachments and memories."""
    return Write("DELETE FROM banks WHERE id = ?", (bank_id,), rows=1)


def by_id(bank_id: str) -> Query[BankRow]:
    """Read one bank."""
    return Query(f"{_BANK} WHERE banks.id = ?", (bank_id,), _bank)


def id_by_name(name: str) -> Query[str]:
    """Find the id of the bank of that name, in any case."""
    return Query("SELECT id FROM banks WHERE name_key = ?", (name_key(name),), lambda row: row[0])


# visibility


def _attached(viewer_id: str) -> tuple[str, Params]:
    """Make the condition that an agent of the viewer's is attached to the bank."""
    return (
        "EXISTS (SELECT 1 FROM attachments JOIN agents ON agents.id = attachments.agent_id"
        " WHERE attachments.bank_id = banks.id AND attachments.permission <> 'none' AND agents.owner_id = ?)",
        (viewer_id,),
    )


def _opened_by_access(viewer_id: str) -> tuple[str, Params]:
    """Make the condition that the bank's access opens it to the viewer; the one place that knows each access."""
    shared = " OR ".join(
        f"(banks.access = '{access}' AND {shares.format(agent='admins.agent_id', viewer='?')})"
        for access, shares in (("domain", SHARE_A_DOMAIN), ("bank", SHARE_A_BANK))
    )
    with_an_admin = (
        "EXISTS (SELECT 1 FROM attachments AS admins"
        f" WHERE admins.bank_id = banks.id AND admins.permission = 'admin' AND ({shared}))"
    )
    return f"(banks.access = 'public' OR {with_an_admin})", (viewer_id, viewer_id)


def _seen(viewer_id: str) -> tuple[str, Params]:
    """Make the condition that the viewer sees the bank."""
    attached, attached_params = _attached(viewer_id)
    opened, opened_params = _opened_by_access(viewer_id)
    return f"(banks.owner_id = ? OR {attached} OR {opened})", (viewer_id, *attached_params, *opened_params)


def opened_to(bank_id: str, viewer_id: str) -> Query[int]:
    """Return one row if the bank's access opens it to the viewer, else none."""
    opened, params = _opened_by_access(viewer_id)
    return Query(f"SELECT 1 FROM banks WHERE id = ? AND {opened}", (bank_id, *params), lambda row: row[0])


def listed_for(viewer_id: str, prefix: str, after_key: str, limit: int, ids: Ids = None) -> Query[BankRow]:
    """List the viewer's banks and those that its agents are attached to, of `ids`, by name, after a cursor."""
    attached, params = _attached(viewer_id)
    return _listed(f"(banks.owner_id = ? OR {attached})", (viewer_id, *params), prefix, after_key, limit, ids)


def visible_of(
    owner_id: str, viewer_id: str, prefix: str, after_key: str, limit: int, ids: Ids = None
) -> Query[BankRow]:
    """List an owner's banks that the viewer may see, of `ids`, by name, after a cursor."""
    seen, params = _seen(viewer_id)
    return _listed(f"banks.owner_id = ? AND {seen}", (owner_id, *params), prefix, after_key, limit, ids)


def _listed(condition: str, params: Params, prefix: str, after_key: str, limit: int, ids: Ids) -> Query[BankRow]:
    kept = () if ids is None else (json.dumps(ids),)
    return Query(
        f"{_BANK} WHERE {condition} AND banks.name_key > ? AND substr(banks.name_key, 1, ?) = ?"
        f"{kept_to('banks.id', ids, '?')} ORDER BY banks.name_key LIMIT ?",
        (*params, after_key, len(prefix), name_key(prefix), *kept, limit),
        _bank,
    )


# attachments


def attach(bank_id: str, agent_id: str, permission: str, since: int) -> Write:
    """Attach an agent, or change its permission; refused as `ROWS` when the agent is gone."""
    return Write(
        "INSERT INTO attachments (bank_id, agent_id, permission, since)"
        " SELECT ?, id, ?, ? FROM agents WHERE id = ? AND destroyed_at IS NULL"
        " ON CONFLICT (bank_id, agent_id) DO UPDATE SET permission = excluded.permission",
        (bank_id, permission, since, agent_id),
        rows=1,
    )


def detach(bank_id: str, agent_id: str) -> Write:
    """Detach an agent."""
    return Write("DELETE FROM attachments WHERE bank_id = ? AND agent_id = ?", (bank_id, agent_id))


def of_agent(agent_id: str, viewer_id: str, limit: int, ids: Ids = None) -> Query[BankRow]:
    """List the banks that an agent may read and the viewer may see, by name."""
    return _of_agent(agent_id, viewer_id, "banks.name_key", limit, ids)


def recalled_by(agent_id: str, viewer_id: str, limit: int, ids: Ids = None) -> Query[BankRow]:
    """List the same banks in the order in which a chat searches them: those of the agent's owner, then by age."""
    order = "(banks.owner_id <> (SELECT owner_id FROM agents WHERE id = held.agent_id)), held.since, banks.number"
    return _of_agent(agent_id, viewer_id, order, limit, ids)


def shown_among(positions: Sequence[int], agent_id: str, viewer_id: str) -> Query[int]:
    """List those of these positions of memories that are in banks which an agent may read and the viewer may see."""
    seen, params = _seen(viewer_id)
    return Query(
        "SELECT memories.place FROM memories JOIN banks ON banks.id = memories.bank_id"
        " JOIN attachments AS held ON held.bank_id = banks.id AND held.permission <> 'none'"
        f" WHERE memories.place IN @list_int(?) AND held.agent_id = ? AND {seen}",
        (json.dumps(positions), agent_id, *params),
        lambda row: row[0],
    )


def _of_agent(agent_id: str, viewer_id: str, order: str, limit: int, ids: Ids) -> Query[BankRow]:
    (seen, params), kept = _seen(viewer_id), () if ids is None else (json.dumps(ids),)
    return Query(
        f"{_BANK} JOIN attachments AS held ON held.bank_id = banks.id"
        f" WHERE held.agent_id = ? AND held.permission <> 'none' AND {seen}{kept_to('banks.id', ids, '?')}"
        f" ORDER BY {order} LIMIT ?",
        (agent_id, *params, *kept, limit),
        _bank,
    )
