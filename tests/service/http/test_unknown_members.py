"""Unknown members are refused: a misspelt one must never widen a request (docs/contract.md, "The command bus")."""

from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from actors.commands.table import COMMANDS, GROUPS
from routes.gateway.table import ROUTES
from routes.mcp.tools import TOOLS
from routes.openapi.operations import schema_name
from tests.support.gateway import BUS, Answer, Client, running
from tests.support.operator import SECRET, on_plan

UNKNOWN: dict[str, tuple[dict[str, Any], str, str]] = {
    # the body, the path in the note, and the nearest known one
    "top level": ({"contnet": "x"}, "contnet", "content"),
    "top level, null": ({"pgae": None}, "pgae", "page"),
    "target": ({"target": {"agnet": "x"}}, "target.agnet", "target.agent"),
    "target, null": ({"target": {"bnak": None}}, "target.bnak", "target.bank"),
    "vx": ({"vx": {"nmae": "x"}}, "vx.nmae", "vx.name"),
    "vx, null": ({"vx": {"permisson": None}}, "vx.permisson", "vx.permission"),
    "page": ({"page": {"limt": 1}}, "page.limt", "page.limit"),
    "page, null": ({"page": {"cursr": None}}, "page.cursr", "page.cursor"),
    "another case": ({"vx": {"Name": "x"}}, "vx.Name", "vx.name"),
    "white space": ({"target": {" agent": "x"}}, 'target." agent"', "target.agent"),
    "at another place": ({"agent": "x"}, "agent", "target.agent"),
    "in another part": ({"vx": {"zone": "x"}}, "vx.zone", "target.zone"),
    "another word for a password": ({"vx": {"password": "x"}}, "vx.password", "vx.secret"),
    "another word for a text": ({"message": "x"}, "message", "content"),
    "a path as a name": ({"target.agent": "x"}, '"target.agent"', "target.agent"),
    "nothing like it": ({"vx": {"q": 1}}, "vx.q", "vx."),
    "service in a part": ({"target": {"service": "AP_List"}}, "target.service", "service"),
    "no text": ({"": 1}, '""', "known"),
    "names of the code's": ({"__class__": 1}, "__class__", "known"),
}


def named(answer: Answer, path: str, nearest: str) -> None:
    note = answer.refused(1003, 400).note
    assert f" {path} (" in note, note
    assert nearest in note.partition(f" {path} (")[2], note


@pytest.mark.parametrize(("sent", "path", "nearest"), UNKNOWN.values(), ids=UNKNOWN)
async def test_the_bus_and_the_aliases_refuse_an_unknown_member_and_name_the_nearest(
    user: Client, sent: dict[str, Any], path: str, nearest: str
):
    named(await user.command("AP_List", **sent), path, nearest)
    named(await user.alias("/agent/list", **sent), path, nearest)


async def test_a_misspelt_member_leaves_a_bank_as_it_is(user: Client, unique: str):
    await user.agent(f"{unique}-keeper")
    bank = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": bank})).ok()
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "one"}, content="text")).ok()
    for service in ("MB_Delete", "MB_Censor"):
        named(await user.command(service, target={"bank": bank}, vx={"nmae": "one"}), "vx.nmae", "vx.name")
    (memory,) = (await user.command("MB_Read", target={"bank": bank})).ok().content
    assert (memory["name"], memory["text"]) == ("one", "text")


async def test_a_member_that_the_command_does_not_use_is_ignored_on_bus_and_alias(user: Client):
    unused = {"target": {"zone": "z"}, "vx": {"permission": "read"}, "content": "c", "page": {"after": 7}}
    (await user.command("AP_List", **unused)).ok()
    (await user.alias("/agent/list", service=["anything"], **unused)).ok()


async def test_ten_unknown_members_are_named_and_the_rest_counted(user: Client):
    body: dict[str, Any] = dict.fromkeys(f"x{number}" for number in range(6))
    body["vx"] = dict.fromkeys(f"y{number}" for number in range(7))
    note = (await user.command("AP_List", **body)).refused(1003, 400).note
    assert note.count("nearest known") == 10
    assert "vx.y3 (" in note
    assert "vx.y4" not in note
    assert "; and 3 more" in note


async def test_a_hostile_name_is_shown_and_compared_by_its_first_64_characters(user: Client):
    note = (await user.command("AP_List", vx={"name" * 50_000: 1})).refused(1003, 400).note
    assert "name" * 16 in note
    assert "name" * 17 not in note
    body = b'{"service":"AP_List",' + b",".join(b'"%d":0' % number for number in range(90_000)) + b"}"
    answer = await user.request("POST", BUS, data=body, headers={"Content-Type": "application/json"})
    assert "; and 89,990 more" in answer.refused(1003, 400).note
    assert len(answer.note) < 1_000


async def test_the_order_of_checks_has_unknown_members_before_missing_ones_and_after_the_quota(
    user: Client, sanic_client: Client
):
    (await user.command("No_Such", nmae=1)).refused(1001, 400)
    (await sanic_client.command("AP_Chat", contnet="x")).refused(2000, 401)
    (await user.command("AP_Chat", contnet="x")).refused(1003, 400)
    (await user.command("COMMAND", contnet="x")).refused(1003, 400)
    (await sanic_client.command("US_Create", vx={"nmae": "x"})).refused(1003, 400)


# gateway bodies

WITH_BODY = [route for route in ROUTES if route.body is not None]


@pytest.fixture(scope="module")
async def gateway_user(tmp_path_factory: pytest.TempPathFactory):
    """A user of a gateway with all routes."""
    data = tmp_path_factory.mktemp("strict") / "data"
    async with running(data, DEV_MOCKS_ENABLED="true") as gateway, gateway.client() as nobody:
        yield await on_plan(await nobody.register("amelia"), "enterprise")


@pytest.mark.parametrize("route", WITH_BODY, ids=lambda route: route.name)
async def test_a_gateway_body_is_as_strict(gateway_user: Client, route: Any):
    for member in route.body.model_fields:
        for value in (None, "x"):
            body = {key: given for key, given in route.example.items() if key != member} | {f"{member}_": value}
            secret = None if route.entrance == "member" else SECRET
            answer = await gateway_user.request(route.method, route.path, json=body, headers=secret)
            assert answer.http == 400
            named(answer, f"{member}_", member)


async def test_a_skill_s_body_is_as_strict_in_json_and_in_multipart(user: Client):
    answer = await user.request("POST", "/api/skills/install", json={"nmae": "meeting-notes"})
    named(answer, "nmae", "name")
    form = aiohttp.FormData()
    form.add_field("file", b"a zip", filename="skill.zip")
    form.add_field("name", "meeting-notes")
    named(await user.request("POST", "/api/skills/install", data=form), "name", "file")


async def test_free_form_members_stay_free(gateway_user: Client):
    free = {"any": {"thing": None}, "nmae": 1}
    user = gateway_user
    sent = {"event_type": "webhook.test", "data": free}
    assert (await user.request("POST", "/api/webhooks/test", json=sent)).http == 202
    document = {"name": "Notes", "content": "text", "metadata": free}
    assert (await user.request("POST", "/api/documents", json=document)).http == 202
    clock = {"name": "clock", "server": "parley"}
    assert (await user.request("POST", "/api/mcp/tools/install", json=clock)).http == 201
    call = {"tool": "clock.current_time", "arguments": {"timezone": "UTC", "nmae": None}}
    assert (await user.request("POST", "/api/mcp/tools/invoke", json=call)).http == 200


# MCP


async def called(user: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool without the official client; return its result."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = {"Accept": "application/json, text/event-stream"}
    return (await user.request("POST", "/mcp", json=message, headers=headers)).body["result"]


async def test_tools_schemas_are_closed_and_have_just_what_the_command_uses(user: Client):
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    path = f"/mcp?groups={','.join(GROUPS)}"
    tools = (await user.request("POST", path, json=message, headers=headers)).body["result"]["tools"]
    assert {tool["name"] for tool in tools} == TOOLS.keys()
    for tool in tools:
        schema = tool["inputSchema"]
        parts = [part for part in schema["properties"].values() if part["type"] == "object"]
        assert all(part["additionalProperties"] is False for part in (schema, *parts)), tool["name"]
        paging = schema["properties"].get("page", {"properties": {}})["properties"]
        assert ("after" in paging) == (tool["name"] == "ZN_Read")


async def test_a_tool_refuses_a_member_that_its_schema_does_not_have(user: Client):
    for arguments, path, nearest in (
        ({"target": {"agnet": "x"}}, "target.agnet", "target.agent"),
        ({"taget": None}, "taget", "target"),
        ({"page": {"after": 7}}, "page.after", "page."),
        ({"service": "AP_List"}, "service", "known"),
    ):
        result = await called(user, "AP_List", **arguments)
        assert result["isError"] is True
        status = result["structuredContent"]["status"]
        assert (status["internal_code"], status["http_code"]) == (1003, 400)
        assert f" {path} (" in status["note"]
        assert nearest in status["note"].partition(f" {path} (")[2]
    assert (await called(user, "AP_List", target={"agent": None}))["isError"] is False
    result = await called(user, "US_LogOff", content="x")
    assert "no member is known here" in result["structuredContent"]["status"]["note"]
    assert (await user.command("US_Read")).ok().profile[0]["name"] == user.name


# OpenAPI


def test_the_document_closes_every_body(openapi: dict[str, Any]):
    schemas = openapi["components"]["schemas"]
    bodies = [
        "TPSRequest",
        "Target",
        "Definition",
        "Page",
        "LogOn",
        *{schema_name(route.body) for route in WITH_BODY if route.body},
    ]
    bodies += [f"{service}Request" for service in COMMANDS]
    assert [name for name in bodies if schemas[name].get("additionalProperties") is not False] == []
    of_protocols = {route.path for route in ROUTES if route.door is not None}  # which ignore members they don't use
    for path, methods in openapi["paths"].items():
        if path in of_protocols:
            continue
        for operation in methods.values():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                schema = media["schema"]
                closed = schema.get("allOf", [schema])[0]
                name = closed.get("$ref", "").rpartition("/")[2]
                assert name in bodies or closed.get("additionalProperties") is False or path in ("/mcp", "/api/rules")
    assert {BUS + command.alias for command in COMMANDS.values()} <= openapi["paths"].keys()


@pytest.fixture
def openapi() -> dict[str, Any]:
    return orjson.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_bytes())
