"""Three gateways on one database, as real processes: each serves every user, whatever happens to one of them."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from time import monotonic

import pytest

from tests.support.cluster import Node, Nodes, nodes, of_node
from tests.support.faults import FAULTS, LONG_FAULTS, Fault, all_equal, renewed, settled
from tests.support.gateway import Client
from tests.support.histories import SETTINGS, History, watching
from tests.support.load import Crowd, answered, crowd, verify_rows
from tests.support.operator import SECRET
from tests.support.stores import postgres_only

pytestmark = [postgres_only, pytest.mark.timeout(240)]

AGENTS = 12


def gateways(folder: Path, count: int, seed: int = 0) -> AbstractAsyncContextManager[Nodes]:
    return nodes(folder, count, seed=seed, PARLEY_DEFAULT_PLAN="enterprise", **SETTINGS)


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


async def test_a_killed_nodes_users_are_served_by_the_others(tmp_path: Path):
    async with gateways(tmp_path, 3) as all, all.client() as anyone:
        before = await settled(all)
        users = [await anyone.register(f"user-{number}") for number in range(6)]
        for user in users:
            await user.agent(f"{user.name}-scout")
            (await user.command("AP_Chat", content="Before.")).ok()
        dead = all.one()
        assert any(of_node(shard, dead) for shard in before["shards"])
        await dead.kill()
        for user in users:
            (await answered(lambda user=user: user.command("AP_Chat", content="After."))).ok()
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


async def test_without_nats_a_node_serves_its_own_users_lists_all_and_says_that_it_is_degraded(tmp_path: Path):
    async with gateways(tmp_path, 2) as all, all.client() as anyone:
        await settled(all)
        users = [await anyone.register(f"user-{number}") for number in range(4)]
        for user in users:
            (await user.command("US_Read")).ok()
        alone = all.all[0]
        alone.to_nats.cut()
        async with alone.client() as there:
            async with asyncio.timeout(60):
                while (await there.request("GET", "/api/health")).body["status"] != "degraded":
                    await asyncio.sleep(0.1)
            assert (await there.request("GET", "/api/health")).http == 200
            answers = await asyncio.gather(*(there.as_user(user.token).command("US_Read") for user in users))
            assert {answer.code for answer in answers} <= {0, 5003}
            listed = await there.request("GET", "/api/admin/users", headers=SECRET)
            assert [user["name"] for user in listed.body["users"]] == [user.name for user in users]
            assert min(user["quota"]["used"] for user in listed.body["users"]) > 0
            alone.to_nats.mend()
            async with asyncio.timeout(60):
                while (await there.request("GET", "/api/health")).body["status"] != "ok":
                    await asyncio.sleep(0.1)
            for user in users:
                (await answered(lambda user=user: there.as_user(user.token).command("US_Read"))).ok()


# load with faults


async def survives(
    all: Nodes, clients: Crowd, histories: list[History], rng: random.Random, faults: Iterable[Fault]
) -> None:
    """Have faults happen under load, one after another, and check after each what clients were told."""
    happened = Counter[str]()
    for number, fault in enumerate(faults, 1):
        over, before = asyncio.Event(), clients.acknowledged
        for history in histories:
            await history.prepare()

        def goes_on(over: asyncio.Event = over) -> bool:
            return not over.is_set()

        async with asyncio.TaskGroup() as group:
            acting = group.create_task(clients.act(goes_on))
            for history in histories:
                group.create_task(history.act(goes_on))
            await asyncio.sleep(0.3 + rng.random() / 2)
            while clients.acknowledged == before and not acting.done():  # also on a slow machine
                await asyncio.sleep(0.05)
            did = await fault(all, rng)
            await asyncio.sleep(0.3)
            over.set()
        await renewed(all)
        await clients.verify()
        for history in histories:
            await history.verify()
        new = clients.acknowledged - before
        assert new > 0
        print(f"{number}. {did}: {new} acknowledged, {acting.result()} in doubt", flush=True)  # noqa: T201
        happened[did] += 1
    print(*(f"{times} times {did}" for did, times in sorted(happened.items())), sep="\n")  # noqa: T201


def shuffled(kinds: Sequence[Fault], rng: random.Random, seconds: float) -> Iterator[Fault]:
    """Yield each kind of fault once, then all of them over and over, in a new order each time, until the time is up."""
    over = monotonic() + seconds
    yield from rng.sample(kinds, len(kinds))
    while True:
        for fault in rng.sample(kinds, len(kinds)):
            if monotonic() >= over:
                return
            yield fault


SOAK_S = 3600


@pytest.mark.parametrize(
    "seconds", [0, pytest.param(SOAK_S, marks=[pytest.mark.soak, pytest.mark.timeout(2 * SOAK_S)])]
)
async def test_what_was_acknowledged_survives_the_faults_of_nodes_and_links(tmp_path: Path, seconds: int):
    seed = random.SystemRandom().randrange(1_000_000)
    rng = random.Random(seed)
    faults = shuffled(FAULTS + LONG_FAULTS if seconds else FAULTS, rng, seconds)
    print(f"seed {seed}")  # noqa: T201
    async with gateways(tmp_path, 3, seed) as all:
        await settled(all)
        try:
            async with crowd(all, AGENTS, seed) as clients, watching(all, seed) as histories:
                await survives(all, clients, histories, rng, faults)
                await verify_rows(all, clients)
                print(*(f"{type(history).__name__}: {history.told()}" for history in histories), sep="\n")  # noqa: T201
        except BaseException:
            print(all.logs())  # noqa: T201
            raise
