"""Recall of memories from the store: of banks that are large, or that are not in memory yet."""

from itertools import islice

from actors.banks.messages import MAX_TERMS_ASKED, RecalledMemory
from actors.engines.relevance import asking
from actors.retrieval import not_moved, stored
from actors.retrieval.question import Question
from actors.slices import Steps, sliced
from persistence import memories, search_index
from persistence.banks import BankRow
from persistence.memories import MemoryRow
from persistence.store import Store


async def recall(store: Store, bank: BankRow, text: str, limit: int) -> tuple[RecalledMemory, ...]:
    """Find the memories of a bank that match a text best, best first; any text is safe.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    question = await sliced(asking(text))
    return await recall_for(store, bank, text, tuple(islice(question.terms, MAX_TERMS_ASKED)), limit)


async def recall_for(
    store: Store, bank: BankRow, text: str, terms: tuple[str, ...], limit: int
) -> tuple[RecalledMemory, ...]:
    """Find the memories of a bank that match the question in a text, which has these terms, best, best first.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    collections = await store.fetch(search_index.of_bank(bank.id))
    if not collections or not terms:  # destroyed meanwhile, or asked nothing
        return ()
    (collection,) = collections
    question = Question(terms)
    if collection.reached < search_index.DONE:
        hits = await not_moved.search_both(store, bank, collection, text, terms, limit)
        rows = await _rows(store, [hit.document for hit in hits])
        scored = [(rows[hit.document], round(hit.score, 4)) for hit in hits if hit.document in rows]
        return await sliced(_judging(question, scored))
    found = await stored.ranked(store, collection, question, limit)
    rows = await _rows(store, [one.number for one in found])
    return tuple(
        RecalledMemory(rows[number], round(score, 4), share, answers)
        for number, score, share, answers in found
        if number in rows
    )


async def _rows(store: Store, positions: list[int]) -> dict[int, MemoryRow]:
    return {row.position: row for row in await store.fetch(memories.at_positions(positions))} if positions else {}


def _judging(question: Question, found: list[tuple[MemoryRow, float]]) -> Steps[tuple[RecalledMemory, ...]]:
    """Tell of each memory how much of the question it accounts for."""
    judged: list[RecalledMemory] = []
    for memory, score in found:
        share, answers = yield from question.reading(f"{memory.name}\n{memory.text}")
        judged.append(RecalledMemory(memory, score, share, answers))
        yield
    return tuple(judged)
