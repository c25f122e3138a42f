"""The full-text index of 0.2.0, for memories that are not in today's (persistence/search_index.py) yet.

Only a store with `has_index_of_0_2_0` runs these statements, which are in the SQL of SQLite. Nothing is added to that
index; actors/jobs/indexing.py moves its memories. Once no database has any in it, this module can go, and with it
actors/retrieval/not_moved.py and the tables `memory_terms` and `memory_vocabulary`.
"""

import json
from collections.abc import Sequence

from persistence.store import Query, Write


def remove(positions: Sequence[int]) -> Write:
    """Take memories out, because they are in today's index now."""
    return Write("DELETE FROM memory_terms WHERE rowid IN (SELECT value FROM json_each(?))", (json.dumps(positions),))


def frequencies(tokens: Sequence[str]) -> Query[tuple[str, int]]:
    """Read the number of memories with each of these tokens, without tokens that no memory has."""
    return Query(
        "SELECT term, doc FROM json_each(?) AS given CROSS JOIN memory_vocabulary ON term = given.value",
        (json.dumps(tokens),),
        lambda row: (row[0], row[1]),
    )


def relatives(prefixes: Sequence[str], limit: int) -> Query[tuple[str, str, int]]:
    """List the tokens that begin with each of these prefixes: prefix, token, and the number of memories with it."""
    return Query(
        "SELECT given.value, term, doc FROM json_each(?) AS given CROSS JOIN memory_vocabulary"
        " ON term >= given.value AND term < given.value || char(0x10ffff) LIMIT ?",
        (json.dumps(prefixes), limit),
        lambda row: (row[0], row[1], row[2]),
    )


def candidates(match: str, limit: int) -> Query[tuple[int, str]]:
    """Find the positions and terms of the best memories for a full-text query, by BM25."""
    return Query(
        "SELECT rowid, terms FROM memory_terms WHERE memory_terms MATCH ? ORDER BY rank LIMIT ?",
        (match, limit),
        lambda row: (row[0], row[1]),
    )


def newest(match: str, limit: int) -> Query[tuple[int, str]]:
    """Find the positions and terms of the newest memories for a full-text query."""
    return Query(
        "SELECT rowid, terms FROM memory_terms WHERE memory_terms MATCH ? ORDER BY rowid DESC LIMIT ?",
        (match, limit),
        lambda row: (row[0], row[1]),
    )
