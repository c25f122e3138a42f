"""Malformed bodies: each is refused with its error, and the gateway goes on."""

import asyncio
import gzip
import io
import socket
import struct
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.gateway import BUS, Answer, Client
from tests.support.wire import connected, raw_post, read_answer, send_raw

LIMIT = 1_048_576
JSON = {"Content-Type": "application/json"}


@pytest.fixture(autouse=True)
async def still_answers(user: Client) -> AsyncIterator[None]:
    """After each test the gateway still serves the same user."""
    yield
    assert (await user.request("GET", "/api/health")).http == 200
    assert (await user.command("AP_List")).ok().profile == []


async def post(client: Client, body: bytes, path: str = BUS, **headers: str) -> Answer:
    return await client.request("POST", path, data=io.BytesIO(body), headers=JSON | headers)


# 1000: not a JSON object in valid Unicode

NOT_AN_OBJECT = {
    "empty": b"",
    "blank": b" \n",
    "text": b"hello",
    "cut off": b'{"service": "AP_List"',
    "two objects": b'{"service": "AP_List"}{"service": "AP_List"}',
    "trailing comma": b'{"service": "AP_List",}',
    "single quotes": b"{'service': 'AP_List'}",
    "comment": b'{"service": "AP_List"} // all',
    "array": b'[{"service": "AP_List"}]',
    "string": b'"AP_List"',
    "number": b"42",
    "true": b"true",
    "null": b"null",
    "NaN": b'{"service": "AP_List", "page": {"limit": NaN}}',
    "Infinity": b'{"service": "AP_List", "page": {"limit": Infinity}}',
    "-Infinity in an unknown member": b'{"service": "AP_List", "x": -Infinity}',
    "number with a leading zero": b'{"service": "AP_List", "page": {"limit": 007}}',
    "byte order mark": b'\xef\xbb\xbf{"service": "AP_List"}',
    "UTF-16": '{"service": "AP_List"}'.encode("utf-16"),
    "latin-1": '{"service": "AP_List", "content": "café"}'.encode("latin-1"),
    "overlong UTF-8": b'{"service": "AP_List", "content": "\xc0\xaf"}',
    "surrogate in UTF-8": b'{"service": "AP_List", "content": "\xed\xa0\x80"}',
    "lone leading surrogate": b'{"service": "AP_List", "content": "\\ud800"}',
    "lone trailing surrogate": b'{"service": "AP_List", "content": "\\udc00"}',
    "surrogates in the wrong order": b'{"service": "AP_List", "content": "\\udc00\\ud800"}',
    "bare control character": b'{"service": "AP_List", "content": "a\x00b"}',
    "100,000 arrays deep": b'{"service": "AP_List", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 objects deep": b'{"service": "AP_List", "x": ' + b'{"x":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "100,000 arrays never closed": b"[" * 100_000,
}


@pytest.mark.parametrize("body", NOT_AN_OBJECT.values(), ids=NOT_AN_OBJECT)
async def test_what_is_no_json_object_in_valid_unicode_is_1000(user: Client, body: bytes):
    for path in (BUS, f"{BUS}/agent/list"):
        answer = (await post(user, body, path)).refused(1000, 400)
        assert answer.http == 400


async def test_a_body_that_is_not_utf_8_is_told_where(user: Client):
    note = (await post(user, b'{"service": "AP_List", "content": "\xff"}')).refused(1000, 400).note
    assert note == "The body is not valid UTF-8, from byte 35 on; send JSON in UTF-8."


async def test_no_body_at_all_is_1000(user: Client):
    for path in (BUS, f"{BUS}/agent/list"):
        for raw in (raw_post(path, b""), f"POST {path} HTTP/1.1\r\nHost: gateway\r\n\r\n".encode()):
            assert "The body is empty" in (await send_raw(user.base, raw)).refused(1000, 400).note


# unusual but valid JSON

ODD_BUT_VALID = {
    "numbers of 400 digits": b'{"service": "AP_List", "x": ' + b"9" * 400 + b"}",
    "exponent out of range": b'{"service": "AP_List", "x": 1e99999}',
    "a name twice, the last one counts": b'{"service": "AP_Chat", "service": "AP_List"}',
    "escapes in a name": b'{"\\u0073ervice": "\\u0041P_List"}',
    "NUL in an unknown member": b'{"service": "AP_List", "x\\u0000": "\\u0000"}',
    "white space around": b' \r\n\t{ "service" : "AP_List" } \n',
    "500 levels deep in an unknown member": b'{"service": "AP_List", "x": ' + b"[" * 500 + b"]" * 500 + b"}",
}


@pytest.mark.parametrize("body", ODD_BUT_VALID.values(), ids=ODD_BUT_VALID)
async def test_valid_json_is_understood_however_odd(user: Client, body: bytes):
    answer = await post(user, body)
    if b"x" not in body:
        answer.ok()
    else:  # parsed, and refused as an unknown member; JSON lets a parser limit numbers and depth (RFC 8259, 9)
        assert answer.code in (1003, 1000), answer.body


@pytest.mark.parametrize(
    "text", ["日本語", "\U0001f600" * 10, "a\u0301", "\u202e", "\ufffe", "\x7f", "'; DROP TABLE users --"]
)
async def test_any_valid_text_is_kept_as_it_is(user: Client, unique: str, text: str):
    vx = {"name": f"{unique}-agent", "description": text, "profile": text}
    made = (await user.command("AP_Create", vx=vx)).ok().profile[0]
    assert (made["description"], made["profile"]) == (text, text)
    (await user.command("AP_Destroy", target={"agent": f"{unique}-agent"})).ok()


# 1003: members of the wrong type, size or range

THIRTY_DIGITS = int("9" * 30)
WRONG = [
    *(("target", value) for value in ("text", 1, True, [], 1.5)),
    *((f"target.{member}", 1) for member in ("user", "agent", "domain", "zone", "bank", "conversation")),
    *(("target.agent", value) for value in (True, [], {}, ["a"], 0.5, THIRTY_DIGITS, "a\0b", "\0", "x" * 201)),
    *(("vx", value) for value in ("text", 1, False, [], [{}])),
    *((f"vx.{member}", value) for member in ("name", "description", "profile", "secret") for value in (7, {}, "a\0")),
    *((f"vx.{member}", value) for member in ("access", "permission") for value in (1, [], "PUBLIC", "all", "public\0")),
    *(("vx.seq", value) for value in ("5", 0, -1, 1.5, True, [], 2**53)),
    *((f"vx.{member}", "x" * 8_001) for member in ("description", "profile")),
    ("vx.secret", "x" * 257),
    *(("content", value) for value in (1, True, [], {}, ["text"], "\0", "text\0", "x" * 32_001)),
    *(("page", value) for value in ("text", 1, [], True)),
    *(("page.limit", value) for value in ("5", 0, 201, -1, 1.5, True, [], 1e300, THIRTY_DIGITS, -THIRTY_DIGITS, 2**63)),
    *(("page.cursor", value) for value in (1, [], {}, "\0", "x" * 501)),
]


@pytest.mark.parametrize(("path", "value"), WRONG, ids=[f"{path} {str(value)[:20]!r}" for path, value in WRONG])
async def test_a_wrong_member_is_1003_and_the_note_names_its_path(user: Client, path: str, value: Any):
    body: Any = value
    for member in reversed(path.split(".")):
        body = {member: body}
    for answer in (await user.command("AP_List", **body), await user.alias("/domain/ban", **body)):
        assert path in answer.refused(1003, 400).note
        assert len(answer.note) < 2_000


async def test_a_30_digit_number_that_json_writes_out_is_1003_in_a_known_member(user: Client):
    for member in (b'"content": %s', b'"page": {"limit": %s}', b'"target": {"agent": -%s}'):
        body = b'{"service": "AP_List", ' + member.replace(b"%s", b"1" * 30) + b"}"
        (await post(user, body)).refused(1003, 400)


@pytest.mark.parametrize("digits", [b"99999999999999999999", b"-99999999999999999999", b"1e300"])
async def test_a_whole_number_that_is_read_as_another_is_out_of_range(user: Client, digits: bytes):
    answer = await post(user, b'{"service": "ZN_Read", "page": {"after": %s}}' % digits)
    assert answer.refused(1003, 400).note == "Invalid value of page.after: the number is out of range."


BOUNDS = [
    ("content", "x" * 32_001, "it must have at most 32,000 characters"),
    ("page.limit", 0, "it must be at least 1"),
    ("page.after", 2**63 - 1, "it must be at most 9,007,199,254,740,991"),
    ("vx.access", "all", "it must be 'public', 'domain', 'bank' or 'agent'"),
]


@pytest.mark.parametrize(("path", "value", "told"), BOUNDS, ids=[path for path, _, _ in BOUNDS])
async def test_a_value_out_of_its_bounds_is_told_them(user: Client, path: str, value: Any, told: str):
    body: Any = value
    for member in reversed(path.split(".")):
        body = {member: body}
    assert (await user.command("ZN_Read", **body)).refused(1003, 400).note == f"Invalid value of {path}: {told}."


async def test_lists_and_numbers_of_queries_out_of_their_bounds_are_told_them(user: Client):
    keys = {"name": "k", "scopes": {"services": ["AP_Chat"] * 101}}
    note = (await user.request("POST", "/api/api-keys", json=keys)).refused(1003, 400).note
    assert note == "Invalid value of scopes.services: it must have at most 100 entries."
    note = (await user.request("GET", "/api/audit?limit=" + "9" * 5000)).refused(1003, 400).note
    assert note == "Invalid value of limit: the number is out of range."


async def test_every_wrong_member_is_named_up_to_ten(user: Client):
    body = {"target": dict.fromkeys(("user", "agent", "domain", "zone", "bank"), 1), "vx": {"name": 1}, "content": 1}
    note = (await user.command("AP_List", **body)).refused(1003, 400).note
    assert all(path in note for path in ("target.user", "target.bank", "vx.name", "content"))


async def test_a_nul_in_the_service_is_refused(user: Client):
    answer = await user.command("AP_List\0")
    assert answer.code in (1001, 1003)


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
async def test_texts_are_measured_in_characters(user: Client, unique: str, letter: str):
    vx = {"name": f"{unique}-agent", "description": letter * 8_000, "profile": letter * 8_000}
    (await user.command("AP_Create", vx=vx)).ok()
    (await user.command("AP_LogOn", target={"agent": f"{unique}-agent"})).ok()
    said = (await user.command("AP_Chat", target={"agent": f"{unique}-agent"}, content=letter * 32_000)).ok()
    assert said.content[0]["content"] == letter * 32_000
    (await user.command("AP_Destroy", target={"agent": f"{unique}-agent"})).ok()


# 1004: too large


def padded(size: int) -> bytes:
    body = b'{"service": "AP_List"}'
    return body + b" " * (size - len(body))


async def test_a_body_of_the_limit_is_taken_and_one_byte_more_is_not(user: Client):
    (await post(user, padded(LIMIT))).ok()
    assert (await post(user, padded(LIMIT + 1))).refused(1004, 413).http == 400


async def test_two_mebibytes_are_refused_however_they_are_sent(user: Client):
    for path in (BUS, f"{BUS}/agent/list"):
        assert (await post(user, padded(2 * LIMIT), path)).refused(1004, 413).http == 400

    async def in_chunks() -> AsyncIterator[bytes]:
        for _ in range(128):
            yield b"x" * 16_384

    answer = await user.request("POST", BUS, data=in_chunks(), headers=JSON)
    assert answer.refused(1004, 413).http == 400


async def test_a_claim_of_two_mebibytes_is_refused_before_they_are_sent(user: Client):
    answer = await send_raw(user.base, raw_post(BUS, b"{", length=2 * LIMIT))
    assert answer.refused(1004, 413).http == 400


async def test_who_sends_two_mebibytes_before_reading_still_reads_the_answer(user: Client):
    async with connected(user.base) as (reader, writer):
        writer.write(raw_post(BUS, b"x" * 2 * LIMIT))
        await writer.drain()
        await asyncio.sleep(0.3)
        assert (await read_answer(reader)).refused(1004, 413).http == 400
        assert await reader.read() == b""


BEFORE_THE_BODY = {
    "no such route": ("/nothing", 404),
    "wrong method": ("/api/health", 405),
    "OpenAI, no credential": ("/v1/chat/completions", 401),
    "A2A, no credential": ("/a2a/scout", 401),
    "AG-UI, no credential": ("/ag-ui/scout", 401),
}


@pytest.mark.parametrize(("path", "http"), BEFORE_THE_BODY.values(), ids=BEFORE_THE_BODY.keys())
async def test_who_sends_eight_mebibytes_reads_an_answer_that_needs_no_body(user: Client, path: str, http: int):
    async with connected(user.base) as (reader, writer):
        writer.write(raw_post(path, b"x" * 8 * LIMIT))
        await asyncio.wait_for(writer.drain(), 10)
        assert (await read_answer(reader)).http == http
        writer.write(raw_post(BUS, padded(LIMIT + 1)))  # the next request has the usual limit
        await asyncio.wait_for(writer.drain(), 10)
        assert (await read_answer(reader)).refused(1004, 413).http == 400


FREE_FORM = {
    "/api/webhooks/test": ("data", {"event_type": "webhook.test"}),
    "/api/documents": ("metadata", {"name": "notes", "content": "text"}),
    "/api/mcp/tools/invoke": ("arguments", {"tool": "no.tool"}),
}


@pytest.mark.parametrize("path", FREE_FORM)
async def test_no_text_of_a_free_form_object_has_a_nul(user: Client, path: str):
    member, body = FREE_FORM[path]
    for value in ({"x": "a\0"}, {"\0": 1}, {"x": [{"y": "\\\0"}]}):
        answer = await user.request("POST", path, json=body | {member: value})
        assert f"{member}: a text must not contain NUL" in answer.refused(1003, 400).note
    answer = await user.request("POST", path, json=body | {member: {"x": "a backslash: \\u0000"}})
    assert answer.http == (404 if member == "arguments" else 202)


# cut off


@pytest.mark.parametrize("reset", [False, True], ids=["closed", "reset"])
async def test_a_client_that_leaves_in_the_middle_of_its_request_harms_nobody(user: Client, reset: bool):
    for sent in (b"", b"POST ", raw_post(BUS, b'{"service": "AP_', length=500), raw_post(BUS, b"", length=10)[:-2]):
        async with connected(user.base) as (_, writer):
            writer.write(sent)
            await writer.drain()
            if reset:
                linger_no_time = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_no_time)


async def test_a_request_that_comes_in_single_bytes_is_understood(user: Client):
    request = raw_post(BUS, b'{"service": "AP_List"}', f"Authorization: Bearer {user.token}")
    async with connected(user.base) as (reader, writer):
        for byte in request:
            writer.write(bytes([byte]))
            await asyncio.sleep(0)
        (await read_answer(reader)).ok()


async def test_two_requests_sent_at_once_are_answered_in_order(user: Client):
    authorization = f"Authorization: Bearer {user.token}"
    async with connected(user.base) as (reader, writer):
        writer.write(
            raw_post(BUS, b'{"service": "AP_List"}', authorization)
            + raw_post(BUS, b'{"service": "US_Read"}', authorization)
        )
        services = [(await read_answer(reader)).ok().body["header"]["service"] for _ in range(2)]
    assert services == ["AP_List", "US_Read"]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n\r\n",
        b"NONSENSE\r\n\r\n",
        b"POST / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
        b"POST /demo/v1/Svc/tps HTTP/1.1\r\nHost: g\r\nContent-Length: -1\r\n\r\n",
        b"POST /demo/v1/Svc/tps HTTP/1.1\r\nHost: g\r\nContent-Length: many\r\n\r\n{}",
        b"POST /demo/v1/Svc/tps HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /demo/v1/Svc/tps HTTP/1.1\r\nHost: g\r\n" + b"X: " + b"y" * 20_000 + b"\r\n\r\n",
        b"GET /%zz/%ff/\xff HTTP/1.1\r\nHost: g\r\n\r\n",
        b"GET /demo/v1/Svc/tps/../../../../etc/passwd HTTP/1.1\r\nHost: g\r\n\r\n",
    ],
    ids=["blank", "no HTTP", "version", "TLS", "negative", "no number", "bad chunk", "long header", "bad path", "dots"],
)
async def test_what_is_no_http_is_refused_with_a_client_error_or_cut_off(user: Client, request_bytes: bytes):
    async with connected(user.base) as (reader, writer):
        writer.write(request_bytes)
        writer.write_eof()
        said = await asyncio.wait_for(reader.read(), 30)
    assert said == b"" or said.startswith(b"HTTP/1.1 4"), said


@pytest.mark.parametrize(
    "header", ["Authorization", "X-Api-Key", "X-Request-Id", "Accept", "Content-Type", "X-Forwarded-For"]
)
async def test_bytes_beyond_ascii_in_a_header_are_no_internal_error(user: Client, header: str):
    answer = await send_raw(user.base, raw_post(BUS, b'{"service": "AP_List"}', f"{header}: \xff\xfe caf\xe9"))
    assert 400 <= answer.http < 500
    assert answer.code in (1008, 2000, 2001)


# 1008: the media type


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "json",
        "*/*",
    ],
)
async def test_another_media_type_is_415(user: Client, media_type: str):
    for path in (BUS, f"{BUS}/agent/list"):
        answer = await user.request("POST", path, data=b'{"service": "AP_List"}', headers={"Content-Type": media_type})
        assert answer.refused(1008, 415).http == 415


@pytest.mark.parametrize("coding", ["gzip", "X-Gzip", "deflate", "br", "zstd", "identity, gzip"])
async def test_a_compressed_body_is_415(user: Client, coding: str):
    packed, headers = gzip.compress(b'{"service": "AP_List"}'), JSON | {"Content-Encoding": coding}
    for path in (BUS, f"{BUS}/agent/list", "/api/webhooks/test", "/mcp", "/v1/chat/completions"):
        answer = await user.request("POST", path, data=packed, headers=headers)
        assert answer.http == 415, answer.body
        if path != "/v1/chat/completions":
            assert "uncompressed" in answer.refused(1008, 415).note


@pytest.mark.parametrize("coding", ["identity", "", "utf-8"])
async def test_a_body_that_is_not_compressed_is_taken(user: Client, coding: str):
    (await user.request("POST", BUS, data=b'{"service": "AP_List"}', headers=JSON | {"Content-Encoding": coding})).ok()


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", None]
)
async def test_json_and_an_absent_media_type_are_taken(user: Client, media_type: str | None):
    headers = [f"Authorization: Bearer {user.token}"]
    if media_type is not None:
        headers.append(f"Content-Type: {media_type}")
    (await send_raw(user.base, raw_post(BUS, b'{"service": "AP_List"}', *headers))).ok()


async def test_a_hundred_bad_bodies_at_once_leave_the_gateway_well(user: Client):
    bodies = [*NOT_AN_OBJECT.values()][-4:] * 25
    answers = await asyncio.gather(*(post(user, body) for body in bodies))
    assert {answer.code for answer in answers} == {1000}
