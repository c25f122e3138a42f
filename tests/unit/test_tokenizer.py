"""The terms of texts (tokenizer.py, languages.py)."""

# ruff: noqa: RUF001 (other scripts' characters are the point)

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.text import tokenizer


def terms_of(text: str) -> list[str]:
    return tokenizer.terms(tokenizer.split(text))


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
        ("2023-05-08, May 8th, the 22nd", "2023-5-8, May 8, the 22"),
        ("My mom and Grandpa's kids", "my mother and grandfather's children"),
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
    assert terms_of("the son's car, a hat, the bin and the war") == ["son", "car", "hat", "bin", "war"]
    assert terms_of("Er hat ein Auto, und es war teuer") == ["auto", "teu"]
    assert terms_of("Ella and Ben pour a ton of gravel") == ["ella", "ben", "pour", "ton", "gravel"]
    assert terms_of("Ella y la vecina de su era") == ["vecin"]
    assert "ben" not in terms_of("Ben evdeyim ve çok yorgunum")


def test_only_days_are_the_same_number_in_several_forms() -> None:
    assert terms_of("08 12th 007 108 012 0 00 8e th") == ["8", "12", "007", "108", "012", "0", "00", "8e", "th"]


def test_singular_words_that_end_in_s_keep_it() -> None:
    assert terms_of("bus glass Haus") == ["bus", "glass", "haus"]


@pytest.mark.parametrize(
    "forms",
    [
        "finden findet fand fanden gefunden wiedergefunden",
        "gehen geht ging gegangen weggegangen",
        "fahren fährt fuhr gefahren abgefahren",
        "lassen lässt ließ",
        "vergessen vergisst vergaß",
        "wechseln gewechselt",
        "kaufen gekauft eingekauft",
        "arbeiten gearbeitet",
    ],
)
def test_the_forms_of_a_german_verb_are_one_term(forms: str) -> None:
    assert len({tuple(terms_of(f"Der Ring ist {form}")) for form in forms.split()}) == 1


def test_german_nouns_that_look_like_participles_stay_as_they_are() -> None:
    assert terms_of("das Gehalt ist gut") != terms_of("das halten ist gut")
    for one, several in (("Gelegenheit", "Gelegenheiten"), ("Gemeinschaft", "Gemeinschaften"), ("Gerüst", "Gerüste")):
        assert terms_of(f"die {one} ist gut") == terms_of(f"die {several} ist gut")
    assert terms_of("der Gebhardt ist gut")[:1] == terms_of("Gebhardt")
    assert terms_of("die Farbe ist weiß") != terms_of("die Farbe ist wissen")
    assert terms_of("das Gewicht und die Gerichte sind gut") == terms_of("das Gewicht und das Gericht ist gut")


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
    assert set(terms_of(query)) & set(terms_of(fact))
    assert not set(terms_of(query)) & set(terms_of("天气很好"))


def test_vowel_signs_do_not_cut_a_word() -> None:
    assert len(tokenizer.split("हिन्दी")) == 1


def test_a_very_long_word_is_known_by_its_beginning() -> None:
    assert [len(term) for term in terms_of("x" * 32_000)] == [tokenizer.MAX_WORD]


@given(st.text())
def test_any_text_has_terms_and_always_the_same_ones(text: str) -> None:
    assert terms_of(text) == terms_of(text)
    assert all(0 < len(term) <= 4 * tokenizer.MAX_WORD for term in terms_of(text))
