"""Banks, zones and the files of skills as MCP's resources, by the official client (docs/mcp.md)."""

import asyncio
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from mcp.client.client import Client as McpClient
from mcp.shared.exceptions import MCPError
from mcp_types import ResourceTemplateReference

from tests.support.gateway import Client
from tests.support.mcp_client import MODES, Mode, bearer, connected, sent
from tests.support.memories import load, open_to_all, share
from tests.support.operator import set_plan
from tests.support.skills import named, zipped

NOT_FOUND = {"auto": -32602, "legacy": -32002}
"""The code for a resource that is not there; 2026-07-28 has changed it (SEP-2164)."""


@pytest.fixture
async def owner(owner: Client, unique: str) -> Client:
    """The user of conftest.py, with a second memory in the bank."""
    (await load(owner, f"{unique}-bank", "sun/how far?", "The Sun is 150 million km away: öü")).ok()
    return owner


class Connecting:
    """Calls each method of the official client over a connection of its own, as a fixture can't hold one."""

    def __init__(self, user: Client) -> None:
        self._user = user

    def __getattr__(self, method: str) -> Any:
        async def call(*arguments: Any, **named: Any) -> Any:
            refusal = None
            async with connected(self._user.base, bearer(self._user)) as client:
                try:
                    return await getattr(client, method)(*arguments, **named)
                except MCPError as error:  # a task group would wrap it
                    refusal = error
            raise refusal

        return call


@pytest.fixture
def client(owner: Client) -> Connecting:
    return Connecting(owner)


async def text_of(client: McpClient | Connecting, uri: str) -> str:
    """Read a resource that has one text."""
    (content,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert content.uri == uri
    return content.model_dump()["text"]


async def value_of(client: McpClient | Connecting, uri: str) -> dict[str, Any]:
    return orjson.loads(await text_of(client, uri))


async def listed(user: Client, groups: str = "") -> list[str]:
    """List all resources of a user, page by page."""
    async with connected(user.base, bearer(user), groups=groups) as client:
        found, cursor = list[str](), None
        while True:
            page = await client.list_resources(cursor=cursor, cache_mode="bypass")
            found += [resource.uri for resource in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                return found


async def code_of_reading(user: Client, uri: str, mode: Mode = "auto") -> int:
    """Read a resource that can't be read; return the error's code."""
    async with connected(user.base, bearer(user), mode) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
    assert refused.value.data["uri"] == uri
    assert refused.value.message
    return refused.value.code


# what is there


@pytest.mark.parametrize("mode", MODES)
async def test_banks_and_zones_of_a_user_are_listed_and_read(owner: Client, unique: str, mode: Mode):
    bank, zone = f"parley://bank/{unique}-bank", f"parley://zone/{unique}-domain/lobby"
    (await owner.command("ZN_Post", target={"domain": f"{unique}-domain"}, content="Good morning")).ok()
    async with connected(owner.base, bearer(owner), mode) as client:
        resources = (await client.list_resources()).resources
        assert [(one.uri, one.mime_type) for one in resources] == [
            (bank, "application/json"),
            (zone, "application/json"),
        ]
        assert resources[0].description == "Field notes"
        assert resources[1].name == f"{unique}-domain/lobby"
        notes = await value_of(client, bank)
        assert notes["bank"]["memories"] == 2
        assert [memory["text"] for memory in notes["memories"]] == [
            "The Moon is 384,400 km away.",
            "The Sun is 150 million km away: öü",
        ]
        assert notes["next"] is None
        for memory in notes["memories"]:
            assert await text_of(client, memory["uri"]) == memory["text"]
        lobby = await value_of(client, zone)
    assert (lobby["zone"]["name"], lobby["zone"]["domain"]) == ("lobby", f"{unique}-domain")
    assert [message["content"] for message in lobby["messages"]] == ["Good morning"]


async def test_a_memory_s_name_is_percent_encoded_and_names_take_any_case(client: Connecting, unique: str):
    text = "The Sun is 150 million km away: öü"
    encoded = quote("sun/how far?", safe="")
    assert encoded == "sun%2Fhow%20far%3F"
    assert await text_of(client, f"parley://bank/{unique}-bank/{encoded}") == text
    assert await text_of(client, f"parley://bank/{unique.upper()}-BANK/sun/how%20far%3F") == text
    assert (await value_of(client, f"parley://zone/{unique.upper()}-DOMAIN/Lobby"))["messages"] == []


async def test_a_document_s_name_reads_all_its_parts(owner: Client, client: Connecting, unique: str):
    bank = f"{unique}-bank"
    words = " ".join(f"word{number}" for number in range(600))
    assert (await owner.request("POST", "/api/documents", json={"name": "report", "content": words})).http == 202
    async with asyncio.timeout(30):
        while (await owner.command("MB_Load", target={"bank": bank}, vx={"name": "report"})).code != 0:
            await asyncio.sleep(0.1)
    report = await client.read_resource(f"parley://bank/{bank}/report")
    assert len(report.contents) > 1
    assert [content.uri for content in report.contents] == [
        f"parley://bank/{bank}/report%2F{number}" for number in range(1, len(report.contents) + 1)
    ]
    assert " ".join(content.model_dump()["text"] for content in report.contents) == words
    for part, text in (("1", "first"), ("2", "second")):
        (await load(owner, bank, f"book/{part}", text)).ok()
    part = await client.read_resource(f"parley://bank/{bank}/book%2F2")
    assert [content.model_dump()["text"] for content in part.contents] == ["second"]
    with pytest.raises(MCPError):  # parts that were loaded one by one are no document
        await client.read_resource(f"parley://bank/{bank}/book")


async def test_long_banks_and_zones_are_read_in_pages(owner: Client, client: Connecting, unique: str):
    bank, zone = f"parley://bank/{unique}-bank", f"parley://zone/{unique}-domain/lobby"
    for number in range(60):
        (await load(owner, f"{unique}-bank", f"n{number:02}", f"Number {number}")).ok()
        (await owner.command("ZN_Post", target={"domain": f"{unique}-domain"}, content=f"said {number}")).ok()
    first = await value_of(client, bank)
    second = await value_of(client, first["next"])
    assert [len(first["memories"]), len(second["memories"]), second["next"]] == [50, 12, None]
    names = [memory["name"] for memory in first["memories"] + second["memories"]]
    assert names == ["moon", "sun/how far?", *(f"n{number:02}" for number in range(60))]
    newest = await value_of(client, zone)
    older = await value_of(client, newest["next"])
    texts = [message["content"] for message in older["messages"] + newest["messages"]]
    assert texts == [f"said {number}" for number in range(60)]
    assert older["next"] is None


async def test_long_texts_make_short_pages(owner: Client, client: Connecting, unique: str):
    for number in range(6):
        (await load(owner, f"{unique}-bank", f"long {number}", "word " * 6_000)).ok()
    lengths, uri = list[int](), f"parley://bank/{unique}-bank"
    while uri:
        page = await value_of(client, uri)
        lengths.append(len(page["memories"]))
        uri = page["next"]
    assert sum(lengths) == 8
    assert len(lengths) == 2


async def test_the_list_goes_on_over_banks_and_zones(owner: Client, unique: str):
    names = [f"{unique}-{number:03}" for number in range(120)]
    for name in names:
        (await owner.command("MB_Create", vx={"name": name})).ok()
        (await owner.command("ZN_Create", target={"domain": f"{unique}-domain"}, vx={"name": name})).ok()
    uris = await listed(owner)
    assert uris == [
        *(f"parley://bank/{name}" for name in [*names, f"{unique}-bank"]),
        *(f"parley://zone/{unique}-domain/{name}" for name in ["lobby", *names]),
    ]


async def test_templates_tell_the_forms_of_uris(owner: Client, client: Connecting):
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == [
        "parley://bank/{bank}",
        "parley://bank/{bank}/{memory}",
        "parley://zone/{domain}/{zone}",
        "parley://skill/{skill}/{+path}",
    ]
    nobody = await sent(owner.as_user(), {"jsonrpc": "2.0", "id": 1, "method": "resources/templates/list"})
    assert nobody.http == 200


async def test_names_are_completed(owner: Client, guest: Client, client: Connecting, unique: str):
    async def completed(template: str, argument: str, value: str, **context: str) -> list[str]:
        ref = ResourceTemplateReference(type="ref/resource", uri=template)
        given = {"name": argument, "value": value}
        return (await client.complete(ref, given, context_arguments=context or None)).completion.values

    (await guest.command("MB_Create", vx={"name": f"{unique}-bond"})).ok()
    bank, memory, zone = "parley://bank/{bank}", "parley://bank/{bank}/{memory}", "parley://zone/{domain}/{zone}"
    assert await completed(bank, "bank", f"{unique}-b") == [f"{unique}-bank"]
    assert await completed(memory, "memory", "s", bank=f"{unique}-bank") == ["sun/how far?"]
    assert await completed(memory, "memory", "", bank=f"{unique}-bank") == ["moon", "sun/how far?"]
    assert await completed(zone, "domain", unique.upper()) == [f"{unique}-domain"]
    assert await completed(zone, "zone", "lo", domain=f"{unique}-domain") == ["lobby"]
    with pytest.raises(MCPError):
        await completed(memory, "memory", "", bank=f"{unique}-bond")
    with pytest.raises(MCPError):
        await completed("parley://nothing/{here}", "here", "")


async def test_the_groups_of_an_address_choose_its_resources(owner: Client, unique: str):
    bank, zone = f"parley://bank/{unique}-bank", f"parley://zone/{unique}-domain/lobby"
    assert await listed(owner, "bank") == [bank]
    assert await listed(owner, "agent,zone") == [zone]
    assert await listed(owner, "agent") == []
    async with connected(owner.base, bearer(owner), groups="zone") as client:
        with pytest.raises(MCPError, match=r"add bank to \?groups="):
            await client.read_resource(bank)
        assert (await value_of(client, zone))["messages"] == []


# who may see what


@pytest.mark.parametrize("mode", MODES)
async def test_what_another_user_may_not_see_does_not_exist(owner: Client, guest: Client, unique: str, mode: Mode):
    assert await listed(guest) == []
    for uri in (
        f"parley://bank/{unique}-bank",
        f"parley://bank/{unique}-bank/moon",
        f"parley://zone/{unique}-domain/lobby",
        f"parley://bank/{unique}-nothing",
        f"parley://bank/{unique}-bank/",
        f"parley://zone/{unique}-domain",
        f"parley://mine/{unique}-bank",
        f"parley://bank/{unique}-bank/%ff",
        f"parley://bank/{unique}-bank/a%00b",
        f"parley://bank/{unique}-bank?limit=5",
        "parley://skill/none/file.md",
        "file:///etc/passwd",
        "nonsense",
    ):
        assert await code_of_reading(guest, uri, mode) == NOT_FOUND[mode], uri


async def test_a_public_bank_is_seen_but_read_only_by_its_agents(owner: Client, guest: Client, unique: str):
    bank = f"{unique}-bank"
    await open_to_all(owner, bank)
    assert await listed(guest) == []
    assert await code_of_reading(guest, f"parley://bank/{bank}") == NOT_FOUND["auto"]
    await share(owner, guest, bank, f"{unique}-visitor", "read")
    assert await listed(guest) == [f"parley://bank/{bank}"]
    async with connected(guest.base, bearer(guest)) as client:
        assert await text_of(client, f"parley://bank/{bank}/moon") == "The Moon is 384,400 km away."
    (
        await owner.command(
            "MB_Permissions", target={"bank": bank, "agent": f"{unique}-visitor"}, vx={"permission": "none"}
        )
    ).ok()
    assert await listed(guest) == []
    assert await code_of_reading(guest, f"parley://bank/{bank}/moon") == NOT_FOUND["auto"]


async def test_a_zone_is_read_by_members_as_long_as_they_are(owner: Client, guest: Client, unique: str):
    target = {"domain": f"{unique}-domain", "agent": f"{unique}-visitor"}
    zone = f"parley://zone/{unique}-domain/lobby"
    (await owner.command("DM_Invite", target=target)).ok()
    assert await listed(guest) == []
    assert await code_of_reading(guest, zone) == NOT_FOUND["auto"]
    (await guest.command("DM_Join", target=target)).ok()
    assert await listed(guest) == [zone]
    async with connected(guest.base, bearer(guest)) as client:
        assert (await value_of(client, zone))["messages"] == []
    (await owner.command("DM_Kick", target=target)).ok()
    assert await listed(guest) == []
    assert await code_of_reading(guest, zone) == NOT_FOUND["auto"]


async def test_a_censored_memory_and_a_destroyed_bank_are_gone(owner: Client, client: Connecting, unique: str):
    bank = f"{unique}-bank"
    moon = f"parley://bank/{bank}/moon"
    assert "384,400" in await text_of(client, moon)
    (await owner.command("MB_Censor", target={"bank": bank}, vx={"name": "moon"})).ok()
    assert await code_of_reading(owner, moon) == NOT_FOUND["auto"]
    notes = await text_of(client, f"parley://bank/{bank}")
    assert "384,400" not in notes
    assert [memory["name"] for memory in orjson.loads(notes)["memories"]] == ["sun/how far?"]
    ref = ResourceTemplateReference(type="ref/resource", uri="parley://bank/{bank}/{memory}")
    completed = await client.complete(ref, {"name": "memory", "value": ""}, context_arguments={"bank": bank})
    assert completed.completion.values == ["sun/how far?"]
    (await owner.command("MB_Destroy", target={"bank": bank})).ok()
    assert await code_of_reading(owner, f"parley://bank/{bank}") == NOT_FOUND["auto"]
    assert await listed(owner) == [f"parley://zone/{unique}-domain/lobby"]


async def test_wrong_cursors_are_refused(owner: Client, client: Connecting, unique: str):
    for cursor in ("nonsense", "WyJiYW5rIl0=", "é", "W10="):
        with pytest.raises(MCPError) as refused:
            await client.list_resources(cursor=cursor)
        for listing in (client.list_tools, client.list_resource_templates, client.list_prompts):
            with pytest.raises(MCPError, match="cursor"):
                await listing(cursor=cursor, cache_mode="bypass")
        assert refused.value.code == -32602
    with pytest.raises(MCPError) as refused:
        await client.read_resource(f"parley://bank/{unique}-bank?cursor=-1")
    assert refused.value.code == -32602


# skills as prompts


@pytest.mark.parametrize("mode", MODES)
async def test_skills_are_prompts_with_their_files_as_resources(user: Client, mode: Mode):
    packed = zipped(
        ("meeting-notes/SKILL.md", named("meeting-notes", "Writes minutes. Use after meetings.", "Write them well.")),
        ("meeting-notes/references/style guide.md", "Be brief: öü"),
        ("meeting-notes/assets/dot.bin", b"\xff\x00\xfe"),
    )
    form = {"Content-Type": "multipart/form-data; boundary=xx"}
    body = (
        b'--xx\r\nContent-Disposition: form-data; name="file"; filename="skill.zip"\r\n\r\n'
        + packed
        + b"\r\n--xx--\r\n"
    )
    assert (await user.request("POST", "/api/skills/install", data=body, headers=form)).http == 201
    plain = {"content": named("a-plain-one", body="Just do it.")}
    assert (await user.request("POST", "/api/skills/install", json=plain)).http == 201
    async with connected(user.base, bearer(user), mode) as client:
        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == ["a-plain-one", "meeting-notes"]
        assert prompts[1].description == "Writes minutes. Use after meetings."
        assert not prompts[1].arguments
        (message,) = (await client.get_prompt("a-plain-one")).messages
        assert (message.role, message.content.model_dump()["text"]) == ("user", "Just do it.")
        (message,) = (await client.get_prompt("meeting-notes", {})).messages
        text = message.content.model_dump()["text"]
        assert text.startswith("Write them well.\n\nFiles of this skill")
        blob, guide = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
        assert guide == "parley://skill/meeting-notes/references%2Fstyle%20guide.md"
        assert await text_of(client, guide) == "Be brief: öü"
        for template in ("parley://skill/{skill}/{+path}", "parley://skill/{skill}/{path}"):
            ref = ResourceTemplateReference(type="ref/resource", uri=template)
            skills = await client.complete(ref, {"name": "skill", "value": "meet"})
            assert skills.completion.values == ["meeting-notes"]
            skill = {"skill": "meeting-notes"}
            files = await client.complete(ref, {"name": "path", "value": "ref"}, context_arguments=skill)
            assert files.completion.values == ["references/style guide.md"]
        assert await text_of(client, "parley://skill/meeting-notes/references/style%20guide.md") == "Be brief: öü"
        for path in ("SKILL.md", "references"):
            with pytest.raises(MCPError, match="no such file"):
                await client.read_resource(f"parley://skill/meeting-notes/{path}")
        (content,) = (await client.read_resource(blob)).contents
        assert content.model_dump()["blob"] == "/wD+"
        for name, arguments in (("nothing", None), ("meeting-notes", {"task": "now"})):
            with pytest.raises(MCPError) as refused:
                await client.get_prompt(name, arguments)
            assert refused.value.code == -32602
        assert (await user.request("DELETE", "/api/skills/meeting-notes")).http == 204
        assert [prompt.name for prompt in (await client.list_prompts(cache_mode="bypass")).prompts] == ["a-plain-one"]
        with pytest.raises(MCPError):
            await client.read_resource(guide, cache_mode="bypass")


async def test_the_skills_of_others_are_no_prompts(owner: Client, guest: Client):
    assert (await owner.request("POST", "/api/skills/install", json={"content": named("secret-ways")})).http == 201
    async with connected(guest.base, bearer(guest)) as client:
        assert (await client.list_prompts()).prompts == []
        with pytest.raises(MCPError):
            await client.get_prompt("secret-ways")


# credentials and the quota

WITH_CREDENTIAL: list[tuple[str, dict[str, Any]]] = [
    ("resources/list", {}),
    ("resources/read", {"uri": "parley://bank/field-notes"}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "meeting-notes"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/resource", "uri": "parley://bank/{bank}"}, "argument": {"name": "bank", "value": ""}},
    ),
]


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@pytest.mark.parametrize(("method", "params"), WITH_CREDENTIAL)
async def test_each_request_needs_a_credential_and_counts_one(user: Client, method: str, params: dict[str, Any]):
    nobody = user.as_user()
    answer = await sent(nobody, message(method, params))
    answer.refused(2000, 401)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    (await sent(nobody, message(method, params), {"X-Api-Key": "plk_nonsense"})).refused(2001, 401)
    used = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    answer = await sent(user, message(method, params), bearer(user))
    assert answer.headers["RateLimit"].startswith(f'"day";r={100 - used - 1};')
    assert (await set_plan(user, user.name, "enterprise", limit=1)).http == 200
    refused = await sent(user, message(method, params), bearer(user))
    refused = refused if refused.http == 429 else await sent(user, message(method, params), bearer(user))
    refused.refused(4000, 429)
    assert "Retry-After" in refused.headers


@pytest.mark.one_node(reason="it reads counts of /metrics, which are of one node")
async def test_a_read_is_measured_as_the_command_that_reads_the_same(owner: Client, client: Connecting, unique: str):
    await client.read_resource(f"parley://bank/{unique}-bank")
    await client.read_resource(f"parley://zone/{unique}-domain/lobby")
    with pytest.raises(MCPError):
        await client.read_resource(f"parley://bank/{unique}-nothing")
    metrics = (await owner.request("GET", "/metrics")).body
    assert 'code="0",service="MB_Read"' in metrics
    assert 'code="3000",service="MB_Read"' in metrics
    assert 'code="0",service="ZN_Read"' in metrics
