"""Heads and chunks that break RFC 9112: one answer, one clean line in the log, and the end of the connection."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import BUS, Client, GatewayProcess, running
from tests.support.wire import connected, raw_post, read_answer

STATUS_LINE = re.compile(rb"HTTP/1\.1 \d{3} ")
BODY = b'{"service": "US_Read"}'
LENGTH = f"Content-Length: {len(BODY)}"
SECOND = raw_post(BUS, BODY, "X-Request-Id: smuggled-request")
"""A request hidden behind a head that two parsers read differently."""


def head(*fields: str, line: str = f"POST {BUS} HTTP/1.1", host: str | None = "Host: gateway") -> bytes:
    lines = [line, *([host] if host else []), *fields]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"


def get(target: str, version: str = "HTTP/1.1") -> bytes:
    return head(line=f"GET {target} {version}")


def chunked(chunks: bytes) -> bytes:
    return head("Transfer-Encoding: chunked") + chunks


WHOLE_CHUNK = b"%x\r\n%b\r\n" % (len(BODY), BODY)

BAD_HEADS = {
    # where the body ends (RFC 9112, 6.3)
    "a space before the colon of Content-Length": head(f"Content-Length : {len(BODY)}") + BODY,
    "a tab before the colon of Transfer-Encoding": head(LENGTH, "Transfer-Encoding\t: chunked") + BODY,
    "two equal lengths": head(LENGTH, LENGTH) + BODY,
    "two differing lengths": head("Content-Length: 0", LENGTH) + BODY,
    "two lengths in one header": head(f"Content-Length: {len(BODY)}, {len(BODY)}") + BODY,
    "an empty length": head("Content-Length:") + BODY,
    "a length with a plus": head("Content-Length: +5") + b"12345",
    "a negative length": head("Content-Length: -5") + b"12345",
    "a length in base 16": head("Content-Length: 0x5") + b"12345",
    "a length with an underscore": head("Content-Length: 2_2") + BODY,
    "a length with a space in it": head("Content-Length: 2 2") + BODY,
    "a length in Arabic digits": head("Content-Length: 2").replace(b": 2", ": \u0662\u0662".encode()) + BODY,
    "a length in superior digits": head("Content-Length: \u00b2") + b"12",
    "a length of a thousand digits": head("Content-Length: " + "0" * 998 + "22") + BODY,
    "a length with a fraction": head("Content-Length: 5.0") + b"12345",
    "both a length and chunks": head(LENGTH, "Transfer-Encoding: chunked") + WHOLE_CHUNK + b"0\r\n\r\n",
    "both chunks and a length": head("Transfer-Encoding: chunked", "Content-Length: 4") + WHOLE_CHUNK + b"0\r\n\r\n",
    "chunks twice": head("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
    "chunks twice in one header": head("Transfer-Encoding: chunked, chunked") + b"0\r\n\r\n",
    "another transfer coding": head("Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
    "the transfer coding identity": head("Transfer-Encoding: identity", LENGTH) + BODY,
    "an unknown transfer coding": head("Transfer-Encoding: xchunked") + b"0\r\n\r\n",
    "a quoted transfer coding": head('Transfer-Encoding: "chunked"') + b"0\r\n\r\n",
    "an empty transfer coding": head("Transfer-Encoding:") + b"0\r\n\r\n",
    "chunks with a vertical tab": head("Transfer-Encoding:\x0bchunked") + b"0\r\n\r\n",
    "chunks by HTTP/1.0": head("Transfer-Encoding: chunked", line=f"POST {BUS} HTTP/1.0") + b"0\r\n\r\n",
    # lines and their ends (RFC 9112, 2.2 and 5.2)
    "a folded header": head("X-Folded: a", " b", LENGTH) + BODY,
    "a header folded by a tab": head("X-Folded: a", "\tContent-Length: 5", LENGTH) + BODY,
    "a folded length": head("Content-Length:", f" {len(BODY)}") + BODY,
    "white space before the first header": head(f" {LENGTH}", host=" Host: gateway") + BODY,
    "a tab before the first header": head(LENGTH, host="\tX: y\r\nHost: gateway") + BODY,
    "a bare line feed": head(f"X-Line: a\n{LENGTH}") + BODY,
    "a bare line feed at the end of a line": head("X-Line: a\n", LENGTH) + BODY,
    "two bare line feeds": head("X-Line: a\n\nGET / HTTP/1.1", LENGTH) + BODY,
    "line feeds alone": head(LENGTH).replace(b"\r\n", b"\n") + BODY,
    "a bare carriage return": head(f"X-Line: a\r{LENGTH}", LENGTH) + BODY,
    "a bare carriage return at the end of a line": head("X-Line: a\r", LENGTH) + BODY,
    "a bare carriage return at the end": head(LENGTH, "X-Line: a\r") + BODY,
    "a bare carriage return in the request line": get("/a\rb"),
    # names and values (RFC 9112, 5; RFC 9110, 5.5)
    "a NUL in a value": head("X-Nul: a\x00b", LENGTH) + BODY,
    "a NUL in a name": head("X-Nul\x00: a", LENGTH) + BODY,
    "an escape in a value": head("X-Escape: \x1b[31m", LENGTH) + BODY,
    "a DEL in a value": head("X-Del: \x7f", LENGTH) + BODY,
    "a form feed around a value": head("X-Feed: \x0ca", LENGTH) + BODY,
    "a header without a colon": head("X-Nothing", LENGTH) + BODY,
    "a header without a name": head(": value", LENGTH) + BODY,
    "a name with a space": head("X Name: a", LENGTH) + BODY,
    "a name in brackets": head("(X): a", LENGTH) + BODY,
    "a name with a slash": head("X/Name: a", LENGTH) + BODY,
    "a name in quotes": head('"X": a', LENGTH) + BODY,
    "a name beyond ASCII": head("X-N\xe4me: a", LENGTH) + BODY,
    # Host (RFC 9112, 3.2)
    "no Host": head(LENGTH, host=None) + BODY,
    "two Hosts": head("Host: gateway", LENGTH) + BODY,
    "two differing Hosts": head("host: other", LENGTH) + BODY,
    "two Hosts in one header": head(LENGTH, host="Host: gateway, other") + BODY,
    "a Host with a path": head(LENGTH, host="Host: gateway/path") + BODY,
    "a Host with a user": head(LENGTH, host="Host: user@gateway") + BODY,
    "a Host with a word as port": head(LENGTH, host="Host: gateway:http") + BODY,
    "a Host with a space": head(LENGTH, host="Host: gate way") + BODY,
    "a Host that opens a bracket": head(LENGTH, host="Host: [::1") + BODY,
    "a Host that is no address in brackets": head(LENGTH, host="Host: [1]") + BODY,
    "a Host that is an IPv4 address in brackets": head(LENGTH, host="Host: [127.0.0.1]:80") + BODY,
    # request lines (RFC 9112, 3)
    "HTTP/1.2": get("/api/health", "HTTP/1.2"),
    "HTTP/2.0": get("/api/health", "HTTP/2.0"),
    "HTTP/0.9": get("/api/health", "HTTP/0.9"),
    "a version of one digit": get("/api/health", "HTTP/1"),
    "a version in lower case": get("/api/health", "http/1.1"),
    "a version with more digits": get("/api/health", "HTTP/1.10"),
    "no version": get("/api/health", "")[:-2] + b"\r\n",
    "the beginning of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "the beginning of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "two spaces in the request line": head(LENGTH, line=f"POST  {BUS} HTTP/1.1") + BODY,
    "a tab in the request line": head(LENGTH, line=f"POST\t{BUS} HTTP/1.1") + BODY,
    "a space at the end of the request line": head(LENGTH, line=f"POST {BUS} HTTP/1.1 ") + BODY,
    "a space before the method": head(LENGTH, line=f" POST {BUS} HTTP/1.1") + BODY,
    "a method that is no token": head(LENGTH, line=f"PO(ST {BUS} HTTP/1.1") + BODY,
    "no method": head(LENGTH, line=f"{BUS} HTTP/1.1") + BODY,
    # request targets (RFC 9112, 3.2)
    "a target that is no path": get("api/health"),
    "a target with a control character": get("/a\x0bb"),
    "a target with an escape": get("/\x1b[2J\x1b[H2026-11-22T10:00:00.000Z"),
    "a target with a DEL": get("/a\x7f"),
    "a target beyond ASCII": get("/caf\xe9"),
    "a target that is a host": get("gateway:443"),
    "a target without a host": get("http:///api/health"),
    "a target with a wrong port": get("http://gateway:port/"),
    "a target with a user": get("http://user@gateway/"),
    "a target that opens a bracket": get("http://[::1/"),
    "a target that is no address in brackets": get("http://[1]/"),
    "a target of another scheme": get("ftp://gateway/file"),
    "a target with a fragment": get("/docs#top"),
    "a star with GET": get("*"),
    "a tunnel": head(line="CONNECT gateway:443 HTTP/1.1"),
}

BAD_CHUNKS = {
    "a size in base 16 with its prefix": b"0x" + WHOLE_CHUNK,
    "a size with an underscore": WHOLE_CHUNK.replace(b"16", b"1_6", 1),
    "a size with a plus": b"+" + WHOLE_CHUNK,
    "a negative size": b"-5\r\n12345\r\n0\r\n\r\n",
    "a size in Arabic digits": "\u0662\r\n12\r\n0\r\n\r\n".encode(),
    "a size after a space": b" " + WHOLE_CHUNK + b"0\r\n\r\n",
    "no size": b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a size of seventeen digits": b"00000000000000016\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an extension without a name": b"16;\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an extension with a NUL": b"16;a=\0\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an extension with a bare line feed": b"16;a\nb\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an extension with a bare carriage return": b"16;a\rb\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an extension that is never closed": b'16;a="b\r\n' + BODY + b"\r\n0\r\n\r\n",
    "an extension of a thousand characters": b"16;" + b"a" * 1_000 + b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "extensions without end": (b"1;" + b"a" * 200 + b"\r\n1\r\n") * 100 + b"0\r\n\r\n",
    "a size with a bare line feed": b"16\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk longer than its size": b"5\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a chunk followed by two other bytes": b"16\r\n" + BODY + b"XX0\r\n\r\n",
    "a trailer": WHOLE_CHUNK + b"0\r\nX-Trailer: a\r\n\r\n",
    "a request as trailer": WHOLE_CHUNK + b"0\r\n" + SECOND,
}


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway of its own, because these tests read its log."""
    async with running(tmp_path_factory.mktemp("heads") / "data", script=ENGINES / "unbuffered_log.py") as gateway:
        yield gateway


async def all_of(base: str, *pieces: bytes) -> bytes:
    """Send bytes, then read until the gateway closes the connection."""
    async with connected(base) as (reader, writer):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 15)  # less than the gateway waits for the rest of a request


def require_one_refusal(answers: bytes, code: int = 1000, http: int = 400) -> str:
    """Assert a single answer in the error shape; return its note."""
    assert answers.startswith(b"HTTP/1.1 400 "), answers
    assert len(STATUS_LINE.findall(answers)) == 1, answers
    answer_head, _, body = answers.partition(b"\r\n\r\n")
    assert b"connection: close" in answer_head.lower()
    status = orjson.loads(body)["status"]
    assert (status["success"], status["internal_code"], status["http_code"]) == (False, code, http)
    return status["note"]


async def lines_until(gateway: GatewayProcess, start: int, request_id: str) -> list[str]:
    """Send a good request; return the lines of the log before its own."""
    async with connected(gateway.base) as (reader, writer):
        writer.write(raw_post(BUS, BODY, f"X-Request-Id: {request_id}"))
        assert (await read_answer(reader)).http == 401
    async with asyncio.timeout(30):
        while f"{request_id}\n".encode() not in (said := gateway.log.read_bytes()[start:]):
            await asyncio.sleep(0.002)
    # by \n alone, as readers of logs do; str.splitlines() splits at more characters
    return [line for line in said.decode("latin-1").split("\n") if line and request_id not in line]


async def log_now(gateway: GatewayProcess, unique: str) -> int:
    """Return the length of the log once it holds all requests so far."""
    await lines_until(gateway, 0, f"before-{unique}")
    return gateway.log.stat().st_size


@pytest.mark.parametrize("bad", BAD_HEADS.values(), ids=BAD_HEADS)
@pytest.mark.parametrize("first", [b"", b"\r\n", SECOND], ids=["first", "after an empty line", "after a request"])
async def test_a_head_that_leaves_a_doubt_gets_one_400_and_ends_the_connection(
    gateway: GatewayProcess, unique: str, bad: bytes, first: bytes
):
    start = await log_now(gateway, unique)
    answers = await all_of(gateway.base, first + bad + SECOND)
    if first == SECOND:
        good, _, rest = answers.partition(b"HTTP/1.1 400")
        assert good.startswith(b"HTTP/1.1 401"), good
        answers = b"HTTP/1.1 400" + rest
    note = require_one_refusal(answers)
    assert note.isprintable()
    lines = [line for line in await lines_until(gateway, start, f"after-{unique}") if "smuggled-request" not in line]
    assert len(lines) == 1, lines
    assert " 400 1000 - " in lines[0]
    assert lines[0].isascii()
    assert lines[0].isprintable()
    assert len(lines[0]) < 200


@pytest.mark.parametrize("bad", BAD_CHUNKS.values(), ids=BAD_CHUNKS)
@pytest.mark.parametrize("path", [BUS, "/api/health", "/nothing"])
async def test_chunks_that_leave_a_doubt_end_the_connection_after_one_answer(
    gateway: GatewayProcess, unique: str, bad: bytes, path: str
):
    start = await log_now(gateway, unique)
    request = head("Transfer-Encoding: chunked", line=f"{'GET' if path == '/api/health' else 'POST'} {path} HTTP/1.1")
    answers = await all_of(gateway.base, request + bad + SECOND)
    assert len(STATUS_LINE.findall(answers)) == 1, answers
    status = {BUS: b"400", "/api/health": b"400", "/nothing": b"404"}[path]  # the last doesn't ask for the body
    assert answers.startswith(b"HTTP/1.1 " + status), answers
    assert "Traceback" not in "".join(await lines_until(gateway, start, f"after-{unique}"))


async def test_a_refusal_on_the_bus_has_the_shape_of_the_bus(gateway: GatewayProcess):
    answers = await all_of(gateway.base, head(LENGTH, LENGTH) + BODY)
    assert orjson.loads(answers.partition(b"\r\n\r\n")[2]).keys() == {"header", "status", "profile", "content"}
    answers = await all_of(gateway.base, head(LENGTH, LENGTH, line="POST /api/documents HTTP/1.1") + BODY)
    assert orjson.loads(answers.partition(b"\r\n\r\n")[2]).keys() == {"status"}


async def test_a_refused_head_with_a_large_body_still_gets_its_answer(gateway: GatewayProcess):
    note = require_one_refusal(await all_of(gateway.base, head("Content-Length: 2_000_000"), b"x" * 2_000_000))
    assert "Content-Length" in note


async def test_a_head_without_end_is_1004(gateway: GatewayProcess, unique: str):
    start = await log_now(gateway, unique)
    endless = head()[:-2] + b"X-Long: " + b"a" * 70_000
    require_one_refusal(await all_of(gateway.base, endless), 1004, 413)
    assert len(await lines_until(gateway, start, f"after-{unique}")) == 1


# unusual but valid


@pytest.fixture
async def caller(gateway: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with gateway.client() as client:
        yield await client.register(f"{unique}-user")


def as_user(caller: Client, *fields: str, body: bytes = BODY) -> bytes:
    return raw_post(BUS, body, f"Authorization: Bearer {caller.token}", "X-Request-Id: odd-but-good", *fields)


ODD_HEADS = {
    "white space around values": (b": ", b": \t  "),
    "white space behind values": (b"\r\n", b" \t\r\n"),
    "no white space": (b": ", b":"),
    "names in capitals": (b"Authorization", b"AUTHORIZATION"),
    "a Host with a port": (b"gateway", b"gateway:8000"),
    "a Host that is an address": (b"gateway", b"[::1]:8000"),
    "many headers": (b"\r\n\r\n", b"".join(b"\r\nX-%d: %d" % (n, n) for n in range(300)) + b"\r\n\r\n"),
    "a header twice": (b"\r\n\r\n", b"\r\nX-Twice: 1\r\nX-Twice: 2\r\n\r\n"),
    "a value beyond ASCII": (b"\r\n\r\n", b"\r\nX-Name: J\xf6rg \xe2\x82\xac\r\n\r\n"),
    "an absolute target": (b"POST /", b"POST http://gateway/"),
    "an absolute target of another Host": (b"POST /", b"POST HTTPS://other:8443/"),
    "empty lines before": (b"POST", b"\r\n\r\n\r\nPOST"),
    "HTTP/1.0": (b"HTTP/1.1", b"HTTP/1.0"),
    "HTTP/1.0 without Host": (b"HTTP/1.1\r\nHost: gateway", b"HTTP/1.0"),
    "leading zeros of a length": (b"Content-Length: ", b"Content-Length: 000000000000000"),
    "an upgrade that is not there": (b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
}


@pytest.mark.parametrize(("this", "that"), ODD_HEADS.values(), ids=ODD_HEADS)
async def test_a_head_that_is_odd_but_good_is_served(caller: Client, this: bytes, that: bytes):
    good = as_user(caller)
    request_head, _, body = good.partition(b"\r\n\r\n")
    first_line, rest = request_head.split(b"\r\n", 1)
    if this == b"\r\n":  # white space may not follow the request line
        odd = first_line + b"\r\n" + (rest + b"\r\n").replace(this, that) + b"\r\n" + body
    else:
        odd = (request_head + b"\r\n\r\n").replace(this, that) + body
    assert odd != good
    async with connected(caller.base) as (reader, writer):
        writer.write(odd)
        answer = (await read_answer(reader)).ok()
    assert answer.headers["X-Request-Id"] == "odd-but-good"


ODD_CHUNKS = {
    "one chunk": WHOLE_CHUNK + b"0\r\n\r\n",
    "a chunk for each byte": b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n",
    "a size in capitals, with zeros": WHOLE_CHUNK.replace(b"16", b"000016", 1) + b"00000\r\n\r\n",
    "extensions": b'16;a;b=c ; d = "e\\"\t;"\r\n' + BODY + b"\r\n0;last\r\n\r\n",
}


@pytest.mark.parametrize("chunks", ODD_CHUNKS.values(), ids=ODD_CHUNKS)
async def test_chunks_that_are_odd_but_good_are_read(caller: Client, chunks: bytes):
    request = head("Transfer-Encoding: chunked", f"Authorization: Bearer {caller.token}") + chunks
    async with connected(caller.base) as (reader, writer):
        writer.write(request + as_user(caller))
        (await read_answer(reader)).ok()
        assert (await read_answer(reader)).ok().headers["X-Request-Id"] == "odd-but-good"


async def test_a_request_may_be_split_at_every_byte(caller: Client):
    chunks = head("Transfer-Encoding: chunked", f"Authorization: Bearer {caller.token}") + ODD_CHUNKS["extensions"]
    for request in (as_user(caller), b"\r\n" + as_user(caller, "X-Spaced:  \t a \t"), chunks):
        async with connected(caller.base) as (reader, writer):
            for byte in request:
                writer.write(bytes((byte,)))
                await writer.drain()
                await asyncio.sleep(0)
            (await read_answer(reader)).ok()


async def test_a_request_may_be_split_in_two_anywhere(caller: Client):
    request = as_user(caller)
    async with connected(caller.base) as (reader, writer):
        # on one connection, so that leftovers of one request would spoil the next
        for place in range(1, len(request), 5):
            writer.write(request[:place])
            await writer.drain()
            await asyncio.sleep(0)
            writer.write(request[place:])
            answer = await read_answer(reader)
            assert answer.http in (200, 429)  # a free plan allows 100 a day
            assert answer.headers["X-Request-Id"] == "odd-but-good"


async def test_requests_behind_bodies_of_both_kinds_are_answered_in_order(caller: Client):
    token = f"Authorization: Bearer {caller.token}"
    pipeline = b""
    for number in range(5):
        name = f"X-Request-Id: request-{number}"
        pipeline += raw_post(BUS, BODY, token, f"{name}-length")
        pipeline += head("Transfer-Encoding: chunked", token, f"{name}-chunks") + WHOLE_CHUNK + b"0\r\n\r\n"
        pipeline += head(token, f"{name}-nobody", line="GET /api/api-keys HTTP/1.1") + b"\r\n"
    async with connected(caller.base) as (reader, writer):
        writer.write(pipeline)
        seen = [(await read_answer(reader)).headers["X-Request-Id"] for _ in range(15)]
    assert seen == [f"request-{n}-{kind}" for n in range(5) for kind in ("length", "chunks", "nobody")]


async def test_the_host_of_an_absolute_target_wins(tmp_path: Path):
    """A page of the gateway has an Origin equal to the Host, so the other Host must not count (RFC 9112, 3.2.2)."""
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    async with running(tmp_path / "data") as gateway:
        port = gateway.base.rpartition(":")[2]
        local, evil = f"127.0.0.1:{port}", "evil.example"
        accept = "Accept: application/json, text/event-stream"
        fields = ("Content-Type: application/json", accept, f"Origin: http://{local}")

        async def asked(target: str, host: str) -> int:
            line = f"POST {target} HTTP/1.1"
            sent = head(*fields, f"Content-Length: {len(body)}", "Connection: close", line=line, host=f"Host: {host}")
            return int((await all_of(gateway.base, sent + body)).split(b" ")[1])

        plain = [await asked("/mcp", host) for host in (local, evil)]
        assert plain == [200, 403]
        assert [await asked(f"http://{host}/mcp", other) for host, other in ((local, evil), (evil, local))] == plain
