"""Three gateways on one database, as real processes: each serves every user, whatever happens to one of them."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from time import monotonic

import aiohttp
import pytest

from tests.support.cluster import Node, Nodes, nodes, of_node
from tests.support.gateway import INTERNAL_SECRET, Client
from tests.support.load import Crowd, answered, crowd, verify_rows
from tests.support.stores import postgres_only

pytestmark = [postgres_only, pytest.mark.timeout(240)]

SECRET = {"X-Internal-Secret": INTERNAL_SECRET}
AGENTS = 12
FAIL_OVER_S = 6.0
"""A lease of 3 s, the look of the others, and a slow machine."""

Fault = Callable[[Nodes, random.Random], Awaitable[None]]


def gateways(folder: Path, count: int, seed: int = 0) -> AbstractAsyncContextManager[Nodes]:
    return nodes(folder, count, seed=seed, PARLEY_DEFAULT_PLAN="enterprise")


async def state(client: Client) -> dict:
    answer = await client.request("GET", "/debug/cluster", headers=SECRET)
    assert answer.http == 200, answer.body
    return answer.body


async def settled(all: Nodes) -> dict:
    """Wait until every live node agrees on who owns what, and all own something; return the state."""
    async with asyncio.timeout(40):
        while True:
            found = await agreed_state(all)
            if found is not None:
                return found
            await asyncio.sleep(0.1)


async def agreed_state(all: Nodes) -> dict | None:
    """Return the state that all live nodes show, if it is one and the same, and complete."""
    seen: list[dict] = []
    for node in all.live:
        try:
            async with node.client() as client:
                seen.append(await state(client))
        except aiohttp.ClientError:  # it is about to end
            return None
    owners = [shard["node"] for shard in seen[0]["shards"]]
    names = {str(owner).rpartition("-")[0] for owner in owners}
    agreed = all_equal([one["shards"] for one in seen]) and names == {node.name for node in all.live}
    return seen[0] if agreed else None


def all_equal(values: list) -> bool:
    return all(value == values[0] for value in values)


async def test_every_node_serves_every_user_and_knows_the_others(tmp_path: Path):
    async with gateways(tmp_path, 3) as all, all.client() as anyone:
        found = await settled(all)
        assert len(found["shards"]) == 256
        assert sum(node["shards"] for node in found["nodes"]) == 256
        assert {node["name"] for node in found["nodes"]} == {"node-1", "node-2", "node-3"}
        assert all_equal([node["same_catalogs"] for node in found["nodes"]] + [True])
        users = [await anyone.register(f"user-{number}") for number in range(4)]
        for user in users:
            await user.agent(f"{user.name}-scout")
        for node in all.live:
            async with node.client() as there:
                for user in users:
                    mine = there.as_user(user.token)
                    said = (await mine.command("AP_Chat", content=f"I met {node.name}.")).ok().content
                    assert said[0]["content"] == f"I met {node.name}."
        for user in users:
            history = (await user.command("AP_History")).ok().content
            assert [message["seq"] for message in history] == list(range(1, 7))
            assert [message["content"] for message in history[::2]] == [f"I met node-{n}." for n in (1, 2, 3)]
        # debug views of all nodes, through any
        listed = (await anyone.request("GET", "/debug/actors?kind=agent", headers=SECRET)).body
        assert listed["unreachable"] == []
        assert listed["counts"]["agent"] == 4
        for actor in listed["actors"]:
            for node in all.live:
                async with node.client() as there:
                    path = f"/debug/actors/agent/{actor['key']}"
                    shown = (await there.request("GET", path, headers=SECRET)).body
                assert (shown["key"], shown["node"]) == (actor["key"], actor["node"])
        for node in all.live:
            async with node.client() as there:
                health = await there.request("GET", "/api/health")
                assert (health.http, health.body["status"]) == (200, "ok")
                metrics = (await there.request("GET", "/metrics")).body
                assert "parley_nodes 3.0" in metrics
                assert "parley_nats_connected 1.0" in metrics
        found = await settled(all)
        assert sum(sum(node["forwarded"].values()) for node in found["nodes"]) > 0
        assert all_equal([node["reachable"] for node in found["nodes"]] + [True])


async def test_a_killed_nodes_users_are_served_by_the_others_within_seconds(tmp_path: Path):
    async with gateways(tmp_path, 3) as all, all.client() as anyone:
        before = await settled(all)
        users = [await anyone.register(f"user-{number}") for number in range(6)]
        for user in users:
            await user.agent(f"{user.name}-scout")
            (await user.command("AP_Chat", content="Before.")).ok()
        dead = all.one()
        assert any(of_node(shard, dead) for shard in before["shards"])
        await dead.kill()
        began = monotonic()
        for user in users:
            (await answered(lambda user=user: user.command("AP_Chat", content="After."))).ok()
        assert monotonic() - began < FAIL_OVER_S
        after = await settled(all)
        assert not any(of_node(shard, dead) for shard in after["shards"])
        for user in users:
            history = (await user.command("AP_History")).ok().content
            assert [message["content"] for message in history[::2]] == ["Before.", "After."]
        fresh = await all.join()
        found = await settled(all)
        assert any(of_node(shard, fresh) for shard in found["shards"])
        for user in users:
            assert len((await user.command("AP_History")).ok().content) == 4


async def test_a_node_that_stops_in_order_fails_no_request(tmp_path: Path):
    async with gateways(tmp_path, 3) as all, all.client() as anyone:
        await settled(all)
        users = [await anyone.register(f"user-{number}") for number in range(6)]
        for user in users:
            await user.agent(f"{user.name}-scout")
        leaving = all.all[1]
        others = [node for node in all.live if node is not leaving]
        refused: list = []
        over = asyncio.Event()

        async def talk(user: Client, through: Node) -> int:
            sent = 0
            async with through.client() as there:
                mine = there.as_user(user.token)
                while not over.is_set():
                    answer = await mine.command("AP_Chat", content=f"Note {sent}")
                    sent += 1
                    if answer.code != 0:
                        refused.append(answer.body["status"])
            return sent

        talking = [asyncio.create_task(talk(user, others[at % 2])) for at, user in enumerate(users)]
        await asyncio.sleep(0.5)
        assert await leaving.term() == 0
        await asyncio.sleep(0.5)
        over.set()
        sent = await asyncio.gather(*talking)
        assert refused == []
        for user, count in zip(users, sent, strict=True):
            record = (await user.command("AP_Read")).ok()
            assert record.content[0]["messages"] == 2 * count


async def test_without_nats_a_node_serves_its_own_users_and_says_that_it_is_degraded(tmp_path: Path):
    async with gateways(tmp_path, 2) as all, all.client() as anyone:
        await settled(all)
        users = [await anyone.register(f"user-{number}") for number in range(4)]
        alone = all.all[0]
        alone.to_nats.cut()
        async with alone.client() as there:
            async with asyncio.timeout(15):
                while (await there.request("GET", "/api/health")).body["status"] != "degraded":
                    await asyncio.sleep(0.1)
            assert (await there.request("GET", "/api/health")).http == 200
            codes = {(await there.as_user(user.token).command("US_Read")).code for user in users}
            assert codes <= {0, 5003}
            alone.to_nats.mend()
            async with asyncio.timeout(15):
                while (await there.request("GET", "/api/health")).body["status"] != "ok":
                    await asyncio.sleep(0.1)
            for user in users:
                (await answered(lambda user=user: there.as_user(user.token).command("US_Read"))).ok()


# load with faults


async def kill(all: Nodes, _: random.Random) -> None:
    await all.one().kill()
    await all.join()


async def term(all: Nodes, _: random.Random) -> None:
    node = all.one()
    assert await node.term() == 0, node.gateway.log.read_text()
    await all.join()


async def join(all: Nodes, _: random.Random) -> None:
    if len(all.live) < 5:
        await all.join()
    else:
        await all.one().term()


async def pause(all: Nodes, rng: random.Random) -> None:
    """Stop a process for less than its lease, or for longer, so that it is declared dead."""
    node = all.one()
    node.freeze()
    await asyncio.sleep(rng.choice([1, 6]))
    node.thaw()


async def lose_nats(all: Nodes, rng: random.Random) -> None:
    node = all.one()
    rng.choice([node.to_nats.cut, node.to_nats.stall])()
    await asyncio.sleep(rng.choice([1, 3]))
    node.mend()


async def lose_postgres(all: Nodes, rng: random.Random) -> None:
    node = all.one()
    rng.choice([node.to_postgres.cut, node.to_postgres.stall])()
    await asyncio.sleep(rng.choice([1, 5]))
    node.mend()


async def lose_both(all: Nodes, rng: random.Random) -> None:
    node = all.one()
    node.to_postgres.stall()
    node.to_nats.stall()
    await asyncio.sleep(rng.choice([1, 5]))
    node.mend()


async def slow_links(all: Nodes, rng: random.Random) -> None:
    node = all.one()
    node.to_postgres.delay_s = node.to_nats.delay_s = rng.choice([0.01, 0.05])
    await asyncio.sleep(2)
    node.mend()


async def restart_nats(all: Nodes, _: random.Random) -> None:
    await all.nats.down()
    await asyncio.sleep(0.5)
    await all.nats.up()


FAULTS: tuple[Fault, ...] = (kill, term, join, pause, lose_nats, lose_postgres, lose_both, slow_links, restart_nats)


async def renewed(all: Nodes) -> None:
    """Start nodes in place of those that have ended, as a supervisor does, and wait for at least three."""
    async with asyncio.timeout(60):
        while len(all.live) < 3 or await agreed_state(all) is None:
            if len(all.live) < 3:
                await all.join()
            await asyncio.sleep(0.1)


async def survives(all: Nodes, clients: Crowd, rng: random.Random, faults: list[Fault]) -> list[str]:
    """Have faults happen under load, one after another, and check after each what clients were told."""
    told: list[str] = []
    for fault in faults:
        over, before = asyncio.Event(), clients.acknowledged
        acting = asyncio.create_task(clients.act(lambda over=over: not over.is_set()))
        await asyncio.sleep(0.3 + rng.random() / 2)
        await fault(all, rng)
        await asyncio.sleep(0.3)
        over.set()
        doubts = await acting
        await renewed(all)
        await clients.verify()
        assert clients.acknowledged > before
        told.append(f"{fault.__name__}: {clients.acknowledged - before} acknowledged, {doubts} in doubt")
    return told


@pytest.mark.parametrize("number", [len(FAULTS), pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
async def test_what_was_acknowledged_survives_the_faults_of_nodes_and_links(tmp_path: Path, number: int):
    seed = random.SystemRandom().randrange(1_000_000)
    rng = random.Random(seed)
    faults = [FAULTS[at % len(FAULTS)] for at in range(number)]
    rng.shuffle(faults)
    print(f"seed {seed}")  # noqa: T201
    async with gateways(tmp_path, 3, seed) as all:
        await settled(all)
        try:
            async with crowd(all, AGENTS, seed) as clients:
                print(*await survives(all, clients, rng, faults), sep="\n")  # noqa: T201
                await verify_rows(all, clients)
        except BaseException:
            print(all.logs())  # noqa: T201
            raise
