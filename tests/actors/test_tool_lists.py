"""Who waits for tool servers, and when they are started (docs/mcp.md, "States")."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.commands import tools
from actors.core import CoreOptions
from actors.errors import Overloaded
from actors.tools.catalog import ToolOptions
from actors.tools.limits import MAX_CALLS, ToolLimits
from actors.tools.messages import TOOL_SERVER, InvokeTool, ListTools, ReadToolServer
from actors.tools.stdio import StdioServer
from persistence import tool_servers
from tests.support.gateway import Client
from tests.support.in_process import CoreGateway, commanded
from tests.tool_servers.catalog import install, invoke, listed, unruly, words


@pytest.fixture
async def gated(tmp_path: Path) -> AsyncIterator[CoreGateway]:
    """A core whose catalog has a server that starts, fails and waits as the files of the test's folder say."""
    catalog = {"gated": StdioServer(tuple(unruly("gated", str(tmp_path))))}
    limits = ToolLimits(connect_timeout_s=100)
    options = CoreOptions(registrations_per_hour=0, tools=ToolOptions(catalog, limits))
    async with asyncio.timeout(60), commanded(tmp_path / "data", options=options) as gateway:
        yield gateway


@pytest.fixture
async def owner(gated: CoreGateway) -> Client:
    """A user with that server, which is called `wild`."""
    async with gated.client() as client:
        user = await client.register("lovelace")
    await install(user, "wild", server="gated")
    return user


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a chat wait for longer than a test runs."""
    monkeypatch.setattr(tools, "FIRST_LIST_S", 1_000.0)


async def user_id(owner: Client) -> str:
    return (await owner.command("US_Read")).ok().profile[0]["id"]


def starts(folder: Path) -> int:
    file = folder / "starts"
    return len(file.read_text()) if file.exists() else 0


async def started(folder: Path, times: int) -> None:
    while starts(folder) < times:
        await asyncio.sleep(0.01)


@pytest.mark.usefixtures("patient")
async def test_a_chat_waits_for_a_server_that_was_never_connected(gated: CoreGateway, owner: Client, tmp_path: Path):
    chat = asyncio.create_task(tools.tools_of(gated.core, await user_id(owner)))
    await started(tmp_path, 1)
    (tmp_path / "gate").touch()
    assert "wild.echo" in [tool.name for tool in await chat]


@pytest.mark.usefixtures("patient")
async def test_nobody_waits_for_a_server_that_failed_and_it_is_tried_again_in_the_background(
    gated: CoreGateway, owner: Client, tmp_path: Path
):
    id = await user_id(owner)
    (tmp_path / "fails").touch()
    assert (await listed(owner))["servers"][0]["state"] == "failed"
    (tmp_path / "fails").unlink()
    while starts(tmp_path) < 2:  # there is a pause before the next attempt
        assert await tools.tools_of(gated.core, id) == []
        await asyncio.sleep(0.01)
    seen = await listed(owner)
    assert (seen["tools"], seen["servers"][0]["state"], seen["servers"][0]["error"]) == ([], "connecting", "it ended")
    assert await tools.tools_of(gated.core, id) == []
    (tmp_path / "gate").touch()
    while not await tools.tools_of(gated.core, id):
        await asyncio.sleep(0.01)
    assert starts(tmp_path) == 2


async def test_listings_that_wait_for_a_server_leave_room_for_sixteen_calls(
    gated: CoreGateway, owner: Client, tmp_path: Path
):
    (server,) = await gated.core.store.fetch(tool_servers.ids_of(await user_id(owner)))
    ask = gated.core.directory.ask
    listings = [asyncio.create_task(ask(TOOL_SERVER, server, ListTools())) for _ in range(MAX_CALLS + 1)]
    calls = [
        asyncio.create_task(ask(TOOL_SERVER, server, InvokeTool("echo", {"text": str(count)})))
        for count in range(MAX_CALLS)
    ]
    await started(tmp_path, 1)
    with pytest.raises(Overloaded):
        await ask(TOOL_SERVER, server, InvokeTool("echo", {"text": "one more"}))
    (tmp_path / "gate").touch()
    assert [result.text for result in await asyncio.gather(*calls)] == [str(count) for count in range(MAX_CALLS)]
    known = await ask(TOOL_SERVER, server, ListTools())
    assert known
    assert await asyncio.gather(*listings) == [known] * len(listings)


async def test_listings_try_a_server_that_failed_again_as_chats_do(owner: Client, tmp_path: Path):
    (tmp_path / "fails").touch()
    await listed(owner)
    (tmp_path / "fails").unlink()
    while starts(tmp_path) < 2:
        assert (await listed(owner))["tools"] == []
        await asyncio.sleep(0.01)


async def test_a_chat_waits_no_longer_for_a_server_that_has_been_connecting_for_long(
    gated: CoreGateway, owner: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    listing = asyncio.create_task(listed(owner))
    await started(tmp_path, 1)
    (server,) = await gated.core.store.fetch(tool_servers.ids_of(await user_id(owner)))
    monkeypatch.setattr(tools, "FIRST_LIST_S", 0.01)
    ask = gated.core.directory.ask
    while (await ask(TOOL_SERVER, server, ReadToolServer())).connecting_s <= tools.FIRST_LIST_S:
        await asyncio.sleep(0.01)
    asked: list[Any] = []

    def seen(kind: str, key: str, message: Any, **more: Any) -> Any:
        asked.append(message)
        return ask(kind, key, message, **more)

    monkeypatch.setattr(gated.core.directory, "ask", seen)
    assert await tools.tools_of(gated.core, await user_id(owner)) == []
    assert ListTools() not in asked
    assert ReadToolServer() in asked
    (tmp_path / "gate").touch()
    assert (await listing)["tools"]


async def test_after_a_crash_the_known_tools_are_listed_and_only_a_call_starts_the_server_again(
    gated: CoreGateway, owner: Client, tmp_path: Path
):
    (tmp_path / "gate").touch()
    known = (await listed(owner))["tools"]
    (await invoke(owner, "wild.crash")).refused(5001, 502)
    seen = await listed(owner)
    assert (seen["tools"], seen["servers"][0]["state"]) == (known, "failed")
    assert len(await tools.tools_of(gated.core, await user_id(owner))) == len(known)
    assert starts(tmp_path) == 1
    assert words(await invoke(owner, "wild.echo", text="well")) == "well"
    assert starts(tmp_path) == 2


async def test_the_log_tells_of_tools_that_are_left_out_for_their_names(
    owner: Client, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "gate").touch()
    with caplog.at_level("INFO", "parley.tools"):
        names = [tool["name"] for tool in (await listed(owner))["tools"]]
    assert names.count("wild.echo") == 1
    assert "listed 5 tools with unfit names or schemas, or twice, left out: '', 'two words', 'xxx" in caplog.text
    assert "'nul\\x00', 'echo'" in caplog.text
