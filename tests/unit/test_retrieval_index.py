"""The inverted index in memory (actors/retrieval/index.py)."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.retrieval import postings
from actors.retrieval.index import Index
from actors.retrieval.postings import MAX_TERMS_PER_TEXT
from actors.retrieval.question import Question
from actors.retrieval.ranking import IN_CONTEXT
from actors.text import tokenizer
from actors.text.answer_kinds import ASKED, ASKS, NUMBER


def terms_of(text: str) -> list[str]:
    return tokenizer.terms(tokenizer.split(text))


def index_of(*texts: str) -> Index:
    index = Index()
    for number, text in enumerate(texts):
        index.add(number, terms_of(text))
    return index


def found(index: Index, query: str, limit: int = 10) -> list[int]:
    return [one.number for one in index.search(Question(terms_of(query)), limit)]


def test_the_rarest_term_leads() -> None:
    index = index_of("cat food", "cat toy", "cat bed", "rex food", "cat tree", "cat house")
    assert found(index, "cat rex")[0] == 3


def test_a_common_term_decides_among_texts_with_the_same_rare_ones() -> None:
    index = index_of("cat food", "cat toy", "cat bed", "toy train")
    assert found(index, "cat toy")[0] == 1
    assert found(index, "cat") == [2, 1, 0]


def test_the_newest_of_equals_comes_first() -> None:
    assert found(index_of("green tea", "black tea", "white tea"), "tea") == [2, 1, 0]


def test_a_term_said_more_often_weighs_more_and_a_longer_text_weighs_less() -> None:
    assert found(index_of("tea tea", "tea milk", "milk"), "tea") == [0, 1]
    assert found(index_of("tea milk", "tea milk sugar lemon honey cream", "rum", "gin", "ale"), "tea") == [
        0,
        1,
    ]


def test_the_best_are_given_up_to_the_limit() -> None:
    assert found(index_of("tea", "tea", "tea"), "tea", limit=2) == [2, 1]


def test_a_search_of_an_empty_index_or_for_no_terms_finds_nothing() -> None:
    assert found(Index(), "tea") == []
    assert found(index_of("tea"), "") == []
    assert found(index_of("tea"), "coffee") == []


def test_a_removed_document_is_not_found_and_leaves_nothing_behind() -> None:
    index = index_of("tea and milk", "tea tea", "tea")
    index.remove(1)
    assert found(index, "tea") == [2, 0]
    index.remove(0)
    index.remove(2)
    assert len(index) == 0
    assert not index._texts  # pyright: ignore[reportPrivateUsage]
    assert not index._postings  # pyright: ignore[reportPrivateUsage]
    assert found(index, "tea milk") == []
    index.add(1, ["tea"])
    assert found(index, "tea") == [1]


def test_a_document_cannot_be_added_twice_nor_one_removed_that_is_not_there() -> None:
    index = index_of("tea")
    with pytest.raises(ValueError, match="text 0 is indexed already"):
        index.add(0, ["milk"])
    with pytest.raises(KeyError):
        index.remove(1)
    assert found(index, "tea") == [0]


def test_a_document_of_endless_distinct_words_is_indexed_by_the_first_of_them() -> None:
    index = Index()
    index.add(0, [f"w{i}" for i in range(10_000)])
    assert len(index.terms(0)) == MAX_TERMS_PER_TEXT
    assert index.search(Question(["w0"]), 1)
    assert not index.search(Question(["w9999"]), 1)


def test_where_all_terms_are_common_the_newest_texts_of_each_are_found() -> None:
    index = Index(max_postings=10)
    for number in range(100):
        index.add(number, ["tea"] if number % 2 else ["milk"] if number < 60 else ["rum", "milk", "tea"][: number % 3])
    assert max(found(index, "milk")) > 90  # of the rarer term
    assert max(number for number in found(index, "milk tea") if "milk" not in index.terms(number)) > 90


@pytest.mark.parametrize(("context", "best"), [(IN_CONTEXT, [1_077, 1_053, 1_029]), (0, [2, 1, 3])])
def test_of_a_long_dialogue_more_turns_count_for_those_beside_them(context: int, best: list[int]) -> None:
    index = Index()
    said = {1: ["shed"], 2: ["price"], 3: ["ninety"]}
    said |= {number: ["shed"] if number % 8 == 1 else ["price"] for number in range(9, 1_100, 12)}
    for number in range(1, 1_201):
        index.add(number, said.get(number, ["fine"]), "talk", number)
    hits = index.search(Question(["shed", "price"]), 3, context=context)
    assert [one.number for one in hits] == best


@pytest.mark.parametrize("asked", [["sister", "ada", "live"], ["sister", "ada", "number", "live", "town"]])
@pytest.mark.parametrize("others", [20, 60, 200, 2_000])
def test_a_text_with_all_terms_is_sure_however_many_newer_ones_have_the_common_ones(
    others: int, asked: list[str]
) -> None:
    index = Index(max_postings=128)
    index.add(0, asked)
    for number in range(1, others):
        index.add(number, [term for term in asked if term != "ada"])
    best = index.sure(Question(asked), 6)[0]
    assert (best.number, best.share) == (0, 1.0)


def test_of_texts_with_as_many_terms_those_with_the_rarest_are_sure_first() -> None:
    index = Index(max_postings=128)
    for number in range(40):
        index.add(number, ["sister", "ada", "move"] if number == 7 else ["sister", "live"])
    assert [one.number for one in index.sure(Question(["sister", "ada", "live"]), 3)] == [7, 39, 38]


@pytest.mark.parametrize("others", [40, 400])
def test_a_text_with_all_terms_is_sure_however_many_newer_ones_have_its_rarest_term(others: int) -> None:
    index = Index(max_postings=128)
    index.add(0, ["paid", "20", "00", "euro"])
    for number in range(1, 2 * others, 2):
        index.add(number, ["paid", "20", "may", "euro"])
        index.add(number + 1, ["paid", "00", "euro", "00"])
        index.add(number + 3 * others, ["paid", "00", "euro"])
    best = index.sure(Question(["paid", "20", "00", "euro"]), 6)[0]
    assert (best.number, best.share) == (0, 1.0)


def test_a_text_with_all_terms_is_sure_however_common_all_but_the_rarest_are() -> None:
    index = Index(max_postings=128)
    index.add(0, ["shelf", "4", "lamp"])
    for number in range(1, 3_001):
        index.add(number, ["shelf", "7", "box"])
    for number in range(3_001, 3_101):
        index.add(number, ["4", "box"])
    assert [(one.number, one.share) for one in index.sure(Question(["shelf", "4"]), 6)] == [(0, 1.0)]


def test_a_text_lacks_nothing_of_an_answer_if_only_words_that_say_little_are_missing() -> None:
    index = Index(max_postings=128)
    for number in range(600):
        index.add(number, ["shelf", str(number), "box", str(number % 9), NUMBER])
    question = Question([NUMBER, "mani", "box", "shelf", "3"])
    assert index.sure(question, 6)[0].answers
    assert index.search(question, 6, answering=True)[0].answers
    assert not index.sure(Question(["green", "box", "shelf", "3"]), 6)[0].answers


VOCABULARY = st.sampled_from("abcdefgh")
KINDS = st.sampled_from([ASKS, ASKED, NUMBER])
DOCUMENTS = st.lists(st.lists(VOCABULARY | KINDS, max_size=25), max_size=40)


@pytest.fixture(scope="module", params=[3, 64], ids=lambda many: f"lists-from-{many}")
def many(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_MANY", request.param)
        yield


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("with_places", [False, True])
@given(DOCUMENTS, st.integers(0, 20), st.data(), st.sets(VOCABULARY))
def test_an_index_after_changes_equals_one_built_anew(
    with_places: bool, documents: list[list[str]], joined_at: int, data: st.DataObject, query: set[str]
) -> None:
    question = Question([NUMBER, *sorted(query)])
    index, newer = Index(), Index()
    kept: dict[int, tuple[list[str], str, int]] = {}
    for number, terms in enumerate(documents):
        if number == joined_at:
            index.add_all(newer)
        kept[number] = terms, "", number + 1 if with_places else 0
        (index if number < joined_at // 2 or number >= joined_at else newer).add(number, *kept[number])
        if data.draw(st.booleans()):
            index.search(question, 5)  # which remembers what it read
        if number >= joined_at and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(kept)))
            index.remove(gone)
            del kept[gone]
    if len(documents) <= joined_at:
        index.add_all(newer)
    rebuilt = Index()
    for number, text in kept.items():
        rebuilt.add(number, *text)
    assert index.search(question, 10) == rebuilt.search(question, 10)
    assert len(index) == len(rebuilt)
