"""Resources, prompts and streams of changes of the MCP server, on three nodes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import orjson
import pytest
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

from actors.core import CoreOptions
from tests.support.mcp_client import ACCEPT, bearer, connected, sent
from tests.support.mcp_streams import asking, begun, listening, next_message, stream
from tests.support.memories import load, share
from tests.support.nodes import running
from tests.support.roaming import Entries
from tests.support.skills import named


@pytest.fixture(scope="module")
async def entries(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Entries]:
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    folder = tmp_path_factory.mktemp("mcp")
    async with AsyncExitStack() as stack:
        nodes = await stack.enter_async_context(running(folder, 3, http=True, options=options))
        yield Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(3)])


@pytest.mark.parametrize("entry", range(3))
async def test_resources_and_their_changes_reach_clients_of_each_node(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    at_home, reader = owner.through[0], guest.through[entry]
    bank, domain, visitor = f"{unique}-bank", f"{unique}-domain", f"{unique}-visitor"
    await at_home.agent(f"{unique}-agent")
    await guest.through[1].agent(visitor, access="public")
    (await at_home.command("MB_Create", vx={"name": bank})).ok()
    (await load(at_home, bank, "moon", "The Moon is far.")).ok()
    (await at_home.command("DM_Create", vx={"name": domain, "description": "A workspace"})).ok()
    await share(at_home, guest.through[1], bank, visitor, "read")
    target = {"domain": domain, "agent": visitor}
    (await at_home.command("DM_Invite", target=target)).ok()
    (await guest.through[1].command("DM_Join", target=target)).ok()
    notes, lobby = f"parley://bank/{bank}", f"parley://zone/{domain}/lobby"
    async with connected(reader.base, bearer(reader)) as client:
        assert [one.uri for one in (await client.list_resources()).resources] == [notes, lobby]
        (content,) = (await client.read_resource(f"{notes}/moon")).contents
        assert content.model_dump()["text"] == "The Moon is far."
    async with listening(reader, notes, lobby) as heard:
        (await load(at_home, bank, "sun", "The Sun is farther.")).ok()
        assert await heard.next() == ResourceUpdated(notes)
        (await at_home.command("ZN_Post", target={"domain": domain}, content="Good morning")).ok()
        assert await heard.next() == ResourceUpdated(lobby)
        (await at_home.command("DM_Kick", target=target)).ok()
        assert await heard.next() == ResourceUpdated(lobby)
        (await at_home.command("MB_Destroy", target={"bank": bank})).ok()
        assert await heard.next() == ResourceUpdated(notes)
    async with connected(reader.base, bearer(reader)) as client:
        assert (await client.list_resources()).resources == []


@pytest.mark.parametrize("entry", range(3))
async def test_prompts_and_lists_are_told_through_each_node(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(0, f"{unique}-user")
    reader = user.through[entry]
    async with listening(reader, resources=True, prompts=True) as heard:
        skill = {"content": named("a-skill", body="Do it like this.")}
        assert (await user.through[2].request("POST", "/api/skills/install", json=skill)).http == 201
        assert await heard.next() == PromptsListChanged()
        await user.through[1].agent(f"{unique}-agent")
        (await user.through[1].command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
        assert await heard.next() == ResourcesListChanged()
        async with connected(reader.base, bearer(reader)) as client:
            (message,) = (await client.get_prompt("a-skill")).messages
        assert message.content.model_dump()["text"] == "Do it like this."
        (await user.through[1].command("US_LogOff")).ok()
        assert await heard.next() is None


@pytest.mark.parametrize("entry", range(3))
async def test_each_own_change_of_a_list_is_told_at_once(
    entries: Entries, unique: str, entry: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("actors.commands.watching.LISTS_S", 3600.0)
    bank, domain, agent, other = (f"{unique}-{word}" for word in ("bank", "domain", "agent", "other"))
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    await owner.through[0].agent(agent, access="public")
    await guest.through[1].agent(other, access="public")
    changes = [
        (owner, "MB_Create", {"vx": {"name": f"{bank}-1", "description": "Notes"}}),
        (owner, "MB_Update", {"target": {"bank": f"{bank}-1"}, "vx": {"name": bank, "description": "Notes"}}),
        (owner, "DM_Create", {"vx": {"name": f"{domain}-1", "description": "A workspace"}}),
        (owner, "DM_Update", {"target": {"domain": f"{domain}-1"}, "vx": {"name": domain, "description": "A place"}}),
        (owner, "ZN_Create", {"target": {"domain": domain}, "vx": {"name": "nightly"}}),
        (guest, "MB_Accept", {"target": {"bank": bank, "agent": other}}),
        (guest, "MB_Unload", {"target": {"bank": bank, "agent": other}}),
        (guest, "DM_Join", {"target": {"domain": domain, "agent": other}}),
        (guest, "DM_Leave", {"target": {"domain": domain, "agent": other}}),
        (owner, "ZN_Destroy", {"target": {"domain": domain, "zone": "nightly"}}),
        (owner, "DM_Destroy", {"target": {"domain": domain}}),
        (owner, "MB_Destroy", {"target": {"bank": bank}}),
    ]
    offers = {
        "MB_Accept": ("MB_Permissions", {"target": {"bank": bank, "agent": other}, "vx": {"permission": "read"}}),
        "DM_Join": ("DM_Invite", {"target": {"domain": domain, "agent": other}}),
    }
    async with (
        listening(owner.through[entry], resources=True) as owners,
        listening(guest.through[entry], resources=True) as guests,
    ):
        for user, service, request in changes:
            if service in offers:
                offer, what = offers[service]
                (await owner.through[0].command(offer, **what)).ok()
            (await user.through[entry].command(service, **request)).ok()
            assert await (owners if user is owner else guests).next() == ResourcesListChanged(), service


async def test_a_change_that_no_message_told_of_is_found_when_the_network_is_back(entries: Entries, unique: str):
    owner = await entries.user_on(0, f"{unique}-owner")
    at_home, reader = owner.through[0], owner.through[2]
    bank = f"{unique}-bank"
    await at_home.agent(f"{unique}-agent")
    (await at_home.command("MB_Create", vx={"name": bank})).ok()
    notes = f"parley://bank/{bank}"
    async with listening(reader, notes) as heard:
        entries.nodes.network.cut("node2")
        try:
            (await load(at_home, bank, "moon", "The Moon is far.")).ok()
            assert await heard.nothing()
        finally:
            entries.nodes.network.heal("node2")
        assert await heard.next() == ResourceUpdated(notes)
    async with connected(reader.base, bearer(reader)) as client:
        (content,) = (await client.read_resource(notes)).contents
        assert [memory["name"] for memory in orjson.loads(content.model_dump()["text"])["memories"]] == ["moon"]


@pytest.mark.parametrize("at", range(3))
async def test_a_session_is_used_through_every_node(entries: Entries, unique: str, at: int):
    user = await entries.user_on(0, f"{unique}-user")
    bank, notes = f"{unique}-bank", f"parley://bank/{unique}-bank"
    await user.through[0].agent(f"{unique}-agent")
    (await user.through[0].command("MB_Create", vx={"name": bank})).ok()
    headers = await begun(user.through[at])
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": notes}}
    for number, client in enumerate(user.through):
        assert (await sent(client, asking("subscribe", notes), headers)).body["result"] == {}
        async with stream(client, headers) as opened:
            (await load(user.through[2], bank, f"moon {number}", "The Moon is far.")).ok()
            assert await next_message(opened) == updated
        assert (await sent(client, asking("unsubscribe", notes), headers)).body["result"] == {}
        nothing = await sent(client, asking("subscribe", f"{notes}/none"), headers)
        assert nothing.body["error"]["code"] == -32002
    assert (await user.through[1].request("DELETE", "/mcp", headers=headers)).http == 204
    for client in user.through:
        (await client.request("GET", "/mcp", headers=headers | ACCEPT)).refused(3000, 404)


async def test_a_session_ends_with_its_node(tmp_path: Path, unique: str):
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with AsyncExitStack() as stack:
        nodes = await stack.enter_async_context(running(tmp_path, 3, http=True, options=options))
        entries = Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(3)])
        user = await entries.user_on(1, f"{unique}-user")
        headers = await begun(user.through[0])
        async with stream(user.through[2], headers) as opened:
            nodes.network.cut("node0")
            nodes.placed.take_over("node0", "node1")
            async with asyncio.timeout(30):
                while await opened.content.readline():
                    pass
        (await user.through[2].request("GET", "/mcp", headers=headers | ACCEPT)).refused(3000, 404)
        again = await begun(user.through[2])
        async with stream(user.through[1], again):
            pass
