"""The tools of /mcp for clients and models: titles, hints, schemas of results, groups, passwords."""

import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError
from mcp_types import Tool

from actors.commands.table import COMMANDS, GROUPS
from routes.mcp.groups import WITH_PASSWORD
from routes.mcp.results import output_schema
from routes.mcp.tools import TOOLS
from tests.support.gateway import PASSWORD, Client
from tests.support.mcp_client import MODES, Mode, bearer, call, connected, refused, sent, tool_call

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


async def listed(user: Client, groups: str = "", mode: Mode = "auto") -> dict[str, Tool]:
    async with connected(user.base, bearer(user), mode, groups) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


# descriptions and hints


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_has_a_title_a_description_and_hints(user: Client, mode: Mode):
    tools = await listed(user, ",".join(GROUPS), mode)
    assert tools.keys() == TOOLS.keys()
    assert all(command.tool for command in TOOLS.values())
    titles = [tool.title for tool in tools.values()]
    assert all(titles)
    assert len(set(titles)) == len(titles)
    for service, tool in tools.items():
        hints = tool.annotations
        assert hints is not None
        assert hints.title == tool.title
        assert hints.read_only_hint is not COMMANDS[service].mutates
        assert hints.open_world_hint is (service in ("AP_Chat", "ZN_Post"))
        given = {hints.destructive_hint, hints.idempotent_hint}
        assert given <= ({True, False} if COMMANDS[service].mutates else {None}), service


async def test_the_hints_warn_of_what_can_not_be_undone(user: Client):
    tools = await listed(user, ",".join(GROUPS))
    destructive = {name for name, tool in tools.items() if tool.annotations and tool.annotations.destructive_hint}
    assert {name for name in TOOLS if re.search("_(Destroy|Delete|Censor|Update|Modify|Kick|Ban|Load)$", name)} < (
        destructive
    )
    assert not destructive & {"AP_Create", "AP_Chat", "AP_LogOn", "AP_Select", "DM_Unban", "ZN_Post", "MB_Create"}


async def test_what_the_hints_call_idempotent_can_be_repeated(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    bank = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": bank})).ok()
    async with connected(user.base, bearer(user)) as client:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        for tool, arguments in (
            ("AP_LogOn", {}),
            ("AP_Select", {"target": {"agent": f"{unique}-agent"}}),
            ("MB_Load", {"target": {"bank": bank}, "vx": {"name": "Moon"}, "content": "It is far away."}),
            ("MB_Delete", {"target": {"bank": bank}, "vx": {"name": "*"}}),
        ):
            annotations = hints[tool]
            assert annotations is not None
            assert annotations.idempotent_hint is True
            for _ in range(2):
                await call(client, tool, **arguments)
        memories = await call(client, "MB_Read", target={"bank": bank})
    assert memories["content"] == []


def test_descriptions_are_a_sentence_or_two_without_codes_and_sections():
    for service, command in TOOLS.items():
        words = command.tool
        assert words is not None
        sentences = re.findall(r"[^.]\.(?:\s|$)", words.description.replace("...", ""))
        assert 1 <= len(sentences) <= 3, service
        assert len(words.description) <= 240, service
        assert not re.search(r"\d{3}|\b(product|spec|TPS\w*|section|codes?)\b", words.description), service
        assert words.description[0].isupper()
        assert words.description.endswith(".")
        mentioned = set(re.findall(r"\b(?:US|AP|DM|ZN|MB)_\w+", words.description))
        assert mentioned <= TOOLS.keys() - {service}, service


# results


@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_lists_the_schema_of_its_result(user: Client, mode: Mode):
    for service, tool in (await listed(user, ",".join(GROUPS), mode)).items():
        assert tool.output_schema is not None
        assert tool.output_schema == output_schema(COMMANDS[service])
        Draft202012Validator.check_schema(tool.output_schema)  # pyright: ignore[reportUnknownMemberType]
        assert tool.output_schema["type"] == "object"
        assert "$ref" not in str(tool.output_schema)
        assert "nullable" not in str(tool.output_schema)


@pytest.mark.parametrize("mode", MODES)
async def test_the_result_of_every_tool_is_as_its_schema_says(
    user: Client, sanic_client: Client, unique: str, mode: Mode
):
    """`call` validates each result by its schema, and so does the official client."""
    name, agent, domain, bank = (f"{unique}-{part}" for part in ("own", "agent", "domain", "bank"))
    guest = await sanic_client.register(f"{unique}-guest")
    other = f"{unique}-other"
    await guest.agent(other, access="public")
    secret = {"secret": PASSWORD}
    async with connected(user.base, mode=mode, groups="user") as nobody:
        await call(nobody, "US_Create", vx={"name": name, **secret})
        token = (await call(nobody, "US_LogOn", target={"user": name}, vx=secret))["content"][0]["token"]
    steps: tuple[tuple[str, dict[str, Any]], ...] = (
        ("US_Read", {}),
        ("US_Sessions", {}),
        ("US_Revoke", {"vx": {"name": "all"}}),
        ("AP_Create", {"vx": {"name": agent, "description": "Finds things out", "profile": "The Moon is far."}}),
        ("AP_LogOn", {"target": {"agent": agent}}),
        ("AP_Select", {"target": {"agent": agent}}),
        ("AP_Chat", {"content": "How far is the Moon?"}),
        ("AP_History", {}),
        ("AP_Modify", {"vx": {"access": "public"}}),
        ("AP_Update", {"vx": {"name": agent, "description": "Finds all out"}}),
        ("AP_Add", {"target": {"agent": other}}),
        ("AP_List", {}),
        ("AP_Read", {}),
        ("AP_Remove", {"target": {"agent": other}}),
        ("DM_Create", {"vx": {"name": domain, "description": "Where we look up"}}),
        ("DM_Update", {"target": {"domain": domain}, "vx": {"name": domain, "description": "Up", "access": "public"}}),
        ("DM_Select", {"target": {"domain": domain}}),
        ("DM_Invite", {"target": {"agent": other}}),
        ("DM_Kick", {"target": {"agent": other}}),
        ("DM_Ban", {"target": {"agent": other}}),
        ("DM_Read", {}),
        ("DM_Unban", {"target": {"agent": other}}),
        ("DM_List", {"target": {"domain": unique}}),
        ("DM_Join", {"target": {"agent": agent}}),
        ("ZN_Create", {"vx": {"name": "nightly"}}),
        ("ZN_Select", {"target": {"zone": "nightly"}}),
        ("ZN_Post", {"content": "Clear skies."}),
        ("ZN_Read", {}),
        ("ZN_List", {}),
        ("ZN_Destroy", {"target": {"zone": "nightly"}}),
        ("MB_Create", {"vx": {"name": bank}}),
        ("MB_Load", {"target": {"bank": bank}, "vx": {"name": "Moon"}, "content": "The Moon is 384,400 km away."}),
        ("MB_Update", {"target": {"bank": bank}, "vx": {"name": bank, "description": "Notes"}}),
        ("MB_Read", {"target": {"bank": bank}}),
        ("MB_Recall", {"target": {"bank": bank}, "content": "Moon"}),
        ("AP_Chat", {"target": {"agent": agent}, "content": "How far away is the Moon?"}),
        ("CV_Create", {"target": {"agent": agent}, "vx": {"name": "Moons"}}),
        ("CV_List", {}),
        ("CV_Read", {"target": {"conversation": "default"}}),
        ("CV_Update", {"target": {"conversation": "default"}, "vx": {"name": "Moon"}}),
        ("CV_Search", {"content": "Moon"}),
        ("CV_Fork", {"target": {"conversation": "default"}, "vx": {"seq": 2}}),
        ("CV_Destroy", {"target": {"conversation": "default"}}),
        ("MB_List", {}),
        ("MB_Permissions", {"target": {"bank": bank, "agent": other}, "vx": {"permission": "read"}}),
        ("MB_AgentList", {"target": {"bank": bank}}),
        ("MB_Censor", {"target": {"bank": bank}, "vx": {"name": "Moon"}}),
        ("MB_Read", {"target": {"bank": bank}}),
        ("MB_Delete", {"target": {"bank": bank}, "vx": {"name": "*"}}),
        ("MB_Unload", {"target": {"bank": bank, "agent": agent}}),
    )
    async with connected(user.base, {"Authorization": f"Bearer {token}"}, mode) as client:
        for tool, arguments in steps:
            await call(client, tool, **arguments)
    async with connected(user.base, bearer(guest), mode) as client:
        assert (await call(client, "AP_Read", target={"agent": other}))["content"][0]["offers"]
        await call(client, "MB_Accept", target={"bank": bank, "agent": other})
        await call(client, "DM_Join", target={"domain": domain, "agent": other})
        await call(client, "DM_Leave", target={"domain": domain, "agent": other})
    ends = ("MB_Destroy", {"bank": bank}), ("DM_Destroy", {"domain": domain}), ("AP_LogOff", {}), ("AP_Destroy", {})
    async with connected(user.base, {"Authorization": f"Bearer {token}"}, mode) as client:
        for tool, target in ends:
            await call(client, tool, target=target)
    async with connected(user.base, {"Authorization": f"Bearer {token}"}, mode, "user") as client:
        await client.list_tools()  # otherwise the client lists them after the call, to check its result
        await call(client, "US_Update", vx={"description": "Mathematician"})
        await call(client, "US_Destroy", vx=secret)
    async with connected(user.base, bearer(user), mode) as client:
        await client.list_tools()
        await call(client, "US_LogOff")
    called = {tool for tool, _ in (*steps, *ends)} | WITH_PASSWORD | {"MB_Accept", "DM_Leave", "US_LogOff"}
    assert called == TOOLS.keys()


@pytest.mark.parametrize("service", sorted(TOOLS.keys() - WITH_PASSWORD - {"US_LogOff"}))
async def test_a_refusal_is_as_the_schema_says_too(user: Client, service: str):
    async with connected(user.base, bearer(user)) as client:
        answer = await refused(client, service, target={"agnet": "x"})
    assert answer["status"]["internal_code"] == 1003
    assert (answer["profile"], answer["content"]) == ([], [])


# groups


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("groups", "prefixes"),
    [
        ("agent,bank", "AP MB"),
        ("zone", "ZN"),
        ("user", "US"),
        ("domain, user", "DM US"),
        ("bank&groups=zone", "MB ZN"),
        ("agent,agent", "AP"),
    ],
)
async def test_groups_shorten_the_list(user: Client, groups: str, prefixes: str, mode: Mode):
    tools = await listed(user, groups.replace(" ", "%20"), mode)
    assert tools.keys() == {service for service in TOOLS if service[:2] in prefixes.split()}


@pytest.mark.parametrize("mode", MODES)
async def test_without_groups_all_is_listed_but_what_takes_a_password(user: Client, mode: Mode):
    assert TOOLS.keys() - (await listed(user, mode=mode)).keys() == WITH_PASSWORD
    assert {"US_Create", "US_LogOn", "US_Update", "US_Destroy"} == WITH_PASSWORD


@pytest.mark.parametrize("groups", ["", "agent", "agent,domain,zone,bank"])
@pytest.mark.parametrize("service", sorted(WITH_PASSWORD))
async def test_a_tool_that_takes_a_password_is_called_with_the_group_user_only(user: Client, service: str, groups: str):
    arguments: dict[str, Any] = {"target": {"user": user.name}} if service == "US_LogOn" else {}
    async with connected(user.base, bearer(user), groups=groups) as client:
        with pytest.raises(MCPError, match=rf"{service} takes a password.*/mcp\?groups=user"):
            await client.call_tool(service, {**arguments, "vx": {"secret": PASSWORD}})
    (await user.command("US_Read")).ok()


async def test_a_tool_of_a_group_that_was_not_asked_for_is_not_called(user: Client, unique: str):
    async with connected(user.base, bearer(user), groups="bank,zone") as client:
        with pytest.raises(MCPError, match=r"AP_Create is not in bank, zone, .*: add agent to"):
            await client.call_tool("AP_Create", {"vx": {"name": f"{unique}-agent", "description": "x"}})
    assert (await user.command("AP_List")).ok().profile == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("groups=agnet", "Unknown group 'agnet': the groups are user, agent, domain, zone, bank, conversation"),
        ("groups=agent,bnak", "Unknown group 'bnak'"),
        ("groups=Agent", "Unknown group 'Agent'"),
        ("groups=", "Unknown group ''"),
        ("groups=agent,", "Unknown group ''"),
        ("groups=agent&groups=all", "Unknown group 'all'"),
        ("group=agent", "Unknown query parameter 'group': /mcp takes only `groups`"),
    ],
)
async def test_an_unknown_group_is_refused_and_the_groups_are_named(user: Client, query: str, said: str, mode: Mode):
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match=re.escape(said)), flatten_subgroups=True):
        async with connected(f"{user.base}/mcp?{query}#", bearer(user), mode) as client:
            await client.list_tools()
    answer = await sent(user, LIST, bearer(user), f"/mcp?{query}")
    assert (answer.http, answer.body["id"]) == (400, 1)
    assert said in answer.body["error"]["message"]
    assert answer.body["error"]["code"] == -32600
    assert (answer.code, answer.note) == (1003, answer.body["error"]["message"])


async def test_a_refused_group_reaches_no_tool(user: Client):
    answer = await sent(user, tool_call("US_LogOff"), bearer(user), "/mcp?groups=user,x")
    assert answer.http == 400
    (await user.command("US_Read")).ok()
