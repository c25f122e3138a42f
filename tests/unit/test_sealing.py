"""Sealing: only the master key opens sealed data, for its own purpose and unaltered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.sealing import Sealer, WrongMasterKey

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@given(st.binary(max_size=2_000), st.text(max_size=60))
def test_what_was_sealed_opens_for_its_purpose(plain: bytes, purpose: str):
    purpose = purpose.encode("utf-8", "ignore").decode()
    assert Sealer(KEY).open(Sealer(KEY).seal(plain, purpose), purpose) == plain


def test_a_seal_does_not_open_with_another_key_or_for_another_purpose():
    sealed = Sealer(KEY).seal(b"whsec_secret", "endpoint whe_1")
    for sealer, purpose in ((Sealer(OTHER), "endpoint whe_1"), (Sealer(KEY), "endpoint whe_2"), (Sealer(KEY), "")):
        with pytest.raises(WrongMasterKey):
            sealer.open(sealed, purpose)


@given(st.data())
def test_no_bit_of_a_seal_can_be_altered(data: st.DataObject):
    sealed = bytearray(Sealer(KEY).seal(b"a kept answer", "answer"))
    sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(WrongMasterKey):
        Sealer(KEY).open(bytes(sealed), "answer")


@pytest.mark.parametrize("kept", range(28))
def test_a_seal_that_was_cut_short_does_not_open(kept: int):
    sealed = Sealer(KEY).seal(b"", "answer")
    assert len(sealed) == 28  # a nonce of 12 and a tag of 16
    with pytest.raises(WrongMasterKey):
        Sealer(KEY).open(sealed[:kept], "answer")


def test_a_seal_shows_nothing_of_what_is_in_it_and_no_two_are_alike():
    seals = {Sealer(KEY).seal(b"whsec_secret", "endpoint") for _ in range(1_000)}
    assert len({sealed[:12] for sealed in seals}) == 1_000  # a nonce used twice would reveal the key
    assert not any(b"whsec" in sealed for sealed in seals)


def test_a_proof_tells_the_right_key_from_a_wrong_one():
    proof = Sealer(KEY).prove()
    Sealer(KEY).check(proof)
    for sealer, wrong in ((Sealer(OTHER), proof), (Sealer(KEY), b""), (Sealer(KEY), proof[:-1])):
        with pytest.raises(WrongMasterKey):
            sealer.check(wrong)
