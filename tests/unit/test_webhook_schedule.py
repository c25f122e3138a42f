"""The schedule of attempts, the limit of concurrent ones, and the signatures of deliveries."""

import base64
import hashlib
import hmac
import itertools
import time

import pytest

from actors.errors import StateConflict
from actors.webhooks.event_types import EVENT_TYPES, FILTERS, takes
from actors.webhooks.lanes import LOADED, Lane, WakeupHeap
from actors.webhooks.schedule import (
    BREAKER_FAILURES,
    BREAKER_OPEN_MS,
    FIRST_IN_FLIGHT,
    MAX_IN_FLIGHT,
    Breaker,
    RetrySchedule,
    retry_after_s,
)
from actors.webhooks.signing import OVERLAP_MS, Keys, Secret, Signer, new_secret, pack, rotated, unpack
from persistence.deliveries import DueRow

NOW = 1_795_276_845_123


def schedule(random: float = 0.5, *delays_s: float) -> RetrySchedule:
    return RetrySchedule(delays_s or (5, 300, 1800), lambda: random)


# the schedule


@pytest.mark.parametrize(("random", "share"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_each_wait_has_a_jitter_of_twenty_percent(random: float, share: float):
    waits = [schedule(random).wait_ms(failed, None) for failed in (1, 2, 3)]
    assert waits == [round(delay * share * 1000) for delay in (5, 300, 1800)]


def test_after_the_last_delay_there_is_no_further_attempt():
    assert schedule().wait_ms(4, None) is None
    assert schedule().wait_ms(4, 10.0) is None
    assert RetrySchedule((), lambda: 0.5).wait_ms(1, None) is None


@pytest.mark.parametrize(
    ("asked", "wait"), [(None, 5_000), (0, 5_000), (4, 5_000), (60, 60_000), (36_000, 36_000_000), (1e12, 36_000_000)]
)
def test_retry_after_lengthens_a_wait_up_to_ten_hours(asked: float | None, wait: int):
    assert schedule().wait_ms(1, asked) == wait


def test_retry_after_never_shortens_a_wait_that_is_longer_than_ten_hours():
    assert schedule(0.5, 86_400).wait_ms(1, 40_000) == 86_400_000


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("120", 120),
        (" 7 ", 7),
        ("-1", None),
        ("1.5", None),
        ("", None),
        ("soon", None),
        ("\u0663", None),
        ("9" * 5000, 999_999_999_999),
        ("Sat, 21 Nov 2026 16:01:45 GMT", 60),
        ("Sat, 21 Nov 2026 15:00:00 GMT", 0),
        ("Sat, 99 Nov 2026 15:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float | None):
    at = 1_795_276_845_000  # Sat, 21 Nov 2026 16:00:45 GMT
    assert retry_after_s(header, at) == seconds


@pytest.mark.parametrize("header", ["Sat Nov 21 16:01:45 2026", "Sat, 21 Nov 2026 16:01:45 -0000"])
def test_a_date_without_a_time_zone_is_utc_wherever_the_gateway_runs(header: str, monkeypatch: pytest.MonkeyPatch):
    try:
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv("TZ", "America/New_York")
            time.tzset()
            assert retry_after_s(header, 1_795_276_845_000) == 60
    finally:
        time.tzset()


# the breaker


def test_an_endpoint_begins_with_few_attempts_and_comes_to_sixteen():
    breaker = Breaker()
    assert breaker.room(0, NOW) == FIRST_IN_FLIGHT
    for _ in range(100):
        breaker.succeeded()
    assert breaker.room(0, NOW) == MAX_IN_FLIGHT
    assert breaker.room(MAX_IN_FLIGHT, NOW) == 0
    assert breaker.room(MAX_IN_FLIGHT + 5, NOW) == 0


def test_time_outs_halve_what_may_be_under_way_and_leave_one():
    breaker = Breaker()
    for _ in range(BREAKER_FAILURES - 1):
        breaker.failed(NOW, timed_out=True)
    assert breaker.room(0, NOW) == 1


def test_ten_failures_in_a_row_open_the_breaker_for_thirty_seconds_and_then_let_one_probe_through():
    breaker = Breaker()
    for _ in range(BREAKER_FAILURES - 1):
        breaker.failed(NOW, timed_out=False)
    assert not breaker.tripped
    breaker.failed(NOW, timed_out=False)
    assert breaker.tripped
    assert breaker.room(0, NOW + BREAKER_OPEN_MS - 1) == 0
    assert breaker.room(0, NOW + BREAKER_OPEN_MS) == 1
    assert breaker.room(1, NOW + BREAKER_OPEN_MS) == 0
    breaker.failed(NOW + BREAKER_OPEN_MS, timed_out=False)  # the probe
    assert breaker.room(0, NOW + 2 * BREAKER_OPEN_MS - 1) == 0
    breaker.succeeded()
    assert not breaker.tripped
    assert breaker.room(0, NOW) > 1


def test_a_success_between_failures_keeps_the_breaker_closed():
    breaker = Breaker()
    for _ in range(50):
        for _ in range(BREAKER_FAILURES - 1):
            breaker.failed(NOW, timed_out=False)
        breaker.succeeded()
    assert not breaker.tripped


# lanes


def due_row(place: int, due: int) -> DueRow:
    return DueRow(1, place, f"dlv_{place}", 0, due, place, f"e{place}", "webhook.test", 0, "{}")


def test_a_lane_takes_what_is_due_and_remembers_when_the_next_is():
    lane = Lane(1)
    lane.take([due_row(1, 10), due_row(2, 20), due_row(3, 31)], now=30)
    assert [row.position for row in lane.ready] == [1, 2]
    assert lane.next_due == 31


def test_a_lane_does_not_take_twice_what_is_under_way_or_ready():
    lane = Lane(1)
    lane.open = {1}
    lane.take([due_row(1, 10), due_row(2, 20)], now=30)
    lane.take([due_row(1, 10), due_row(2, 20), due_row(3, 25)], now=30)
    assert [row.position for row in lane.ready] == [2, 3]
    assert lane.next_due is None


def test_a_lane_that_was_given_all_it_asked_for_asks_again():
    lane = Lane(1)
    lane.take([due_row(place, 10) for place in range(LOADED)], now=30)
    assert lane.next_due == 10


def test_what_a_lane_lets_go_is_expected_again():
    lane = Lane(1)
    lane.take([due_row(1, 10), due_row(2, 20)], now=30)
    lane.let_go()
    assert not lane.ready
    assert lane.next_due == 10
    assert not lane.at_rest


def test_alarms_ring_once_at_the_earliest_time_that_was_set():
    lanes = {1: Lane(1), 2: Lane(2)}
    alarms = WakeupHeap()
    alarms.set(lanes[1], 50)
    alarms.set(lanes[1], 20)
    alarms.set(lanes[1], 70)
    alarms.set(lanes[2], 30)
    assert alarms.first == 20
    assert alarms.due(lanes, 25) == [lanes[1]]
    assert alarms.due(lanes, 60) == [lanes[2]]
    assert alarms.due(lanes, 100) == []


# signing


def test_both_signatures_are_those_of_their_schemes():
    secret = new_secret()
    headers = Signer("Service").headers([Keys.of(Secret(secret))], NOW, "an-id", "webhook.test", "dlv_1", b'{"a":1}')
    whole = hmac.new(secret.encode(), b'1795276845.{"a":1}', hashlib.sha256).hexdigest()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    standard = base64.b64encode(hmac.new(key, b'an-id.1795276845.{"a":1}', hashlib.sha256).digest()).decode()
    assert headers["X-Service-Signature"] == f"t=1795276845,v1={whole}"
    assert headers["webhook-signature"] == f"v1,{standard}"
    assert headers["webhook-timestamp"] == "1795276845"
    assert (headers["X-Service-Event"], headers["X-Service-Delivery"]) == ("webhook.test", "dlv_1")


def test_a_secret_is_used_for_24_hours_after_it_was_rotated():
    held = (Secret("whsec_b2xk"),)
    held = rotated(held, "whsec_bmV3", NOW)
    assert held == (Secret("whsec_bmV3"), Secret("whsec_b2xk", NOW + OVERLAP_MS))
    keys = [Keys.of(secret) for secret in held]

    def signatures(at: int) -> int:
        return (
            Signer("Service").headers(keys, at, "id", "webhook.test", "dlv", b"{}")["X-Service-Signature"].count("v1=")
        )

    assert [signatures(NOW), signatures(NOW + OVERLAP_MS - 1), signatures(NOW + OVERLAP_MS)] == [2, 2, 1]
    later = rotated(held, "whsec_YWdhaW4=", NOW + OVERLAP_MS)
    assert [secret.text for secret in later] == ["whsec_YWdhaW4=", "whsec_bmV3"]


def test_the_newest_secret_signs_first_and_an_eighth_rotation_in_24_hours_is_refused():
    held: tuple[Secret, ...] = (Secret("whsec_MA=="),)
    for number in range(7):
        held = rotated(held, f"whsec_{number}", NOW)
    assert len(held) == 8
    assert held[0] == Secret("whsec_6")
    with pytest.raises(StateConflict, match='"now"'):
        rotated(held, "whsec_7", NOW + OVERLAP_MS - 1)
    assert len(rotated(held, "whsec_7", NOW + OVERLAP_MS)) == 2
    assert unpack(pack(held)) == held


def test_a_secret_does_not_show_in_a_repr():
    secret = new_secret()
    assert secret.removeprefix("whsec_") not in repr(Keys.of(Secret(secret)))


# filters


def test_an_empty_filter_takes_every_type():
    assert all(takes((), kind) for kind in EVENT_TYPES)


def test_each_type_is_taken_by_itself_by_its_group_and_by_nothing_else():
    for kind, wanted in itertools.product(EVENT_TYPES, FILTERS):
        expected = wanted == kind or (wanted.endswith(".*") and kind.startswith(wanted.removesuffix("*")))
        assert takes((wanted,), kind) == expected, (kind, wanted)
