"""The numbers in which the last messages of an actor are kept."""

import pytest

from actors.runtime.recent import MOST, NUMBERS, SHOWN, drop_oldest, no_messages, note_wait, refused, register, shown


class Ping:
    """A type of message."""


class Pong:
    """Another."""


@pytest.fixture(autouse=True, scope="module")
def types() -> None:
    register(Ping)
    register(Pong)


def test_times_types_and_outcomes_come_back():
    recent = no_messages()
    recent.append(NUMBERS[Ping] + 0.000_012)
    note_wait(recent, 1.5)
    recent.append(refused(NUMBERS[Pong], 3002) + 0.25)
    recent.append(refused(NUMBERS[Ping], 5000) + 900)
    recent.append(refused(NUMBERS[Ping], 5003))
    recent.append(0.001)  # of a type without a handler
    rows = [tuple(message.values()) for message in shown(recent)]
    assert rows == [
        ("Ping", 0, 0.012, "done", 0),
        ("Pong", 1500, 250, "refused", 3002),
        ("Ping", 0, 900_000, "failed", 5000),
        ("Ping", 0, 0, "refused", 5003),
        ("", 0, 1, "done", 0),
    ]


def test_a_message_that_waited_for_no_time_is_no_message_of_its_own():
    recent = no_messages()
    note_wait(recent, 0)
    recent.append(NUMBERS[Ping])
    assert [message["type"] for message in shown(recent)] == ["Ping"]


@pytest.mark.parametrize("count", [SHOWN, SHOWN + 1, 3 * SHOWN + 1])
def test_the_last_fifty_are_whole_whatever_was_dropped(count: int):
    recent = no_messages()
    for number in range(count):
        note_wait(recent, number)
        recent.append(NUMBERS[Pong] + number / 10)
        if len(recent) > MOST:
            drop_oldest(recent)
    last = range(count - SHOWN, count)
    assert [message["waiting_ms"] for message in shown(recent)] == [number * 1000 for number in last]
    assert [message["handling_ms"] for message in shown(recent)] == [number * 100 for number in last]
    assert len(recent) <= MOST
