"""Throttles: a maximum of events per key in a sliding window."""

import asyncio
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.errors import Overloaded, TooManyAttempts
from actors.throttle import AttemptLimiter, Throttle


class Watch:
    """A clock that stands still until a test moves it."""

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


def test_a_limit_of_0_allows_all(watch: Watch):
    throttle = Throttle(0, 60, watch)
    assert all(allowed(throttle) for _ in range(1_000))


def test_quiet_keys_are_forgotten_and_the_number_of_keys_is_bounded(watch: Watch):
    throttle = Throttle(1, 60, watch, max_keys=3)
    for key in "abcd":
        assert allowed(throttle, key)
    assert allowed(throttle, "a")  # dropped to keep the limit
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


async def one_try(tries: AttemptLimiter, gate: asyncio.Event, log: list[str], *, fails: bool) -> None:
    async with tries.one("a", "slow down"):
        log.append("begun")
        await gate.wait()
        if fails:
            tries.failed("a")


async def test_tries_that_succeed_are_never_refused_however_many_come_at_once(watch: Watch):
    tries, gate, log = AttemptLimiter(Throttle(3, 60, watch)), asyncio.Event(), list[str]()
    crowd = [asyncio.create_task(one_try(tries, gate, log, fails=False)) for _ in range(50)]
    await asyncio.sleep(0.01)
    assert len(log) == 3  # more concurrent attempts could fail more often than allowed
    gate.set()
    await asyncio.gather(*crowd)
    assert len(log) == 50


async def test_tries_at_once_fail_no_more_often_than_allowed(watch: Watch):
    tries, gate, log = AttemptLimiter(Throttle(3, 60, watch)), asyncio.Event(), list[str]()
    gate.set()
    crowd = [one_try(tries, gate, log, fails=True) for _ in range(50)]
    results = await asyncio.gather(*crowd, return_exceptions=True)
    assert len(log) == 3
    assert sum(isinstance(result, TooManyAttempts) for result in results) == 47
    watch.now += 61
    await one_try(tries, gate, log, fails=True)


async def test_tries_that_wait_have_their_turns_in_order(watch: Watch):
    tries, gate, order = AttemptLimiter(Throttle(1, 60, watch)), asyncio.Event(), list[int]()

    async def one(number: int) -> None:
        async with tries.one("a", "slow down"):
            await gate.wait()
            order.append(number)

    crowd = [asyncio.create_task(one(number)) for number in range(20)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*crowd)
    assert order == list(range(20))


async def test_more_tries_than_may_wait_are_refused_as_overload(watch: Watch):
    tries, gate, log = AttemptLimiter(Throttle(3, 60, watch), waiting=5), asyncio.Event(), list[str]()
    crowd = [asyncio.create_task(one_try(tries, gate, log, fails=False)) for _ in range(20)]
    await asyncio.wait(crowd, return_when=asyncio.FIRST_COMPLETED)
    gate.set()
    results = await asyncio.gather(*crowd, return_exceptions=True)
    assert sum(isinstance(result, Overloaded) for result in results) == 12
    assert len(log) == 8
    await one_try(tries, gate, log, fails=False)


async def test_a_try_that_gives_up_waiting_or_under_way_leaves_its_place_to_others(watch: Watch):
    tries, gate, log = AttemptLimiter(Throttle(1, 60, watch)), asyncio.Event(), list[str]()
    under_way, waiting, heir = [asyncio.create_task(one_try(tries, gate, log, fails=False)) for _ in range(3)]
    while not log:
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    under_way.cancel()
    await asyncio.wait([under_way])
    gate.set()
    await heir
    assert len(log) == 2


async def test_one_that_gives_up_as_its_turn_comes_hands_it_on(watch: Watch):
    tries, gate, log = AttemptLimiter(Throttle(1, 60, watch)), asyncio.Event(), list[str]()
    first, second, third = [asyncio.create_task(one_try(tries, gate, log, fails=False)) for _ in range(3)]
    while not log:
        await asyncio.sleep(0)
    gate.set()
    first.add_done_callback(lambda _: second.cancel())  # by then it had its turn
    await asyncio.wait([first, second])
    await third
    await one_try(tries, gate, log, fails=False)


async def test_tries_that_wait_when_the_window_fills_are_refused_at_once(watch: Watch):
    tries, gate, slow, log = AttemptLimiter(Throttle(2, 60, watch)), asyncio.Event(), asyncio.Event(), list[str]()
    gate.set()
    held = asyncio.create_task(one_try(tries, slow, log, fails=False))
    await asyncio.sleep(0)
    quick = asyncio.create_task(one_try(tries, asyncio.Event(), log, fails=False))
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(one_try(tries, gate, log, fails=True)) for _ in range(3)]
    await asyncio.sleep(0)
    tries.failed("a")
    tries.failed("a")
    quick.cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, TooManyAttempts) for result in results)
    slow.set()
    await held


async def test_fewer_tries_than_may_fail_run_at_a_time_where_told_so(watch: Watch):
    tries, gate, log = AttemptLimiter(Throttle(30, 60, watch), at_once=2), asyncio.Event(), list[str]()
    crowd = [asyncio.create_task(one_try(tries, gate, log, fails=False)) for _ in range(20)]
    while not log:
        await asyncio.sleep(0)
    assert len(log) == 2
    gate.set()
    await asyncio.gather(*crowd)
    assert len(log) == 20
