"""`parley top` over three nodes of one gateway: all of them, row by row, and one that does not answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from actors.core import CoreOptions
from tests.support.command_line import CommandLine
from tests.support.gateway import INTERNAL_SECRET
from tests.support.nodes import running
from tests.support.roaming import Entries

NODES = ["node0", "node1", "node2"]
SECRET = {"PARLEY_INTERNAL_SECRET": INTERNAL_SECRET}


@pytest.fixture
async def entries(tmp_path: Path) -> AsyncIterator[Entries]:
    """Clients of each of three nodes."""
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with running(tmp_path, 3, http=True, options=options) as nodes, AsyncExitStack() as stack:
        yield Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(3)])


async def test_top_shows_all_nodes_through_any_of_them(entries: Entries, tmp_path: Path, unique: str) -> None:
    users = [await entries.user_on(home, f"{unique}-user{home}") for home in range(3)]
    parley = CommandLine(tmp_path, entries.clients[2].base)
    async with parley.going("top", "--json", **SECRET) as going:
        await going.lines(1)
        for user in users:
            for client in user.through:
                (await client.command("US_Read")).ok()
        while not any("US_Read" in record["services"] for record in going.records):
            await going.lines(len(going.out) + 1)
        records = going.records
    for record in records:
        assert [node["node"] for node in record["nodes"]] == NODES
        assert record["unreachable"] == []
        assert record["actors"]["user"] == sum(node["actors"]["user"] for node in record["nodes"]) >= 3
        assert record["memory_bytes"] == sum(node["memory_bytes"] for node in record["nodes"])

    shown = await parley.inside("top", "--once", **SECRET)
    assert shown.status == 0
    rows = [line.split() for line in shown.out.splitlines()]
    assert [row[0] for row in rows if row and row[0] in NODES] == NODES
    assert "does not answer" not in shown.out


async def test_top_names_a_node_that_does_not_answer_and_goes_on(entries: Entries, tmp_path: Path) -> None:
    parley = CommandLine(tmp_path, entries.clients[0].base)
    async with parley.going("top", **SECRET) as going:
        await going.printed("node1 ")
        entries.nodes.network.cut("node1")
        await going.printed("node1 does not answer")
        cut = len(going.out)
        entries.nodes.network.heal("node1")
        async with asyncio.timeout(30):
            while not any(line.startswith("node1 ") and "MiB" in line for line in going.out[cut:]):
                await going.lines(len(going.out) + 1)
