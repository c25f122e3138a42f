"""Recall of memories from the store: of banks that are large, or that are not in memory yet."""

from actors.banks.messages import MAX_TERMS_ASKED, RecalledMemory
from actors.engines.relevance import asking
from actors.retrieval import not_moved, stored
from actors.retrieval.question import Question
from actors.slices import Steps, sliced
from persistence import memories, search_index
from persistence.banks import BankRow
from persistence.memories import MemoryRow
from persistence.search_index import Collection
from persistence.store import Reads, Store, rows_of


async def recall(store: Store, bank: BankRow, text: str, limit: int) -> tuple[RecalledMemory, ...]:
    """Find the memories of a bank that match a text best, best first; any text is safe.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    question = await sliced(asking(text))
    return await recall_for(store, bank, text, question.asked(MAX_TERMS_ASKED), limit)


async def recall_for(
    store: Store, bank: BankRow, text: str, terms: tuple[str, ...], limit: int
) -> tuple[RecalledMemory, ...]:
    """Find the memories of a bank that match the question in a text, which has these terms, best, best first.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    question = Question(terms)
    if not question.terms:
        return ()
    found = await store.read(_ranked(bank.id, question, limit))
    if not isinstance(found, Collection):
        return found
    hits = await not_moved.search_both(store, bank, found, text, tuple(question.terms), limit)
    rows = await store.read(_rows([hit.document for hit in hits]))
    scored = [(rows[hit.document], round(hit.score, 4)) for hit in hits if hit.document in rows]
    return await sliced(_judging(question, scored))


def _ranked(bank_id: str, question: Question, limit: int) -> Reads[tuple[RecalledMemory, ...] | Collection]:
    """Find memories; return the collection instead if it has not all of them yet."""
    collections = yield from rows_of(search_index.of_bank(bank_id))
    if not collections:  # destroyed meanwhile
        return ()
    (collection,) = collections
    if collection.reached < search_index.DONE:
        return collection
    found = yield from stored.ranked(collection, question, limit)
    rows = yield from _rows([one.number for one in found])
    return tuple(
        RecalledMemory(rows[one.number], round(one.score, 4), one.share, one.answers)
        for one in found
        if one.number in rows
    )


def _rows(positions: list[int]) -> Reads[dict[int, MemoryRow]]:
    found = (yield from rows_of(memories.at_positions(positions))) if positions else []
    return {row.position: row for row in found}


def _judging(question: Question, found: list[tuple[MemoryRow, float]]) -> Steps[tuple[RecalledMemory, ...]]:
    """Tell of each memory how much of the question it accounts for."""
    judged: list[RecalledMemory] = []
    for memory, score in found:
        share, answers = yield from question.reading(f"{memory.name}\n{memory.text}")
        judged.append(RecalledMemory(memory, score, share, answers))
        yield
    return tuple(judged)
