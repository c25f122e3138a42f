"""Changes of resources and lists, told to the official client over a stream (docs/mcp.md, "Subscriptions")."""

import asyncio
from pathlib import Path
from time import monotonic

import pytest
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated

from actors.commands.watching import MAX_SUBSCRIPTIONS, PAUSE_S
from actors.sessions.open_streams import MAX_STREAMS
from tests.support.gateway import Client, running
from tests.support.mcp_client import bearer, connected, sent
from tests.support.mcp_streams import listening
from tests.support.memories import load, share
from tests.support.skills import named


async def test_changes_of_a_bank_are_told(owner: Client, unique: str):
    bank, uri = f"{unique}-bank", f"parley://bank/{unique}-bank"
    async with listening(owner, uri) as heard:
        for change in (
            load(owner, bank, "sun", "The Sun is far away."),
            load(owner, bank, "sun", "The Sun is very far away."),
            owner.command("MB_Censor", target={"bank": bank}, vx={"name": "moon"}),
            owner.command("MB_Delete", target={"bank": bank}, vx={"name": "sun"}),
        ):
            (await change).ok()
            assert await heard.next() == ResourceUpdated(uri)
        (await owner.command("MB_Read", target={"bank": bank})).ok()
        assert await heard.nothing()
        (await owner.command("MB_Destroy", target={"bank": bank})).ok()
        assert await heard.next() == ResourceUpdated(uri)
        assert await heard.nothing()


async def test_only_changes_of_the_memory_itself_are_told(owner: Client, unique: str):
    bank, uri = f"{unique}-bank", f"parley://bank/{unique}-bank/moon"
    async with listening(owner, uri) as heard:
        (await load(owner, bank, "sun", "The Sun is far away.")).ok()
        assert await heard.nothing()
        (await load(owner, bank, "moon", "The Moon is 384,400 km away on average.")).ok()
        assert await heard.next() == ResourceUpdated(uri)
        (await owner.command("MB_Censor", target={"bank": bank}, vx={"name": "moon"})).ok()
        assert await heard.next() == ResourceUpdated(uri)
        (await load(owner, bank, "mars", "Mars is red.")).ok()
        assert await heard.nothing()


async def test_messages_of_a_zone_are_told(owner: Client, unique: str):
    domain = f"{unique}-domain"
    (await owner.command("ZN_Create", target={"domain": domain}, vx={"name": "nightly"})).ok()
    lobby, nightly = (f"parley://zone/{domain}/{zone}" for zone in ("lobby", "nightly"))
    async with listening(owner, lobby, nightly) as heard:
        (await owner.command("ZN_Post", target={"domain": domain, "zone": "lobby"}, content="Hello")).ok()
        assert await heard.next() == ResourceUpdated(lobby)
        (await owner.command("ZN_Post", target={"domain": domain, "zone": "nightly"}, content="Hello")).ok()
        assert await heard.next() == ResourceUpdated(nightly)
        (await owner.agent(f"{unique}-other", select=False))
        joined = {"domain": domain, "agent": f"{unique}-other"}
        (await owner.command("DM_Invite", target=joined)).ok()
        assert await heard.nothing()  # a membership is no message
        (await owner.command("ZN_Destroy", target={"domain": domain, "zone": "nightly"})).ok()
        assert await heard.next() == ResourceUpdated(nightly)
        (await owner.command("ZN_Post", target={"domain": domain, "zone": "lobby"}, content="Still here")).ok()
        assert await heard.next() == ResourceUpdated(lobby)


async def test_many_changes_at_once_are_few_notifications(owner: Client, unique: str):
    uri = f"parley://zone/{unique}-domain/lobby"
    async with listening(owner, uri) as heard:
        posts = (owner.command("ZN_Post", target={"domain": f"{unique}-domain"}, content=str(n)) for n in range(50))
        began = monotonic()
        for answer in await asyncio.gather(*posts):
            answer.ok()
        took_s = monotonic() - began
        assert await heard.next() == ResourceUpdated(uri)
        await asyncio.sleep(1)
        assert heard.events.qsize() <= 2 + 2 * took_s / PAUSE_S, "one after each pause, and one that came meanwhile"


async def test_who_loses_a_bank_or_zone_is_told_once_and_no_more(owner: Client, guest: Client, unique: str):
    bank, domain, visitor = f"{unique}-bank", f"{unique}-domain", f"{unique}-visitor"
    target = {"domain": domain, "agent": visitor}
    await share(owner, guest, bank, visitor, "read")
    (await owner.command("DM_Invite", target=target)).ok()
    (await guest.command("DM_Join", target=target)).ok()
    notes, lobby = f"parley://bank/{bank}", f"parley://zone/{domain}/lobby"
    async with listening(guest, notes, lobby) as heard:
        (await load(owner, bank, "sun", "The Sun is far away.")).ok()
        assert await heard.next() == ResourceUpdated(notes)
        withdrawn = {"target": {"bank": bank, "agent": visitor}, "vx": {"permission": "none"}}
        (await owner.command("MB_Permissions", **withdrawn)).ok()
        assert await heard.next() == ResourceUpdated(notes)
        (await owner.command("DM_Kick", target=target)).ok()
        assert await heard.next() == ResourceUpdated(lobby)
        (await load(owner, bank, "mars", "Mars is red.")).ok()
        (await owner.command("ZN_Post", target={"domain": domain}, content="Among us")).ok()
        assert await heard.nothing(1)


async def test_what_may_not_be_read_is_not_acknowledged(owner: Client, guest: Client, unique: str):
    uris = (
        f"parley://bank/{unique}-bank",
        f"parley://bank/{unique}-bank/moon",
        f"parley://zone/{unique}-domain/lobby",
        f"parley://bank/{unique}-nothing",
        "nonsense",
    )
    async with listening(guest, *uris, honored=0) as heard:
        (await load(owner, f"{unique}-bank", "moon", "The Moon is 384,400 km away on average.")).ok()
        (await owner.command("ZN_Post", target={"domain": f"{unique}-domain"}, content="Among us")).ok()
        assert await heard.nothing()
    async with listening(owner, *uris, honored=3):
        pass


async def test_no_more_resources_are_watched_than_the_limit(owner: Client, unique: str):
    bank = f"{unique}-bank"
    for number in range(MAX_SUBSCRIPTIONS):
        (await load(owner, bank, f"n{number}", "text")).ok()
    uris = [f"parley://bank/{bank}/n{number}" for number in range(MAX_SUBSCRIPTIONS)]
    async with listening(owner, *uris, f"parley://bank/{bank}", honored=MAX_SUBSCRIPTIONS):
        pass


async def test_changes_of_the_lists_are_told(owner: Client, guest: Client, unique: str):
    async with listening(owner, resources=True, prompts=True) as heard:
        assert (await owner.request("POST", "/api/skills/install", json={"content": named("a-skill")})).http == 201
        assert await heard.next() == PromptsListChanged()
        assert (await owner.request("DELETE", "/api/skills/a-skill")).http == 204
        assert await heard.next() == PromptsListChanged()
        (await owner.command("MB_Create", vx={"name": f"{unique}-more"})).ok()
        assert await heard.next() == ResourcesListChanged()
        (await owner.command("ZN_Create", target={"domain": f"{unique}-domain"}, vx={"name": "nightly"})).ok()
        assert await heard.next() == ResourcesListChanged()
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        assert await heard.nothing()
        (await guest.command("MB_Create", vx={"name": f"{unique}-guests"})).ok()
        await share(guest, owner, f"{unique}-guests", f"{unique}-agent", "read")
        assert await heard.next() == ResourcesListChanged()


@pytest.mark.parametrize("by", ["log-off", "revocation"])
async def test_a_stream_ends_with_its_session(owner: Client, unique: str, by: str):
    elsewhere = await owner.log_on(owner.name)
    async with listening(owner, f"parley://bank/{unique}-bank") as heard:
        if by == "log-off":
            (await owner.command("US_LogOff")).ok()
        else:
            (await elsewhere.command("US_Revoke", vx={"name": "all"})).ok()
        assert await heard.next() is None
    assert (await elsewhere.command("US_Read")).ok()


async def test_opening_a_stream_counts_one_and_its_events_nothing(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    before = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    async with listening(user, f"parley://bank/{unique}-bank") as heard:
        (await load(user, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        assert await heard.next()
    after = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    assert after - before == 4  # connecting, listening, MB_Load and US_Read


async def test_a_stream_needs_a_credential_and_event_streams(user: Client):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"promptsListChanged": True}, "_meta": meta}
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    version = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
    (await sent(user.as_user(), message, version)).refused(2000, 401)
    assert (await sent(user, message, bearer(user) | version | {"Accept": "application/json"})).http == 406


async def test_a_closed_stream_leaves_nothing_behind(owner: Client, unique: str):
    uri = f"parley://bank/{unique}-bank"
    async with connected(owner.base, bearer(owner)) as client:
        for _ in range(MAX_STREAMS + 8):
            async with client.listen(resource_subscriptions=[uri], prompts_list_changed=True) as stream:
                assert stream.honored.resource_subscriptions == [uri]
            await asyncio.sleep(0.02)


async def test_a_stop_of_the_gateway_ends_streams_in_order(tmp_path: Path):
    async with running(tmp_path / "data", TEST_GRACE_S="60") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        async with listening(user, prompts=True) as heard:
            stopping = asyncio.create_task(gateway.stop())
            assert await heard.next() is None
        async with asyncio.timeout(30):  # less than the time that this stop gives to requests under way
            assert await stopping == 0
