"""The fast path and Sanic's path treat any request alike."""

import asyncio
import random
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import orjson
import pytest

from routes.http.fastpath import plain_request
from tests.gateways.gate import ENGINES
from tests.support.gateway import BUS, Client, running
from tests.support.operator import on_plan
from tests.support.wire import connected, raw_post

EXAMPLES = 400
SLOW = b"\r\n"
"""An empty line before a request is ignored, and keeps it off the fast path."""
LAST = b"GET /nothing HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n"
"""A request that ends the connection, so that all answers can be read; it also completes a body that is too short."""

PIECES = (
    *(b"\r", b"\n", b"\r\n", b"\0", b" ", b"\t", b":", b",", b"-", b"+", b"_", b"0", b"1", b"9", b"\x0b", b"\x1b"),
    *(b"\x7f", b"\x85", b"\xa0", b"\xb2", b"\xd9\xa2", b"#", b"*", b"/", b"?", b"%00", b"http://gateway", b"A", b"a"),
    *(b"\r\nContent-Length: 5", b"\r\nContent-Length: 22", b"\r\nTransfer-Encoding: chunked", b"\r\nHost: other"),
    *(b"\r\nExpect: 100-continue", b"\r\nConnection: close", b"\r\nUpgrade: websocket", b"\r\nX-Api-Key: plk_a"),
    *(b"HTTP/1.0", b"HTTP/1.1", b"\r\n\r\n", b"\r\n\t", b"Bearer", b"\r\nAccept: text/event-stream", b"\r\nX-A : b"),
)


@pytest.fixture(scope="module")
async def caller(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    """A user without limits, so that answers show no quota, of a gateway that soon gives up waiting for a request."""
    data = tmp_path_factory.mktemp("both") / "data"
    impatient = running(data, script=ENGINES / "impatient.py", TEST_TIMEOUT_S="4")  # more than slow machines halt
    async with impatient as gateway, gateway.client() as client:
        user = await client.register("both-ways")
        await on_plan(user, "enterprise")
        yield user


def mutated(good: bytes, seed: int) -> bytes:
    """Replace up to three parts of a request by text that confuses parsers."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 3)):
        place = chance.randrange(len(good))
        good = good[:place] + chance.choice(PIECES) + good[place + chance.randint(0, 3) :]
    return good


async def outcome(base: str, request: bytes) -> list[Any]:
    """Send a request and one that ends the connection; return all answers without their dates and ids."""
    while True:
        async with connected(base) as (reader, writer):
            # The fast path takes nothing before the connection's first answer.
            writer.write(raw_post(BUS, b"{}"))
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (IncompleteReadError, ConnectionError):
                continue  # on a machine that halts for a second, the gateway takes the client for silent
            await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
            return await _answers(reader, writer, request)


async def _answers(reader: StreamReader, writer: StreamWriter, request: bytes) -> list[Any]:
    writer.write(request)
    answers = b""
    with suppress(TimeoutError):  # in a packet of its own, so that the fast path can take it; some never end
        answers = await asyncio.wait_for(reader.read(65_536), 0.2)
    with suppress(ConnectionError):  # refused, and gone
        writer.write(LAST)
        answers += await asyncio.wait_for(reader.read(), 30)
    return taken_apart(answers)


def taken_apart(answers: bytes) -> list[Any]:
    found: list[Any] = []
    while answers:
        head, _, answers = answers.partition(b"\r\n\r\n")
        status_line, *lines = head.decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers.get("content-length", "0"))
        body, answers = answers[:length], answers[length:]
        headers.pop("x-request-id", None)
        assert headers.pop("date", None) or " 100 " in status_line
        headers.pop("content-length", None)
        status = orjson.loads(body)["status"] if body else None
        found.append((status_line, headers, status))
    return found


async def test_both_ways_make_the_same_of_any_request(caller: Client):
    good = raw_post(
        BUS,
        b'{"service": "US_Read"}',
        f"Authorization: Bearer {caller.token}",
        "Content-Type: application/json",
        "User-Agent: a-client/1.0",
    )
    requests = [good, *(mutated(good, seed) for seed in range(EXAMPLES))]
    fast = sum(plain_request(request) is not None for request in requests)
    assert fast > EXAMPLES // 10  # otherwise it would compare Sanic's path with itself
    places = asyncio.Semaphore(16)

    async def compare(request: bytes) -> tuple[int, str] | None:
        async with places:
            one = await outcome(caller.base, request)
            other = await outcome(caller.base, SLOW + request)
        assert one == other, request
        return (len(one), one[0][0]) if one else None

    outcomes = await asyncio.gather(*(compare(request) for request in requests))
    seen = {outcome[1] for outcome in outcomes if outcome}
    assert {"HTTP/1.1 200 OK", "HTTP/1.1 400 Bad Request", "HTTP/1.1 401 Unauthorized"} <= seen
