"""The tokenizer (tokenizer.py) and the inverted index (bm25.py)."""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.text import tokenizer
from actors.text.bm25 import MAX_TERMS_PER_DOCUMENT, Index


def terms_of(text: str) -> list[str]:
    return tokenizer.terms(tokenizer.split(text))


def index_of(*texts: str) -> Index:
    index = Index()
    for number, text in enumerate(texts):
        index.add(number, terms_of(text))
    return index


def found(index: Index, query: str, limit: int = 10) -> list[int]:
    return [number for number, _ in index.search(set(terms_of(query)), limit)]


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("Zürich", "zurich"),
        ("Zürich", unicodedata.normalize("NFD", "ZÜRICH")),
        ("Straße", "STRASSE"),
        ("Crème brûlée", "creme brulee"),
        ("señor Muñoz", "senor Munoz"),
        ("Łódź", "lodz"),
        ("Søren", "soren"),
        ("İstanbul", "istanbul"),
        ("ﬁle", "file"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "full width"),
        ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
        ("Ёлка", "елка"),
        ("שָׁלוֹם", "שלום"),
        ("dog's bone", "dog bone"),
        ("dog’s bone", "dog bone"),
        ("the stories of boxes and classes", "story box class"),
        ("snake_case_name", "snake case name"),
    ],
)
def test_spellings_of_the_same_words_have_the_same_terms(written: str, typed: str) -> None:
    assert terms_of(written) == terms_of(typed)


@pytest.mark.parametrize(
    "text", ["What is the", "wie ist das denn", "qu'est-ce que c", "¿qué es la", "?!.", "", "😀🎉"]
)
def test_texts_that_say_nothing_have_no_terms_of_their_own(text: str) -> None:
    assert set(terms_of(text)) <= {"denn", "c"}


def test_words_that_matter_in_another_language_are_no_stop_words() -> None:
    assert terms_of("son car hat man bin war") == ["son", "car", "hat", "man", "bin", "war"]


def test_singular_words_that_end_in_s_keep_it() -> None:
    assert terms_of("bus glass Haus") == ["bus", "glass", "haus"]


@pytest.mark.parametrize(
    ("fact", "query"),
    [
        ("我的猫叫小白", "猫叫什么名字？"),
        ("会议在星期五下午三点", "会议是什么时候？"),
        ("犬の名前はレックスです", "犬は？"),
        ("レックスは犬です", "レックスとは？"),
        ("우리 회의는 금요일입니다", "회의가 언제예요?"),
        ("การประชุมคือวันศุกร์", "การประชุม"),
    ],
)
def test_scripts_without_spaces_are_found_by_parts_of_a_sentence(fact: str, query: str) -> None:
    assert found(index_of("Something else", "天气很好", fact), query)[0] == 2


def test_vowel_signs_do_not_cut_a_word() -> None:
    assert len(tokenizer.split("हिन्दी")) == 1


def test_a_very_long_word_is_known_by_its_beginning() -> None:
    assert [len(term) for term in terms_of("x" * 32_000)] == [tokenizer.MAX_WORD]


@given(st.text())
def test_any_text_has_terms_and_always_the_same_ones(text: str) -> None:
    assert terms_of(text) == terms_of(text)
    assert all(0 < len(term) <= 4 * tokenizer.MAX_WORD for term in terms_of(text))


def test_the_rarest_term_leads() -> None:
    index = index_of("cat food", "cat toy", "cat bed", "rex food", "cat tree", "cat house")
    assert found(index, "cat rex")[0] == 3


def test_a_term_of_most_documents_is_left_out_when_a_rarer_one_is_found() -> None:
    index = index_of("cat food", "cat toy", "cat bed")
    assert found(index, "cat toy") == [1]
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
    assert not index._documents  # pyright: ignore[reportPrivateUsage]
    assert not index._postings  # pyright: ignore[reportPrivateUsage]
    assert found(index, "tea milk") == []
    index.add(1, ["tea"])
    assert found(index, "tea") == [1]


def test_a_document_cannot_be_added_twice_nor_one_removed_that_is_not_there() -> None:
    index = index_of("tea")
    with pytest.raises(ValueError, match="document 0 is indexed already"):
        index.add(0, ["milk"])
    with pytest.raises(KeyError):
        index.remove(1)
    assert found(index, "tea") == [0]


def test_a_document_of_endless_distinct_words_is_indexed_by_the_first_of_them() -> None:
    index = Index()
    index.add(0, [f"w{i}" for i in range(10_000)])
    assert len(index.terms(0)) == MAX_TERMS_PER_DOCUMENT
    assert index.search({"w0"}, 1)
    assert not index.search({"w9999"}, 1)


VOCABULARY = st.sampled_from("abcdefgh")
DOCUMENTS = st.lists(st.lists(VOCABULARY, max_size=25), max_size=40)


@given(DOCUMENTS, st.data(), st.sets(VOCABULARY))
def test_an_index_after_additions_and_removals_equals_one_built_anew(
    documents: list[list[str]], data: st.DataObject, query: set[str]
) -> None:
    index = Index()
    kept: dict[int, list[str]] = {}
    for number, terms in enumerate(documents):
        index.add(number, terms)
        kept[number] = terms
        if kept and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(kept)))
            index.remove(gone)
            del kept[gone]
    rebuilt = Index()
    for number, terms in kept.items():
        rebuilt.add(number, terms)
    assert index.search(query, 10) == rebuilt.search(query, 10)
    assert len(index) == len(rebuilt)
