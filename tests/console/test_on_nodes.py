"""The console of three nodes: a session holds on each, and the operator's pages show all of them, row by row."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from actors.core import CoreOptions
from tests.support.console import console_of
from tests.support.nodes import running
from tests.support.operator import SECRET
from tests.support.roaming import Entries

NODES = ("node0", "node1", "node2")


@pytest.fixture
async def entries(tmp_path: Path) -> AsyncIterator[Entries]:
    """Clients of each of three nodes."""
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with running(tmp_path, 3, http=True, options=options) as nodes, AsyncExitStack() as stack:
        yield Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(3)])


@pytest.fixture
async def windows(browser: Browser, entries: Entries, unique: str) -> AsyncIterator[list[Page]]:
    """A window of an operator through each node."""
    operator = await entries.user_on(1, f"{unique}-chief")
    path = f"/api/admin/users/{operator.name}/role"
    assert (await entries.clients[0].request("PUT", path, json={"role": "operator"}, headers=SECRET)).http == 200
    async with AsyncExitStack() as stack:
        consoles = [await stack.enter_async_context(console_of(browser, client)) for client in entries.clients]
        yield [await console.window(operator.name) for console in consoles]


async def test_actors_of_all_nodes_are_listed_with_their_nodes(windows: list[Page], entries: Entries, unique: str):
    users = [await entries.user_on(home, f"{unique}-user{home}") for home in range(3)]
    for number, user in enumerate(users):
        await user.through[number].agent(f"{unique}-agent{number}")
    for entry, page in enumerate(windows):
        await page.goto(f"{entries.clients[entry].base}/console/actors?kind=agent&name={unique}&sort=name")
        actors = page.get_by_role("table", name="Live actors")
        for node in NODES:
            row = actors.get_by_role("row", name=re.compile(rf"^{unique}-agent{node[-1]} agent .* {node}"))
            await expect(row).to_be_visible()
        await actors.get_by_role("link", name=f"{unique}-agent2").click()
        await expect(page.get_by_role("heading", name=f"{unique}-agent2", level=1)).to_be_visible()
        await expect(page.get_by_role("region", name="At work")).to_contain_text("node2")


async def test_the_live_page_shows_every_node_and_can_show_one(windows: list[Page], entries: Entries, unique: str):
    page = windows[2]
    await page.goto(f"{entries.clients[2].base}/console/live")
    nodes = page.get_by_role("table", name="Nodes")
    for node in NODES:
        await expect(nodes.get_by_role("row", name=re.compile(f"^{node} "))).to_be_visible()
    await page.get_by_label("Node", exact=True).select_option("node1")
    await expect(page).to_have_url(re.compile("node=node1"))
    user = await entries.user_on(1, f"{unique}-user")
    await user.through[1].agent(f"{unique}-agent")
    services = page.get_by_role("table", name="Services in the last second")

    async def read() -> None:
        while True:
            (await user.through[1].command("AP_Read", target={"agent": f"{unique}-agent"})).ok()
            await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(read())
        await expect(services.get_by_role("row", name=re.compile("^AP_Read .*node1"))).to_be_visible()
        reading.cancel()
