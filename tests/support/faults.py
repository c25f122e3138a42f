"""Faults of nodes and their links, and what shows that the nodes have come to terms with one."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import aiohttp

from tests.support.cluster import Nodes
from tests.support.gateway import Client
from tests.support.operator import SECRET

Fault = Callable[[Nodes, random.Random], Awaitable[None]]


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
