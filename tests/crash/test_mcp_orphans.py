"""No process of a tool server outlives the gateway, however the gateway ends (docs/mcp.md)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.gateway import GatewayProcess
from tests.tool_servers.catalog import install, invoke, unruly, until_well, words, write_catalog


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    catalog = write_catalog(tmp_path / "catalog.toml", {"unruly": unruly()}, call_timeout_s=30)
    gateway = GatewayProcess(tmp_path / "data", PARLEY_MCP_CATALOG=catalog)
    yield await gateway.start()
    await gateway.stop()


async def families(gateway: GatewayProcess) -> set[int]:
    """Start two tool servers, each with a child in a session of its own; return every process of theirs."""
    async with gateway.client() as client:
        user = await client.register("lovelace")
        for name in ("one", "two"):
            await install(user, name, server="unruly")
            await invoke(user, f"{name}.spawn")
            assert int(words(await invoke(user, f"{name}.spawn"))) > 0
    assert gateway.process is not None
    found = descendants(gateway.process.pid)
    # two keepers, two servers, four children
    assert len(found) == 8
    return found


def parents() -> dict[int, int]:
    """Read each living process's parent from /proc."""
    found: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                state, parent = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                found[int(entry)] = int(parent)
    return found


def descendants(pid: int) -> set[int]:
    tree, found, layer = parents(), set[int](), {pid}
    while layer:
        layer = {child for child, parent in tree.items() if parent in layer}
        found |= layer
    return found


async def until_none_is_left(pids: set[int]) -> None:
    for _ in range(1_200):
        left = pids & parents().keys()
        if not left:
            return
        await asyncio.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    raise AssertionError(f"still there: {left}")


async def test_a_gateway_that_is_killed_leaves_no_tool_server_behind(gateway: GatewayProcess):
    found = await families(gateway)
    await gateway.kill()
    await until_none_is_left(found)


async def test_a_gateway_that_is_killed_in_a_call_leaves_none_behind_either(gateway: GatewayProcess):
    found = await families(gateway)
    async with gateway.client() as client:
        user = await client.log_on("lovelace")
        calls = [asyncio.create_task(invoke(user, f"{name}.hang")) for name in ("one", "two")]
        await asyncio.sleep(0.2)
        await gateway.kill()
        assert all(isinstance(ended, Exception) for ended in await asyncio.gather(*calls, return_exceptions=True))
    await until_none_is_left(found)


async def test_an_orderly_stop_ends_every_tool_server_before_the_gateway(gateway: GatewayProcess):
    found = await families(gateway)
    assert await gateway.stop() == 0
    assert not found & parents().keys()
    assert "Parley has stopped." in gateway.log.read_text()


async def test_a_keeper_that_is_killed_takes_its_server_with_it(gateway: GatewayProcess):
    await families(gateway)
    assert gateway.process is not None
    tree = parents()
    keepers = {pid for pid, parent in tree.items() if parent == gateway.process.pid}
    servers = {pid for pid, parent in tree.items() if parent in keepers}
    orphans = descendants(gateway.process.pid) - keepers - servers
    for keeper in keepers:
        os.kill(keeper, signal.SIGKILL)
    try:
        await until_none_is_left(servers)
        async with gateway.client() as client:
            user = await client.log_on("lovelace")
            assert words(await until_well(user, "one.echo")) == "well"
    finally:  # only the keeper could find a process in a session of its own, and the keeper is gone
        for pid in orphans & parents().keys():
            os.kill(pid, signal.SIGKILL)
