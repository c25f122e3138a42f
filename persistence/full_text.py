"""The full-text index of memories: its terms, their frequencies, and the memories that have them."""

import json
from collections.abc import Sequence

from persistence.store import Query, Write


def add(position: int, terms: str) -> Write:
    """Index a memory under its terms, replacing earlier ones."""
    return Write("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (position, terms))


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
