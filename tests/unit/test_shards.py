"""Shards: each key has one, the placement on nodes is balanced, and a join moves only its share."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.ids import new_id
from actors.runtime.cluster.shards import SHARDS, ShardMap, placed, shard_of

names = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=20)
nodes = st.lists(names, min_size=1, max_size=12, unique=True)


def test_the_shard_of_an_id_is_the_number_in_its_last_two_digits() -> None:
    assert shard_of("usr_0190a1b2c3d47000812345678901a7") == 0xA7
    assert shard_of("a7") == 0xA7
    assert shard_of("00") == 0


def test_what_a_user_owns_is_in_its_shard() -> None:
    user = new_id("usr")
    assert {shard_of(new_id(prefix, near=user)) for prefix in ("ses", "agt", "dom", "bnk")} == {shard_of(user)}


@given(st.text())
def test_every_key_has_a_shard_and_always_the_same(key: str) -> None:
    assert 0 <= shard_of(key) < SHARDS
    assert shard_of(key) == shard_of(key)


def test_keys_without_digits_spread_over_the_shards() -> None:
    assert len({shard_of(f"{n}.example") for n in range(2_000)}) == SHARDS


@given(nodes, st.randoms(use_true_random=False))
def test_the_placement_is_independent_of_the_order_of_nodes(members: list[str], shuffling: random.Random) -> None:
    shuffled = shuffling.sample(members, len(members))
    assert placed(shuffled) == placed(members) == placed(frozenset(members))


@given(nodes, names)
def test_a_join_moves_shards_to_the_new_node_alone(members: list[str], joining: str) -> None:
    before, after = placed(members), placed([*members, joining])
    assert all(new in {old, joining} for old, new in zip(before, after, strict=True))


@given(st.integers(2, 12), st.integers(0, 10_000))
def test_the_placement_is_balanced(count: int, seed: int) -> None:
    shares = Counter(placed([f"node{n}-{random.Random(seed + n).getrandbits(32):08x}" for n in range(count)]))
    fair = SHARDS / count
    allowed = 6 * (fair * (1 - 1 / count)) ** 0.5  # six standard deviations of a fair draw
    assert all(abs(shares[node] - fair) <= allowed for node in shares)
    assert len(shares) == count


def test_without_nodes_there_is_no_placement() -> None:
    with pytest.raises(ValueError, match="empty"):
        placed([])


def test_the_map_knows_the_owner_of_a_key() -> None:
    owners = tuple(None if shard == 0xA7 else f"n{shard % 3}" for shard in range(SHARDS))
    known = ShardMap(owners, (0,) * SHARDS, version=1)
    assert known.owner("usr_a7") is None
    assert known.owner("usr_04") == "n1"
