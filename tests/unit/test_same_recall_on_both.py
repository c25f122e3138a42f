"""Recall from a bank on SQLite and on PostgreSQL: the same memories, in the same order, with the same scores."""

import random
from pathlib import Path

from actors.engines.relevance import asking
from actors.retrieval import stored
from actors.retrieval.found import Found
from actors.slices import whole
from bench.questions import memories_and_questions
from bench.recall import BANK, RANKS, fill, made_up_memories, made_up_question, made_up_words
from persistence import search_index
from persistence.postgres.store import PostgresStore
from persistence.sqlite.store import SqliteStore
from persistence.store import Store
from tests.support.postgres import shared
from tests.support.stores import postgres_only

pytestmark = postgres_only

MEMORIES = 4_000
QUESTIONS = 150


async def best_five(store: Store, questions: list[str]) -> list[list[Found]]:
    """Search the bank for each question; the scores are not rounded."""
    (collection,) = await store.fetch(search_index.of_bank(BANK.id))
    return [await store.read(stored.ranked(collection, whole(asking(question)), 5)) for question in questions]


async def test_both_stores_recall_the_same_five_in_the_same_order_with_the_same_scores(tmp_path: Path):
    chance, words = random.Random(1), made_up_words()
    real, asked = memories_and_questions()
    memories = [*made_up_memories(chance, words, MEMORIES), *real]
    kinds = list(RANKS.values())
    questions = [made_up_question(chance, words, kinds[number % len(kinds)]) for number in range(QUESTIONS)]
    questions += [question for question, _ in asked]
    cluster = await shared()
    on_sqlite = await SqliteStore.open(tmp_path / "parley.db")
    on_postgres = await PostgresStore.open(await cluster.database("recall"))
    try:
        await fill(on_sqlite, memories)
        await fill(on_postgres, memories)
        expected = await best_five(on_sqlite, questions)
        assert sum(len(found) == 5 for found in expected) > QUESTIONS
        assert await best_five(on_postgres, questions) == expected
        await cluster.execute("ANALYZE", "recall")  # the planner knows the tables now
        assert await best_five(on_postgres, questions) == expected
    finally:
        await on_sqlite.close()
        await on_postgres.close()
