"""Texts that no index has are found and scored as those of an index in the store (actors/retrieval/scan.py)."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.retrieval import stored
from actors.retrieval.question import Question
from actors.retrieval.scan import Scan
from actors.retrieval.stored import OtherTexts
from actors.slices import whole
from actors.text import tokenizer
from actors.text.answer_kinds import ASKED, ASKS, DATE, NUMBER
from persistence import banks, search_index, users
from persistence.banks import BankRow
from persistence.search_index import IndexedText
from persistence.store import Store, Unit
from persistence.users import UserRow
from tests.support.disk import open_store

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 1)
WORDS = [f"{a}{b}{c}" for a in ("mo", "ka", "ri", "tu", "len") for b in ("den", "lo", "sti") for c in ("k", "ner")]
NOWHERE_ELSE = OtherTexts()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(USER), *banks.insert(BANK, tokenizer.VERSION))))
        yield store


@pytest.mark.parametrize("seed", range(4))
async def test_a_scan_finds_and_scores_as_an_index_does(store: Store, seed: int):
    chance = random.Random(seed)
    texts = [[chance.choice(WORDS) for _ in range(chance.randint(1, 14))] for _ in range(60)]
    texts = [terms + chance.choice([[], [NUMBER], [DATE], [ASKED], [ASKED, ASKS]]) for terms in texts]
    scan = Scan()
    for number, terms in enumerate(texts):
        scan.add(terms, place=(1, number) if number else None)
    numbered = [IndexedText(number, "", number, terms) for number, terms in enumerate(texts)]
    await store.commit(Unit(search_index.add(BANK.collection, numbered)))
    (collection,) = await store.fetch(search_index.of_bank(BANK.id))
    for _ in range(30):
        asked = [*chance.sample(WORDS, chance.randint(1, 5)), *chance.sample(["modenks", "tulonerwerk", "xyz"], 1)]
        asked += chance.choice([[], [NUMBER], [DATE]])
        elsewhere = OtherTexts(chance.randint(0, 500), {word: chance.randint(0, 40) for word in asked})
        question, beside = Question(asked), chance.choice((False, True))
        hits = await store.read(stored.search(collection, question, 60, elsewhere, beside=beside))
        found = whole(scan.searching(question, 60, elsewhere, beside=beside))
        assert {number: round(score, 9) for score, number in found} == {
            hit.document: round(hit.score, 9) for hit in hits
        }
        assert [score for score, _ in found] == sorted([score for score, _ in found], reverse=True)


def test_what_was_said_just_before_counts_and_so_does_what_is_asked_for():
    scan = Scan()
    scan.add(["hamster", "birthday"], place=(1, 1))
    scan.add(["cat", "no"], place=(1, 2))
    scan.add(["cat", "no"], place=(2, 2))  # in another conversation
    assert [number for _, number in whole(scan.searching(Question(["hamster"]), 9, NOWHERE_ELSE))] == [0, 1]
    assert [number for _, number in whole(scan.searching(Question(["hamster"]), 9, NOWHERE_ELSE, beside=False))] == [0]
    scan.add(["hamster", "cage"])
    scan.add(["hamster", NUMBER])
    assert [number for _, number in whole(scan.searching(Question(["hamster", NUMBER]), 1, NOWHERE_ELSE))] == [4]


def test_a_weaker_text_comes_after_an_equal_one_and_equals_in_their_order():
    scan = Scan()
    for strength in (0.5, 1.0, 1.0, 0.5):
        scan.add(["dog", "rex"], strength)
    assert [number for _, number in whole(scan.searching(Question(["dog"]), 9, NOWHERE_ELSE))] == [1, 2, 0, 3]
    assert [number for _, number in whole(scan.searching(Question(["dog"]), 2, NOWHERE_ELSE))] == [1, 2]
    assert scan.frequencies(["dog", "cat"]) == {"dog": 4}
    assert whole(Scan().searching(Question(["dog"]), 9, NOWHERE_ELSE)) == []
