"""Tokens: their form, their checksum and their stored hash."""

import hashlib
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.sessions.tokens import API_KEY, KINDS, SANDBOX_KEY, SESSION_TOKEN, new_token, token_hash, token_kind

FORM = re.compile(r"(pls|plk|plx)_[0-9A-Za-z]{38}\Z")
BASE_62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("kind", KINDS)
def test_a_token_is_its_prefix_random_characters_and_a_checksum(kind: str):
    token = new_token(kind)
    assert FORM.match(token)
    assert token.startswith(f"{kind}_")
    assert token_kind(token) == kind


def test_the_kinds_are_those_of_the_product():
    assert (SESSION_TOKEN, API_KEY, SANDBOX_KEY) == KINDS == ("pls", "plk", "plx")


def test_the_checksum_is_the_crc_32_of_what_is_before_it_in_base_62():
    token = new_token(SESSION_TOKEN)
    number = 0
    for character in token[-6:]:
        number = number * 62 + BASE_62.index(character)
    assert number == zlib.crc32(token[:-6].encode())


def test_no_two_tokens_are_alike():
    assert len({new_token(SESSION_TOKEN) for _ in range(5_000)}) == 5_000


@given(st.integers(4, 41), st.sampled_from(BASE_62))
def test_any_one_wrong_character_is_noticed(place: int, character: str):
    token = new_token(SESSION_TOKEN)
    mistyped = token[:place] + character + token[place + 1 :]
    assert (token_kind(mistyped) == SESSION_TOKEN) == (mistyped == token)


@given(st.integers(4, 40))
def test_two_swapped_characters_are_noticed(place: int):
    token = new_token(API_KEY)
    swapped = token[:place] + token[place + 1] + token[place] + token[place + 2 :]
    assert (token_kind(swapped) == API_KEY) == (swapped == token)


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1],
        lambda token: token + "0",
        lambda token: token.replace("pls", "plk"),
        lambda token: token.replace("_", "-"),
        lambda token: token.upper(),
        lambda token: " " + token,
        lambda token: token + "\n",
        lambda token: token[:10] + "é" + token[11:],
        lambda token: "",
        lambda token: "_",
        lambda token: "pls_",
    ],
)
def test_what_is_no_token_has_no_kind(change):
    assert token_kind(change(new_token(SESSION_TOKEN))) is None


@given(st.text())
def test_no_text_upsets_the_check(text: str):
    assert token_kind(text) is None
    assert token_kind(f"pls_{text}") is None
    assert len(token_hash(text)) == 32


def test_only_a_token_s_sha_256_is_kept():
    assert token_hash("pls_x") == hashlib.sha256(b"pls_x").digest()
    assert len(token_hash("pls_\udc80")) == 32  # a byte of a header that is not UTF-8
