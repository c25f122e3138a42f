"""A search in the store finds, ranks and judges as one in memory (actors/retrieval)."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from msgspec import structs

from actors.retrieval import stored
from actors.retrieval.found import Found
from actors.retrieval.index import MAX_POSTINGS, Index
from actors.retrieval.question import Question
from actors.retrieval.ranking import IN_CONTEXT
from actors.text import tokenizer
from actors.text.answer_kinds import AGE, DATE, KINDS, NUMBER, SAID_BY
from persistence import banks, search_index, users
from persistence.banks import BankRow
from persistence.search_index import IndexedText
from persistence.store import Store, Unit
from persistence.users import UserRow
from tests.support.disk import open_store

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 1)
WORDS = [
    f"{a}{b}{c}" for a in ("mo", "ka", "ri", "tu", "len", "bar") for b in ("den", "lo", "sti") for c in ("k", "ner")
]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(USER), *banks.insert(BANK, tokenizer.VERSION))))
        yield store


def texts_of(chance: random.Random, count: int) -> list[IndexedText]:
    """Make texts of common and rare words, some alone, some parts of a whole, and three without terms."""
    made = [IndexedText(document, "", 0, ()) for document in range(count + 1, count + 4)]
    for document in range(1, count + 1):
        whole = f"talk {document // 9}" if document % 4 else ""
        terms = [chance.choice(WORDS[: chance.choice((4, 12, len(WORDS)))]) for _ in range(chance.randint(1, 14))]
        terms += chance.sample([*sorted(KINDS), SAID_BY + WORDS[0], SAID_BY + WORDS[3]], chance.choice((0, 0, 1, 2)))
        made.append(IndexedText(document, whole, document % 9 + 1 if whole else 0, terms))
    return made


def eight_best(found: list[Found]) -> list[Found]:
    """Return the best texts without the last bits of their scores, which depend on the order of a sum."""
    return sorted(found, key=lambda one: (-round(one.score, 9), -one.number))[:8]


@pytest.mark.parametrize(("context", "postings"), [(IN_CONTEXT, MAX_POSTINGS), (60, MAX_POSTINGS), (8, 24)])
@pytest.mark.parametrize("seed", range(6))
async def test_both_give_the_same_texts_scores_and_judgements(store: Store, seed: int, context: int, postings: int):
    chance = random.Random(seed)
    texts = texts_of(chance, 40 * (seed + 1))
    index = Index(max_postings=postings)
    for text in texts:
        assert not isinstance(text.terms, search_index.CountedTerms)
        index.add(text.document, text.terms, text.whole, text.part)
    await store.commit(Unit(search_index.add(BANK.collection, texts)))
    (collection,) = await store.fetch(search_index.of_bank(BANK.id))
    for _ in range(40):
        # words of no text: another ending, a compound, one of its own
        asked = [*chance.sample(WORDS, chance.randint(1, 5)), *chance.sample(["modenks", "ristinerwerk", "xyz"], 1)]
        question = Question(
            [*chance.sample((NUMBER, DATE, AGE), chance.randint(0, 2)), *asked[:: chance.choice((1, -1))]]
        )
        in_memory = eight_best(index.search(question, 12, context=context))
        in_store = eight_best(
            await store.read(stored.ranked(collection, question, 12, context=context, postings=postings))
        )
        assert [one.number for one in in_store] == [one.number for one in in_memory]
        for here, there in zip(in_memory, in_store, strict=True):
            assert structs.astuple(there) == pytest.approx(structs.astuple(here))


async def test_a_question_without_known_terms_finds_nothing(store: Store):
    (collection,) = await store.fetch(search_index.of_bank(BANK.id))
    assert await store.read(stored.ranked(collection, Question([]), 5)) == []
    assert await store.read(stored.ranked(collection, Question(["moden"]), 5)) == []


async def test_a_search_for_answers_ends_early_only_where_all_texts_together_have_too_few_terms(store: Store):
    chance = random.Random(7)
    texts = texts_of(chance, 400)
    index = Index()
    for text in texts:
        assert not isinstance(text.terms, search_index.CountedTerms)
        index.add(text.document, text.terms, text.whole, text.part)
    await store.commit(Unit(search_index.add(BANK.collection, texts)))
    (collection,) = await store.fetch(search_index.of_bank(BANK.id))
    ended = 0
    for _ in range(60):
        asked = [*chance.sample(WORDS, chance.randint(1, 3)), *(f"xyz{n}" for n in range(chance.randint(0, 3)))]
        question = Question(asked)
        everything = await store.read(stored.ranked(collection, question, 12))
        answering = await store.read(stored.ranked(collection, question, 12, answering=True))
        if answering:
            assert answering == everything
        else:
            assert not any(one.answers for one in everything)
            assert index.search(question, 12, answering=True) == []
            ended += 1
    assert 0 < ended < 60
