"""POST /mcp: the gateway as an MCP server, used by the official client and by hand (docs/mcp.md)."""

import asyncio
import io
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from mcp.shared.exceptions import MCPError

from actors.commands.table import COMMANDS
from routes.mcp.groups import WITH_PASSWORD
from routes.mcp.tools import TOOLS
from tests.support.gateway import PASSWORD, Client, GatewayProcess
from tests.support.mcp_client import ACCEPT, MODES, Mode, bearer, call, connected, refused, sent, tool_call
from tests.support.operator import on_plan, set_plan
from tests.support.wire import raw_post, send_raw

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
WITH_USERS = "/mcp?groups=user"


# the official client


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_runs_the_quick_start_through_mcp_alone(
    sanic_server: GatewayProcess, unique: str, mode: Mode
):
    name, agent = f"{unique}-user", f"{unique}-scout"
    async with connected(sanic_server.base, mode=mode, groups="user") as nobody:
        created = await call(nobody, "US_Create", vx={"name": name, "secret": PASSWORD})
        assert created["profile"][0]["name"] == name
        logged_on = await call(nobody, "US_LogOn", target={"user": name}, vx={"secret": PASSWORD})
    token = logged_on["content"][0]["token"]
    async with connected(sanic_server.base, {"Authorization": f"Bearer {token}"}, mode) as user:
        profile = "The Moon is 384,400 km away."
        await call(user, "AP_Create", vx={"name": agent, "description": "Finds things out", "profile": profile})
        await call(user, "AP_LogOn", target={"agent": agent})
        selected = await call(user, "AP_Select", target={"agent": agent})
        assert selected["header"]["context"]["agent"] == agent
        chat = await call(user, "AP_Chat", content="How far away is the Moon?")
        assert [message["role"] for message in chat["content"]] == ["user", "agent"]
        assert profile in chat["content"][1]["content"]
        ghost = await refused(user, "AP_LogOn", target={"agent": f"{unique}-ghost"})
        assert ghost["status"]["internal_code"] == 3000
        assert "check the name with AP_List" in ghost["status"]["note"]


async def test_a_chat_by_mcp_is_the_same_conversation_as_one_by_the_bus(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    (await user.command("AP_Chat", content="by the bus")).ok()
    async with connected(user.base, bearer(user)) as client:
        await call(client, "AP_Chat", content="by MCP")
        history = await call(client, "AP_History", page={"limit": 10})
    assert [message["content"] for message in history["content"] if message["role"] == "user"] == [
        "by the bus",
        "by MCP",
    ]


async def test_a_tool_that_is_none_is_an_error_of_the_protocol(user: Client):
    async with connected(user.base, bearer(user)) as client:
        with pytest.raises(MCPError, match="Unknown tool: AP_Nope"):
            await client.call_tool("AP_Nope", {})
        with pytest.raises(MCPError, match="read the zone with ZN_Read"):
            await client.call_tool("ZN_Stream", {})


# the tools


def test_every_command_but_the_endless_one_is_a_tool():
    assert COMMANDS.keys() - TOOLS.keys() == {"ZN_Stream"}


async def test_a_tool_s_schema_says_what_the_command_s_checks_demand(user: Client):
    async with connected(user.base, bearer(user)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    for service, tool in tools.items():
        command, schema = COMMANDS[service], tool.input_schema
        assert "$ref" not in orjson.dumps(schema).decode()
        members = {
            f"{part}.{member}" if member else part
            for part, described in schema["properties"].items()
            for member in described.get("properties", [""])
        }
        assert members == set(command.uses)
        required = {
            f"{part}.{member}" if member else part
            for part in schema.get("required", [])
            for member in schema["properties"][part].get("required", [""])
        }
        assert required == set(command.requires)
    access = tools["AP_Create"].input_schema["properties"]["vx"]["properties"]["access"]
    assert access["enum"] == ["public", "domain", "bank", "agent"]


@pytest.mark.parametrize(
    "service", [service for service in TOOLS if COMMANDS[service].requires and service not in WITH_PASSWORD]
)
async def test_a_tool_refuses_what_the_bus_refuses_in_the_same_words(user: Client, service: str):
    by_bus = await user.command(service)
    by_mcp = await sent(user, tool_call(service), bearer(user))
    assert by_mcp.http == 200
    result = by_mcp.body["result"]
    assert result["isError"] is True
    assert result["structuredContent"]["status"] == by_bus.body["status"]
    assert result["structuredContent"]["status"]["internal_code"] == 1002


async def test_wrong_types_are_1003_with_their_path(user: Client):
    answer = await sent(user, tool_call("AP_Read", target={"agent": 7}), bearer(user))
    status = answer.body["result"]["structuredContent"]["status"]
    assert status["internal_code"] == 1003
    assert "target.agent" in status["note"]


async def test_a_service_among_the_arguments_changes_nothing(user: Client):
    arguments = {"service": "US_Destroy", "vx": {"secret": PASSWORD}}
    answer = await sent(user, tool_call("US_Read", **arguments), bearer(user))
    assert answer.body["result"]["structuredContent"]["header"]["service"] == "US_Read"
    (await user.command("US_Read")).ok()


@pytest.mark.parametrize("number", [2**70, 1e400])
async def test_numbers_beyond_json_s_are_refused(user: Client, number: Any):
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AP_List","arguments":{"page":{"limit":%s}}}}'
    )
    answer = await sent(user, body % str(number).replace("inf", "1e400").encode(), bearer(user))
    assert answer.http in (200, 400)
    if answer.http == 200:
        assert answer.body["result"]["isError"] is True


# credentials


async def test_without_a_credential_only_the_public_tools_can_be_called(sanic_client: Client, unique: str):
    for service, command in TOOLS.items():
        if not command.public:
            answer = await sent(sanic_client, tool_call(service), path=f"/mcp?groups={command.group}")
            answer.refused(2000, 401)
            assert answer.headers["WWW-Authenticate"] == "Bearer"
    registration = tool_call("US_Create", vx={"name": f"{unique}-user", "secret": PASSWORD})
    created = await sent(sanic_client, registration, path=WITH_USERS)
    assert created.body["result"]["isError"] is False
    assert (await sent(sanic_client, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).http == 200


@pytest.mark.parametrize("message", [PING, tool_call("US_Read")])
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer pls_nonsense"},
        {"Authorization": "Basic bG92ZWxhY2U6"},
        {"X-Api-Key": "plk_nonsense"},
    ],
)
async def test_a_wrong_credential_is_refused_by_http(sanic_client: Client, message: Any, headers: dict[str, str]):
    answer = await sent(sanic_client, message, headers)
    answer.refused(2001, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, "AP_List needs a credential"),
        ({"Authorization": "Bearer pls_nonsense"}, "This is not a Parley token"),
    ],
)
async def test_the_official_client_shows_why_http_has_refused(
    sanic_client: Client, mode: Mode, headers: dict[str, str], why: str
):
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match=why), flatten_subgroups=True):
        async with connected(sanic_client.base, headers, mode) as client:
            await client.call_tool("AP_List", {})


async def test_a_wrong_password_is_the_tool_s_answer_not_http_s(user: Client):
    log_on = tool_call("US_LogOn", target={"user": user.name}, vx={"secret": "wrong password"})
    answer = await sent(user, log_on, path=WITH_USERS)
    assert answer.http == 200
    assert answer.body["result"]["structuredContent"]["status"]["internal_code"] == 2002


async def test_a_session_that_was_logged_off_by_a_tool_is_over(user: Client):
    assert (await sent(user, tool_call("US_LogOff"), bearer(user))).body["result"]["isError"] is False
    answer = (await sent(user, tool_call("US_Read"), bearer(user))).refused(2001, 401)
    assert answer.body["error"]["message"] == answer.body["status"]["note"]


async def test_an_api_key_is_as_good_as_a_session(user: Client):
    await on_plan(user, "builder")
    key = (await user.request("POST", "/api/api-keys", json={"name": "mcp"})).body["key"]
    async with connected(user.base, {"X-Api-Key": key}) as client:
        assert (await call(client, "US_Read"))["profile"][0]["name"] == user.name


async def used(user: Client) -> int:
    """Return the number of today's counted requests, this one included."""
    return (await user.command("US_Read")).ok().profile[0]["quota"]["used"]


async def test_each_message_with_a_credential_counts_one_as_every_request_does(user: Client):
    before = await used(user)
    for message in (
        PING,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1, "method": "no/such"},
        tool_call("AP_List"),
        tool_call("AP_Chat"),  # a refusal counts, too
        tool_call("AP_Nope"),
        tool_call("US_LogOn"),
    ):
        answer = await sent(user, message, bearer(user))
        before += 1
        assert answer.headers["RateLimit"].startswith(f'"day";r={100 - before};'), message
    assert await used(user) == before + 1


async def test_messages_without_a_credential_and_log_ons_are_not_counted(user: Client, sanic_client: Client):
    before = await used(user)
    assert (await sent(sanic_client, PING)).http == 200
    log_on = tool_call("US_LogOn", target={"user": user.name}, vx={"secret": PASSWORD})
    assert (await sent(user, log_on, bearer(user), WITH_USERS)).body["result"]["isError"] is False
    assert await used(user) == before + 1


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_connects_lists_and_calls_for_four_requests_at_most(user: Client, mode: Mode):
    before = await used(user)
    async with connected(user.base, bearer(user), mode) as client:
        await client.list_tools()
        quota = (await call(client, "US_Read"))["profile"][0]["quota"]
    assert quota["used"] - before == {"auto": 3, "legacy": 4}[mode]


async def test_beyond_the_quota_a_tool_says_so_and_when_to_come_back(user: Client):
    assert (await set_plan(user, user.name, "enterprise", limit=1)).http == 200
    answers = [await sent(user, tool_call("AP_List"), bearer(user)) for _ in range(2)]
    assert [answer.http for answer in answers] == [200, 200]
    assert [answer.body["result"]["isError"] for answer in answers] == [False, True]
    assert answers[1].body["result"]["structuredContent"]["status"]["internal_code"] == 4000
    assert "Retry-After" in answers[1].headers
    assert answers[1].headers["RateLimit-Policy"] == '"day";q=1;w=86400'


async def test_beyond_the_quota_a_message_that_calls_no_tool_is_refused_by_http(user: Client):
    assert (await set_plan(user, user.name, "enterprise", limit=1)).http == 200
    assert (await sent(user, PING, bearer(user))).http == 200
    answer = (await sent(user, PING, bearer(user))).refused(4000, 429)
    assert answer.http == 429
    assert "Retry-After" in answer.headers
    assert answer.headers["RateLimit-Policy"] == '"day";q=1;w=86400'


# the protocol


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'"\\ud800"', -32700),
        (b"5", -32600),
        (b"null", -32600),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"{}", -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
    ],
)
async def test_what_is_no_message_is_a_json_rpc_error(sanic_client: Client, body: bytes, code: int):
    answer = await sent(sanic_client, body, {"X-Request-Id": "id-of-the-client"})
    assert (answer.http, answer.headers["X-Request-Id"]) == (400, "id-of-the-client")
    assert answer.body["jsonrpc"] == "2.0"
    assert answer.body["error"]["code"] == code
    assert len(answer.body["error"]["message"]) < 200
    assert answer.body["status"] == {
        "success": False,
        "internal_code": 1000,
        "http_code": 400,
        "note": answer.body["error"]["message"],
    }


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "no/such"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": {"level": "info"}}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 7}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "US_Read", "arguments": []}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}, -32602),
    ],
)
async def test_what_the_server_has_not_is_a_json_rpc_error(user: Client, message: Any, code: int):
    answer = await sent(user, message, bearer(user))
    assert answer.body["error"]["code"] == code
    assert answer.body["id"] == 1


async def test_a_message_that_is_too_long_is_refused_with_its_id(user: Client):
    params = {"name": "US_Read", "arguments": {}, "_meta": {"note": "x" * 70_000}}
    answer = await sent(user, {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}, bearer(user))
    assert (answer.http, answer.body["error"]["code"], answer.body["id"]) == (400, -32600, 7)
    assert answer.code == 1000


@pytest.mark.parametrize("version", ["1999-01-01", "nonsense", "2099-01-01"])
async def test_a_version_that_is_not_spoken_is_refused(sanic_client: Client, version: str):
    answer = await sent(sanic_client, PING, {"MCP-Protocol-Version": version})
    assert answer.http == 400
    assert "error" in answer.body


async def test_notifications_and_answers_are_taken_without_a_word(sanic_client: Client):
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 9, "result": {}},
    ):
        answer = await sent(sanic_client, message)
        assert (answer.http, answer.body) in ((202, ""), (202, None))


@pytest.mark.parametrize(
    ("method", "allowed"), [("GET", "POST"), ("DELETE", "POST"), ("PUT", "DELETE, GET, HEAD, POST")]
)
async def test_methods_without_a_session_are_405(sanic_client: Client, method: str, allowed: str):
    answer = await sanic_client.request(method, "/mcp", headers=ACCEPT)
    answer.refused(1006, 405)
    assert answer.headers["Allow"] == allowed


async def test_media_types_and_sizes_are_checked_as_everywhere(sanic_client: Client):
    (await sent(sanic_client, PING, {"Content-Type": "text/plain"})).refused(1008, 415)
    large = io.BytesIO(b"[" + b" " * 1_100_000)
    headers = {"Content-Type": "application/json", **ACCEPT}
    (await sanic_client.request("POST", "/mcp", data=large, headers=headers)).refused(1004, 413)
    assert (await sent(sanic_client, PING, {"Accept": "text/html"})).http == 406


async def test_a_request_without_accept_takes_any_answer(sanic_client: Client):
    answer = await send_raw(sanic_client.base, raw_post("/mcp", orjson.dumps(PING)))
    assert answer.http == 200
    assert answer.body == {"jsonrpc": "2.0", "id": PING["id"], "result": {}}


@pytest.mark.parametrize("origin", ["http://evil.example", "https://evil.example:8000", "null", "nonsense"])
async def test_pages_of_other_origins_are_refused(sanic_client: Client, origin: str):
    (await sent(sanic_client, PING, {"Origin": origin})).refused(2003, 403)


async def test_a_name_that_was_made_to_lead_here_is_refused(sanic_client: Client):
    rebound = {"Origin": "http://evil.example:8000", "Host": "evil.example:8000"}
    (await sent(sanic_client, PING, rebound)).refused(2003, 403)


async def test_the_gateway_s_own_pages_are_let_in(sanic_client: Client):
    assert (await sent(sanic_client, PING, {"Origin": sanic_client.base})).http == 200


@pytest.mark.one_node(reason="it reads counts of /metrics, which are of one node")
async def test_each_call_of_a_tool_is_logged_and_measured_as_its_command(user: Client, sanic_server: GatewayProcess):
    request_id = f"mcp-{user.name}"
    answer = await sent(user, tool_call("US_Sessions"), bearer(user) | {"X-Request-Id": request_id})
    assert answer.headers["X-Request-Id"] == request_id
    assert answer.body["result"]["structuredContent"]["header"]["request_id"] == request_id
    metrics = await user.request("GET", "/metrics")
    assert 'service="US_Sessions"' in metrics.body
    assert 'service="mcp"' in metrics.body


async def test_white_space_around_a_header_is_no_part_of_its_value(user: Client):
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = tool_call("US_Read")
    message["params"]["_meta"] = meta
    body = orjson.dumps(message)
    host = urlsplit(user.base).netloc
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {user.token}\r\n"
        f"Content-Type: application/json\r\nAccept: {ACCEPT['Accept']}\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method:\t tools/call \r\nMcp-Name:  US_Read \t\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(*host.split(":"))
    writer.write(head.encode() + body)
    received = await reader.read()
    writer.close()
    assert received.startswith(b"HTTP/1.1 200 "), received
    assert b'"isError":false' in received
