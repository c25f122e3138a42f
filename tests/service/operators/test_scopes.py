"""What scopes let an API key do: by service, route and entity (docs/contract.md, "Scopes of API keys")."""

import re
from typing import Any

import pytest

from actors.commands.table import COMMANDS
from actors.commands.table import GROUPS as GROUP_WORDS
from routes.gateway.table import ROUTES
from tests.support.gateway import Answer, Client
from tests.support.operator import Cast

NOT_FOR = "This API key"
MEMBERS = [command for command in COMMANDS.values() if not command.public]
GROUPS = sorted({command.service.partition("_")[0] for command in MEMBERS})
CALLS = {command.service: command for command in MEMBERS}


async def key_of(user: Client, limit: int | None = None, **scopes: Any) -> Client:
    """Make a key with these scopes."""
    body = {"name": "scoped", "scopes": scopes} | ({} if limit is None else {"limit": limit})
    made = await user.request("POST", "/api/api-keys", json=body)
    assert made.http == 201, made.body
    return user.as_user(made.body["key"], user.name)


def is_out(answer: Answer) -> bool:
    """Whether a request was refused because of the key's scopes."""
    if answer.http == 200 and not isinstance(answer.body, dict):
        return False
    status: dict[str, Any] = answer.body.get("status") or {}
    refused = status.get("internal_code") == 2003 and status["note"].startswith(NOT_FOR)
    assert not refused or status["http_code"] == 403
    return refused


async def sent(key: Client, service: str, **body: Any) -> Answer:
    """Send a command by its alias; ends a stream at once."""
    command = CALLS[service]
    if command.follow is None:
        return await key.alias(command.alias, **body)
    async with key.http.post(key.base + "/demo/v1/Svc/tps" + command.alias, json=body, headers=key.headers()) as opened:
        ended = opened.status == 200
        return Answer(opened.status, opened.headers, {} if ended else await opened.json())


# services


@pytest.mark.parametrize("group", GROUPS)
async def test_a_group_of_services_lets_in_its_own_and_no_other(cast: Cast, group: str):
    key = await key_of(cast.user, services=[f"{group}_*"])
    for command in MEMBERS:
        if command.service != "US_LogOff":
            answer = await sent(
                key, command.service, target={"agent": "no-such-agent", "domain": "none", "bank": "none"}
            )
            assert is_out(answer) == (not command.service.startswith(f"{group}_")), (command.service, answer.body)


async def test_single_services_by_the_bus_its_aliases_and_mcp(cast: Cast):
    key = await key_of(cast.user, services=["AP_List", "MB_List"])
    nothing = await key_of(cast.user, services=[])
    for service, allowed in (("AP_List", True), ("MB_List", True), ("AP_Read", False), ("US_Read", False)):
        for sender in (key, nothing):
            expected = allowed and sender is key
            assert is_out(await sender.command(service)) == (not expected)
            assert is_out(await sender.alias(CALLS[service].alias)) == (not expected)
            called = {"method": "tools/call", "params": {"name": service, "arguments": {}}}
            answer = await sender.request("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, **called}, headers=MCP)
            assert answer.body["result"]["isError"] == (not expected), answer.body
    (await key.command("AP_Read", target={"agent": cast.agent})).refused(2003, 403)


MCP = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("scopes", [{"services": ["AP_*", "MB_Recall"]}, {"services": []}, {"read_only": True}])
async def test_mcp_lists_the_tools_that_a_key_may_call(cast: Cast, scopes: dict[str, Any]):
    key, at = await key_of(cast.user, **scopes), f"/mcp?groups={','.join(GROUP_WORDS)}"

    async def asked(client: Client, method: str, **params: Any) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return (await client.request("POST", at, json=message, headers=MCP)).body["result"]

    every = {tool["name"] for tool in (await asked(cast.user, "tools/list"))["tools"]}
    listed = {tool["name"] for tool in (await asked(key, "tools/list"))["tools"]}
    for service in every - {"US_LogOff", "US_Create", "US_LogOn"}:
        result = await asked(key, "tools/call", name=service, arguments={"target": {}})
        is_refused = NOT_FOR in result["structuredContent"]["status"].get("note", "")
        assert is_refused == (service not in listed), service
    assert {"US_Create", "US_LogOn"} <= listed


async def test_a_key_that_only_reads(cast: Cast):
    key = await key_of(cast.user, read_only=True)
    for command in MEMBERS:
        answer = await sent(key, command.service, target={"agent": "none", "domain": "none", "bank": "none"})
        assert is_out(answer) == (command.mutates and not command.may_only_read), (command.service, answer.body)
    assert (await key.request("GET", "/api/webhooks/endpoints")).http == 200
    for method, path, body in (
        ("POST", "/api/webhooks/test", {"event_type": "webhook.test", "data": {}}),
        ("POST", "/v1/chat/completions", {"model": cast.agent, "messages": [{"role": "user", "content": "Hi"}]}),
        ("DELETE", "/api/api-keys/key_00", None),
    ):
        assert (await key.request(method, path, json=body)).http == 403
    assert (await key.request("GET", "/v1/models")).http == 200


async def test_a_key_that_only_reads_reads_permissions_and_sets_none(scene: "Scene"):
    key, target = await key_of(scene.user, read_only=True), {"bank": scene.banks[0], "agent": scene.agents[1]}
    read = (await key.command("MB_Permissions", target=target)).ok()
    assert [row["agent"] for row in read.content] == [scene.agents[0]]
    for vx in ({"permission": "read"}, {"access": "public"}):
        assert is_out(await key.command("MB_Permissions", target=target, vx=vx))
    assert (await scene.user.command("MB_AgentList", target={"bank": scene.banks[0]})).ok().content == read.content


async def test_a_key_that_only_reads_reads_by_both_bindings_of_a2a(cast: Cast):
    key, path, version = await key_of(cast.user, read_only=True), f"/a2a/{cast.agent}", {"A2A-Version": "1.0"}
    message = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}}
    for method, params, is_refused in (
        ("ListTasks", {}, False),
        ("GetExtendedAgentCard", {}, False),
        ("GetTask", {"id": "run_none"}, False),
        ("SendMessage", message, True),
        ("SendStreamingMessage", message, True),
        ("CancelTask", {"id": "run_none"}, True),
    ):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await key.request("POST", path, json=body, headers=version)
        assert answer.http == (403 if is_refused else 200), answer.body
    assert (await key.request("GET", f"{path}/tasks", headers=version)).body["totalSize"] == 0
    assert (await key.request("POST", f"{path}/message:send", json=message, headers=version)).http == 403
    other = await key_of(cast.user, services=["AP_List"], read_only=True)
    body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks"}
    assert (await other.request("POST", path, json=body, headers=version)).http == 403


# routes

OF_MEMBERS = [route for route in ROUTES if route.entrance == "member"]


def path_of(path: str) -> str:
    return re.sub(r"{\w+}", "none-1", path)


async def test_no_list_of_services_opens_a_gateway_route(cast: Cast):
    key = await key_of(cast.user, services=[f"{group}_*" for group in GROUPS])
    for route in OF_MEMBERS:
        answer = await key.request(route.method, path_of(route.path), json=route.example)
        if route.counts_as:
            assert answer.http != 403, (route.name, answer.body)
        else:
            assert answer.refused(2003, 403).note.endswith("take a key without scopes.services.")


async def test_doors_count_as_services(cast: Cast):
    key = await key_of(cast.user, services=["US_Read"])
    for route in ROUTES:
        if route.counts_as:
            answer = await key.request(route.method, path_of(route.path), json=route.example)
            if route.entrance == "member":
                assert answer.http == 403, (route.name, answer.body)
    named = {route.name: route.counts_as for route in ROUTES if route.counts_as}
    assert set(named.values()) == {"AP_Chat", "AP_List", "AP_Read"}
    assert (named["listModels"], named["retrieveModel"], named["readRun"]) == ("AP_List", "AP_Read", "AP_Chat")
    chat, listing = await key_of(cast.user, services=["AP_Chat"]), await key_of(cast.user, services=["AP_List"])
    body = {"model": cast.agent, "messages": [{"role": "user", "content": "Hello"}]}
    assert (await chat.request("POST", "/v1/chat/completions", json=body)).http == 200
    assert (await listing.request("POST", "/v1/chat/completions", json=body)).http == 403
    assert (await chat.request("GET", "/v1/models")).http == 403
    assert (await listing.request("GET", "/v1/models")).http == 200


# entities


class Scene:
    """Two agents, banks and domains of a user, and a key for the first of each."""

    def __init__(self, user: Client, unique: str) -> None:
        self.user = user
        self.agents, self.banks, self.domains = (
            [f"{unique}-{number}-{kind}" for number in (1, 2)] for kind in ("agent", "bank", "domain")
        )

    async def build(self) -> None:
        for agent, bank, domain in zip(self.agents, self.banks, self.domains, strict=True):
            await self.user.agent(agent)
            memory = {"name": "animal", "description": f"The animal of the bank is the {bank} zebra."}
            (await self.user.command("MB_Create", target={"agent": agent}, vx={"name": bank})).ok()
            (await self.user.command("MB_Load", target={"agent": agent, "bank": bank}, vx=memory)).ok()
            founded = {"name": domain, "description": "d"}
            (await self.user.command("DM_Create", target={"agent": agent}, vx=founded)).ok()


@pytest.fixture
async def scene(cast: Cast, unique: str) -> Scene:
    made = Scene(cast.user, f"{unique}-s")
    await made.build()
    return made


VX = {"name": "thing", "description": "d", "seq": 1, "permission": "read"}

OF_DOMAINS = ("DM_Destroy", "DM_Read", "DM_Select", "DM_Update")
"""Commands of a domain that take the name of an agent without using it."""

OF_AGENTS = sorted(command.service for command in MEMBERS if "target.agent" in command.uses)


async def test_a_key_for_an_agent_reaches_no_other(scene: Scene):
    mine, other = scene.agents
    key = await key_of(scene.user, agents=[mine])
    for service in OF_AGENTS:
        if service in ("AP_List", *OF_DOMAINS):
            continue
        places = {"domain": scene.domains[1], "bank": scene.banks[1]}
        body: dict[str, Any] = {"content": "Hello", "vx": VX}
        answer = await sent(key, service, target={"agent": other, **places}, **body)
        if service.startswith("CV_") and "target.conversation" in CALLS[service].uses:
            answer = await sent(key, service, target={"agent": other, "conversation": "default"}, **body)
        assert is_out(answer) or answer.code == 1002, (service, answer.body)
    (await key.command("AP_Chat", target={"agent": mine}, content="Hello")).ok()
    (await key.command("AP_Select", target={"agent": mine})).ok()
    (await key.command("AP_Chat", content="Hello")).ok()
    assert [row["name"] for row in (await key.command("AP_List")).ok().profile] == [mine]
    models = (await key.request("GET", "/v1/models")).body["data"]
    assert [model["id"] for model in models] == [mine, f"{mine}:once"]
    assert is_out(await key.command("AP_Create", vx={"name": f"{mine}-new", "description": "d"}))
    (await scene.user.command("AP_Chat", target={"agent": other}, content="Hello")).ok()
    run = (await scene.user.command("AP_Chat", target={"agent": other}, content="Hello")).headers["X-Run-Id"]
    assert is_out(await key.request("GET", f"/api/runs/{run}"))
    (conversation,) = [row["id"] for row in (await scene.user.command("CV_List")).ok().profile if row["agent"] == other]
    assert is_out(await key.command("AP_History", target={"conversation": conversation}))
    assert {row["agent"] for row in (await key.command("CV_List")).ok().profile} == {mine}
    found = (await key.command("CV_Search", content="Hello")).ok().content
    assert conversation not in {message["conversation"] for message in found}
    assert found


async def test_a_key_for_a_bank_reaches_no_other_not_even_in_chat(scene: Scene):
    mine, other = scene.banks
    key = await key_of(scene.user, banks=[mine])
    for command in MEMBERS:
        if "target.bank" in command.uses and command.service not in ("MB_List", "MB_Create"):
            vx = {"name": "thing", "description": "d", "permission": "read"}
            target = {"bank": other, "agent": scene.agents[0]}
            answer = await sent(key, command.service, target=target, content="zebra", vx=vx)
            assert is_out(answer), (command.service, answer.body)
    (await key.command("MB_Recall", target={"bank": mine}, content="zebra")).ok()
    assert [row["name"] for row in (await key.command("MB_List")).ok().profile] == [mine]
    target = {"agent": scene.agents[0], "bank": "new-bank-1"}
    assert is_out(await key.command("MB_Create", target=target))
    asked: dict[str, Any] = {"content": "What is the animal of the bank?"}
    quoted = (await key.command("AP_Chat", target={"agent": scene.agents[0]}, **asked)).ok().content[1]
    assert quoted["sources"]
    silent = (await key.command("AP_Chat", target={"agent": scene.agents[1]}, **asked)).ok().content[1]
    assert not silent["sources"], silent
    assert (
        "zebra"
        in (await scene.user.command("AP_Chat", target={"agent": scene.agents[1]}, **asked)).content[1]["content"]
    )
    read = [(await key.command("AP_Read", target={"agent": agent})).ok().content[0]["banks"] for agent in scene.agents]
    assert read == [[mine], []]
    listed = {"jsonrpc": "2.0", "id": 1, "method": "resources/list"}
    shown = (await key.request("POST", "/mcp", json=listed, headers=MCP)).body["result"]["resources"]
    assert [row["uri"] for row in shown if "/bank/" in row["uri"]] == [f"parley://bank/{mine}"]
    for bank, refused in ((mine, False), (other, True)):
        asked_for = {"method": "resources/read", "params": {"uri": f"parley://bank/{bank}"}}
        answer = await key.request("POST", "/mcp", json={"jsonrpc": "2.0", "id": 1, **asked_for}, headers=MCP)
        assert ("error" in answer.body) is refused, answer.body


async def test_a_key_for_a_domain_reaches_no_other(scene: Scene):
    mine, other = scene.domains
    key = await key_of(scene.user, domains=[mine])
    for command in MEMBERS:
        if "target.domain" in command.uses and command.service != "DM_List":
            target = {"domain": other, "agent": scene.agents[1]}
            answer = await sent(
                key, command.service, target=target, content="Hello", vx={"name": "thing", "description": "d"}
            )
            assert is_out(answer), (command.service, answer.body)
    (await key.command("ZN_Post", target={"domain": mine}, content="Hello")).ok()
    (await key.command("DM_Select", target={"domain": mine})).ok()
    (await key.command("AP_Chat", target={"agent": scene.agents[0]}, content="Hello")).ok()
    assert [row["name"] for row in (await key.command("DM_List")).ok().profile] == [mine]
    assert is_out(
        await key.command("DM_Create", target={"agent": scene.agents[0]}, vx={"name": f"{mine}-x", "description": "d"})
    )
    read = [
        (await key.command("AP_Read", target={"agent": agent})).ok().content[0]["domains"] for agent in scene.agents
    ]
    assert read == [[mine], []]


async def test_a_key_for_a_domain_ends_no_other_by_destroying_its_founder(scene: Scene):
    mine, other = scene.domains
    key = await key_of(scene.user, domains=[mine])
    assert is_out(await key.command("AP_Destroy", target={"agent": scene.agents[1]}))
    (await scene.user.command("DM_Read", target={"domain": other})).ok()
    (await key.command("AP_Destroy", target={"agent": scene.agents[0]})).ok()
    (await scene.user.command("DM_Read", target={"domain": mine})).refused(3000, 404)


async def names_in_pages(key: Client, service: str, member: str) -> list[str]:
    """Page through a list one by one; every page has an entry."""
    names: list[str] = []
    page: dict[str, Any] = {"limit": 1}
    while True:
        answer = (await key.command(service, page=page)).ok()
        names += [record[member] for record in answer.profile]
        assert len(answer.profile) == 1
        if answer.body["header"]["next"] is None:
            return names
        page["cursor"] = answer.body["header"]["next"]


async def test_pages_of_lists_are_full_whatever_the_key_may_not_see(cast: Cast, unique: str):
    user, seen = cast.user, [1, 4, 5]
    names = {kind: [f"{unique}-{number}-{kind}" for number in range(9)] for kind in ("agents", "banks", "domains")}
    for agent, bank, domain in zip(*names.values(), strict=True):
        await user.agent(agent)
        (await user.command("MB_Create", vx={"name": bank})).ok()
        (await user.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
        (await user.command("AP_Chat", target={"agent": agent, "conversation": "default"}, content="A zebra")).ok()
    for kind, service in (("agents", "AP_List"), ("banks", "MB_List"), ("domains", "DM_List"), ("agents", "CV_List")):
        allowed = [names[kind][number] for number in seen]
        scopes: dict[str, Any] = {kind: allowed}
        key = await key_of(user, **scopes)
        found = await names_in_pages(key, service, "agent" if service == "CV_List" else "name")
        assert found == (allowed[::-1] if service == "CV_List" else allowed)
    key = await key_of(user, agents=names["agents"][:2])
    found = (await key.command("CV_Search", content="zebra", page={"limit": 2})).ok().content
    assert len(found) == 2
    listed = {record["id"] for record in (await key.command("CV_List")).ok().profile}
    assert {message["conversation"] for message in found} == listed


async def test_empty_lists_allow_nothing(scene: Scene):
    target = {"agent": scene.agents[0], "bank": scene.banks[0], "domain": scene.domains[0]}
    for kind, service in (("agents", "AP_Read"), ("banks", "MB_Read"), ("domains", "DM_Read")):
        empty: dict[str, Any] = {kind: []}
        key = await key_of(scene.user, **empty)
        refused = await key.command(service, target=target)
        assert is_out(refused)
        assert f"the {kind[:-1]} that this concerns" in refused.note
        (await key.command("US_Read")).ok()
        made = await key.command(service.replace("Read", "Create"), vx={"name": "another-one", "description": "d"})
        assert is_out(made)
        assert made.note.endswith(f"take a key without scopes.{kind}.")


async def test_names_are_those_of_the_making_of_the_key(scene: Scene):
    mine, other = scene.agents
    key = await key_of(scene.user, agents=[mine])
    (await scene.user.command("AP_Modify", target={"agent": mine}, vx={"name": f"{mine}-renamed"})).ok()
    (await scene.user.command("AP_Modify", target={"agent": other}, vx={"name": mine})).ok()
    assert is_out(await key.command("AP_Read", target={"agent": mine}))
    (await key.command("AP_Read", target={"agent": f"{mine}-renamed"})).ok()
    (await scene.user.command("AP_Destroy", target={"agent": f"{mine}-renamed"})).ok()
    await scene.user.agent(f"{mine}-renamed")
    assert is_out(await key.command("AP_Read", target={"agent": f"{mine}-renamed"}))


# making keys


async def test_scopes_are_checked_when_the_key_is_made(cast: Cast):
    async def refused(code: int, http: int, **body: Any) -> None:
        (await cast.user.request("POST", "/api/api-keys", json={"name": "a key", **body})).refused(code, http)

    for scopes in (
        {"services": ["AP_Caht"]},
        {"services": ["*"]},
        {"services": ["XX_*"]},
        {"services": "AP_Chat"},
        {"agent": [cast.agent]},
        {"read_only": "yes"},
        {"limit": 5},
    ):
        await refused(1003, 400, scopes=scopes)
    for kind in ("agents", "banks", "domains"):
        await refused(3000, 404, scopes={kind: ["no-such-thing"]})
    hidden = f"{cast.agent}-hidden"
    await cast.target.agent(hidden)
    await refused(3000, 404, scopes={"agents": [hidden]})
    for limit in (0, -1, 1.5, "5", True):
        await refused(1003, 400, limit=limit)


async def test_a_key_is_listed_with_its_scopes_as_given(cast: Cast):
    scopes = {"services": ["AP_*", "MB_Recall"], "agents": [cast.agent.upper()], "read_only": True}
    body = {"name": "scoped", "scopes": scopes, "limit": 7}
    made = (await cast.user.request("POST", "/api/api-keys", json=body)).body
    plain = (await cast.user.request("POST", "/api/api-keys", json={"name": "plain"})).body
    shown = scopes | {"banks": None, "domains": None, "admin": False}
    assert (made["scopes"], made["limit"]) == (shown, 7)
    assert not {"scopes", "limit"} & plain.keys()
    listed = {key["id"]: key for key in (await cast.user.request("GET", "/api/api-keys")).body["api_keys"]}
    assert (listed[made["id"]]["scopes"], listed[made["id"]]["limit"]) == (shown, 7)
    assert not {"scopes", "limit"} & listed[plain["id"]].keys()


# operators' keys, and a limit of a key's own


async def test_an_operator_s_key_opens_its_routes_with_admin_alone(cast: Cast):
    users, stop = "/api/admin/users?limit=1", f"/api/admin/agents/{cast.agent}/stop"
    admin = await key_of(cast.operator, admin=True)
    assert (await admin.request("GET", users)).http == 200
    assert (await admin.request("POST", stop)).http == 200
    reading = await key_of(cast.operator, admin=True, read_only=True)
    assert (await reading.request("GET", users)).http == 200
    (await reading.request("POST", stop)).refused(2003, 403)
    auditor = await key_of(cast.auditor, admin=True)
    assert (await auditor.request("GET", users)).http == 200
    (await auditor.request("POST", stop)).refused(2003, 403)
    for key in (
        await key_of(cast.operator),
        await key_of(cast.operator, admin=True, services=["AP_*"]),
        await key_of(cast.user, admin=True),
    ):
        for method, path in (("GET", users), ("POST", stop), ("GET", "/debug/actors")):
            (await key.request(method, path)).refused(2003, 403)


async def test_an_operator_s_key_for_an_agent_stops_no_other(cast: Cast, unique: str):
    await cast.operator.agent(f"{unique}-own")
    key = await key_of(cast.operator, admin=True, agents=[f"{unique}-own"])
    for act in ("stop", "start"):
        assert is_out(await key.request("POST", f"/api/admin/agents/{cast.agent}/{act}"))
        assert (await key.request("POST", f"/api/admin/agents/{unique}-own/{act}")).http == 200


async def test_a_key_has_a_limit_of_its_own_beside_its_user_s(cast: Cast):
    limited = await key_of(cast.user, limit=3)
    before = (await cast.user.command("US_Read")).ok().profile[0]["quota"]["used"]
    for left in (2, 1, 0):
        answer = (await limited.command("AP_List")).ok()
        assert answer.headers["RateLimit-Policy"] == '"day";q=3;w=86400'
        assert answer.headers["RateLimit"].startswith(f'"day";r={left};')
    refused = (await limited.command("AP_List")).refused(4000, 429)
    assert int(refused.headers["Retry-After"]) > 0
    assert (await limited.request("GET", "/api/skills")).http == 429
    assert (await cast.user.command("US_Read")).ok().profile[0]["quota"]["used"] == before + 4


async def test_a_key_with_scopes_is_bound_by_its_user_s_quota_too(cast: Cast, operator: Client):
    reads, limited = await key_of(cast.user, read_only=True), await key_of(cast.user, limit=2)
    used = (await cast.user.command("US_Read")).ok().profile[0]["quota"]["used"]
    plan = {"plan": "enterprise", "limit": used + 2}
    path = f"/api/admin/users/{cast.user.name}/plan"
    assert (await operator.request("PUT", path, json=plan)).http == 200
    for key, left in ((reads, 1), (limited, 0)):
        answer = (await key.command("AP_List")).ok()  # the key's own limit of 2 has more left
        assert answer.headers["RateLimit"].startswith(f'"day";r={left};')
        assert answer.headers["RateLimit-Policy"] == f'"day";q={used + 2};w=86400'
    for _ in range(3):
        for key in (reads, limited):
            answer = await key.command("AP_List")
            assert answer.refused(4000, 429).headers["RateLimit-Policy"] == f'"day";q={used + 2};w=86400'
    assert (await operator.request("PUT", path, json=plan | {"limit": used + 10})).http == 200
    answer = (await limited.command("AP_List")).ok()  # what its user's quota refused is not counted for the key
    assert answer.headers["RateLimit"].startswith('"day";r=0;')
    assert answer.headers["RateLimit-Policy"] == '"day";q=2;w=86400'
