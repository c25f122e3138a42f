"""Health, OpenAPI, docs, metrics, the billing hook and live actors (docs/contract.md, "Gateway routes")."""

import asyncio
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import BUS, INTERNAL_SECRET, Client, GatewayProcess, running
from tests.support.operator import SECRET, live_actor, set_plan
from tests.support.stored import contents, read

OPEN = ("/api/health", "/api/tps/openapi.json", "/api/tps/openapi.yaml", "/docs", "/metrics")


# health


async def test_health_tells_that_storage_is_writable_and_what_runs(user: Client):
    actors = 0
    for node in user.nodes:  # each answers for itself
        answer = await Client(user.http, node).request("GET", "/api/health")
        assert answer.http == 200
        assert answer.body.keys() == {"status", "version", "uptime_s", "storage", "actors"}
        assert (answer.body["status"], answer.body["storage"]) == ("ok", "ok")
        assert answer.body["uptime_s"] > 0
        assert answer.headers["X-Request-Id"]
        actors += answer.body["actors"]
    assert actors >= 1  # the user, at least


@pytest.mark.parametrize("path", OPEN)
async def test_open_routes_need_no_credential_and_mind_no_wrong_one(sanic_client: Client, path: str):
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        assert (await sanic_client.request("GET", path, headers=headers)).http == 200


async def test_gateway_routes_echo_the_request_id_or_make_one(sanic_client: Client):
    for path in (*OPEN, "/docs/assets/page.js", "/docs/assets/none.js", "/debug/actors", "/no/such/route"):
        answer = await sanic_client.request("GET", path, headers={"X-Request-Id": "my-request"} | SECRET)
        assert answer.headers["X-Request-Id"] == "my-request", path
        assert len((await sanic_client.request("GET", path)).headers["X-Request-Id"]) == 36, path


async def test_no_cache_may_store_what_a_caller_is_answered(user: Client, unique: str):
    await user.agent(f"{unique}-agent", access="public")
    await set_plan(user, user.name, "scale")
    made = await user.request("POST", "/api/api-keys", json={"name": "cached"})
    anyone = Client(user.http, user.base)
    key = {
        "X-Api-Key": made.body["key"],
        "A2A-Version": "1.0",
    }  # Authorization alone would tell a shared cache to keep off
    card = f"/a2a/{unique}-agent/.well-known/agent-card.json"
    for path, http, caching in (
        ("/api/audit", 200, "no-store"),
        ("/api/skills", 200, "no-store"),
        ("/v1/models", 200, "no-store"),
        (f"/a2a/{unique}-agent/tasks", 200, "no-store"),
        ("/api/runs/run_none", 404, "no-store"),
        ("/v1/models/none", 404, "no-store"),
        (card, 200, "public, max-age=60"),
        ("/debug/actors", 403, "no-store"),
    ):
        answer = await anyone.request("GET", path, headers=key)
        assert (answer.http, answer.headers.get("Cache-Control")) == (http, caching), path
    figures = await anyone.request("GET", "/debug/actors", headers=SECRET)
    assert (figures.http, figures.headers.get("Cache-Control")) == (200, "no-store")


async def test_no_answer_has_an_empty_header(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    hook = await user.request("POST", "/api/webhooks/endpoints", json={"url": "https://example.com/hook"})
    events = {"Accept": "text/event-stream"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for method, path, body, headers in (
        *(("GET", path, None, {}) for path in (*OPEN, "/docs/assets/page.js", "/no/such/route")),
        ("POST", f"{BUS}/user/read", {}, {}),
        ("POST", f"{BUS}/agent/chat", {"content": "Hello!"}, events),
        ("POST", "/mcp", ping, {"Accept": "application/json, text/event-stream"}),
        ("DELETE", f"/api/webhooks/endpoints/{hook.body['id']}?hard=true", None, {}),
    ):
        answer = await user.request(method, path, json=body, headers=headers)
        assert [name for name, value in answer.headers.items() if not value] == [], path


# docs


async def test_docs_is_a_page_that_names_no_other_host(sanic_client: Client):
    page = await sanic_client.request("GET", "/docs")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    links = re.findall(r'(?:src|href)="([^"]+)"', page.body)
    assert links
    for link in links:
        assert link.startswith("/")
        async with sanic_client.http.get(sanic_client.base + link) as asset:
            assert asset.status == 200


# metrics


@pytest.mark.one_node(reason="it reads counts of /metrics, which are of one node")
async def test_metrics_count_requests_by_service_and_code_and_live_actors(user: Client):
    async def sample(line: str) -> float:
        answer = await user.request("GET", "/metrics")
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        found = re.search(rf"^{re.escape(line)} (\S+)$", answer.body, re.MULTILINE)
        return float(found[1]) if found else 0.0

    for line, send in (
        ('parley_requests_total{internal_code="0",service="US_Read"}', user.command("US_Read")),
        ('parley_requests_total{internal_code="3003",service="AP_Read"}', user.command("AP_Read")),
        ('parley_requests_total{internal_code="1001",service="unknown"}', user.command("NO_Such")),
        ('parley_request_seconds_count{service="AP_List"}', user.command("AP_List")),
    ):
        before = await sample(line)
        await send
        assert await sample(line) == before + 1, line
    for kind in ("session", "user", "agent"):
        assert await sample(f'parley_actors{{kind="{kind}"}}') >= (kind != "agent")
    assert await sample("process_resident_memory_bytes") > 0


async def test_metrics_have_no_label_that_a_caller_can_make_up(user: Client):
    await user.command("MADE_Up\n{}")
    await user.request("GET", "/made_up")
    assert "made_up" not in (await user.request("GET", "/metrics")).body.lower()


# the billing hook and the internal secret

INTERNAL = [("PUT", "/api/admin/users/nobody/plan"), ("GET", "/debug/actors"), ("GET", "/debug/actors/user/x")]


@pytest.mark.parametrize(("method", "path"), INTERNAL)
async def test_internal_routes_need_the_operator_s_secret(sanic_client: Client, method: str, path: str):
    user, body = sanic_client, {"json": {"plan": "free"}} if method == "PUT" else {}
    assert (await user.request(method, path, **body)).refused(2000, 401).http == 401
    for wrong in ("wrong", INTERNAL_SECRET[:-1], INTERNAL_SECRET + "x", INTERNAL_SECRET.upper(), "é"):
        answer = await user.request(method, path, headers={"X-Internal-Secret": wrong}, **body)
        assert answer.refused(2001, 401).http == 401
    assert (await user.request(method, path, headers=SECRET, **body)).http in (200, 404)


async def test_without_a_configured_secret_internal_routes_are_not_there(tmp_path: Path):
    async with running(tmp_path / "data", INTERNAL_SECRET="") as gateway, gateway.client() as client:
        for method, path in INTERNAL:
            for headers in ({}, SECRET, {"X-Internal-Secret": ""}):
                body = {"json": {"plan": "free"}} if method == "PUT" else {}
                answer = (await client.request(method, path, headers=headers, **body)).refused(1006, 404)
                nowhere = await client.request(method, "/no/such/route", headers=headers, **body)
                assert (answer.http, answer.body) == (404, nowhere.body)


@pytest.mark.parametrize(
    ("plan", "limit"), [("free", 100), ("builder", 10_000), ("scale", 50_000), ("enterprise", None)]
)
async def test_the_billing_hook_puts_a_user_on_a_plan_at_once(user: Client, plan: str, limit: int | None):
    answer = await set_plan(user, user.name.upper(), plan)
    assert answer.http == 200
    assert (answer.body["name"], answer.body["plan"], answer.body["quota"]["limit"]) == (user.name, plan, limit)
    record = (await user.command("US_Read")).ok().profile[0]
    assert (record["plan"], record["quota"]["limit"]) == (plan, limit)


async def test_an_enterprise_user_may_have_a_limit_of_its_own_which_ends_with_the_plan(user: Client):
    for plan, limit, expected in (("enterprise", 123, 123), ("enterprise", None, None), ("builder", None, 10_000)):
        more = {} if limit is None else {"limit": limit}
        assert (await set_plan(user, user.name, plan, **more)).body["quota"]["limit"] == expected


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "plan"),
        ({"plan": "gold"}, "plan"),
        ({"plan": "FREE"}, "plan"),
        ({"plan": 1}, "plan"),
        ({"plan": None}, "plan"),
        ({"plan": " "}, "plan"),
        *(({"plan": plan, "limit": 5}, "limit") for plan in ("free", "builder", "scale")),
        *(({"plan": "enterprise", "limit": limit}, "limit") for limit in (0, -1, 1.5, "5", True, 2**53 + 1, 10**30)),
    ],
    ids=str,
)
async def test_an_invalid_change_of_plan_is_refused_and_changes_nothing(user: Client, body: dict[str, Any], named: str):
    answer = await user.request("PUT", f"/api/admin/users/{user.name}/plan", json=body, headers=SECRET)
    assert answer.refused(1003 if str(body.get("plan") or "").strip() else 1002, 400).http == 400
    assert named in answer.note
    assert (await user.command("US_Read")).ok().profile[0]["plan"] == "free"


@pytest.mark.parametrize("name", ["nobody-at-all", "x" * 300, "%00", "a%2Fb", "%F0%9F%98%80", "..%2f"])
async def test_a_plan_for_an_unknown_user_is_404(user: Client, name: str):
    answer = await set_plan(user, name, "free")
    assert (answer.http, answer.body["status"]["success"]) == (404, False)


# live actors


async def test_live_actors_are_listed_with_their_fields(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        agent = await user.agent("scout")
        (await user.command("AP_Chat", content="Hello")).ok()
        answer = await user.request("GET", "/debug/actors", headers=SECRET)
    assert answer.http == 200
    actors = {(actor["kind"], actor["key"]): actor for actor in answer.body["actors"]}
    assert answer.body["counts"].keys() >= {"session", "user", "agent"}
    assert sum(answer.body["counts"].values()) == len(actors)
    live = actors["agent", agent["id"]]
    fields = {"kind", "key", "name", "life", "mailbox", "handled", "age_s", "idle_s", "incarnation"}
    fields |= {"node"} if gateway.others else set()
    assert live.keys() == fields
    assert (live["name"], live["life"], live["mailbox"]) == (agent["name"], "live", 0)
    assert live["handled"] >= 3
    assert 0 <= live["idle_s"] <= live["age_s"]


async def test_live_actors_are_listed_by_kind_up_to_a_limit(user: Client, unique: str):
    for number in range(3):
        await user.agent(f"{unique}-{number}")
    answer = await user.request("GET", "/debug/actors?kind=agent&limit=2", headers=SECRET)
    assert [actor["kind"] for actor in answer.body["actors"]] == ["agent"] * 2


@pytest.mark.parametrize(
    "limit", ["0", "1001", "-1", "x", "1.5", "", "%20", "9" * 30, "%D9%A1", "1e3", "1_0", "%2010", "10.0", "%2B1"]
)
async def test_a_wrong_limit_of_live_actors_is_refused(user: Client, limit: str):
    answer = await user.request("GET", f"/debug/actors?limit={limit}", headers=SECRET)
    assert answer.refused(1003, 400).http == 400


async def test_one_actor_shows_its_state(user: Client, unique: str):
    agent = await user.agent(f"{unique}-agent")
    (await user.command("AP_Chat", content="Hello")).ok()
    answer = await live_actor(user, "agent", agent["id"])
    assert answer.http == 200
    assert answer.body["state"]["state"] == "online"
    assert answer.body["state"]["conversations"][0]["last_seq"] == 2
    assert (await live_actor(user, "agent", "agt_unknown")).refused(3000, 404).http == 404
    assert (await live_actor(user, "no-such-kind", agent["id"])).refused(3000, 404).http == 404


SAID = "the lighthouse is haunted"
SECRET_WORDS = "a password that stands nowhere else"


async def test_no_secret_hash_token_or_text_is_shown_or_logged(tmp_path: Path):
    async with running(tmp_path / "data", PARLEY_LOG_LEVEL="debug") as gateway, gateway.client() as client:
        user = await client.register("lovelace", SECRET_WORDS, description="a private description")
        agent = await user.agent("scout", profile="a private profile")
        (await user.command("AP_Chat", content=SAID)).ok()
        (await user.command("US_LogOn", target={"user": "lovelace"}, vx={"secret": SECRET_WORDS + "!"})).refused(
            2002, 401
        )
        listed = (await user.request("GET", "/debug/actors", headers=SECRET)).body
        live = [await live_actor(user, actor["kind"], actor["key"]) for actor in listed["actors"]]
        pages = [str(listed), *(str(answer.body) for answer in live)]
        pages.append((await user.request("GET", "/metrics")).body)
        assert {actor["kind"] for actor in listed["actors"]} == {"session", "user", "agent", "quota", "dispatcher"}
        assert agent["id"] in pages[0]
        token = user.token or ""
    pages.append(gateway.log.read_text())
    hidden = await secrets_of(gateway, token)
    for page in pages:
        assert not [name for name, secret in hidden.items() if secret.lower() in page.lower()]


async def secrets_of(gateway: GatewayProcess, token: str) -> dict[str, str]:
    ((phc,),) = await read(gateway, "SELECT secret_hash FROM users")
    digest = hashlib.sha256(token.encode())
    return {
        "password": SECRET_WORDS,
        "hash of the password": phc,
        "its last part": phc.rsplit("$", maxsplit=1)[-1],
        "token": token,
        "hash of the token": digest.hexdigest(),
        "hash of the token as Python shows bytes": repr(digest.digest())[2:-1],
        "internal secret": INTERNAL_SECRET,
        "what was said": SAID,
        "profile": "a private profile",
        "description": "a private description",
    }


async def test_neither_password_nor_token_is_stored(tmp_path: Path):
    async with running(tmp_path / "data") as gateway, gateway.client() as client:
        token = (await client.register("lovelace", SECRET_WORDS)).token or ""
    for content in (await contents(tmp_path / "data")).values():
        assert SECRET_WORDS.encode() not in content
        assert token.encode() not in content


# the gateway's first lines


@pytest.mark.parametrize("registration", ["open", "closed"])
async def test_the_first_command_that_the_start_names_works_as_it_stands(tmp_path: Path, registration: str):
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine")
    settings: dict[str, Any] = {"PARLEY_REGISTRATION": registration, "INTERNAL_SECRET": INTERNAL_SECRET}
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as client:
        log = gateway.log.read_text()
        assert re.match(r"Parley \S+ listens on ", log)
        said = re.search(r"Try first: (curl .*?)\nAll commands", log, re.DOTALL)
        assert said
        ran = await asyncio.create_subprocess_shell(
            f"{said[1]} --silent",
            stdout=subprocess.PIPE,
            env=os.environ | {"INTERNAL_SECRET": INTERNAL_SECRET},
        )
        assert b'"success":true' in (await ran.communicate())[0]
        await client.log_on("lovelace")
        if registration == "open":
            assert (await client.request("POST", f"{BUS}/user/create", json={})).code == 1002


@pytest.mark.parametrize(
    "settings", [{"PARLEY_REGISTRATION": "closed", "INTERNAL_SECRET": ""}, {"PARLEY_OPERATORS": "babbage,Lovelace"}]
)
async def test_the_start_names_no_command_that_is_refused_or_makes_an_operator(
    tmp_path: Path, settings: dict[str, Any]
):
    async with running(tmp_path / "data", **settings) as gateway:
        log = gateway.log.read_text()
    assert "Try first" not in log
    assert f"All commands, with examples to send: {gateway.base}/docs" in log
