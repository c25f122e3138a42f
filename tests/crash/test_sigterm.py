"""An orderly stop: current requests are answered, and exactly the acknowledged changes are stored."""

import asyncio
import os
import re
import resource
import signal
from contextlib import AsyncExitStack, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import BUS, CHECKOUT, PASSWORD, GatewayProcess, running
from tests.support.load import UNKNOWN, Crowd, crowd, verify_rows
from tests.support.operator import on_plan
from tests.support.stored import read
from tests.support.stores import sqlite_only
from tests.support.wire import connected, raw_post, read_answer, send_raw, until_closed

GRACE_S = 60.0
"""The grace period of ten seconds, and much for a busy machine."""


async def ended(gateway: GatewayProcess) -> int:
    """Wait until the gateway ends by itself; return its exit status."""
    assert gateway.process is not None
    return await asyncio.wait_for(gateway.process.wait(), GRACE_S)


def tell(gateway: GatewayProcess, number: signal.Signals) -> None:
    assert gateway.process is not None
    gateway.process.send_signal(number)


async def under_load(clients: Crowd, messages: int) -> "asyncio.Task[int]":
    """Let the clients act; return at this number of further acknowledged messages."""
    before = clients.acknowledged
    acting = asyncio.create_task(clients.act(lambda: True))
    while clients.acknowledged < before + messages:
        await asyncio.sleep(0.005)
    assert not acting.done()
    return acting


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_under_load_answers_what_is_under_way_and_stores_what_it_acknowledged(
    tmp_path: Path, number: signal.Signals
):
    async with (
        running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
        crowd(gateway, 10, seed=3) as clients,
    ):
        acting = await under_load(clients, 200)
        tell(gateway, number)
        assert await ended(gateway) == 0
        await acting
        stored = await verify_rows(gateway, clients)
        # Not one message more: no command of a broken connection was carried out unanswered.
        assert stored == clients.acknowledged >= 200
        said = gateway.log.read_text()
        assert said.rstrip().endswith("Parley has stopped.")
        assert "Traceback" not in said
        await gateway.start()
        clients.meet(gateway)
        await clients.verify()
        print(f"{clients.acknowledged} messages acknowledged")  # noqa: T201


async def test_a_stop_that_finds_no_free_file_descriptor_ends_and_stores_all(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        user = await client.register("ada")
        assert gateway.process is not None
        used = len(os.listdir(f"/proc/{gateway.process.pid}/fd"))
        resource.prlimit(gateway.process.pid, resource.RLIMIT_NOFILE, (used, used))
        (await user.command("AP_Create", vx={"name": "scout", "description": "Finds."})).ok()
        tell(gateway, signal.SIGTERM)
        assert await ended(gateway) == 0
        await gateway.start()
        user.base = gateway.base
        (await user.command("AP_Read", target={"agent": "scout"})).ok()


async def test_stops_under_load_one_after_another_lose_nothing(tmp_path: Path):
    async with (
        running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
        crowd(gateway, 10, seed=4) as clients,
    ):
        for _ in range(3):
            acting = await under_load(clients, 100)
            tell(gateway, signal.SIGTERM)
            assert await ended(gateway) == 0
            await acting
            assert await verify_rows(gateway, clients) == clients.acknowledged
            await gateway.start()
            clients.meet(gateway)
            await clients.verify()


async def test_slow_commands_that_are_under_way_are_answered(tmp_path: Path):
    slow: dict[str, Any] = {"TEST_PASSWORDS": "real", "TEST_GRACE_S": "60"}  # a busy machine may take more than 10 s
    async with running(tmp_path / "data", **slow) as gateway, gateway.client() as nobody:
        names: list[str] = []
        answered: list[str] = []

        async def register(name: str) -> None:
            (await nobody.command("US_Create", vx={"name": name, "secret": PASSWORD})).ok()
            answered.append(name)

        registering: list[asyncio.Task[None]] = []
        while len(answered) == len(names):  # on a busy machine this process may sleep until all are answered
            new = [f"user-{len(names) + number}" for number in range(20)]
            names += new
            registering = [asyncio.create_task(register(name)) for name in new]
            await asyncio.wait(registering, return_when=asyncio.FIRST_COMPLETED)
        tell(gateway, signal.SIGTERM)
        assert await ended(gateway) == 0
        await asyncio.gather(*registering)
        assert {name for (name,) in await read(gateway, "SELECT name FROM users")} == set(names)


async def test_what_a_client_that_went_away_began_is_given_time(tmp_path: Path):
    gate = Gate(tmp_path / "gate")
    async with running(tmp_path / "data", script=ENGINES / "scripted.py") as gateway, gateway.client() as nobody:
        user = await on_plan(await nobody.register("lovelace"), "scale")
        await user.agent("scout-agent")
        chat = asyncio.create_task(user.command("AP_Chat", content=f"wait:{gate} say:done"))
        await gate.reached()
        chat.cancel()
        await asyncio.wait((chat,))
        tell(gateway, signal.SIGTERM)
        await asyncio.sleep(0.5)
        gate.open()
        assert await ended(gateway) == 0
        assert await read(gateway, "SELECT content FROM messages WHERE role = 'agent'") == [("done",)]
        assert await read(gateway, "SELECT internal_code FROM audit WHERE service = 'AP_Chat'") == [(0,)]


async def test_connections_that_are_kept_alive_do_not_hold_up_the_stop(tmp_path: Path):
    async with running(tmp_path / "data", TEST_GRACE_S="1") as gateway, gateway.client() as nobody:
        (await nobody.request("GET", "/api/health"))
        silent = await asyncio.open_connection(*listening_at(gateway))
        half = await asyncio.open_connection(*listening_at(gateway))
        half[1].write(b"POST /demo/v1/Svc/tps HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        await half[1].drain()
        tell(gateway, signal.SIGTERM)
        assert await ended(gateway) == 0
        for _, writer in (silent, half):
            writer.close()
        with pytest.raises(UNKNOWN):
            await nobody.request("GET", "/api/health")


REQUESTS = [raw_post(BUS, b'{"service": "US_Read"}'), b"GET /api/health HTTP/1.1\r\nHost: gateway\r\n\r\n"]
"""One for the fast path and one for Sanic's."""


async def test_connections_that_wait_to_be_accepted_are_served(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, AsyncExitStack() as stack:
        tell(gateway, signal.SIGSTOP)  # so that the kernel alone takes them
        waiting = [await stack.enter_async_context(connected(gateway.base)) for _ in range(200)]
        for (_, writer), request in zip(waiting, cycle(REQUESTS), strict=False):
            writer.write(request)
            await writer.drain()
        tell(gateway, signal.SIGTERM)
        tell(gateway, signal.SIGCONT)
        answers = await asyncio.gather(*(read_answer(reader) for reader, _ in waiting))
        assert await ended(gateway) == 0
    assert {answer.http for answer in answers[::2]} == {401}
    assert {answer.http for answer in answers[1::2]} <= {200, 503}  # a node of a cluster says that it is draining


async def test_new_connections_under_load_are_answered_or_refused(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_CONNECTIONS_PER_ADDRESS="0") as gateway:
        served = [asyncio.Event() for _ in range(50)]
        clients = [asyncio.create_task(ask_until_refused(gateway.base, event)) for event in served]
        for event in served:
            await event.wait()
        tell(gateway, signal.SIGTERM)
        answered = await asyncio.gather(*clients)
        assert await ended(gateway) == 0
    print(f"{sum(answered)} connections answered")  # noqa: T201
    assert min(answered) > 0


async def ask_until_refused(base: str, served: asyncio.Event | None = None) -> int:
    """Send each request over a connection of its own; return the number of answers. A reset fails the test."""
    answered = 0
    with suppress(ConnectionRefusedError):
        for request in cycle(REQUESTS):
            await send_raw(base, request)
            answered += 1
            if served is not None:
                served.set()
    return answered


@pytest.mark.parametrize("request_", REQUESTS, ids=["fast path", "Sanic's path"])
async def test_a_connection_made_before_the_stop_has_its_first_request_answered(tmp_path: Path, request_: bytes):
    async with running(tmp_path / "data") as gateway, connected(gateway.base) as (reader, writer):
        await send_raw(gateway.base, request_)  # by then the connection before it is accepted
        tell(gateway, signal.SIGTERM)
        await ask_until_refused(gateway.base)
        writer.write(request_)
        answer = await read_answer(reader)
        assert answer.headers["Connection"] == "close"
        assert await until_closed(reader) == b""
        assert await ended(gateway) == 0


async def test_a_second_signal_changes_nothing(tmp_path: Path):
    async with (
        running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway,
        crowd(gateway, 5, seed=5) as clients,
    ):
        acting = await under_load(clients, 50)
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
            tell(gateway, number)
        assert await ended(gateway) == 0
        await acting
        assert await verify_rows(gateway, clients) == clients.acknowledged


@sqlite_only
async def test_the_log_is_folded_into_the_file_and_the_address_is_free_again(tmp_path: Path):
    async with running(tmp_path / "data") as gateway:
        async with gateway.client() as nobody:
            await nobody.register("lovelace")
        assert await gateway.stop() == 0
        assert sorted(path.name for path in gateway.data.iterdir()) == ["master.key", "parley.db", "parley.db.lock"]
        await gateway.start(listening_at(gateway)[1])
        async with gateway.client() as nobody:
            await nobody.log_on("lovelace")


def listening_at(gateway: GatewayProcess) -> tuple[str, int]:
    found = re.fullmatch(r"http://(.+):(\d+)", gateway.base)
    assert found is not None
    return found.group(1), int(found.group(2))


async def test_a_stop_in_which_a_part_fails_ends_all_others_and_tells_of_it(tmp_path: Path):
    gateway = await GatewayProcess(tmp_path / "data", script=CHECKOUT / "tests/gateways/unclosable.py").start()
    async with gateway.client() as client:
        await client.register("somebody")
    tell(gateway, signal.SIGTERM)
    assert await ended(gateway) == 1
    assert "RuntimeError: detail-of-the-hasher" in gateway.log.read_text()
    async with running(tmp_path / "data") as again, again.client() as client:
        await client.log_on("somebody")
