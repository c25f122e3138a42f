"""Tool servers that run as processes: real ones, and one that misbehaves (docs/contract.md, "Gateway routes")."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import INTERNAL_SECRET, PASSWORD, Answer, Client, GatewayProcess, running
from tests.support.operator import live_actor, on_plan
from tests.support.stored import traces
from tests.tool_servers.catalog import (
    SDK_CODES,
    UNRULY_MODES,
    install,
    invoke,
    listed,
    official,
    server_of,
    unruly,
    until_well,
    words,
    write_catalog,
)
from tests.tool_servers.unruly import TOOLS


@pytest.fixture(scope="session")
async def tools_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with the official servers in its catalog."""
    folder = tmp_path_factory.mktemp("tools")
    repository = folder / "repository"
    git = await asyncio.create_subprocess_exec("git", "init", "-q", str(repository))
    assert await git.wait() == 0
    servers = {
        "time": official("mcp_server_time"),
        "git": official("mcp_server_git", "--repository", str(repository)),
        "fetch": official("mcp_server_fetch"),
    }
    catalog = write_catalog(folder / "catalog.toml", servers, connect_timeout_s=60)
    async with running(folder / "data", PARLEY_MCP_CATALOG=catalog) as gateway:
        gateway.settings["REPOSITORY"] = str(repository)
        yield gateway


@pytest.fixture(scope="session")
async def unruly_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with the unruly server in its catalog and short time-outs."""
    folder = tmp_path_factory.mktemp("unruly")
    servers = {"unruly": unruly(), **{mode: unruly(mode) for mode in UNRULY_MODES}}
    servers["missing"] = ["true"]
    limits = {"connect_timeout_s": 5, "call_timeout_s": 3, "processes": 16, "processes_per_user": 3}
    catalog = write_catalog(folder / "catalog.toml", servers, **limits)
    async with running(folder / "data", PARLEY_MCP_CATALOG=catalog) as gateway:
        yield gateway


@pytest.fixture
async def tools_user(tools_server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with tools_server.client() as client:
        yield await client.register(f"{unique}-user")


@pytest.fixture
async def unruly_user(unruly_server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with unruly_server.client() as client:
        yield await client.register(f"{unique}-user")


@pytest.fixture
async def caught(unruly_user: Client) -> Client:
    """A user with the unruly server installed."""
    await install(unruly_user, "wild", server="unruly")
    return unruly_user


# real servers


async def test_the_official_time_server_is_installed_listed_invoked_and_removed(tools_user: Client):
    installed = await install(tools_user, "clock", server="time")
    assert installed.body["state"] == "idle"
    assert installed.body["id"].startswith("mcp_")
    tools = {tool["name"]: tool for tool in (await listed(tools_user))["tools"]}
    assert tools.keys() == {"clock.get_current_time", "clock.convert_time"}
    assert tools["clock.get_current_time"]["input_schema"]["required"] == ["timezone"]
    assert tools["clock.get_current_time"]["server"] == "clock"
    assert (await server_of(tools_user, "clock"))["state"] == "ready"
    answer = await invoke(tools_user, "clock.get_current_time", timezone="Europe/Paris")
    assert answer.body["is_error"] is False
    assert json.loads(words(answer))["timezone"] == "Europe/Paris"
    gone = await tools_user.request("DELETE", "/api/mcp/tools/clock")
    assert (gone.http, gone.body) == (204, "")
    assert (await listed(tools_user))["tools"] == []
    (await invoke(tools_user, "clock.get_current_time", timezone="Europe/Paris")).refused(3000, 404)
    (await tools_user.request("DELETE", "/api/mcp/tools/clock")).refused(3000, 404)


async def test_the_official_git_server_reads_the_operator_s_repository(
    tools_user: Client, tools_server: GatewayProcess
):
    repository = tools_server.settings["REPOSITORY"]
    (Path(repository) / "observed.txt").write_text("the Moon\n", encoding="utf-8")
    await install(tools_user, "history", server="git")
    answer = await invoke(tools_user, "history.git_status", repo_path=repository)
    assert "observed.txt" in words(answer)


async def test_the_official_fetch_server_says_itself_that_it_failed(tools_user: Client):
    await install(tools_user, "web", server="fetch")
    answer = await invoke(tools_user, "web.fetch", url="http://127.0.0.1:9/")
    assert answer.http == 200
    assert answer.body["is_error"] is True


async def test_wrong_arguments_are_the_tool_s_error_not_the_gateway_s(tools_user: Client):
    await install(tools_user, "clock", server="time")
    answer = await invoke(tools_user, "clock.get_current_time", timezone="Mars/Olympus")
    assert answer.http == 200
    assert answer.body["is_error"] is True


async def test_what_was_installed_and_offered_survives_a_restart(tmp_path: Path):
    catalog = write_catalog(tmp_path / "catalog.toml", {"unruly": unruly()})
    gateway = GatewayProcess(tmp_path / "data", PARLEY_MCP_CATALOG=catalog)
    try:
        await gateway.start()
        async with gateway.client() as client:
            user = await client.register("lovelace")
            await install(user, "wild", server="unruly")
            offered = (await listed(user))["tools"]
            # Nobody waits until a list of tools is stored, but a later acknowledged change is stored after it.
            await user.agent("later")
        await gateway.kill()
        await gateway.start()
        async with gateway.client() as client:
            user = await client.log_on("lovelace")
            assert (await listed(user))["tools"] == offered
            assert (await server_of(user, "wild"))["state"] == "idle"
            assert words(await invoke(user, "wild.echo", text="still there")) == "still there"
        await gateway.stop()
        write_catalog(tmp_path / "catalog.toml", {})
        await gateway.start()
        async with gateway.client() as client:
            user = await client.log_on("lovelace")
            assert "no longer has the server unruly" in (await invoke(user, "wild.echo")).refused(3000, 404).note
            assert (await user.request("DELETE", "/api/mcp/tools/wild")).http == 204
    finally:
        await gateway.stop()


# the built-in server


async def test_the_built_in_server_lists_agents_and_recalls_with_the_user_s_own_rights(user: Client, unique: str):
    await install(user, "home", server="parley")
    agent, bank = f"{unique}-agent", f"{unique}-bank"
    await user.agent(agent)
    (await user.command("MB_Create", target={"agent": agent}, vx={"name": bank})).ok()
    target = {"bank": bank, "agent": agent}
    load = {"target": target, "vx": {"name": "Moon"}, "content": "The Moon is 384,400 km away."}
    (await user.command("MB_Load", **load)).ok()
    recalled = json.loads(words(await invoke(user, "home.recall", bank=bank, query="How far is the Moon?", limit=1)))
    assert recalled[0]["text"] == "The Moon is 384,400 km away."
    agents = json.loads(words(await invoke(user, "home.list_agents", prefix=unique)))
    assert [record["name"] for record in agents] == [agent]
    time = json.loads(words(await invoke(user, "home.current_time", timezone="Europe/Paris")))
    assert time["timezone"] == "Europe/Paris"


async def test_the_built_in_server_shows_nobody_another_s_bank(user: Client, sanic_client: Client, unique: str):
    await user.agent(f"{unique}-agent")
    (await user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    stranger = await sanic_client.register(f"{unique}-stranger")
    await install(stranger, "home", server="parley")
    answer = await invoke(stranger, "home.recall", bank=f"{unique}-bank", query="anything")
    assert answer.body["is_error"] is True
    assert "no such bank" in words(answer)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("recall", {}),
        ("recall", {"bank": 7, "query": "x"}),
        ("recall", {"bank": "b", "query": "x", "limit": "many"}),
        ("current_time", {"timezone": "../../etc/passwd"}),
        ("list_agents", {"prefix": []}),
    ],
)
async def test_the_built_in_server_answers_wrong_arguments_as_errors(user: Client, tool: str, arguments: Any):
    await install(user, "home", server="parley")
    answer = await invoke(user, f"home.{tool}", **arguments)
    assert answer.http == 200
    assert answer.body["is_error"] is True


# installing


@pytest.mark.parametrize(
    ("body", "code", "http"),
    [
        ({"name": "has.dot", "server": "parley"}, 1003, 400),
        ({"name": "ab", "server": "parley"}, 1003, 400),
        ({"name": "-dash", "server": "parley"}, 1003, 400),
        ({"name": "x" * 65, "server": "parley"}, 1003, 400),
        ({"name": "newline\n", "server": "parley"}, 1003, 400),
        ({"server": "parley"}, 1002, 400),
        ({"name": "fine"}, 1002, 400),
        ({"name": "fine", "server": None, "url": None}, 1002, 400),
        ({"name": "fine", "server": "", "url": " "}, 1002, 400),
        ({"name": " ", "server": "parley"}, 1002, 400),
        ({"name": "fine", "server": " ", "url": "ftp://example.com/"}, 1003, 400),
        ({"name": "fine", "server": "parley", "url": "https://example.com/mcp"}, 1003, 400),
        ({"name": "fine", "server": "no-such-entry"}, 3000, 404),
        ({"name": "fine", "server": "/bin/sh"}, 3000, 404),
        ({"name": "fine", "server": "parley", "headers": {"X-A": "b"}}, 1003, 400),
        ({"name": "fine", "server": 7}, 1003, 400),
        ({"name": "fine", "command": ["sh"]}, 1003, 400),
        ({"name": "fine", "url": "ftp://example.com/"}, 1003, 400),
        ({"name": "fine", "url": "http://example.com/mcp"}, 1003, 400),
        ({"name": "fine", "url": "https://user:pass@example.com/mcp"}, 1003, 400),
        ({"name": "fine", "url": "https://127.0.0.1/mcp"}, 1003, 400),
        ({"name": "fine", "url": "https://[::ffff:10.0.0.1]/mcp"}, 1003, 400),
        ({"name": "fine", "url": "https://169.254.169.254/latest"}, 1003, 400),
        ({"name": "fine", "url": "https://localhost/mcp"}, 1003, 400),
    ],
)
async def test_what_can_t_be_installed_is_refused_and_says_why(user: Client, body: Any, code: int, http: int):
    (await user.request("POST", "/api/mcp/tools/install", json=body)).refused(code, http)
    assert (await listed(user))["servers"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "b\r\nX-B: c"},
        {"X-A": "b\nc"},
        {"X-A\r\nX-B": "c"},
        {"X-A": "b\u0000"},
        {"X-A": "ünïcode"},
        {"X-A": ""},
        {"X-A": " padded"},
        {"": "b"},
        {"X A": "b"},
        {"Host": "internal.example"},
        {"host": "internal.example"},
        {"Connection": "close"},
        {"Keep-Alive": "timeout=5"},
        {"Transfer-Encoding": "chunked"},
        {"TE": "trailers"},
        {"Trailer": "X"},
        {"Upgrade": "websocket"},
        {"Proxy-Authorization": "Basic x"},
        {"Content-Length": "0"},
        {"Mcp-Session-Id": "stolen"},
        {"Accept": "text/html"},
        {"X-A": "b", "x-a": "c"},
        {"X-A": "b" * 5_000},
        {f"X-{count}": "b" for count in range(17)},
        {"X-A": 7},
    ],
)
async def test_headers_that_could_change_the_request_are_refused(user: Client, headers: Any):
    body = {"name": "remote", "url": "https://mcp.example.com/mcp", "headers": headers}
    (await user.request("POST", "/api/mcp/tools/install", json=body)).refused(1003, 400)


async def test_headers_are_shown_nowhere_and_stored_sealed(user: Client, sanic_server: GatewayProcess):
    secret = "Bearer sk-this-is-a-secret-of-the-tests"
    body = {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": secret}}
    installed = await install(user, "remote", **body)
    assert secret not in json.dumps(installed.body)
    key = installed.body["id"]
    seen = await user.request("GET", f"/debug/actors/mcp/{key}", headers={"X-Internal-Secret": INTERNAL_SECRET})
    assert secret not in json.dumps(seen.body)
    assert not await traces(sanic_server.data, secret)
    assert secret not in sanic_server.log.read_text()


async def test_names_are_one_user_s_own_and_differ_in_more_than_case(user: Client, sanic_client: Client, unique: str):
    await install(user, "clock", server="parley")
    body = {"name": "CLOCK", "server": "parley"}
    (await user.request("POST", "/api/mcp/tools/install", json=body)).refused(3001, 409)
    other = await sanic_client.register(f"{unique}-other")
    await install(other, "clock", server="parley")
    (await other.request("DELETE", "/api/mcp/tools/Clock"))
    assert len((await listed(user))["servers"]) == 1
    assert (await listed(other))["servers"] == []


async def test_a_user_has_sixteen_tool_servers_at_most(user: Client):
    for count in range(16):
        await install(user, f"server-{count}", server="parley")
    body = {"name": "one-more", "server": "parley"}
    (await user.request("POST", "/api/mcp/tools/install", json=body)).refused(3002, 409)


async def test_the_routes_need_a_credential(sanic_client: Client):
    for method, path in [
        ("GET", "/api/mcp/tools"),
        ("POST", "/api/mcp/tools/install"),
        ("POST", "/api/mcp/tools/invoke"),
        ("DELETE", "/api/mcp/tools/clock"),
    ]:
        (await sanic_client.request(method, path, json={} if method == "POST" else None)).refused(2000, 401)


async def test_the_catalog_is_listed_for_who_wants_to_install(unruly_user: Client):
    entries = {entry["name"]: entry["description"] for entry in (await listed(unruly_user))["catalog"]}
    assert entries["unruly"] == "The server unruly"
    assert "parley" in entries


@pytest.mark.parametrize("tool", ["wild", "wild.", ".echo", "wild.no_such_tool", "other.echo", "wild.echo.more"])
async def test_a_tool_that_is_not_there_is_3000(caught: Client, tool: str):
    (await invoke(caught, tool)).refused(3000, 404)


@pytest.mark.parametrize("tool", ["", " ", None])
async def test_a_blank_tool_counts_as_missing(user: Client, tool: str | None):
    answer = await user.request("POST", "/api/mcp/tools/invoke", json={"tool": tool})
    assert answer.refused(1002, 400).body["status"]["note"].startswith("missing tool field")


# misbehaviour


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("crash", "it ended"),
        ("hang", "did not answer within 3 s"),
        ("deaf", "did not answer"),
        ("flood_notifications", "did not answer"),
        ("flood_line", "too large"),
        ("flood_blank", "too much"),
        ("big", "too large"),
        ("garbage", "not JSON-RPC"),
        ("wrong_id", "did not answer"),
        ("error", "out of order"),
        ("no_content", "not MCP"),
        ("input_required", "not MCP"),
    ],
)
async def test_a_tool_server_that_misbehaves_is_a_clear_error_and_is_well_again_after(
    caught: Client, tool: str, why: str
):
    if tool == "deaf":
        answer = await invoke(caught, "wild.hang", text="x" * 500_000)
    else:
        answer = await invoke(caught, f"wild.{tool}")
    answer.refused(5001, 502)
    assert answer.note.startswith("The tool server wild failed: ")
    assert why in answer.note
    assert words(await until_well(caught, "wild.echo")) == "well"


async def test_an_error_that_a_server_answers_fails_its_call_alone_whatever_its_code(tmp_path: Path):
    catalog = write_catalog(tmp_path / "catalog.toml", {"unruly": unruly()}, call_timeout_s=60)
    async with running(tmp_path / "data", PARLEY_MCP_CATALOG=catalog) as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        key = (await install(user, "wild", server="unruly")).body["id"]
        waiting = asyncio.create_task(invoke(user, "wild.wait"))
        while not (await live_actor(user, "mcp", key)).body["state"]["calls"]:
            await asyncio.sleep(0.01)
        for code in SDK_CODES:
            answer = await invoke(user, "wild.refuse", code=code, message="Upstream\nsaid no")
            assert answer.refused(5001, 502).note == "The tool server wild failed: it answered: Upstream said no."
        assert words(await invoke(user, "wild.release")) == "released"
        assert words(await waiting) == "released"


async def test_tools_of_odd_names_are_left_out_and_none_is_listed_twice(caught: Client):
    names = [tool["name"] for tool in (await listed(caught))["tools"]]
    assert sorted(names) == sorted(f"wild.{name}" for name in TOOLS)


async def test_what_a_tool_says_of_its_own_failure_is_passed_on(caught: Client):
    answer = await invoke(caught, "wild.fails")
    assert (answer.body["is_error"], words(answer)) == (True, "I can't")


async def test_a_server_that_asks_a_lot_itself_is_answered_no_more_than_needed(caught: Client):
    assert words(await invoke(caught, "wild.flood_requests")) == "asked a lot"


async def test_a_server_s_own_schemas_are_not_run_on_its_answers(caught: Client):
    assert words(await invoke(caught, "wild.pattern")) == "checked by whom?"


@pytest.mark.parametrize("mode", UNRULY_MODES)
async def test_a_server_that_can_t_be_connected_is_listed_as_failed_with_the_reason(unruly_user: Client, mode: str):
    await install(unruly_user, "wild", server=mode)
    await install(unruly_user, "home", server="parley")
    seen = await listed(unruly_user)
    failed = next(server for server in seen["servers"] if server["name"] == "wild")
    assert failed["state"] == "failed"
    assert failed["error"]
    assert {tool["server"] for tool in seen["tools"]} == {"home"}
    (await invoke(unruly_user, "wild.echo", text="x")).refused(5001, 502)


async def test_a_hung_server_holds_up_nobody_else(caught: Client, unruly_server: GatewayProcess, unique: str):
    async with unruly_server.client() as client:
        other = await client.register(f"{unique}-other")
        await install(other, "calm", server="unruly")
        hung = [asyncio.create_task(invoke(caught, "wild.hang")) for _ in range(3)]
        flood = asyncio.create_task(invoke(caught, "wild.flood_notifications"))
        for count in range(20):
            assert words(await invoke(other, "calm.echo", text=str(count))) == str(count)
            (await other.command("US_Read")).ok()
        for answer in await asyncio.gather(*hung, flood):
            answer.refused(5001, 502)


async def test_calls_that_wait_for_the_same_server_are_bounded(caught: Client):
    calls = [asyncio.create_task(invoke(caught, "wild.slow", seconds=0.5)) for _ in range(30)]
    answers = await asyncio.gather(*calls)
    statuses = {answer.http for answer in answers}
    assert statuses <= {200, 502, 503}
    full = next(answer for answer in answers if answer.http == 503)
    full.refused(5003, 503)
    assert "Retry-After" in full.headers


async def test_a_server_that_keeps_failing_is_left_alone_for_a_while(unruly_user: Client):
    await install(unruly_user, "wild", server="exits")
    notes: list[str] = []
    while len(notes) < 10 and not any("it is tried again in" in note for note in notes):
        # the time for which it is left alone doubles, until it is longer than until the next call
        notes.append((await invoke(unruly_user, "wild.echo")).refused(5001, 502).note)
    assert "it is tried again in" in notes[-1]


async def test_no_more_of_a_user_s_servers_are_at_work_than_may_be(tmp_path: Path):
    names = ("wild-one", "wild-two", "wild-three")
    catalog = write_catalog(tmp_path / "catalog.toml", {"unruly": unruly()}, call_timeout_s=60, processes_per_user=3)
    patient = running(tmp_path / "data", PARLEY_MCP_CATALOG=catalog, TEST_GRACE_S="1")
    async with patient as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        keys = [(await install(user, name, server="unruly")).body["id"] for name in names]
        await install(user, "wild-four", server="unruly")
        for name in names:
            assert words(await invoke(user, f"{name}.echo", text=name)) == name
        work = [asyncio.create_task(invoke(user, f"{name}.hang")) for name in names]
        for key in keys:
            while not (await live_actor(user, "mcp", key)).body["state"]["calls"]:
                await asyncio.sleep(0.01)
        refusal = (await invoke(user, "wild-four.echo", text="four")).refused(3002, 409)
        assert "All 3 of your tool servers are busy" in refusal.note
        for name in names:
            assert (await user.request("DELETE", f"/api/mcp/tools/{name}")).http == 204
        for answer in await asyncio.gather(*work):
            assert answer.http != 200


async def test_a_server_that_idles_gives_way_to_another_of_the_user_s(unruly_user: Client):
    pids: list[int] = []
    for count in range(5):
        await install(unruly_user, f"wild-{count}", server="unruly")
        pids.append(int(words(await invoke(unruly_user, f"wild-{count}.spawn"))))
    for pid in pids[:2]:
        await until_gone(pid)
    assert words(await invoke(unruly_user, "wild-0.echo", text="back")) == "back"


async def test_a_tool_server_sees_nothing_of_the_gateway_s_environment(caught: Client):
    seen = json.loads(words(await invoke(caught, "wild.environment")))
    assert not [name for name in seen if "PARLEY" in name or "SECRET" in name or "PYTHON" in name]
    assert INTERNAL_SECRET not in seen.values()
    assert "PATH" in seen


async def test_removing_a_server_ends_all_that_it_started(caught: Client):
    pid = int(words(await invoke(caught, "wild.spawn")))
    assert Path(f"/proc/{pid}").exists()
    assert (await caught.request("DELETE", "/api/mcp/tools/wild")).http == 204
    await until_gone(pid)


async def test_destroying_a_user_ends_its_tool_servers(caught: Client):
    pid = int(words(await invoke(caught, "wild.spawn")))
    (await caught.command("US_Destroy", vx={"secret": PASSWORD})).ok()
    await until_gone(pid)


async def test_maintainers_see_how_a_server_is_and_no_more(caught: Client):
    assert words(await invoke(caught, "wild.echo", text="x")) == "x"
    key = (await server_of(caught, "wild"))["id"]
    seen = (await live_actor(caught, "mcp", key)).body
    assert seen["name"] == "wild"
    assert seen["state"]["state"] == "ready"
    assert "headers" not in json.dumps(seen)


async def test_a_server_that_nobody_uses_ends_and_is_started_again_when_needed(tmp_path: Path):
    catalog = write_catalog(tmp_path / "catalog.toml", {"unruly": unruly()})
    drowsy = running(tmp_path / "data", script=ENGINES / "drowsy.py", PARLEY_MCP_CATALOG=catalog)
    async with drowsy as gateway, gateway.client() as client:
        user = await client.register("lovelace")
        await install(user, "wild", server="unruly")
        pid = int(words(await invoke(user, "wild.spawn")))
        await until_gone(pid)
        assert (await server_of(user, "wild"))["state"] == "idle"
        assert words(await invoke(user, "wild.echo", text="awake")) == "awake"


async def test_repeats_with_a_key_install_and_call_once(caught: Client):
    key = {"Idempotency-Key": "once"}
    body = {"name": "again", "server": "parley"}
    first = await caught.request("POST", "/api/mcp/tools/install", json=body, headers=key)
    again = await caught.request("POST", "/api/mcp/tools/install", json=body, headers=key)
    assert (first.http, again.http, first.body) == (201, 201, again.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    call = {"tool": "wild.spawn", "arguments": {}}
    key = {"Idempotency-Key": "call"}
    spawned = [await caught.request("POST", "/api/mcp/tools/invoke", json=call, headers=key) for _ in range(2)]
    assert words(spawned[0]) == words(spawned[1])
    failing = {"tool": "wild.error"}
    key = {"Idempotency-Key": "fails"}
    for _ in range(2):  # a failing server's answer is not kept, because the next attempt may succeed
        answer = await caught.request("POST", "/api/mcp/tools/invoke", json=failing, headers=key)
        answer.refused(5001, 502)
        assert "Idempotency-Replayed" not in answer.headers


async def test_an_insecure_url_is_refused_with_what_would_allow_it(user: Client):
    body = {"name": "local", "url": "http://127.0.0.1:9000/mcp"}
    note = (await user.request("POST", "/api/mcp/tools/install", json=body)).refused(1003, 400).note
    assert "PARLEY_WEBHOOKS_ALLOW_INSECURE=true" in note


async def test_a_kept_recall_forgets_what_was_censored(user: Client, unique: str):
    await install(user, "home", server="parley")
    bank, agent = f"{unique}-bank", f"{unique}-agent"
    await user.agent(agent)
    (await user.command("MB_Create", vx={"name": bank})).ok()
    load = {"target": {"bank": bank}, "vx": {"name": "Moon"}, "content": "The Moon is made of cheese."}
    (await user.command("MB_Load", **load)).ok()
    call = {"tool": "home.recall", "arguments": {"bank": bank, "query": "Moon"}}
    key = {"Idempotency-Key": "recall"}
    assert "cheese" in words(await user.request("POST", "/api/mcp/tools/invoke", json=call, headers=key))
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "*"})).ok()
    repeated = await user.request("POST", "/api/mcp/tools/invoke", json=call, headers=key)
    assert (repeated.http, repeated.headers["Idempotency-Replayed"]) == (200, "true")
    assert repeated.body == {"content": [], "is_error": False}


async def test_kept_answers_of_tools_forget_what_was_destroyed(user: Client, unique: str):
    await install(user, "home", server="parley")
    bank, agent = f"{unique}-bank", f"{unique}-agent"
    await user.agent(agent, description="Looks for cheese.")
    (await user.command("MB_Create", vx={"name": bank})).ok()
    load = {"target": {"bank": bank}, "vx": {"name": "Moon"}, "content": "The Moon is made of cheese."}
    (await user.command("MB_Load", **load)).ok()
    calls: dict[str, Any] = {
        "recall": {"tool": "home.recall", "arguments": {"bank": bank, "query": "Moon"}},
        "list": {"tool": "home.list_agents"},
    }

    async def called(tool: str) -> Answer:
        key = {"Idempotency-Key": tool}
        return await user.request("POST", "/api/mcp/tools/invoke", json=calls[tool], headers=key)

    for tool in calls:
        assert "cheese" in words(await called(tool))
    (await user.command("MB_Destroy", target={"bank": bank})).ok()
    (await user.command("AP_Destroy", target={"agent": agent})).ok()
    for tool in calls:
        repeated = await called(tool)
        assert (repeated.http, repeated.headers["Idempotency-Replayed"]) == (200, "true")
        assert repeated.body == {"content": [], "is_error": False}


async def test_the_audit_log_tells_of_tool_servers_without_what_was_said(caught: Client):
    await on_plan(caught, "scale")
    await install(caught, "home", server="parley")
    await invoke(caught, "wild.echo", text="between us")
    assert (await caught.request("DELETE", "/api/mcp/tools/home")).http == 204
    entries = (await caught.request("GET", "/api/audit")).body["entries"]
    assert {entry["service"] for entry in entries} >= {"installTool", "invokeTool", "removeTool"}
    assert "between us" not in json.dumps(entries)


async def until_gone(pid: int) -> None:
    """Wait until a process has ended; a zombie counts as ended."""
    for _ in range(600):
        try:
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        except OSError:
            return
        if state == b"Z":
            return
        await asyncio.sleep(0.05)
    os.kill(pid, 9)
    raise AssertionError(f"process {pid} is still there")
