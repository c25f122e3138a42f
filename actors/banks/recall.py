"""Recall in banks: finds the memories that match a text best."""

from typing import NamedTuple

from actors.retrieval import not_moved, stored
from actors.retrieval.stored import MAX_LOOKED_UP
from actors.slices import sliced
from actors.text import tokenizer
from persistence import memories, search_index
from persistence.banks import BankRow
from persistence.memories import MemoryRow
from persistence.store import Store


class RankedMemory(NamedTuple):
    """A memory that was found, and its score, which is comparable only within one query."""

    memory: MemoryRow
    score: float


class Asked(NamedTuple):
    """A text that memories are recalled for, and its distinct terms."""

    text: str
    terms: list[str]


async def recall(store: Store, bank: BankRow, query: str, limit: int) -> list[RankedMemory]:
    """Find the memories of a bank that match a text best, best first; any text is safe.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    return await recall_by_terms(store, bank, await terms_asked(query), limit)


async def terms_asked(query: str) -> Asked:
    """List the terms that a search for a text looks up, in any bank."""
    return Asked(query, await sliced(tokenizer.first_terms(query, MAX_LOOKED_UP)))


async def recall_by_terms(store: Store, bank: BankRow, asked: Asked, limit: int) -> list[RankedMemory]:
    """Find the memories of a bank that match the terms of a text (`terms_asked`) best, best first.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    collections = await store.fetch(search_index.of_bank(bank.id))
    if not collections:  # destroyed meanwhile
        return []
    (collection,) = collections
    if collection.reached < search_index.DONE:
        hits = await not_moved.search_both(store, bank, collection, asked.text, asked.terms, limit)
    else:
        hits = await stored.search(store, collection, asked.terms, limit)
    rows = {row.position: row for row in await store.fetch(memories.at_positions([hit.document for hit in hits]))}
    return [RankedMemory(rows[hit.document], round(hit.score, 4)) for hit in hits if hit.document in rows]
