"""Crashes under load: a count stays between the acknowledged requests and its limit, and its events come once."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import Client, GatewayProcess, running
from tests.support.load import UNKNOWN
from tests.support.operator import SECRET, live_actor, set_plan
from tests.support.stored import events, read

CLIENTS = 24


@dataclass
class Load:
    """Clients of one user, on sessions and an API key, that count their answers."""

    clients: list[Client]
    served: int = 0
    refused: int = 0
    unanswered: int = 0
    told: list[int] = field(default_factory=list[int])

    async def run(self, *, until: Iterable[int] | None = None) -> None:
        """Send from all clients at once, up to this number of requests or until the gateway is gone."""
        turns = iter(until) if until is not None else None

        async def send(client: Client) -> None:
            while turns is None or next(turns, None) is not None:
                try:
                    answer = await client.command("AP_List")
                except UNKNOWN:
                    self.unanswered += 1
                    return
                if answer.http == 429:
                    answer.refused(4000, 429)
                    self.refused += 1
                else:
                    answer.ok()
                    self.served += 1

        await asyncio.gather(*map(send, self.clients))

    def meet(self, gateway: GatewayProcess) -> None:
        for client in self.clients:
            client.base = gateway.base


async def load_of(nobody: Client, limit: int) -> Load:
    """Set up a user with an API key; its requests are counted too."""
    user = await nobody.register("lovelace")
    assert (await set_plan(user, user.name, "enterprise", limit=limit)).http == 200
    answer = await user.request("POST", "/api/api-keys", json={"name": "nightly"})
    assert answer.http == 201
    key = Client(user.http, user.base, answer.body["key"], user.name)
    others = [await user.log_on(user.name) for _ in range(2)]
    clients = [user, key, *others]
    senders = [
        Client(nobody.http, nobody.base, clients[number % len(clients)].token, user.name) for number in range(CLIENTS)
    ]
    return Load(senders, served=1)


async def used(gateway: GatewayProcess, client: Client) -> int:
    """Return the count of the loaded actor; this counts nothing."""
    path = f"/api/admin/users/{client.name}/plan"
    ((plan, limit),) = await read(gateway, "SELECT plan, plan_limit FROM users")
    answer = await client.request("PUT", path, json={"plan": plan, "limit": limit}, headers=SECRET)
    return answer.body["quota"]["used"]


EPOCH = date(1970, 1, 1).toordinal()


def thresholds(limit: int, window: str) -> list[dict[str, Any]]:
    """Return the data of events without counts, which a crash may have raised."""
    common = {"scope": "daily", "limit": limit, "plan": "enterprise", "window": window}
    return [common | {"threshold": 80}, common | {"threshold": 100}]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("limit", "block"), [(1_500, 15), (40_000, 64)])
async def test_counts_survive_crashes_between_what_was_acknowledged_and_the_limit(
    tmp_path: Path, limit: int, block: int, kills: int
):
    rng = random.Random(limit)
    async with running(tmp_path / "data") as gateway, gateway.client() as nobody:
        load = await load_of(nobody, limit)
        user = load.clients[0]
        for kill in range(1, kills + 1):
            acting = asyncio.create_task(load.run())
            await asyncio.sleep(rng.uniform(0.05, 0.35))
            await gateway.kill()
            await acting
            await gateway.start()
            load.meet(gateway)
            count = await used(gateway, user)
            assert load.served <= count <= limit
            assert count <= load.served + load.unanswered + kill * block
        await load.run(until=range(500))
        if limit == 1_500:
            await load.run(until=range(limit))
            assert limit - load.unanswered - kills * block <= load.served <= limit
            assert await used(gateway, user) == limit
        assert await gateway.stop() == 0
        ((day, stored),) = await read(gateway, "SELECT day, reserved FROM quota_windows")
        window = str(date.fromordinal(EPOCH + day))
        assert load.served <= stored <= load.served + load.unanswered + kills * block
        told = await events(gateway, "quota.threshold.reached")
        if limit == 1_500:
            counts = [event.pop("count") for event in told]
            assert told == thresholds(limit, window)
            assert limit * 0.8 <= counts[0] < limit * 0.8 + block + 2
            assert counts[1] == limit
        print(f"{load.served} served, {load.unanswered} unanswered, {kills} kills, count {stored}")  # noqa: T201


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
async def test_each_threshold_is_told_of_once_however_often_the_gateway_crashes_at_it(tmp_path: Path, seed: int):
    """Small steps around 80 and 100 percent, with a crash after each."""
    rng, limit = random.Random(seed), 200
    async with running(tmp_path / "data") as gateway, gateway.client() as nobody:
        load = await load_of(nobody, limit)
        await load.run(until=range(155))
        for steps in (rng.randint(1, 4), 3, rng.randint(1, 6), 30, 6, 5, 10):
            acting = asyncio.create_task(load.run(until=range(steps)))
            await asyncio.sleep(rng.choice([0, 0.01, 0.1]))
            await gateway.kill()
            await acting
            await gateway.start()
            load.meet(gateway)
        await load.run(until=range(60))
        assert await used(gateway, load.clients[0]) == limit
        assert load.served <= limit
        assert await gateway.stop() == 0
        ((day,),) = await read(gateway, "SELECT day FROM quota_windows")
        window = str(date.fromordinal(EPOCH + day))
        told = await events(gateway, "quota.threshold.reached")
        for event in told:
            assert event.pop("count") >= limit * event["threshold"] / 100
        assert told == thresholds(limit, window)


async def test_refusals_are_told_of_at_once_and_then_together_and_add_up(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as nobody:
        load = await load_of(nobody, 50)
        await load.run(until=range(49))
        assert load.refused == 0
        await load.run(until=range(1))
        state = await live_actor(nobody, "quota", (await read(gateway, "SELECT id FROM users"))[0][0])
        assert state.body["state"]["refused"] == 0
        await load.run(until=range(400))
        assert load.refused == 401
        first, *more = await events(gateway, "quota.request.rejected")
        assert first["rejected"] == 1
        assert more == []
        assert await gateway.stop() == 0
        told = await events(gateway, "quota.request.rejected")
        assert [event["rejected"] for event in told] == [1, 400]
        ((day,),) = await read(gateway, "SELECT day FROM quota_windows")
        window = str(date.fromordinal(EPOCH + day))
        common = {"scope": "daily", "limit": 50, "count": 50, "plan": "enterprise", "window": window}
        assert told == [common | {"rejected": 1}, common | {"rejected": 400}]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kills", [3, pytest.param(6, marks=pytest.mark.soak)])
async def test_a_change_of_plan_and_its_event_are_stored_together_or_not_at_all(tmp_path: Path, kills: int):
    rng = random.Random(3)
    plans = [("free", None, 100), ("builder", None, 10_000), ("scale", None, 50_000), ("enterprise", None, None)]
    plans += [("enterprise", 7, 7), ("enterprise", 8, 8)]
    async with running(tmp_path / "data") as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        ((user_id,),) = await read(gateway, "SELECT id FROM users")

        changed = asyncio.Event()

        async def change() -> None:
            while True:
                plan, limit, _ = rng.choice(plans)
                try:
                    answer = await set_plan(user, user.name, plan, **({"limit": limit} if limit else {}))
                except UNKNOWN:
                    return
                assert answer.http == 200
                if (plan, limit) != ("free", None):
                    changed.set()

        for _ in range(kills):
            changing = asyncio.gather(*(change() for _ in range(4)))
            await asyncio.sleep(rng.uniform(0.05, 0.3))
            await changed.wait()  # also on a slow machine
            await gateway.kill()
            await changing
            await gateway.start()
            user.base = gateway.base
            ((plan, limit),) = await read(gateway, "SELECT plan, plan_limit FROM users")
            told = await events(gateway, "billing.plan.changed")
            effective = {(name, own): daily for name, own, daily in plans}
            last = "free"
            for event in told:
                assert event.keys() == {"user_id", "from", "to", "limit"}
                assert (event["user_id"], event["from"]) == (user_id, last)
                last = event["to"]
            assert (told[-1]["to"], told[-1]["limit"]) == (plan, effective[plan, limit])
        before = len(told)
        again = {"limit": limit} if limit else {}
        assert (await set_plan(user, user.name, plan, **again)).http == 200
        assert len(await events(gateway, "billing.plan.changed")) == before  # no change, no event
