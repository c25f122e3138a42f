"""Pages, bodies and events of the greatest size block the loop no longer than other requests; see longest_step."""

import asyncio
import io
import zipfile
from collections.abc import Awaitable, Callable

import aiohttp
import orjson
import pytest

from tests.support.gateway import BUS, Client
from tests.support.longest_step import LATIN, LONGEST, TEXTS, Stepped, words_of
from tests.support.receiver import receiving
from tests.support.wire import connected, raw_post, read_answer

BODY = 1_048_576
MCP = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
KINDS = pytest.mark.parametrize("kind", ["Han", "emoji", "Latin"])


@pytest.fixture
async def domain(loop_user: Client, unique: str) -> str:
    """A selected domain with a member."""
    (await loop_user.command("DM_Create", vx={"name": f"{unique}-domain", "description": "Long talk"})).ok()
    (await loop_user.command("DM_Select", target={"domain": f"{unique}-domain"})).ok()
    return f"{unique}-domain"


async def posted(user: Client, kind: str, count: int = 200) -> list[str]:
    """Post long messages in the selected zone."""
    text = TEXTS[kind](LONGEST)
    texts = [text[at:] + text[:at] for at in range(1, count + 1)]
    for text in texts:
        (await user.command("ZN_Post", content=text)).ok()
    return texts


@KINDS
async def test_a_page_of_200_long_messages_holds_up_nobody_by_whichever_way_it_goes(
    stepped_server: Stepped, loop_user: Client, domain: str, kind: str
) -> None:
    texts = await posted(loop_user, kind)

    async def read() -> None:
        answer = (await loop_user.command("ZN_Read", page={"limit": 200})).ok()
        assert [message["content"] for message in answer.content] == texts
        assert answer.profile[0]["messages"] == 200

    async def read_by_sanic() -> None:
        answer = (await loop_user.command("ZN_Read", page={"limit": 200}, headers={"Connection": "close"})).ok()
        assert [message["content"] for message in answer.content] == texts

    async def read_by_mcp() -> None:
        call = {"name": "ZN_Read", "arguments": {"page": {"limit": 200}}}
        request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
        answer = await loop_user.request("POST", "/mcp", json=request, headers=MCP)
        assert answer.body["id"] == 7
        result = answer.body["result"]
        assert result["isError"] is False
        assert orjson.loads(result["content"][0]["text"]) == result["structuredContent"]
        assert [message["content"] for message in result["structuredContent"]["content"]] == texts

    async def followed() -> None:
        seen = 0
        headers = loop_user.headers({"Accept": "text/event-stream", "Last-Event-ID": "0"})
        async with loop_user.http.post(
            f"{loop_user.base}{BUS}/zone/stream", json={"target": {"domain": domain}}, headers=headers
        ) as response:
            buffered = b""
            async for block in response.content.iter_any():
                *events, buffered = (buffered + block).split(b"\n\n")
                for event in events:
                    if b"\ndata: " in event:
                        data = orjson.loads(event.partition(b"\ndata: ")[2])
                        if data["type"] == "message":
                            assert data["message"]["content"] == texts[seen]
                            seen += 1
                if seen == len(texts):
                    break
        assert seen == len(texts)

    for request in (read, read_by_sanic, read_by_mcp, followed):
        await stepped_server.is_never_held_up(request)


async def test_what_is_pipelined_behind_a_long_answer_is_answered_after_it(loop_user: Client, domain: str) -> None:
    texts = await posted(loop_user, "Han", 30)
    token = f"Authorization: Bearer {loop_user.token}"
    long = raw_post(BUS, orjson.dumps({"service": "ZN_Read", "page": {"limit": 200}}), token)
    short = raw_post(BUS, b'{"service": "AP_Read"}', token)
    async with connected(loop_user.base) as (reader, writer):
        for _ in range(3):
            writer.write(long)
            await writer.drain()
            writer.write(short + long)
            for expected in ("ZN_Read", "AP_Read", "ZN_Read"):
                answer = (await read_answer(reader)).ok()
                assert answer.body["header"]["service"] == expected
                if expected == "ZN_Read":
                    assert [message["content"] for message in answer.content] == texts


async def test_a_client_that_goes_away_amid_a_long_answer_harms_nobody(loop_user: Client, domain: str) -> None:
    await posted(loop_user, "Han", 60)
    body = orjson.dumps({"service": "ZN_Read", "page": {"limit": 200}})
    for _ in range(5):
        async with connected(loop_user.base) as (reader, writer):
            writer.write(raw_post(BUS, body, f"Authorization: Bearer {loop_user.token}"))
            await reader.readexactly(1_000)
            writer.transport.abort()
    (await loop_user.command("AP_Read")).ok()


async def test_lists_of_the_longest_records_hold_up_nobody(
    stepped_server: Stepped, loop_user: Client, unique: str
) -> None:
    for number in range(200):
        texts = {"description": TEXTS["Han"](8_000), "profile": TEXTS["Han"](8_000)}
        (await loop_user.command("AP_Create", vx={"name": f"{unique}-{number}", **texts})).ok()

    async def listed() -> None:
        assert len((await loop_user.command("AP_List", page={"limit": 200})).ok().profile) == 200

    await stepped_server.is_never_held_up(listed)


@pytest.mark.parametrize("memories", [20, pytest.param(60, marks=pytest.mark.soak)])
async def test_a_bank_of_long_memories_is_read_and_recalled_without_holding_up_anybody(
    stepped_server: Stepped, loop_user: Client, unique: str, memories: int
) -> None:
    bank = {"bank": f"{unique}-bank"}
    (await loop_user.command("MB_Create", vx={"name": bank["bank"]})).ok()
    for number in range(memories):
        text = f"The Moon. {TEXTS['Han'](LONGEST - 10)}"
        (await loop_user.command("MB_Load", target=bank, vx={"name": f"memory {number}"}, content=text)).ok()

    async def read() -> None:
        assert len((await loop_user.command("MB_Read", target=bank, page={"limit": 200})).ok().content) == memories

    async def recalled() -> None:
        found = (await loop_user.command("MB_Recall", target=bank, content="Moon?", page={"limit": 200})).ok()
        assert len(found.content) >= memories * 2 // 3

    for request in (read, recalled):
        await stepped_server.is_never_held_up(request)


@pytest.mark.parametrize(
    ("media_type", "document"),
    [
        ("text/markdown", words_of(LATIN)),
        pytest.param("text/plain", lambda length: TEXTS["Han"](length * 2 // 3), marks=pytest.mark.soak),
        ("text/html", lambda length: f"<p>{'<b>x</b> &amp; y<br>' * (length // 21)}"),
    ],
    ids=["markdown", "Han", "html"],
)
async def test_documents_of_the_greatest_size_hold_up_nobody(
    stepped_server: Stepped,
    loop_user: Client,
    unique: str,
    media_type: str,
    document: Callable[[int], str],
) -> None:
    (await loop_user.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    keys = iter(range(99))

    async def handed_in() -> None:
        sent = {"name": f"{unique}-doc", "content": document(490_000), "media_type": media_type}
        text = orjson.dumps(sent)
        headers = {"Content-Type": "application/json"}
        answer = await loop_user.request("POST", "/api/documents", data=text, headers=headers)
        assert answer.http == 202, answer.body
        while (await loop_user.request("GET", f"/api/documents/{answer.body['id']}")).body["status"] != "ready":
            await asyncio.sleep(0.05)

    async def loaded() -> None:
        headers = {"Idempotency-Key": f"{unique}-{next(keys)}"}
        vx, target = {"name": f"{unique}-doc"}, {"bank": f"{unique}-bank"}
        answer = (await loop_user.command("MB_Load", target=target, vx=vx, headers=headers)).ok()
        assert len(answer.content) > 50

    for request in (handed_in, loaded):
        await stepped_server.is_never_held_up(request)


def wide(count: int) -> bytes:
    return orjson.dumps({f"k{number}": number for number in range(count)})


HOSTILE = {
    "[[[[": (BUS, b"[" * BODY),
    "objects in objects": (BUS, b'{"a":' * (BODY // 5)),
    "many unknown members": (BUS, b'{"service":"AP_Read",' + wide(65_000)[1:]),
    "a target of many unknown members": (BUS, b'{"service":"AP_Read","target":' + wide(65_000) + b"}"),
    "escapes": (BUS, b'{"service":"AP_Chat","content":"' + b"\\u4e00" * 170_000 + b'"}'),
    "numbers": (BUS, b'{"service":"AP_Chat","content":[' + b"1," * 500_000 + b"1]}"),
    "empty objects": (BUS, b'{"service":"AP_Chat","content":[' + b"{}," * 340_000 + b"{}]}"),
    "a number of a million digits": (BUS, b'{"service":"AP_Chat","page":{"limit":' + b"9" * 1_000_000 + b"}}"),
    "events that are numbers": (
        "/api/webhooks/endpoints",
        b'{"url":"https://example.org","events":[' + b"1," * 500_000 + b"1]}",
    ),
    "metadata of many members": ("/api/documents", b'{"name":"abc","content":"x","metadata":' + wide(65_000) + b"}"),
    "data of many members": ("/api/webhooks/test", b'{"event_type":"webhook.test","data":' + wide(65_000) + b"}"),
    "arguments of many members": (
        "/api/mcp/tools/invoke",
        b'{"tool":"own.recall","arguments":' + wide(65_000) + b"}",
    ),
    "a tool's arguments of many members": (
        "/mcp",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AP_Read","arguments":' + wide(65_000) + b"}}",
    ),
    "a message of MCP with many members": (
        "/mcp",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + wide(65_000) + b"}",
    ),
    "a tool's arguments of many numbers": (
        "/mcp",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"AP_Read","arguments":{"target":['
        + b"1," * 400_000
        + b"1]}}}",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_a_body_of_a_mebibyte_that_is_meant_ill_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, unique: str, kind: str
) -> None:
    path, body = HOSTILE[kind]
    assert BODY // 2 < len(body) <= BODY
    keys = iter(range(99))

    async def sent() -> None:
        headers = {"Content-Type": "application/json", **(MCP if path == "/mcp" else {})}
        headers["Idempotency-Key"] = f"{unique}-{next(keys)}"
        answer = await loop_user.request("POST", path, data=body, headers=headers)
        assert answer.http != 413

    await stepped_server.is_never_held_up(sent)


async def test_an_event_of_256_kib_to_fifty_endpoints_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client
) -> None:
    async with receiving() as receiver:
        for number in range(50):
            sent = {"url": f"{receiver.url}?{number}", "events": ["webhook.test"]}
            assert (await loop_user.request("POST", "/api/webhooks/endpoints", json=sent)).http == 201

        async def tested() -> None:
            before = len(receiver.received)
            event = {"event_type": "webhook.test", "data": {"text": TEXTS["Latin"](250_000)}}
            assert (await loop_user.request("POST", "/api/webhooks/test", json=event)).http == 202
            await receiver.got(before + 50)

        await stepped_server.is_never_held_up(tested)


async def test_the_largest_zip_of_a_skill_holds_up_nobody(
    stepped_server: Stepped, loop_user: Client, unique: str
) -> None:
    names = (f"skill-{unique}-{number}" for number in range(99))

    def zipped(name: str) -> bytes:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{name}/SKILL.md", f"---\nname: {name}\ndescription: Long\n---\nRead on.\n")
            for number in range(120):
                archive.writestr(f"{name}/file{number}.txt", TEXTS["Latin"](11_000))
        return packed.getvalue()

    async def installed() -> None:
        form = aiohttp.FormData()
        form.add_field("file", io.BytesIO(zipped(next(names))), filename="skill.zip")
        answer = await loop_user.request("POST", "/api/skills/install", data=form)
        assert answer.http == 201, answer.body

    await stepped_server.is_never_held_up(installed)


REQUESTS: list[Callable[[Client], Awaitable[object]]] = [
    lambda user: user.request("GET", "/docs"),
    lambda user: user.request("GET", "/metrics"),
    lambda user: user.request("GET", "/api/tps/openapi.json"),
    lambda user: user.request("GET", "/api/webhooks/events"),
    lambda user: user.command("AP_Read"),
]


@pytest.mark.parametrize("request_of", REQUESTS)
async def test_pages_and_short_commands_hold_up_nobody(
    stepped_server: Stepped, loop_user: Client, request_of: Callable[[Client], Awaitable[object]]
) -> None:
    await stepped_server.is_never_held_up(lambda: request_of(loop_user))
