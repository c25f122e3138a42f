"""Agent cards and the catalog, read by the official client's resolver from the running gateway."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import A2ACardResolver
from a2a.client.errors import AgentCardResolutionError

from tests.support.gateway import Client, running
from tests.support.operator import on_plan


async def test_the_official_client_reads_a_public_agent_s_card_without_a_credential(user: Client, unique: str):
    await user.agent(f"{unique}-agent", access="public", profile="Be brief.")
    base = f"{user.base}/a2a/{unique}-agent"
    async with httpx.AsyncClient() as http:
        card = await A2ACardResolver(http, base).get_agent_card()
    assert card.name == f"{unique}-agent"
    assert [(one.url, one.protocol_binding) for one in card.supported_interfaces] == [
        (base, "JSONRPC"),
        (base, "HTTP+JSON"),
    ]
    assert card.provider.organization == user.name
    assert "Be brief." not in str(card)


async def test_other_agents_cards_are_for_whoever_may_see_them(user: Client, sanic_client: Client, unique: str):
    await user.agent(f"{unique}-agent")
    path = f"/a2a/{unique}-agent/.well-known/agent-card.json"
    stranger = await sanic_client.register(f"{unique}-stranger")
    seen = await user.request("GET", path)
    assert (seen.http, seen.body["name"]) == (200, f"{unique}-agent")
    assert seen.headers["Cache-Control"].startswith("private, max-age=")
    for other in (stranger, sanic_client):
        hidden = await other.request("GET", path)
        assert (hidden.http, hidden.body["error"]["details"][0]["reason"]) == (404, "AGENT_NOT_FOUND")
    assert hidden.body == (await sanic_client.request("GET", path.replace("agent/", "nobody/"))).body
    async with httpx.AsyncClient() as http:
        with pytest.raises(AgentCardResolutionError) as refused:
            await A2ACardResolver(http, f"{user.base}/a2a/{unique}-agent").get_agent_card()
    assert refused.value.status_code == 404


async def test_a_refused_credential_is_refused_for_public_cards_too(user: Client, sanic_client: Client, unique: str):
    await user.agent(f"{unique}-agent", access="public")
    wrong = await sanic_client.as_user("pls_wrong").request("GET", f"/a2a/{unique}-agent/.well-known/agent-card.json")
    assert (wrong.http, wrong.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert wrong.body["error"]["status"] == "UNAUTHENTICATED"


async def test_a_key_that_may_not_read_agents_sees_public_cards_as_anybody_does(user: Client, unique: str):
    await on_plan(user, "builder")
    await user.agent(f"{unique}-agent", access="public")
    path = f"/a2a/{unique}-agent/.well-known/agent-card.json"
    for scopes in ({"services": ["AP_Chat"]}, {"agents": []}):
        made = await user.request("POST", "/api/api-keys", json={"name": f"{unique}-key", "scopes": scopes})
        key = user.as_user(made.body["key"])
        (await user.command("AP_Modify", target={"agent": f"{unique}-agent"}, vx={"access": "public"})).ok()
        assert (await key.request("GET", path)).body == (await user.as_user().request("GET", path)).body
        (await user.command("AP_Modify", target={"agent": f"{unique}-agent"}, vx={"access": "agent"})).ok()
        hidden = await key.request("GET", path)
        assert (hidden.http, hidden.body["error"]["details"][0]["metadata"]) == (403, {"internalCode": "2003"})


async def test_a_card_that_the_client_has_is_not_sent_again(user: Client, sanic_client: Client, unique: str):
    await user.agent(f"{unique}-agent", access="public")
    path = f"/a2a/{unique}-agent/.well-known/agent-card.json"
    first = await sanic_client.request("GET", path)
    assert first.headers["Cache-Control"] == "public, max-age=60"
    again = await sanic_client.request("GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.http, again.body, again.headers["ETag"]) == (304, "", first.headers["ETag"])
    (await user.command("AP_Modify", target={"agent": f"{unique}-agent"}, vx={"description": "Else."})).ok()
    changed = await sanic_client.request("GET", path, headers={"If-None-Match": first.headers["ETag"]})
    assert (changed.http, changed.body["description"]) == (200, "Else.")
    assert changed.headers["ETag"] != first.headers["ETag"]
    assert changed.body["version"] > first.body["version"]


async def test_the_catalog_lists_public_agents_by_name_in_pages(user: Client, sanic_client: Client, unique: str):
    for name, access in (("c", "public"), ("A", "public"), ("b", "public"), ("d", "agent")):
        await user.agent(f"{unique}-{name}", access=access, select=False)
    found: list[str] = []
    token = f"{unique}-"
    while token:
        page = (await sanic_client.request("GET", f"/a2a/agents?pageSize=2&pageToken={token}")).body
        found += [card["name"] for card in page["agents"]]
        token = page["nextPageToken"]
    assert [name for name in found if name.startswith(f"{unique}-")] == [f"{unique}-{name}" for name in "Abc"]
    (await user.command("AP_Destroy", target={"agent": f"{unique}-b"})).ok()
    page = (await sanic_client.request("GET", f"/a2a/agents?pageSize=2&pageToken={unique}-")).body
    assert [card["name"] for card in page["agents"]] == [f"{unique}-A", f"{unique}-c"]
    for size in ("0", "1_0"):
        wrong = await sanic_client.request("GET", f"/a2a/agents?pageSize={size}")
        assert (wrong.http, wrong.body["error"]["details"][0]["reason"]) == (400, "INVALID_PARAMS")


async def test_unknown_paths_are_refused_in_the_protocol_s_shape(sanic_client: Client):
    unknown = await sanic_client.request("GET", "/a2a/scout/nothing/here")
    assert (unknown.http, unknown.body["error"]["details"][0]["reason"]) == (404, "METHOD_NOT_FOUND")


async def test_cards_name_the_public_address_and_an_agent_named_as_the_catalog_is_reached(tmp_path: Path):
    settings: dict[str, Any] = {"PARLEY_PUBLIC_URL": "https://parley.example/gateway"}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await user.agent("agents", access="public")
        [card] = (await client.request("GET", "/a2a/agents")).body["agents"]
        urls = {one["url"] for one in card["supportedInterfaces"]}
        assert urls == {"https://parley.example/gateway/a2a/Agents"}
        assert (await client.request("GET", "/a2a/Agents/.well-known/agent-card.json")).body == card
        body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
        answer = await user.request("POST", "/a2a/Agents", json=body, headers={"A2A-Version": "1.0"})
        assert answer.body["result"]["totalSize"] == 0
        for path in ("/a2a/agents", "/a2a/agents/"):
            answer = await user.request("POST", path, json=body, headers={"A2A-Version": "1.0"})
            assert answer.body["result"]["totalSize"] == 0
            assert (await user.request("GET", path)).body["agents"] == [card]
            refused = await user.request("DELETE", path)
            assert (refused.http, refused.headers["Allow"]) == (405, "GET, HEAD, POST")
        listed = await user.request("GET", "/a2a/agents/tasks", headers={"A2A-Version": "1.0"})
        assert listed.body["totalSize"] == 0
