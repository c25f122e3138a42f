"""Memories: the texts of banks, their authors, and the documents that they come from."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence import index_removal
from persistence.store import Params, Query, Write
from persistence.users import name_key

NAME_TAKEN = "memories.bank_id"
"""Refuses a memory whose name another of its bank has."""


class MemoryRow(NamedTuple):
    """A memory as stored, with its author's name and owner if that agent still exists; no text if censored.

    `destroyed_author` is the name that its author had, if that has been destroyed.
    """

    position: int
    id: str
    name: str
    text: str | None
    author_id: str | None
    author: str | None
    author_owner_id: str | None
    censored: int
    created_at: int
    updated_at: int
    destroyed_author: str | None = None


class Part(NamedTuple):
    """The part of a document that a memory came from; `part_of` is the document's name where it has several parts."""

    document_id: str
    number: int
    part_of: str | None


class Choice(NamedTuple):
    """A choice of memories of a bank: those that match every given member; all if none is given.

    A document's name also means its parts. `owner_id` is the owner of the agents that wrote them. `many` tells that
    they are a large part of the bank, so that going through the whole of its index is faster than text by text.
    """

    name: str | None = None
    author_id: str | None = None
    owner_id: str | None = None
    many: bool = False


_MEMORY = """
    SELECT memories.place, memories.id, memories.name, memories.text, memories.author_id,
           CASE WHEN agents.destroyed_at IS NULL THEN agents.name END, agents.owner_id,
           memories.censored, memories.created_at, memories.updated_at,
           CASE WHEN agents.destroyed_at IS NOT NULL THEN agents.name END
    FROM memories LEFT JOIN agents ON agents.id = memories.author_id
"""


def _memory(row: Params) -> MemoryRow:
    return MemoryRow(*row)


def add(bank_id: str, memory: MemoryRow, part: Part | None = None) -> Write:
    """Add a memory, without its rows in the index; refused as `NAME_TAKEN` when the bank has one of its name."""
    return Write(
        "INSERT INTO memories (place, bank_id, id, name, text, author_id, created_at, updated_at, document_id,"
        " document_part, part_of) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory.position,
            bank_id,
            memory.id,
            memory.name,
            memory.text,
            memory.author_id,
            memory.created_at,
            memory.updated_at,
            *(part or (None, None, None)),
        ),
    )


def replace(memory: MemoryRow, part: Part | None = None) -> Write:
    """Give a memory another text and author; refused as `ROWS` when it is gone or censored.

    It leaves the index, as its old text is gone. A part of a document remains a part, even with another text.
    """
    document_id, number, part_of = part or (None, None, None)
    return Write(
        "UPDATE memories SET text = ?, author_id = ?, updated_at = ?, document_id = ?, document_part = ?,"
        " part_of = coalesce(?, part_of) WHERE place = ? AND censored = 0",
        (memory.text, memory.author_id, memory.updated_at, document_id, number, part_of, memory.position),
        rows=1,
    )


def remove_uncensored(position: int) -> Write:
    """Remove a memory; refused as `ROWS` when it is gone or censored."""
    return Write("DELETE FROM memories WHERE place = ? AND censored = 0", (position,), rows=1)


def are_replaced(bank_id: str, name: str, named: Sequence[str], count: int) -> Write:
    """Require that `replaced_by` still reads `count` memories; else refused as `ROWS`."""
    condition, params = _replaced(bank_id, name, named)
    return Write(
        f"UPDATE banks SET name = name WHERE id = ? AND ? = (SELECT count(*) FROM memories WHERE {condition})",
        (bank_id, count, *params),
        rows=1,
    )


def _replaced(bank_id: str, name: str, named: Sequence[str]) -> tuple[str, Params]:
    # two look-ups, each in an index, because SQLite would read the whole bank for an OR
    condition = (
        "memories.place IN (SELECT place FROM memories WHERE bank_id = ? AND name IN @list_text(?)"
        " UNION SELECT place FROM memories WHERE bank_id = ? AND part_of = ?)"
    )
    return condition, (bank_id, json.dumps([name, *named]), bank_id, name)


def condition_of(bank_id: str, choice: Choice) -> tuple[str, Params]:
    """Make the condition for the memories of a choice."""
    condition, params = ("bank_id = ?", (bank_id,)) if choice.name is None else _replaced(bank_id, choice.name, ())
    if choice.author_id is not None:
        condition, params = f"{condition} AND author_id = ?", (*params, choice.author_id)
    if choice.owner_id is not None:
        condition = f"{condition} AND author_id IN (SELECT id FROM agents WHERE owner_id = ?)"
        params = (*params, choice.owner_id)
    return condition, params


def remove(bank_id: str, choice: Choice) -> tuple[Write, ...]:
    """Remove memories, with their terms; the last write touches as many rows as memories are removed."""
    condition, params = condition_of(bank_id, choice)
    return (*out_of_index(bank_id, choice), Write(f"DELETE FROM memories WHERE {condition}", params))


def out_of_index(bank_id: str, choice: Choice) -> tuple[Write, ...]:
    """Take memories that are about to go out of the index, where triggers would take much longer to do it."""
    if choice == Choice():
        return index_removal.clear_bank(bank_id)
    return index_removal.clear_many(bank_id, *condition_of(bank_id, choice)) if choice.many else ()


def counted(bank_id: str, choice: Choice) -> Query[int]:
    """Count the memories of a choice."""
    condition, params = condition_of(bank_id, choice)
    return Query(f"SELECT count(*) FROM memories WHERE {condition}", params, lambda row: row[0])


def chosen(bank_id: str, choice: Choice) -> Query[MemoryRow]:
    """Read the memories of a choice, the oldest first."""
    condition, params = condition_of(bank_id, choice)
    return Query(f"{_MEMORY} WHERE {condition} ORDER BY memories.place", params, _memory)


def replaced_by(bank_id: str, name: str, named: Sequence[str]) -> Query[MemoryRow]:
    """Read the memories that a load replaces: those of its name, and those with the names of its parts."""
    condition, params = _replaced(bank_id, name, named)
    return Query(f"{_MEMORY} WHERE {condition} ORDER BY memories.place", params, _memory)


def page_after(bank_id: str, name: str | None, after: int, limit: int) -> Query[MemoryRow]:
    """Read the memories after a position, oldest first; all, or those of a name."""
    condition, params = condition_of(bank_id, Choice(name))
    return Query(
        f"{_MEMORY} WHERE {condition} AND memories.place > ? ORDER BY memories.place LIMIT ?",
        (*params, after, limit),
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


def at_positions(positions: Sequence[int]) -> Query[MemoryRow]:
    """Read the memories at these positions that are not censored."""
    return Query(
        f"{_MEMORY} WHERE memories.place IN @list_int(?) AND memories.censored = 0",
        (json.dumps(positions),),
        _memory,
    )


def censored_among(positions: Sequence[int]) -> Query[int]:
    """List those of these positions at which the memory is censored; one that was removed is not."""
    return Query(
        "SELECT place FROM memories WHERE place IN @list_int(?) AND censored = 1",
        (json.dumps(positions),),
        lambda row: row[0],
    )


def uncensored_after(bank_id: str, after: int, limit: int) -> Query[MemoryRow]:
    """Read the memories of a bank after a position that are not censored, oldest first."""
    return Query(
        f"{_MEMORY} WHERE memories.bank_id = ? AND memories.place > ? AND memories.censored = 0"
        " ORDER BY memories.place LIMIT ?",
        (bank_id, after, limit),
        _memory,
    )


def uncensored_names(bank_id: str, since: str, limit: int) -> Query[str]:
    """List the names of the memories of a bank that are not censored, in order of code points, from a text on."""
    return Query(
        "SELECT name FROM memories WHERE bank_id = ? AND name >= ? AND censored = 0 ORDER BY name LIMIT ?",
        (bank_id, since, limit),
        lambda row: row[0],
    )


def uncensored_positions(bank_id: str) -> Query[int]:
    """Read the positions of the memories of a bank that are not censored."""
    return Query(
        "SELECT place FROM memories WHERE bank_id = ? AND censored = 0 ORDER BY place", (bank_id,), lambda row: row[0]
    )
