"""The number of requests that a stop reports as cut off after its grace period, which is a second in these tests."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import BUS, Client, GatewayProcess, running
from tests.support.wire import connected, raw_post

STOP_S = 60.0
"""Seconds, much longer than a stop on a busy machine."""
HEALTH = b"GET /api/health HTTP/1.1\r\nHost: parley\r\n\r\n"
HALF_SENT = raw_post(BUS, b"{", length=100)


async def stopped(gateway: GatewayProcess) -> str:
    """Stop the gateway and return its last line."""
    assert gateway.process is not None
    gateway.process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(gateway.process.wait(), STOP_S) == 0
    return gateway.log.read_text().splitlines()[-1]


@asynccontextmanager
async def at_work(tmp_path: Path) -> AsyncIterator[tuple[GatewayProcess, Client, Gate]]:
    """Run a gateway with an online agent and an engine that waits at a closed gate."""
    gate = Gate(tmp_path / "gate")
    starting = running(tmp_path / "data", script=ENGINES / "scripted.py", TEST_GRACE_S="1")
    async with starting as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        await user.agent("scout-agent")
        yield gateway, user, gate


async def idle_connections(stack: AsyncExitStack, base: str) -> None:
    """Open connections with no request on them: silent ones, and one whose request was answered."""
    for sent in (b"", b"\r\n", HEALTH):
        reader, writer = await stack.enter_async_context(connected(base))
        writer.write(sent)
        if sent == HEALTH:
            await reader.readuntil(b"}")


async def test_idle_connections_are_no_requests_that_were_cut_off(tmp_path: Path):
    async with at_work(tmp_path) as (gateway, _, _), AsyncExitStack() as stack:
        await idle_connections(stack, gateway.base)
        assert await stopped(gateway) == "Parley has stopped."


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_request_that_runs_is_counted_once_beside_idle_connections(tmp_path: Path, accept: str):
    async with at_work(tmp_path) as (gateway, user, gate), AsyncExitStack() as stack:
        await idle_connections(stack, gateway.base)
        said = f"wait:{gate} say:done"
        chat = asyncio.create_task(user.command("AP_Chat", content=said, headers={"Accept": accept}))
        await gate.reached()
        assert await stopped(gateway) == "Parley has stopped; 1 request was cut off."
        await asyncio.wait((chat,))


async def test_one_that_sanic_received_is_counted_once(tmp_path: Path):
    async with at_work(tmp_path) as (gateway, user, gate):
        body = b'{"service": "AP_Chat", "content": "wait:%b"}' % str(gate).encode()
        async with connected(gateway.base) as (_, writer):
            writer.write(raw_post(BUS, body, f"Authorization: Bearer {user.token}", "Connection: close"))
            await gate.reached()
            assert await stopped(gateway) == "Parley has stopped; 1 request was cut off."


async def test_a_command_whose_client_went_away_is_counted_once(tmp_path: Path):
    async with at_work(tmp_path) as (gateway, user, gate):
        chat = asyncio.create_task(user.command("AP_Chat", content=f"wait:{gate}"))
        await gate.reached()
        chat.cancel()
        await asyncio.wait((chat,))
        assert await stopped(gateway) == "Parley has stopped; 1 request was cut off."


async def test_half_sent_requests_are_counted(tmp_path: Path):
    async with at_work(tmp_path) as (gateway, _, _), AsyncExitStack() as stack:
        for half in (HALF_SENT, b"POST /demo/v1/Svc/tps HT"):
            _, writer = await stack.enter_async_context(connected(gateway.base))
            writer.write(half)
        reader, writer = await stack.enter_async_context(connected(gateway.base))
        writer.write(HEALTH)  # answered once those before it are read
        await reader.readuntil(b"}")
        assert await stopped(gateway) == "Parley has stopped; 2 requests were cut off."
