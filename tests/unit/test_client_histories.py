"""Histories of clients, compared with what is stored."""

import pytest

from actors.commands.client_histories import plain, redacted


def test_texts_are_compared_in_one_form():
    assert plain(" Caf\u00e9 ") == plain("Cafe\u0301")
    assert plain("e\u0316\u0301") == plain("e\u0301\u0316")
    assert plain("e\u0301" + "!" * 40) == plain("\u00e9" + "!" * 40)


def test_more_marks_than_any_language_has_are_compared_as_they_are():
    marks = "\u0301" * 16_000 + "\u0316" * 16_000  # sorting them would take seconds
    assert plain(f"Cafe\u0301 a{marks} cafe\u0301") == f"Caf\u00e9 a{marks} caf\u00e9"


@pytest.mark.parametrize(
    ("stored", "told", "same"),
    [
        ("[censored]", "It is 7.", True),
        ("I said: “[censored]”", "I said: “It is 7.”", True),
        ("I said: “[censored]”", "You said: “It is 7.”", False),
        ("“[censored]” and “[censored]”", "“7” and “8”", True),
        ("“[censored]” and “[censored]”", "“7” or “8”", False),
        ("a[censored]a", "a", False),
        ("a[censored]b[censored]b", "a1b", False),
        ("a" + "[censored]a" * 3_000, "a" * 30_000 + "b", False),
        ("It is 7.", "It is 7.", True),
        ("It is 7.", "It is 8.", False),
    ],
)
def test_words_in_place_of_redacted_ones_count_as_equal(stored: str, told: str, same: bool):
    assert redacted([("user", "How many?"), ("agent", stored)], [("user", "How many?"), ("agent", told)]) == same


def test_only_replies_are_redacted():
    assert not redacted([("user", "[censored]")], [("user", "It is 7.")])
    assert not redacted([("agent", "[censored]")], [("user", "It is 7.")])
    assert not redacted([("agent", "[censored]")], [("agent", "It is 7."), ("user", "Thanks!")])
