"""Histories of clients, compared with what is stored."""

import pytest

from actors.commands.client_histories import redacted


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
