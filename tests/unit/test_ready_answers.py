"""Answers sent in a row (routes/http/ready_answers.py)."""

import asyncio
from collections.abc import Callable

import pytest

from routes.http import ready_answers
from routes.http.answers import HttpAnswer
from routes.http.ready_answers import MOST, ReadyAnswers


def answer(number: int) -> HttpAnswer:
    return HttpAnswer(b"%d" % number, 200, {})


class Clock:
    """A clock that stands still unless a test sets it."""

    now = 7.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(ready_answers, "monotonic", clock)
    return clock


@pytest.fixture
def sent() -> list[bytes]:
    return []


@pytest.fixture
def add(sent: list[bytes]) -> Callable[[int], None]:
    ready = ReadyAnswers()
    return lambda number: ready.add(asyncio.get_running_loop(), lambda it: sent.append(it.body), answer(number))


async def test_answers_of_one_turn_are_sent_in_order_in_the_next(add: Callable[[int], None], sent: list[bytes]) -> None:
    for turn in (b"12", b"34"):
        for digit in turn:
            add(digit - ord("0"))
        assert len(sent) == int(turn[:1]) - 1
        await asyncio.sleep(0)
    assert sent == [b"1", b"2", b"3", b"4"]


async def test_a_full_row_is_sent_at_once(add: Callable[[int], None], sent: list[bytes]) -> None:
    for number in range(MOST + 1):
        assert sent == []
        add(number)
        if number == MOST - 1:
            assert len(sent) == MOST
            sent.clear()
    await asyncio.sleep(0)
    assert sent == [b"%d" % MOST]


async def test_an_answer_does_not_wait_for_slow_ones(
    add: Callable[[int], None], sent: list[bytes], clock: Clock
) -> None:
    add(1)
    add(2)
    assert sent == []
    clock.now += 2 * ready_answers.LONGEST_S
    add(3)
    assert sent == [b"1", b"2", b"3"]


async def test_an_answer_that_fails_keeps_no_other_back(caplog: pytest.LogCaptureFixture) -> None:
    ready, sent, loop = ReadyAnswers(), list[bytes](), asyncio.get_running_loop()

    def fail(_: HttpAnswer) -> None:
        raise ValueError("not to be sent")

    ready.add(loop, fail, answer(1))
    ready.add(loop, lambda it: sent.append(it.body), answer(2))
    await asyncio.sleep(0)
    assert sent == [b"2"]
    assert "could not be sent" in caplog.text
