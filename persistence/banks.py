"""Memory banks: who may do what in them, and their memories."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence.agents import SHARE_A_BANK, SHARE_A_DOMAIN
from persistence.store import Params, Query, Write
from persistence.users import name_key


class BankRow(NamedTuple):
    """A bank as stored, with its owner's name and the number of its memories; times in ms since the epoch."""

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


class AttachmentRow(NamedTuple):
    """An agent's attachment to a bank (`attached`), or the offer of one (`offered`), with its name and owner."""

    agent_id: str
    owner_id: str
    agent: str
    permission: str
    since: int
    state: str


class MemoryRow(NamedTuple):
    """A memory as stored, with its author's name and owner where that agent is still there; no text when censored."""

    place: int
    id: str
    name: str
    text: str | None
    author_id: str | None
    author: str | None
    author_owner_id: str | None
    censored: int
    created_at: int
    updated_at: int


class Part(NamedTuple):
    """Where a memory's text came from: which part of which document; `part_of` its name where it has several."""

    document_id: str
    number: int
    part_of: str | None


class BankChanges(NamedTuple):
    """What MB_Update or MB_Permissions changes of a bank; None leaves a member as it is."""

    name: str | None = None
    description: str | None = None
    access: str | None = None


class Choice(NamedTuple):
    """Which memories of a bank are meant: those that fit all that is given, so with nothing given all.

    A document's name means its parts, too. `owner_id`: whose agent wrote them.
    """

    name: str | None = None
    author_id: str | None = None
    owner_id: str | None = None


_BANK = """
    SELECT banks.number, banks.id, banks.owner_id, users.name, banks.name, banks.description, banks.access,
           banks.memories, banks.created_at, banks.updated_at
    FROM banks JOIN users ON users.id = banks.owner_id
"""
_MEMORY = """
    SELECT memories.place, memories.id, memories.name, memories.text, memories.author_id, agents.name, agents.owner_id,
           memories.censored, memories.created_at, memories.updated_at
    FROM memories LEFT JOIN agents ON agents.id = memories.author_id AND agents.destroyed_at IS NULL
"""


def _bank(row: Params) -> BankRow:
    return BankRow(*row)


def _memory(row: Params) -> MemoryRow:
    return MemoryRow(*row)


# banks


def insert(bank: BankRow) -> Write:
    """Add a bank, whose number the store gives; refused as `banks.name_key`, or `FOREIGN_KEY` without its owner."""
    return Write(
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
    )


def update(bank_id: str, changes: BankChanges, at: int) -> Write:
    """Change just the members given; refused as `banks.name_key` when the name is taken."""
    return Write(
        "UPDATE banks SET name = coalesce(?, name), name_key = coalesce(?, name_key),"
        " description = coalesce(?, description), access = coalesce(?, access), updated_at = ? WHERE id = ?",
        (changes.name, changes.name and name_key(changes.name), changes.description, changes.access, at, bank_id),
        rows=1,
    )


def delete(bank_id: str) -> Write:
    """Remove a bank, and by cascade its attachments and memories."""
    return Write("DELETE FROM banks WHERE id = ?", (bank_id,), rows=1)


def by_id(bank_id: str) -> Query[BankRow]:
    """Read one bank."""
    return Query(f"{_BANK} WHERE banks.id = ?", (bank_id,), _bank)


def id_by_name(name: str) -> Query[str]:
    """Find the id of the bank of that name, in any case."""
    return Query("SELECT id FROM banks WHERE name_key = ?", (name_key(name),), lambda row: row[0])


# sight


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
    """Make the condition that the viewer sees the bank at all."""
    attached, attached_params = _attached(viewer_id)
    opened, opened_params = _opened_by_access(viewer_id)
    return f"(banks.owner_id = ? OR {attached} OR {opened})", (viewer_id, *attached_params, *opened_params)


def opened_to(bank_id: str, viewer_id: str) -> Query[int]:
    """Tell, by a row or none, whether the bank's access opens it to the viewer."""
    opened, params = _opened_by_access(viewer_id)
    return Query(f"SELECT 1 FROM banks WHERE id = ? AND {opened}", (bank_id, *params), lambda row: row[0])


def listed_for(viewer_id: str, prefix: str, after_key: str, limit: int) -> Query[BankRow]:
    """List the viewer's banks and those that its agents are attached to, by name, after a cursor."""
    attached, params = _attached(viewer_id)
    return _listed(f"(banks.owner_id = ? OR {attached})", (viewer_id, *params), prefix, after_key, limit)


def visible_of(owner_id: str, viewer_id: str, prefix: str, after_key: str, limit: int) -> Query[BankRow]:
    """List an owner's banks that the viewer may see, by name, after a cursor."""
    seen, params = _seen(viewer_id)
    return _listed(f"banks.owner_id = ? AND {seen}", (owner_id, *params), prefix, after_key, limit)


def _listed(condition: str, params: Params, prefix: str, after_key: str, limit: int) -> Query[BankRow]:
    return Query(
        f"{_BANK} WHERE {condition} AND banks.name_key > ? AND substr(banks.name_key, 1, ?) = ?"
        " ORDER BY banks.name_key LIMIT ?",
        (*params, after_key, len(prefix), name_key(prefix), limit),
        _bank,
    )


# attachments


def attach(bank_id: str, agent_id: str, permission: str, since: int) -> Write:
    """Attach an agent, or change what it may do; refused as `ROWS` when the agent is gone."""
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


def of_agent(agent_id: str, viewer_id: str, limit: int) -> Query[BankRow]:
    """List the banks that an agent may read and the viewer may see, by name."""
    return _of_agent(agent_id, viewer_id, "banks.name_key", limit)


def recalled_by(agent_id: str, viewer_id: str, limit: int) -> Query[BankRow]:
    """List the same banks as a chat looks at them: those of the agent's owner, then the longest attached."""
    order = "(banks.owner_id <> (SELECT owner_id FROM agents WHERE id = held.agent_id)), held.since, banks.number"
    return _of_agent(agent_id, viewer_id, order, limit)


def _of_agent(agent_id: str, viewer_id: str, order: str, limit: int) -> Query[BankRow]:
    seen, params = _seen(viewer_id)
    return Query(
        f"{_BANK} JOIN attachments AS held ON held.bank_id = banks.id"
        f" WHERE held.agent_id = ? AND held.permission <> 'none' AND {seen} ORDER BY {order} LIMIT ?",
        (agent_id, *params, limit),
        _bank,
    )


# memories


def add_memory(bank_id: str, memory: MemoryRow, terms: str, part: Part | None = None) -> tuple[Write, ...]:
    """Add a memory with its terms; refused as `memories.bank_id` when the bank has one of its name."""
    return (
        Write(
            "INSERT INTO memories (place, bank_id, id, name, text, author_id, created_at, updated_at, document_id,"
            " document_part, part_of) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                memory.place,
                bank_id,
                memory.id,
                memory.name,
                memory.text,
                memory.author_id,
                memory.created_at,
                memory.updated_at,
                *(part or (None, None, None)),
            ),
        ),
        _add_terms(memory.place, terms),
    )


def replace_memory(memory: MemoryRow, terms: str, part: Part | None = None) -> tuple[Write, ...]:
    """Give a memory another text and author; refused as `ROWS` when it is gone or censored.

    One of a document's parts stays that also with a text of its own.
    """
    document_id, number, part_of = part or (None, None, None)
    return (
        Write(
            "UPDATE memories SET text = ?, author_id = ?, updated_at = ?, document_id = ?, document_part = ?,"
            " part_of = coalesce(?, part_of) WHERE place = ? AND censored = 0",
            (memory.text, memory.author_id, memory.updated_at, document_id, number, part_of, memory.place),
            rows=1,
        ),
        _add_terms(memory.place, terms),
    )


def _add_terms(place: int, terms: str) -> Write:
    return Write("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (place, terms))


def remove_uncensored(place: int) -> Write:
    """Remove a memory; refused as `ROWS` when it is gone or censored."""
    return Write("DELETE FROM memories WHERE place = ? AND censored = 0", (place,), rows=1)


def are_replaced(bank_id: str, name: str, named: Sequence[str], count: int) -> Write:
    """Make sure that `replaced_by` reads so many memories still; else refused as `ROWS`."""
    condition, params = _replaced(bank_id, name, named)
    return Write(
        f"UPDATE banks SET name = name WHERE id = ? AND ? = (SELECT count(*) FROM memories WHERE {condition})",
        (bank_id, count, *params),
        rows=1,
    )


def _replaced(bank_id: str, name: str, named: Sequence[str]) -> tuple[str, Params]:
    # two look-ups, each in an index: SQLite would read the whole bank for an OR
    condition = (
        "memories.place IN (SELECT place FROM memories WHERE bank_id = ? AND name IN (SELECT value FROM json_each(?))"
        " UNION SELECT place FROM memories WHERE bank_id = ? AND part_of = ?)"
    )
    return condition, (bank_id, json.dumps([name, *named]), bank_id, name)


def _chosen(bank_id: str, choice: Choice) -> tuple[str, Params]:
    """Make the condition for the memories that are meant."""
    condition, params = ("bank_id = ?", (bank_id,)) if choice.name is None else _replaced(bank_id, choice.name, ())
    if choice.author_id is not None:
        condition, params = f"{condition} AND author_id = ?", (*params, choice.author_id)
    if choice.owner_id is not None:
        condition = f"{condition} AND author_id IN (SELECT id FROM agents WHERE owner_id = ?)"
        params = (*params, choice.owner_id)
    return condition, params


def remove_memories(bank_id: str, choice: Choice) -> Write:
    """Remove memories, with their terms."""
    condition, params = _chosen(bank_id, choice)
    return Write(f"DELETE FROM memories WHERE {condition}", params)


REDACTED = "[censored]"
"""What stands where a censored memory was quoted."""

_MAX_SOURCES = 3
_QUOTING = (("messages", "quotes", "conversation_id"), ("zone_messages", "zone_quotes", "zone_id"))


def censor_memories(bank_id: str, choice: Choice, at: int) -> tuple[Write, ...]:
    """Erase the text of memories and their terms, in messages that quote them, and in documents that they came from.

    It is noted that the files still hold it. The last write touches the memories themselves.
    """
    condition, params = _chosen(bank_id, choice)
    chosen = f"SELECT place FROM memories WHERE {condition} AND censored = 0"
    redactions = [
        Write(
            f"UPDATE {messages} SET content = replace(content, json_extract(sources, '$[{source}].quote'), ?),"
            f" sources = json_set(sources, '$[{source}].quote', ?) WHERE ({stream}, seq) IN"
            f" (SELECT {stream}, seq FROM {quotes} WHERE source = {source} AND whole = 0 AND memory IN ({chosen}))",
            (REDACTED, REDACTED, *params),
        )
        for messages, quotes, stream in _QUOTING
        for source in range(_MAX_SOURCES)
    ]
    redactions += [
        Write(
            f"UPDATE {messages} SET content = ?, sources = (SELECT json_group_array(json_set(value, '$.quote', ?))"
            f" FROM json_each({messages}.sources)) WHERE ({stream}, seq) IN"
            f" (SELECT {stream}, seq FROM {quotes} WHERE whole = 1 AND memory IN ({chosen}))",
            (REDACTED, REDACTED, *params),
        )
        for messages, quotes, stream in _QUOTING
    ]
    of_documents = f"FROM memories WHERE {condition} AND censored = 0 AND document_id IS NOT NULL"
    # A document that was sent again is another row with the same text: it is known by that, whose it is, and its name.
    from_one = f"FROM memories WHERE {condition} AND censored = 0 AND document_part IS NOT NULL"
    whose = (
        "documents.user_id IN (SELECT owner_id FROM banks WHERE id = ?"
        f" UNION SELECT owner_id FROM agents WHERE id IN (SELECT author_id {from_one}))"
    )
    of_its_name = f"documents.name IN (SELECT coalesce(part_of, name) {from_one})"
    return (
        *redactions,
        Write(
            "UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN"
            f" (SELECT credential_id, key_hash FROM kept_quotes WHERE memory IN ({chosen}))",
            params,
        ),
        Write(
            "UPDATE document_parts SET text = NULL WHERE (document_id, number) IN"
            f" (SELECT document_id, document_part {of_documents})",
            params,
        ),
        Write(f"UPDATE documents SET erased = 1 WHERE id IN (SELECT document_id {of_documents})", params),
        Write(
            f"UPDATE document_parts SET text = NULL WHERE document_id IN (SELECT id FROM documents WHERE {whose})"
            f" AND text IN (SELECT text {from_one})",
            (bank_id, *params, *params),
        ),
        Write(
            "UPDATE document_parts SET text = NULL"
            f" WHERE document_id IN (SELECT id FROM documents WHERE {whose} AND {of_its_name})"
            f" AND EXISTS (SELECT 1 {from_one} AND instr(document_parts.text, memories.text))",
            (bank_id, *params, *params, *params),
        ),
        Write(
            f"UPDATE documents SET erased = 1 WHERE erased = 0 AND {whose}"
            " AND EXISTS (SELECT 1 FROM document_parts WHERE document_id = documents.id AND text IS NULL)",
            (bank_id, *params),
        ),
        # what is not taken apart yet need not show the text as the memory has it: then its name tells
        Write(
            "UPDATE documents SET status = 'failed', content = NULL, erased = 1, updated_at = ?,"
            " error = 'a text of it was censored meanwhile'"
            f" WHERE status IN ('queued', 'processing') AND {whose}"
            f" AND ({of_its_name} OR EXISTS (SELECT 1 {from_one} AND instr(documents.content, memories.text)))",
            (at, bank_id, *params, *params, *params),
        ),
        Write("UPDATE erasure SET due = due + 1", ()),
        Write(
            f"UPDATE memories SET text = NULL, censored = 1, updated_at = ? WHERE {condition} AND censored = 0",
            (at, *params),
        ),
    )


def chosen(bank_id: str, choice: Choice) -> Query[MemoryRow]:
    """Read the memories that are meant, the oldest first."""
    condition, params = _chosen(bank_id, choice)
    return Query(f"{_MEMORY} WHERE {condition} ORDER BY memories.place", params, _memory)


def replaced_by(bank_id: str, name: str, named: Sequence[str]) -> Query[MemoryRow]:
    """Read what a load under a name replaces: what the name means, and what has the names of the load's parts."""
    condition, params = _replaced(bank_id, name, named)
    return Query(f"{_MEMORY} WHERE {condition} ORDER BY memories.place", params, _memory)


def page_after(bank_id: str, name: str | None, after_place: int, limit: int) -> Query[MemoryRow]:
    """Read the memories after a place, oldest first; of all, or of those that a name means."""
    condition, params = _chosen(bank_id, Choice(name))
    return Query(
        f"{_MEMORY} WHERE {condition} AND memories.place > ? ORDER BY memories.place LIMIT ?",
        (*params, after_place, limit),
        _memory,
    )


def wrote_in(bank_id: str, agent_name: str) -> Query[str]:
    """Find the agent of that name if it is attached to the bank or wrote one of its memories."""
    return Query(
        "SELECT id FROM agents WHERE name_key = ? AND destroyed_at IS NULL AND (EXISTS (SELECT 1 FROM attachments"
        " WHERE bank_id = ? AND agent_id = agents.id)"
        " OR EXISTS (SELECT 1 FROM memories WHERE bank_id = ? AND author_id = agents.id))",
        (name_key(agent_name), bank_id, bank_id),
        lambda row: row[0],
    )


# quotes (see persistence/quotes.py)


def quoted_by(bank_id: str, choice: Choice) -> Query[tuple[str, str]]:
    """List the actors, by kind and key, in whose messages such memories are quoted."""
    condition, params = _chosen(bank_id, choice)
    chosen = f"(SELECT place FROM memories WHERE {condition})"
    return Query(
        "SELECT DISTINCT 'agent', agent_id FROM quotes JOIN conversations ON conversations.id = quotes.conversation_id"
        f" WHERE quotes.memory IN {chosen}"
        " UNION SELECT 'domain', domain_id FROM zone_quotes JOIN zones ON zones.id = zone_quotes.zone_id"
        f" WHERE zone_quotes.memory IN {chosen}",
        (*params, *params),
        lambda row: (row[0], row[1]),
    )


# recall


def frequencies(tokens: Sequence[str]) -> Query[tuple[str, int]]:
    """Read how many memories have each of these tokens, for those that any has."""
    return Query(
        "SELECT term, doc FROM json_each(?) AS given CROSS JOIN memory_vocabulary ON term = given.value",
        (json.dumps(tokens),),
        lambda row: (row[0], row[1]),
    )


def relatives(prefixes: Sequence[str], limit: int) -> Query[tuple[str, str, int]]:
    """List the tokens that begin with each of these prefixes: the prefix, the token, how many memories have it."""
    return Query(
        "SELECT given.value, term, doc FROM json_each(?) AS given CROSS JOIN memory_vocabulary"
        " ON term >= given.value AND term < given.value || char(0x10ffff) LIMIT ?",
        (json.dumps(prefixes), limit),
        lambda row: (row[0], row[1], row[2]),
    )


def candidates(match: str, limit: int) -> Query[tuple[int, str]]:
    """Find the places and terms of the best memories for a full-text query, by BM25."""
    return Query(
        "SELECT rowid, terms FROM memory_terms WHERE memory_terms MATCH ? ORDER BY rank LIMIT ?",
        (match, limit),
        lambda row: (row[0], row[1]),
    )


def newest(match: str, limit: int) -> Query[tuple[int, str]]:
    """Find the places and terms of the newest memories for a full-text query."""
    return Query(
        "SELECT rowid, terms FROM memory_terms WHERE memory_terms MATCH ? ORDER BY rowid DESC LIMIT ?",
        (match, limit),
        lambda row: (row[0], row[1]),
    )


def at_places(places: Sequence[int]) -> Query[MemoryRow]:
    """Read the memories at these places that are not censored."""
    return Query(
        f"{_MEMORY} WHERE memories.place IN (SELECT value FROM json_each(?)) AND memories.censored = 0",
        (json.dumps(places),),
        _memory,
    )


# erasure

MERGE_TERMS = Write("INSERT INTO memory_terms (memory_terms) VALUES ('optimize')", ())
"""Rewrites the full-text index without what was deleted from it."""

ERASURES_DUE: Query[int] = Query("SELECT due FROM erasure", (), lambda row: row[0])


def erased(count: int) -> Write:
    """Note that the files are clear of so many censorings."""
    return Write("UPDATE erasure SET due = due - ?", (count,))
