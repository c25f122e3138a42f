"""Requests that arrive at any of three nodes: home, entry and what they change may all differ."""

import asyncio
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from tests.gateways.gate import Gate
from tests.gateways.scripted import scripted
from tests.support.gateway import BUS, Answer, Client
from tests.support.nodes import running
from tests.support.operator import set_plan
from tests.support.roaming import Entries, UserEverywhere
from tests.support.skills import named, zipped
from tests.support.wire import events_of as stream_events
from tests.support.wire import streamed

JSON = {"Content-Type": "application/json"}
EVENTS = {"Accept": "text/event-stream"}


def events_of(answer: Answer) -> list[tuple[str, Any]]:
    """Return the events of a stream: each name with its data."""
    blocks = [dict(line.split(": ", 1) for line in block.split("\n")) for block in answer.body.strip().split("\n\n")]
    return [(block["event"], orjson.loads(block["data"])) for block in blocks]


async def a_public_agent(user: UserEverywhere, name: str) -> None:
    await user.through[0].agent(name, access="public")


async def history(user: Client, agent: str) -> list[str]:
    answer = (await user.command("AP_History", target={"agent": agent})).ok()
    return [message["content"] for message in answer.content if message["role"] == "user"]


@pytest.mark.parametrize("home", range(3))
async def test_a_user_chats_with_its_own_agent_through_each_node(entries: Entries, unique: str, home: int):
    user = await entries.user_on(home, unique)
    agent = await user.through[0].agent(f"{unique}-agent")
    for entry, client in enumerate(user.through):
        answer = (await client.command("AP_Chat", content=f"through {entry}")).ok()
        assert [message["seq"] for message in answer.content] == [2 * entry + 1, 2 * entry + 2]
        assert answer.context == {"user": user.name, "agent": f"{unique}-agent", "domain": None, "zone": None}
    live = [node.core.directory.inspect("agent", agent["id"]) is not None for node in entries.nodes]
    assert live == [index == home for index in range(3)]


async def test_a_request_id_and_the_address_stay_those_of_the_entry(entries: Entries, unique: str):
    user = await entries.user_on(1, unique)
    await user.through[0].agent(f"{unique}-agent")
    answer = await user.through[2].command("AP_Chat", content="Hi", headers={"X-Request-Id": f"request-{unique}"})
    assert answer.headers["X-Request-Id"] == answer.body["header"]["request_id"] == f"request-{unique}"
    log = (await user.through[0].request("GET", "/api/audit")).body["entries"]
    chats = [row for row in log if row["service"] == "AP_Chat"]
    assert [(row["request_id"], row["address"]) for row in chats] == [(f"request-{unique}", "127.0.0.1")]


@pytest.mark.parametrize("entry", range(3))
async def test_a_chat_with_the_agent_of_a_user_of_another_node_moves_there(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    await a_public_agent(owner, f"{unique}-agent")
    target, guest_here = {"agent": f"{unique}-agent"}, guest.through[entry]
    before = (await guest_here.command("US_Read")).ok().profile[0]["quota"]
    answer = (await guest_here.command("AP_Chat", target=target, content="Hello")).ok()
    assert answer.context["user"] == guest.name
    after = (await guest_here.command("US_Read")).ok().profile[0]["quota"]
    assert after["used"] - before["used"] == 2, "a chat that moves is counted once"
    assert await history(guest.through[2], f"{unique}-agent") == ["Hello"]
    log = (await guest.through[0].request("GET", "/api/audit")).body["entries"]
    assert [row["service"] for row in log].count("AP_Chat") == 1


@pytest.mark.parametrize("entry", range(3))
async def test_a_streamed_chat_comes_in_pieces_through_each_node(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(2, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    await a_public_agent(owner, f"{unique}-agent")
    for user in (owner, guest):
        body: dict[str, Any] = {"target": {"agent": f"{unique}-agent"}, "content": "Hello"}
        answer = await user.through[entry].command("AP_Chat", headers=EVENTS, **body)
        *deltas, (last, response) = events_of(answer)
        assert {name for name, _ in deltas} == {"delta"}
        assert last == "response"
        assert "".join(delta["text"] for _, delta in deltas) == response["content"][1]["content"]
    refused = await guest.through[entry].command("AP_Chat", headers=EVENTS, target={"agent": "nobody"}, content="Hi")
    assert refused.refused(3000, 404).http == 400


async def test_a_silent_run_gets_comments_through_another_node(
    tmp_path: Path, unique: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("routes.http.server_sent_events.SILENT_S", 0.1)
    async with running(tmp_path, 2, http=True, engine=scripted) as nodes, nodes.client(0) as client:
        entries = Entries(nodes, [client])
        user = (await entries.user_on(1, f"{unique}-user")).through[0]
        await user.agent(f"{unique}-agent")
        async with streamed(user, "AP_Chat", content=f"wait:{gate} say:one") as response:
            assert response.headers["X-Run-Id"].startswith("run_")
            assert await response.content.readline() == b": still here\n"
            gate.open()
            assert [event.name async for event in stream_events(response)] == ["delta", "response"]


@pytest.mark.parametrize("entry", range(3))
async def test_a_repeat_through_another_node_gets_the_kept_answer(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(2, f"{unique}-guest")
    await a_public_agent(owner, f"{unique}-agent")
    for user in (owner, guest):
        sent: dict[str, Any] = {"target": {"agent": f"{unique}-agent"}, "content": "Once"}
        first = (await user.through[entry].command("AP_Chat", headers={"Idempotency-Key": unique}, **sent)).ok()
        for client in user.through:
            again = (await client.command("AP_Chat", headers={"Idempotency-Key": unique}, **sent)).ok()
            assert again.headers["Idempotency-Replayed"] == "true"
            assert again.body == first.body
        assert await history(user.through[0], f"{unique}-agent") == ["Once"]
        other = await user.through[entry].command("AP_Chat", headers={"Idempotency-Key": unique}, content="Other")
        other.refused(3002, 409)


async def test_repeats_at_once_through_all_nodes_store_one_chat(entries: Entries, unique: str):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(2, f"{unique}-guest")
    await a_public_agent(owner, f"{unique}-agent")
    for user in (owner, guest):
        sent: dict[str, Any] = {"target": {"agent": f"{unique}-agent"}, "content": "Once"}
        answers = await asyncio.gather(
            *(client.command("AP_Chat", headers={"Idempotency-Key": unique}, **sent) for client in user.through * 3)
        )
        assert len({answer.ok().content[0]["id"] for answer in answers}) == 1
        assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
        assert await history(user.through[1], f"{unique}-agent") == ["Once"]


def called(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


@pytest.mark.parametrize("entry", range(3))
async def test_tools_of_mcp_are_called_through_each_node(entries: Entries, unique: str, entry: int):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    await a_public_agent(owner, f"{unique}-agent")
    client, headers = guest.through[entry], {"Accept": "application/json, text/event-stream"}
    used = (await client.command("US_Read")).ok().profile[0]["quota"]["used"]
    chat = called("AP_Chat", target={"agent": f"{unique}-agent"}, content="Through MCP")
    said = await client.request("POST", "/mcp", json=chat, headers=headers)
    result = said.body["result"]
    assert result["isError"] is False
    assert result["structuredContent"]["content"][0]["content"] == "Through MCP"
    unknown = await client.request("POST", "/mcp", json=called("AP_Read", content="x"), headers=headers)
    assert unknown.body["result"]["structuredContent"]["status"]["internal_code"] == 1003, "AP_Read takes no content"
    listed = await client.request(
        "POST", "/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, headers=headers
    )
    assert len(listed.body["result"]["tools"]) > 20
    assert (await client.command("US_Read")).ok().profile[0]["quota"]["used"] == used + 4, "each is counted once"
    stranger = client.as_user("pls_" + "0" * 38)
    assert (await stranger.request("POST", "/mcp", json=chat, headers=headers)).http == 401


@pytest.mark.parametrize("entry", range(3))
async def test_gateway_routes_are_served_through_each_node(entries: Entries, unique: str, entry: int):
    user = await entries.user_on(1, unique)
    client, others = user.through[entry], user.through[(entry + 1) % 3]
    document = {"name": "Long", "content": "A long text. " * 30_000, "metadata": {"a": 1}}
    accepted = await client.request("POST", "/api/documents", json=document)
    assert accepted.http == 202
    assert (await others.request("GET", f"/api/documents/{accepted.body['id']}")).body["size"] == 390_000
    keyed = {"Idempotency-Key": unique}
    made = await client.request("POST", "/api/api-keys", json={"name": "one"}, headers=keyed)
    again = await others.request("POST", "/api/api-keys", json={"name": "one"}, headers=keyed)
    assert (made.http, again.http, again.headers["Idempotency-Replayed"]) == (201, 201, "true")
    assert made.body == again.body
    path = f"/api/api-keys/{made.body['id']}"
    assert (await others.request("DELETE", path)).http == 204
    assert (await client.request("DELETE", path)).http == 404
    form = aiohttp.FormData()
    packed = zipped(("skill-one/SKILL.md", named("skill-one")), method=zipfile.ZIP_STORED)
    form.add_field("file", packed, filename="skill.zip", content_type="application/zip")
    installed = await client.request("POST", "/api/skills/install", data=form)
    assert (installed.http, installed.body["name"]) == (201, "skill-one")
    assert [skill["name"] for skill in (await others.request("GET", "/api/skills")).body["skills"]] == ["skill-one"]
    wrong = await client.request("POST", "/api/api-keys", data=b"[", headers=JSON)
    assert wrong.refused(1000, 400).http == 400
    wrong = await client.request("GET", "/api/webhooks/deliveries?limit=0")
    assert wrong.refused(1003, 400).http == 400


async def test_a_revoked_key_is_refused_by_every_node_from_the_answer_on(entries: Entries, unique: str):
    user = await entries.user_on(2, unique)
    for revoking in range(3):
        made = await user.through[revoking].request("POST", "/api/api-keys", json={"name": unique})
        keyed = [client.as_user(made.body["key"]) for client in entries.clients]
        for client in keyed:
            (await client.command("US_Read")).ok()
        gone = await user.through[revoking].request("DELETE", f"/api/api-keys/{made.body['id']}")
        assert gone.http == 204
        for client in keyed:
            (await client.command("US_Read")).refused(2001, 401)
            assert (await client.request("GET", "/api/skills")).http == 401


async def test_an_unknown_token_is_refused_where_it_arrives(entries: Entries):
    for client in entries.clients:
        (await client.command("US_Read")).refused(2000, 401)
        (await client.as_user("pls_typed").command("US_Read")).refused(2001, 401)


async def test_a_body_that_is_too_large_is_refused_where_it_arrives(entries: Entries, unique: str):
    user = await entries.user_on(1, unique)
    for client in user.through:
        long = orjson.dumps({"service": "AP_Chat", "content": "x" * 1_100_000})
        for path in (BUS, "/api/documents"):
            refused = await client.request("POST", path, data=BytesIO(long), headers=JSON)
            assert refused.refused(1004, 413).http == (400 if path == BUS else 413)
        (await client.command("AP_Chat", content="x" * 40_000)).refused(1003, 400)


async def test_a_sandbox_key_is_issued_through_each_node(entries: Entries):
    for client in entries.clients:
        issued = await client.request("POST", "/api/dev/sandbox-key")
        assert issued.http == 201
        for other in entries.clients:
            (await other.as_user(issued.body["key"]).command("US_Read")).ok()


async def test_the_daily_limit_is_exact_over_all_nodes(entries: Entries):
    issued = await entries.clients[0].request("POST", "/api/dev/sandbox-key")
    clients = [client.as_user(issued.body["key"]) for client in entries.clients]
    answers = await asyncio.gather(*(clients[number % 3].command("US_Read") for number in range(120)))
    assert sum(answer.code == 0 for answer in answers) == 100
    assert {answer.code for answer in answers} == {0, 4000}
    left = [int(answer.headers["RateLimit"].split("r=")[1].split(";")[0]) for answer in answers if answer.code == 0]
    assert sorted(left) == list(range(100))


async def test_services_that_are_not_routed_are_refused_as_on_one_node(entries: Entries, unique: str):
    user = await entries.user_on(1, unique)
    for client in user.through:
        for service in ("COMMAND", "DEFAULT"):
            (await client.command(service)).refused(1005, 400)
            (await client.command(service, target=1)).refused(1003, 400)


async def test_a_refusal_beyond_the_quota_has_its_headers_on_each_node(entries: Entries, unique: str):
    user = await entries.user_on(1, unique)
    assert (await set_plan(user.through[0], user.name, "enterprise", limit=1)).http == 200
    (await user.through[0].command("US_Read")).ok()
    ping, accept = {"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"Accept": "application/json, text/event-stream"}
    for client in user.through:
        over_mcp = await client.request("POST", "/mcp", json=ping, headers=accept)
        for answer in (await client.command("US_Read"), over_mcp):
            answer.refused(4000, 429)
            assert answer.headers["RateLimit-Policy"] == '"day";q=1;w=86400'
            assert int(answer.headers["Retry-After"]) > 0
