"""Throttles: so many events per key in a sliding window."""

import random
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors import TooManyAttempts
from actors.throttle import Throttle


class Watch:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


def allowed(throttle: Throttle, key: str = "a") -> bool:
    try:
        throttle.take(key, "slow down")
    except TooManyAttempts:
        return False
    return True


def test_as_many_as_the_limit_pass_in_a_window_and_one_more_is_refused(watch: Watch):
    throttle = Throttle(3, 60, watch)
    assert [allowed(throttle) for _ in range(4)] == [True, True, True, False]


def test_each_key_has_a_window_of_its_own(watch: Watch):
    throttle = Throttle(1, 60, watch)
    assert [allowed(throttle, key) for key in "abab"] == [True, True, False, False]


def test_the_window_slides(watch: Watch):
    throttle = Throttle(2, 60, watch)
    assert allowed(throttle)
    watch.now += 40
    assert allowed(throttle)
    watch.now += 19
    assert not allowed(throttle)
    watch.now += 1
    assert allowed(throttle)
    assert not allowed(throttle)


def test_a_refusal_says_when_the_oldest_event_leaves_the_window(watch: Watch):
    throttle = Throttle(1, 60, watch)
    throttle.take("a", "slow down")
    watch.now += 45.5
    with pytest.raises(TooManyAttempts, match="slow down") as error:
        throttle.take("a", "slow down")
    assert error.value.retry_after == 15
    watch.now += error.value.retry_after
    throttle.take("a", "slow down")


def test_a_refusal_asks_for_a_second_at_least(watch: Watch):
    throttle = Throttle(1, 60, watch)
    throttle.take("a", "slow down")
    watch.now += 59.999
    with pytest.raises(TooManyAttempts) as error:
        throttle.check("a", "slow down")
    assert error.value.retry_after == 1


def test_a_refused_event_is_not_counted(watch: Watch):
    throttle = Throttle(1, 60, watch)
    assert allowed(throttle)
    for _ in range(100):
        assert not allowed(throttle)
    watch.now += 60
    assert allowed(throttle)


def test_checking_counts_nothing(watch: Watch):
    throttle = Throttle(1, 60, watch)
    for _ in range(10):
        throttle.check("a", "slow down")
    assert allowed(throttle)


def test_an_event_that_is_taken_back_makes_room(watch: Watch):
    throttle = Throttle(2, 60, watch)
    throttle.record("a")
    throttle.record("a")
    throttle.take_back("a")
    assert [allowed(throttle) for _ in range(2)] == [True, False]
    throttle.take_back("never seen")


def test_a_limit_of_0_allows_all(watch: Watch):
    throttle = Throttle(0, 60, watch)
    assert all(allowed(throttle) for _ in range(1_000))
    throttle.take_back("a")


def test_quiet_keys_are_forgotten_and_the_number_of_keys_is_bounded(watch: Watch):
    throttle = Throttle(1, 60, watch, max_keys=3)
    for key in "abcd":
        assert allowed(throttle, key)
    assert allowed(throttle, "a")  # forgotten to keep the bound
    assert not allowed(throttle, "d")
    watch.now += 61
    assert allowed(throttle, "e")
    assert [allowed(throttle, key) for key in "dcb"] == [True, True, True]


@given(st.integers(1, 5), st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 40)), max_size=60))
def test_no_window_ever_holds_more_than_the_limit(limit: int, steps: list[tuple[str, float]]):
    watch = Watch()
    throttle = Throttle(limit, 60, watch)
    model: dict[str, deque[float]] = {"a": deque(), "b": deque()}
    for key, wait in steps:
        watch.now += wait
        events = model[key]
        while events and events[0] <= watch.now - 60:
            events.popleft()
        assert allowed(throttle, key) == (len(events) < limit)
        if len(events) < limit:
            events.append(watch.now)


def test_taking_back_on_success_leaves_only_failures(watch: Watch):
    throttle = Throttle(10, 300, watch)
    rng = random.Random(1)
    failures = 0
    for _ in range(500):
        throttle.check("a", "slow down")
        throttle.record("a")
        if failures < 9 and rng.random() < 0.02:
            failures += 1
        else:
            throttle.take_back("a")
    assert failures == 9 or failures > 0
    for _ in range(10 - failures):
        throttle.take("a", "slow down")
    assert not allowed(throttle)
