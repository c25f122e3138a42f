"""A node of a cluster, wired (actors/node.py): the ledger of these tests is a map in this process."""

import asyncio
from typing import Any, cast

from actors.node import ClusterNode
from actors.runtime.cluster.ownership import Ownership
from persistence.ledger import NodeRow
from tests.support.loopback_post import LoopbackPost, Network
from tests.support.nodes import Placed, PlacedOwnership


class Looking(PlacedOwnership):
    """Counts how often it was told to look at the ledger."""

    looks = 0

    async def start(self) -> None:
        pass

    def look_soon(self) -> None:
        self.looks += 1


async def test_a_node_that_gives_or_takes_shards_has_all_others_look_at_once() -> None:
    placed, network = Placed(["node0", "node1", "node2"]), Network(0)
    ownerships = [Looking(f"node{number}", placed) for number in range(3)]
    nodes: list[ClusterNode] = []
    for number, ownership in enumerate(ownerships):
        row = NodeRow(ownership.node, number, "", 1, "", False, True, 0, 1_000)
        nodes.append(ClusterNode(row, cast(Ownership, ownership), LoopbackPost(network)))
    for node in nodes:
        await node.start()
    ownerships[2].on_change.clear()  # has not heard of it yet
    placed.assign({0}, "node1")
    while not ownerships[2].looks:
        await asyncio.sleep(0.01)
    before = ownerships[2].looks
    for callback in cast(list[Any], ownerships[0].on_change):
        callback(placed.map)  # the same once more
    await asyncio.sleep(0.1)
    assert ownerships[2].looks == before <= 2
    for node in nodes:
        await node.post.close()
