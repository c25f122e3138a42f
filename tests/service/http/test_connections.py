"""Hostile connections: heads and bodies that drip, and too many connections from one address."""

import asyncio
import select
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import BUS, Client, GatewayProcess, running
from tests.support.wire import connected, raw_post, read_answer, until_closed

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
async def impatient(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with short time-outs for heads, bodies and idle connections.

    They are of two seconds, because it cuts off without an answer who sends nothing in that time, as slow machines may.
    """
    data = tmp_path_factory.mktemp("dripping") / "data"
    async with running(data, script=ENGINES / "impatient.py", TEST_TIMEOUT_S="2") as gateway:
        yield gateway


HEAD = f"POST {BUS} HTTP/1.1\r\nHost: gateway\r\n".encode()

DRIPS = {
    "header lines": (HEAD, b"X-Drip: a\r\n"),
    "bytes of one line": (HEAD + b"X-Drip: ", b"a"),
    "bytes of the request line": (b"POST /", b"a"),
    "empty lines": (b"\r\n", b"\r\n"),
    "bytes of a body": (HEAD + b"Content-Length: 100000\r\n\r\n", b"a"),
    "chunks": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "bytes of a chunk's size": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    "bytes of a body of a route without one": (
        b"GET /api/health HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100000\r\n\r\n",
        b"a",
    ),
    "a body after its answer": (
        b"POST /nothing HTTP/1.1\r\nHost: gateway\r\nContent-Length: 100000\r\n\r\n",
        b"a",
    ),
    "a body after an answer, with an upgrade": (
        b"POST /nothing HTTP/1.1\r\nHost: gateway\r\nUpgrade: websocket\r\nContent-Length: 100000\r\n\r\n",
        b"a",
    ),
}


async def drip(connection: Connection, piece: bytes) -> None:
    """Send a piece ten times per second until the connection ends."""
    _, writer = connection
    with suppress(ConnectionError):
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.1)


@pytest.mark.parametrize(("begun", "piece"), DRIPS.values(), ids=DRIPS)
async def test_a_request_that_drips_is_ended(impatient: GatewayProcess, begun: bytes, piece: bytes):
    async with connected(impatient.base) as connection:
        reader, writer = connection
        writer.write(begun)
        dripping = asyncio.create_task(drip(connection, piece))
        # far more than the time-out: it fails only if the connection stays open
        answers = await asyncio.wait_for(until_closed(reader), 30)
        dripping.cancel()
        await asyncio.wait((dripping,))
    if "/nothing" in begun.decode():
        assert answers.startswith(b"HTTP/1.1 404")
    elif "/api/health" in begun.decode():
        assert answers.startswith((b"HTTP/1.1 200", b"HTTP/1.1 408"))
    else:
        assert answers.startswith(b"HTTP/1.1 408")
        assert b'"internal_code":1007' in answers
    assert answers.count(b"\r\nconnection: ") == 1
    assert "Traceback" not in impatient.log.read_text()


async def answer_to_drips(connection: Connection, piece: bytes) -> bytes:
    """Send a piece ten times per second until something arrives; return all that comes until the connection's end.

    A second write to a connection that the gateway has closed would hide what has arrived, and where many make the loop
    slow, the answer may lie in the socket for long.
    """
    reader, writer = connection
    arrivals = select.poll()
    arrivals.register(writer.get_extra_info("socket"), select.POLLIN)
    while True:
        if not arrivals.poll(0):
            writer.write(piece)
        with suppress(TimeoutError):
            arrived = await asyncio.wait_for(reader.read(65_536), 0.1)
            return arrived + await until_closed(reader)


async def test_dripping_connections_go_though_they_are_many(impatient: GatewayProcess):
    async def begin_and_drip() -> bytes:
        async with connected(impatient.base) as connection:
            connection[1].write(HEAD)
            return await answer_to_drips(connection, b"X-Drip: a\r\n")

    ends = await asyncio.wait_for(asyncio.gather(*(begin_and_drip() for _ in range(200))), 60)
    assert all(end.startswith(b"HTTP/1.1 408") for end in ends)


# connections of one address

REQUEST = raw_post(BUS, b'{"service": "US_Read"}')


async def opened(stack: AsyncExitStack, base: str) -> Connection | None:
    """Open a connection and use it; return None if it was closed without an answer."""
    connection = reader, writer = await stack.enter_async_context(connected(base))
    try:
        writer.write(REQUEST)
        assert (await read_answer(reader)).http == 401
    except (ConnectionError, asyncio.IncompleteReadError):
        return None
    return connection


@pytest.mark.one_node(reason="it reads a count of /metrics, which is of one node")
async def test_an_address_has_so_many_connections_and_may_open_another_when_one_is_closed(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data, PARLEY_CONNECTIONS_PER_ADDRESS="5") as gateway, AsyncExitStack() as stack:
        held = [await opened(stack, gateway.base) for _ in range(5)]
        assert None not in held
        for _ in range(20):
            assert await opened(stack, gateway.base) is None
        for connection in held:  # existing connections are served as before
            assert connection is not None
            reader, writer = connection
            writer.write(REQUEST)
            assert (await read_answer(reader)).http == 401
        writer.close()
        async with asyncio.timeout(30):
            while await opened(stack, gateway.base) is None:
                await asyncio.sleep(0.02)
        assert await opened(stack, gateway.base) is None
        await stack.aclose()
        async with gateway.client() as client:
            assert await refused_connections(client) >= 21
        assert gateway.log.read_text().count("a connection from 127.0.0.1 was refused") == 1
        assert "Traceback" not in gateway.log.read_text()


async def refused_connections(client: Client) -> int:
    """Read the counter, as soon as this address may connect again."""
    async with asyncio.timeout(30):
        while True:
            try:
                page = (await client.request("GET", "/metrics")).body
            except (OSError, aiohttp.ClientError):
                await asyncio.sleep(0.02)
                continue
            return next(int(float(line.split()[1])) for line in page.split("\n") if _is_count(line))


def _is_count(line: str) -> bool:
    return line.startswith("parley_connections_refused_total ")


@pytest.mark.parametrize(
    "settings",
    [{}, {"PARLEY_CONNECTIONS_PER_ADDRESS": "5", "PARLEY_TRUSTED_PROXIES": "127.0.0.0/8"}],
    ids=["without a limit", "a trusted proxy"],
)
async def test_there_may_be_many_connections(tmp_path: Path, settings: dict[str, Any]):
    async with running(tmp_path / "data", **settings) as gateway, AsyncExitStack() as stack:
        assert None not in [await opened(stack, gateway.base) for _ in range(50)]


async def test_connections_that_come_at_once_are_all_served_while_the_first_ones_send_on(tmp_path: Path):
    many = 48
    async with running(tmp_path / "data") as gateway, AsyncExitStack() as stack:
        assert gateway.process is not None
        gateway.process.send_signal(signal.SIGSTOP)  # so that all of them wait to be accepted
        connections = [await stack.enter_async_context(connected(gateway.base)) for _ in range(many)]
        request = raw_post(BUS, b'{"service": "SS_Nothing"}')
        answers = [0] * many

        async def ask(number: int) -> None:
            reader, writer = connections[number]
            while not all(answers):
                writer.write(request)
                await read_answer(reader)
                answers[number] += 1

        asking = [asyncio.create_task(ask(number)) for number in range(many)]
        await asyncio.sleep(0)  # each has sent its first request
        gateway.process.send_signal(signal.SIGCONT)
        await asyncio.wait_for(asyncio.gather(*asking), 30)
    # accepted one by one, the first would have about as many answers as there are connections
    assert max(answers) < many / 2


LARGE = b"GET /api/tps/openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n"
MANY = 30
"""Large answers that no socket holds together."""


@pytest.mark.parametrize("pause_s", [5.0, 0.02])
async def test_a_client_that_does_not_read_is_cut_off_and_a_slow_one_is_not(impatient: GatewayProcess, pause_s: float):
    async with impatient.client() as client, connected(impatient.base) as (reader, writer):
        size = len(await (await client.http.get(f"{impatient.base}/api/tps/openapi.json")).read())
        writer.write(LARGE * (MANY - 1) + LARGE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        received = 0
        await asyncio.sleep(pause_s)
        async with asyncio.timeout(60):
            with suppress(ConnectionError):
                while piece := await reader.read(65_536):
                    received += len(piece)
                    await asyncio.sleep(min(pause_s, 0.02))
        assert (received > size * MANY) == (pause_s < 1)
