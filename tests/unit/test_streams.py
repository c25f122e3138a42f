"""Streams without HTTP: events written straight to a reader's connection, and events that wait for its task."""

import asyncio

import pytest

from actors.domains.streams import Reader, StreamEvent, Streams, Whom

TICKS_S = 0.2
"""Long enough for a tick."""


class Connection:
    """Accepts blocks while it is `open`."""

    def __init__(self) -> None:
        self.open = True
        self.taken: list[bytes] = []

    def take(self, block: bytes) -> bool:
        if self.open:
            self.taken.append(block)
        return self.open


@pytest.fixture
def streams() -> Streams:
    return Streams()


def publish(streams: Streams, *numbers: int, zone: str | None = "zon_1") -> None:
    for number in numbers:
        streams.publish("dom_1", StreamEvent(number, zone, b"<%d>" % number))


def subscribed(streams: Streams, connection: Connection | None = None) -> Reader:
    reader = streams.subscribe("dom_1", "zon_1", "usr_1", "ses_1")
    if connection is not None:
        reader.passes_to(connection.take)
    return reader


async def test_what_happens_while_a_reader_waits_goes_straight_to_its_connection(streams: Streams):
    connection = Connection()
    reader = subscribed(streams, connection)
    waiting = asyncio.create_task(reader.next(TICKS_S))
    await asyncio.sleep(0)
    publish(streams, 1, 2)
    publish(streams, 3, zone="zon_2")
    publish(streams, 4, zone=None)
    assert await waiting == b""
    assert connection.taken == [b"<1><2><4>"]
    assert reader.last == 4


async def test_what_happens_while_a_reader_is_busy_waits_and_is_not_overtaken(streams: Streams):
    connection = Connection()
    reader = subscribed(streams, connection)
    publish(streams, 1)
    await asyncio.sleep(TICKS_S)  # no task is in `next`: its last block is still being sent
    assert connection.taken == []
    publish(streams, 2)
    await asyncio.sleep(TICKS_S)
    assert await reader.next(TICKS_S) == b"<1><2>"
    assert connection.taken == []


async def test_what_a_connection_refuses_waits_and_what_comes_then_waits_behind_it(streams: Streams):
    connection = Connection()
    connection.open = False
    reader = subscribed(streams, connection)
    waiting = asyncio.create_task(reader.next(1))
    await asyncio.sleep(0)
    publish(streams, 1)
    assert await waiting == b"<1>"
    connection.open = True
    publish(streams, 2)
    await asyncio.sleep(TICKS_S)
    assert connection.taken == []
    assert await reader.next(TICKS_S) == b"<2>"


async def test_what_a_reader_has_caught_up_on_is_not_passed_on_again(streams: Streams):
    connection = Connection()
    reader = subscribed(streams, connection)
    reader.last = 2
    waiting = asyncio.create_task(reader.next(TICKS_S))
    await asyncio.sleep(0)
    publish(streams, 1, 2, 3)
    assert await waiting == b"<3>"
    assert connection.taken == []


async def test_a_readers_end_comes_after_what_was_published_before(streams: Streams):
    connection = Connection()
    reader = subscribed(streams, connection)
    waiting = asyncio.create_task(reader.next(1))
    await asyncio.sleep(0)
    publish(streams, 1)
    streams.end("kicked", Whom())
    publish(streams, 2)
    assert await waiting == b'event: end\ndata: {"reason":"kicked"}\n\n'
    assert await reader.next(TICKS_S) is None
    assert connection.taken == [b"<1>"]


@pytest.mark.parametrize(("after", "had"), [(None, b""), (1, b"<1>"), (2, b"<1><2>")])
async def test_of_what_waits_a_reader_gets_what_comes_before_its_end(streams: Streams, after: int | None, had: bytes):
    reader = subscribed(streams)
    streams.pass_on("dom_1", [StreamEvent(number, "zon_1", b"<%d>" % number) for number in (1, 2)])
    streams.end("revoked", Whom(), after)
    got = [await reader.next(TICKS_S) for _ in range(3 if had else 2)]
    assert got == [*([had] if had else []), b'event: end\ndata: {"reason":"revoked"}\n\n', None]
