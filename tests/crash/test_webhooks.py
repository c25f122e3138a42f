"""Webhooks under SIGKILL: every event reaches every recovering receiver, and the rows are true."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from actors.webhooks.schedule import MAX_OPEN
from tests.support.gateway import Client, GatewayProcess
from tests.support.load import UNKNOWN
from tests.support.receiver import Received, Receiver, receiving
from tests.support.stored import reading

RECEIVERS = 5
AT_ONCE = 8
"""Number of events emitted at the same time."""

SETTINGS: dict[str, Any] = {
    "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true",
    "PARLEY_WEBHOOKS_RETRY_DELAYS_S": ",".join(["0.1"] * 60),
    "PARLEY_WEBHOOKS_TIMEOUT_S": "6",  # a receiver on a slow machine answers late, too
    "PARLEY_DEFAULT_PLAN": "enterprise",
    "PARLEY_LOG_LEVEL": "warning",
}


@dataclass
class Moody:
    """A receiver that at random answers 200 or 500, never answers, or drops the connection."""

    rng: random.Random
    seen: Counter[str] = field(default_factory=Counter)
    """Requests by delivery."""
    thanked: Counter[str] = field(default_factory=Counter)
    """Those answered 200."""
    events: set[str] = field(default_factory=set)
    """Events answered 200."""

    async def answer(self, received: Received) -> web.StreamResponse:
        self.seen[received.delivery_id] += 1
        mood = self.rng.random()
        if mood < 0.01:
            await asyncio.sleep(60)
        if mood < 0.05:
            raise ConnectionAbortedError
        if mood < 0.1:
            return web.Response(status=500)
        self.thanked[received.delivery_id] += 1
        self.events.add(received.event["id"])
        return web.Response()


@asynccontextmanager
async def moody_receivers(rng: random.Random) -> AsyncIterator[list[tuple[Moody, Receiver]]]:
    async with AsyncExitStack() as stack:
        found: list[tuple[Moody, Receiver]] = []
        for _ in range(RECEIVERS):
            moody = Moody(rng)
            found.append((moody, await stack.enter_async_context(receiving(moody.answer))))
        yield found


async def emit(client: Client, numbers: list[int], acknowledged: dict[int, str]) -> None:
    """Emit events until none is left or the gateway is gone; one without an answer is emitted again later."""
    while numbers:
        number = numbers.pop()
        try:
            answer = await client.request(
                "POST", "/api/webhooks/test", json={"event_type": "webhook.test", "data": {"n": number}}
            )
        except UNKNOWN:
            numbers.append(number)
            return
        if answer.http == 202:
            assert answer.body["deliveries"] == RECEIVERS
            acknowledged[number] = answer.body["event_id"]
        else:
            assert answer.code in (5002, 5003), answer.body
            numbers.append(number)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("number", "kills"), [(300, 3), pytest.param(2_000, 10, marks=pytest.mark.soak)])
async def test_every_event_reaches_every_receiver_through_kills(tmp_path: Path, number: int, kills: int):
    rng = random.Random(20261121)
    gateway = GatewayProcess(tmp_path / "data", **SETTINGS)
    async with moody_receivers(rng) as receivers:
        await gateway.start()
        async with gateway.client() as nobody:
            client = await nobody.register("lovelace")
            for _, receiver in receivers:
                made = await client.request(
                    "POST", "/api/webhooks/endpoints", json={"url": receiver.url, "events": ["webhook.test"]}
                )
                assert made.http == 201
            numbers, acknowledged = list(range(number)), dict[int, str]()
            for kill in range(kills):
                emitting = asyncio.gather(*(emit(client, numbers, acknowledged) for _ in range(AT_ONCE)))
                wanted = (kill + 1) * number * RECEIVERS // (kills + 2) + rng.randrange(200)
                async with asyncio.timeout(120):
                    while sum(moody.seen.total() for moody, _ in receivers) < wanted:
                        await asyncio.sleep(rng.random() / 100)
                await gateway.kill()
                await emitting
                await gateway.start()
                client.base = gateway.base
            await asyncio.gather(*(emit(client, numbers, acknowledged) for _ in range(AT_ONCE)))
            await until_nothing_waits(client)
        assert await gateway.stop() == 0
    assert acknowledged.keys() == set(range(number))
    for moody, receiver in receivers:
        missing = set(acknowledged.values()) - moody.events
        assert not missing, f"{len(missing)} of {number} events never reached a receiver"
        doubles = moody.thanked.total() - len(moody.thanked)
        assert doubles <= kills * MAX_OPEN, f"{doubles} doubles"
        print(f"{receiver.url}: {moody.seen.total()} requests, {doubles} doubles")  # noqa: T201 - shown by -rP
    deliveries, cut_off = await check_rows(gateway.data, [moody for moody, _ in receivers])
    assert deliveries >= number * RECEIVERS
    assert cut_off <= kills * RECEIVERS * MAX_OPEN


async def until_nothing_waits(client: Client) -> None:
    async with asyncio.timeout(150):
        for state in ("pending", "retrying", "pending"):
            while True:
                path = f"/api/webhooks/deliveries?state={state}&limit=1"
                if not (await client.request("GET", path)).body["deliveries"]:
                    break
                await asyncio.sleep(0.2)


async def check_rows(data: Path, receivers: list[Moody]) -> tuple[int, int]:
    """Assert that each delivery's row equals its receiver's view, except for attempts that a kill cut off.

    Returns the number of deliveries, and of attempts that were cut off.
    """
    async with reading(data) as fetch:
        rows = await fetch(
            "SELECT deliveries.id, state, due, attempts,"
            " (SELECT count(*) FROM attempts WHERE delivery = place),"
            " (SELECT count(*) FROM attempts WHERE delivery = place AND status = 200 AND error IS NULL),"
            " (SELECT count(*) FROM events WHERE events.place = deliveries.event)"
            " FROM deliveries"
        )
        errors = {error for (error,) in await fetch("SELECT DISTINCT error FROM attempts")}
    seen = sum((moody.seen for moody in receivers), Counter[str]())
    cut_off = 0
    for id, state, due, attempts, logged, succeeded, events in rows:
        assert (state, due, succeeded, events) == ("succeeded", None, 1, 1), id
        assert attempts == logged
        assert logged <= seen[id]
        cut_off += seen[id] - logged
    assert seen.keys() == {row[0] for row in rows}
    assert {"http_status", "timeout", "connection_reset"} <= errors  # otherwise the receivers did not misbehave
    return len(rows), cut_off
