"""Identifiers and times in their wire format."""

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors import ids as made
from actors.ids import new_id, new_number, number_as, system_clock
from actors.wire import iso

FORM = re.compile(r"msg_[0-9a-f]{32}\Z")


def test_an_id_is_its_prefix_and_a_uuid_of_version_7():
    before = system_clock()
    id = new_id("msg")
    after = system_clock()
    assert FORM.match(id)
    parsed = uuid.UUID(id.removeprefix("msg_"))
    assert parsed.version == 7
    assert parsed.variant == uuid.RFC_4122
    assert before - 1 <= parsed.int >> 80 <= after + 1


def test_ids_are_unique_and_sort_in_order_of_creation():
    ids = [new_id("msg") for _ in range(50_000)]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == ids


def test_every_id_of_a_burst_is_a_uuid_of_version_7():
    for _ in range(5_000):
        parsed = uuid.UUID(new_id("x").removeprefix("x_"))
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)


def test_ids_count_up_where_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch):
    before = new_id("msg")
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000_000_000_000_000)
    ids = [before, *(new_id("msg") for _ in range(100))]
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == ids


def test_ids_of_one_moment_differ_in_more_than_their_count():
    tails = {new_id("msg")[-16:] for _ in range(5_000)}
    assert len(tails) == 5_000


def test_an_id_near_another_ends_in_its_last_two_digits():
    user = new_id("usr")
    agent = new_id("agt", near=user)
    assert re.fullmatch(r"agt_[0-9a-f]{32}", agent)
    assert agent[-2:] == user[-2:]
    assert new_id("msg", near=agent)[-2:] == user[-2:]


def test_ids_near_one_another_are_uuids_of_version_7_and_sort_in_order_of_creation():
    user = new_id("usr")
    ids = [new_id("msg", near=user) if number % 2 else new_id("msg") for number in range(20_000)]
    assert sorted(set(ids)) == ids
    for id in ids[:1_000]:
        parsed = uuid.UUID(id.removeprefix("msg_"))
        assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)


def test_ids_near_one_another_differ_in_their_random_digits():
    user = new_id("usr")
    digits = {new_id("msg", near=user)[-15:-2] for _ in range(5_000)}
    assert len(digits) == 5_000


def test_users_are_spread_over_all_ends():
    assert len({new_id("usr")[-2:] for _ in range(10_000)}) == 256


def test_numbers_grow_and_fit_into_a_column():
    numbers = [new_number() for _ in range(5_000)]
    assert sorted(set(numbers)) == numbers
    assert numbers[-1] < 2**63


def test_numbers_grow_where_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch):
    before = new_number()
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000_000_000_000_000)
    assert before < new_number() < new_number()


def test_the_clock_counts_milliseconds_since_the_epoch():
    assert abs(system_clock() / 1000 - datetime.now(UTC).timestamp()) < 5


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (1_795_514_400_000, "2026-11-24T10:00:00.000Z"),
        (951_782_399_999, "2000-02-28T23:59:59.999Z"),
        (951_782_400_000, "2000-02-29T00:00:00.000Z"),
    ],
)
def test_times_are_written_in_utc_with_milliseconds(at: int, text: str):
    assert iso(at) == text


@given(st.integers(0, 4_000_000_000_000))
def test_a_time_that_is_read_again_is_the_same(at: int):
    text = iso(at)
    assert len(text) == 24
    read = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
    assert read - datetime.fromtimestamp(0, UTC) == timedelta(milliseconds=at)


def test_times_sort_as_their_texts_do():
    times = [1, 999, 1_000, 59_999, 60_000, 1_795_514_400_000]
    assert sorted(map(iso, times)) == [iso(at) for at in times]


def test_numbers_of_a_node_go_up_and_are_no_other_nodes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(made, "_step", made._step)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(made, "_node", made._node)  # pyright: ignore[reportPrivateUsage]
    numbers = [new_number()]
    for node in (7, 255, 0, 7):
        number_as(node)
        of_node = [new_number() for _ in range(2_000)]
        assert {number % 256 for number in of_node} == {node}
        numbers += of_node
    assert sorted(set(numbers)) == numbers
    assert numbers[-1] < 2**63
    for wrong in (-1, 256):
        with pytest.raises(ValueError, match="8 bits"):
            number_as(wrong)
