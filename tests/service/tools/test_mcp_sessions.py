"""Sessions of MCP, for clients before 2026-07-28: subscriptions, and a stream by GET (docs/mcp.md)."""

import asyncio
from pathlib import Path

import pytest
from mcp.client.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated
from mcp.shared.exceptions import MCPError

from actors.commands.watching import MAX_SUBSCRIPTIONS
from tests.support.gateway import Client, running
from tests.support.mcp_client import ACCEPT, bearer, sent
from tests.support.mcp_streams import INITIALIZE, asking, begun, in_session, next_message, stream
from tests.support.memories import load, share
from tests.support.operator import on_plan
from tests.support.skills import named


async def test_the_official_client_is_told_of_its_subscriptions(owner: Client, unique: str):
    bank, lobby = f"parley://bank/{unique}-bank", f"parley://zone/{unique}-domain/lobby"
    async with in_session(owner) as session:
        capabilities = session.client.server_capabilities
        assert capabilities.resources is not None
        assert (capabilities.resources.subscribe, capabilities.resources.list_changed) == (True, True)
        assert capabilities.prompts is not None
        assert capabilities.prompts.list_changed is True
        assert capabilities.tools is not None
        assert capabilities.tools.list_changed is False
        await session.subscribe(bank, lobby)
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        assert await session.next() == ResourceUpdated(bank)
        (await owner.command("ZN_Post", target={"domain": f"{unique}-domain"}, content="Hello")).ok()
        assert await session.next() == ResourceUpdated(lobby)
        await session.unsubscribe(bank)
        (await load(owner, f"{unique}-bank", "mars", "Mars is red.")).ok()
        assert await session.nothing()
        assert (await owner.request("POST", "/api/skills/install", json={"content": named("a-skill")})).http == 201
        assert await session.next() == PromptsListChanged()
        (await owner.command("MB_Create", vx={"name": f"{unique}-more"})).ok()
        assert await session.next() == ResourcesListChanged()
        assert [tool.name for tool in (await session.client.list_tools()).tools]


async def test_only_what_may_be_read_can_be_subscribed_to(owner: Client, unique: str):
    guest = await owner.as_user().register(f"{unique}-guest")
    await on_plan(guest, "enterprise")
    await guest.agent(f"{unique}-visitor", access="public")
    bank = f"parley://bank/{unique}-bank"
    async with in_session(guest) as session:
        for uri in (bank, f"parley://zone/{unique}-domain/lobby", f"parley://bank/{unique}-none", "nonsense"):
            with pytest.raises(MCPError) as refused:
                await session.subscribe(uri)
            assert (refused.value.code, refused.value.data["uri"]) == (-32002, uri)
        await share(owner, guest, f"{unique}-bank", f"{unique}-visitor", "read")
        assert await session.next() == ResourcesListChanged()
        await session.subscribe(bank)
        permission = {"target": {"bank": f"{unique}-bank", "agent": f"{unique}-visitor"}, "vx": {"permission": "none"}}
        (await owner.command("MB_Permissions", **permission)).ok()
        assert await session.next() == ResourceUpdated(bank)
        assert await session.next() == ResourcesListChanged()
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        assert await session.nothing()


async def test_changes_wait_for_a_stream_that_was_cut(owner: Client, unique: str):
    bank = f"parley://bank/{unique}-bank"
    headers = await begun(owner)
    assert (await sent(owner, asking("subscribe", bank), headers)).body["result"] == {}
    (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": bank}}
    async with stream(owner, headers) as first:
        assert await next_message(first) == updated
    (await load(owner, f"{unique}-bank", "mars", "Mars is red.")).ok()
    async with stream(owner, headers) as second:
        assert await next_message(second) == updated


async def test_a_newer_stream_takes_over(owner: Client, unique: str):
    bank = f"parley://bank/{unique}-bank"
    headers = await begun(owner)
    await sent(owner, asking("subscribe", bank), headers)
    async with stream(owner, headers) as first, stream(owner, headers) as second:
        async with asyncio.timeout(30):
            while await first.content.readline():
                pass
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        assert (await next_message(second))["params"] == {"uri": bank}


async def test_a_session_that_is_not_there_is_404_where_it_is_needed(owner: Client, unique: str):
    bank = f"parley://bank/{unique}-bank"
    headers = await begun(owner)
    other = await owner.log_on(owner.name)
    gone = bearer(owner) | {"Mcp-Session-Id": "0123456789abcdef-0"}
    assert (await sent(owner, asking("subscribe", bank), headers)).http == 200
    assert (await owner.request("DELETE", "/mcp", headers=headers | bearer(other))).http == 404
    assert (await owner.request("DELETE", "/mcp", headers=headers)).http == 204
    for lost in (headers, gone, bearer(owner) | {"Mcp-Session-Id": "nonsense"}):
        for does in ("subscribe", "unsubscribe"):
            (await sent(owner, asking(does, bank), lost)).refused(3000, 404)
        (await owner.request("GET", "/mcp", headers=lost | ACCEPT)).refused(3000, 404)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await sent(owner, ping, gone)).http == 200  # all else needs no session


@pytest.mark.one_node(reason="only the node where a client has ended its session knows that")
async def test_a_session_that_its_client_has_ended_is_404_everywhere(owner: Client):
    headers = await begun(owner)
    assert (await owner.request("DELETE", "/mcp", headers=headers)).http == 204
    (await sent(owner, {"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers)).refused(3000, 404)


async def test_another_credential_can_not_use_a_session(owner: Client, unique: str):
    bank = f"parley://bank/{unique}-bank"
    headers = await begun(owner)
    assert (await sent(owner, asking("subscribe", bank), headers)).http == 200
    other = await owner.as_user().register(f"{unique}-other")
    stolen = headers | bearer(other)
    (await sent(other, asking("unsubscribe", bank), stolen)).refused(3000, 404)
    (await other.request("GET", "/mcp", headers=stolen | ACCEPT)).refused(3000, 404)
    (await owner.as_user().request("GET", "/mcp", headers=ACCEPT | {"Mcp-Session-Id": "x-1"})).refused(2000, 401)
    async with stream(owner, headers) as mine:
        (await load(owner, f"{unique}-bank", "sun", "The Sun is far away.")).ok()
        assert (await next_message(mine))["params"] == {"uri": bank}


async def test_subscribing_without_a_session_says_what_is_missing(owner: Client, unique: str):
    answer = await sent(owner, asking("subscribe", f"parley://bank/{unique}-bank"), bearer(owner))
    assert answer.body["error"]["code"] == -32600
    assert "Mcp-Session-Id" in answer.body["error"]["message"]
    nobody = await sent(owner.as_user(), INITIALIZE)
    assert nobody.http == 200
    assert "Mcp-Session-Id" not in nobody.headers


async def test_no_more_resources_are_subscribed_to_than_the_limit(owner: Client, unique: str):
    headers = await begun(owner)
    bank = f"{unique}-bank"
    for number in range(MAX_SUBSCRIPTIONS + 1):
        (await load(owner, bank, f"n{number}", "text")).ok()
        answer = await sent(owner, asking("subscribe", f"parley://bank/{bank}/n{number}"), headers)
        assert ("result" in answer.body) is (number < MAX_SUBSCRIPTIONS)


async def test_a_stream_ends_with_its_log_off(owner: Client, unique: str):
    headers = await begun(owner)
    async with stream(owner, headers) as response:
        (await owner.command("US_LogOff")).ok()
        async with asyncio.timeout(30):
            while await response.content.readline():
                pass


async def test_a_stream_and_the_end_of_a_session_count_nothing(user: Client):
    headers = await begun(user)
    before = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    async with stream(user, headers):
        pass
    assert (await user.request("DELETE", "/mcp", headers=headers)).http == 204
    assert (await user.command("US_Read")).ok().profile[0]["quota"]["used"] == before + 1


async def test_a_stream_is_only_for_clients_that_take_one(user: Client):
    headers = await begun(user)
    for accept, status in (
        ("application/json", 406),
        ("text/event-stream;q=0", 406),
        ("text/event-stream;q=0, */*", 406),
        ("*/*", 200),
        ("text/*", 200),
        ("Text/Event-Stream", 200),
        ("text/event-stream, application/json", 200),
    ):
        async with user.http.get(f"{user.base}/mcp", headers=headers | {"Accept": accept}) as response:
            assert (response.status, "X-Request-Id" in response.headers) == (status, True)


async def test_web_pages_of_other_origins_get_no_stream(user: Client):
    headers = await begun(user) | ACCEPT | {"Origin": "http://evil.example"}
    (await user.request("GET", "/mcp", headers=headers)).refused(2003, 403)
    (await user.request("DELETE", "/mcp", headers=headers)).refused(2003, 403)


async def test_a_stop_ends_streams_in_order_and_the_session_is_gone_afterwards(tmp_path: Path):
    async with running(tmp_path / "data", TEST_GRACE_S="60") as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        headers = await begun(user)
        async with stream(user, headers) as response:
            stopping = asyncio.create_task(gateway.stop())
            async with asyncio.timeout(30):  # less than the time that this stop gives to requests under way
                while await response.content.readline():
                    pass
                assert await stopping == 0
        await gateway.start()
        async with gateway.client() as again:
            returned = again.as_user(user.token, user.name)
            (await returned.request("GET", "/mcp", headers=headers | ACCEPT)).refused(3000, 404)
