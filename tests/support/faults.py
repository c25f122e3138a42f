"""Faults of nodes and their links, and what shows that the nodes have come to terms with one."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Literal

import aiohttp

from tests.support.cluster import Node, Nodes
from tests.support.gateway import Client
from tests.support.operator import SECRET
from tests.support.postgres import shared
from tests.support.relay import Link

Fault = Callable[[Nodes, random.Random], Awaitable[str]]
"""Has it happen and end; returns what it was in words."""


async def state(client: Client) -> dict:
    answer = await client.request("GET", "/debug/cluster", headers=SECRET)
    assert answer.http == 200, answer.body
    return answer.body


async def settled(all: Nodes) -> dict:
    """Wait until every live node agrees on who owns what, and all own something; return the state."""
    async with asyncio.timeout(90):
        while True:
            found = await agreed_state(all)
            if found is not None:
                return found
            await asyncio.sleep(0.1)


async def agreed_state(all: Nodes) -> dict | None:
    """Return the state that all live nodes show, if it is one and the same, complete, and without hand-overs."""
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
    hands_over = any(shard["hand_over"] for shard in seen[0]["shards"])
    return seen[0] if agreed and not hands_over else None


def all_equal(values: list) -> bool:
    return all(value == values[0] for value in values)


async def kill(all: Nodes, _: random.Random) -> str:
    await all.one().kill()
    await all.join()
    return "kill -9"


async def term(all: Nodes, _: random.Random) -> str:
    node = all.one()
    assert await node.term() == 0, node.gateway.log.read_text()
    await all.join()
    return "SIGTERM"


async def join(all: Nodes, _: random.Random) -> str:
    if len(all.live) < 5:
        await all.join()
        return "join"
    assert await all.one().term() == 0
    return "SIGTERM of one of five"


async def pause(all: Nodes, rng: random.Random) -> str:
    """Stop a process for less than its lease, or for longer, so that it is declared dead."""
    return await paused(all, rng.choice([1, 5]))


async def long_pause(all: Nodes, _: random.Random) -> str:
    return await paused(all, 20)


async def paused(all: Nodes, for_s: int) -> str:
    node = all.one()
    node.freeze()
    await asyncio.sleep(for_s)
    node.thaw()
    return f"SIGSTOP of {for_s} s"


async def lose_nats(all: Nodes, rng: random.Random) -> str:
    return await lost(all.one(), rng, rng.choice([1, 3]), "to_nats")


async def lose_postgres(all: Nodes, rng: random.Random) -> str:
    return await lost(all.one(), rng, rng.choice([1, 5]), "to_postgres")


async def lose_both(all: Nodes, rng: random.Random) -> str:
    return await lost(all.one(), rng, rng.choice([1, 5]), "to_postgres", "to_nats")


async def lost(node: Node, rng: random.Random, for_s: int, *links: Literal["to_postgres", "to_nats"]) -> str:
    """Cut the links of a node, or stall them."""
    how = rng.choice(["cut", "stalled"])
    for name in links:
        link: Link = getattr(node, name)
        if how == "cut":
            link.cut()
        else:
            link.stall()
    await asyncio.sleep(for_s)
    node.mend()
    return f"{' and '.join(links)} {how} for {for_s} s"


async def slow_links(all: Nodes, rng: random.Random) -> str:
    node, delay_s = all.one(), rng.choice([0.01, 0.05])
    node.to_postgres.delay_s = node.to_nats.delay_s = delay_s
    await asyncio.sleep(2)
    node.mend()
    return f"links slower by {delay_s} s for 2 s"


async def restart_nats(all: Nodes, _: random.Random) -> str:
    await all.nats.down()
    await asyncio.sleep(0.5)
    await all.nats.up()
    return "NATS restarted"


async def restart_postgres(_: Nodes, rng: random.Random) -> str:
    return await stopped_postgres(rng, 0)


async def lose_all_of_postgres(_: Nodes, rng: random.Random) -> str:
    """Stop the server for less than units wait and leases last, or for longer."""
    return await stopped_postgres(rng, rng.choice([2, 8]))


async def stopped_postgres(rng: random.Random, for_s: int) -> str:
    server, mode = await shared(), rng.choice(["fast", "immediate"])
    await server.down(mode)
    await asyncio.sleep(for_s)
    await server.up()
    return f"PostgreSQL stopped ({mode}) for {for_s} s"


FAULTS: tuple[Fault, ...] = (
    kill,
    term,
    join,
    pause,
    lose_nats,
    lose_postgres,
    lose_both,
    slow_links,
    restart_nats,
    restart_postgres,
)
"""Each takes some seconds."""

LONG_FAULTS: tuple[Fault, ...] = (long_pause, lose_all_of_postgres)


async def renewed(all: Nodes) -> None:
    """Start nodes in place of those that have ended, as a supervisor does, and wait for at least three."""
    async with asyncio.timeout(90):
        while len(all.live) < 3 or await agreed_state(all) is None:
            if len(all.live) < 3:
                await all.join()
            await asyncio.sleep(0.1)
