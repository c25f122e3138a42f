"""Properties of every answer: Date, HEAD beside GET, no chunks for HTTP/1.0, unbuffered streams."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime

import orjson
import pytest

from tests.support.gateway import BUS, Client
from tests.support.operator import SECRET
from tests.support.wire import connected, raw_post, read_answer, streamed

OPEN = (
    *("/", "/api/health", "/docs", "/docs/assets/page.js", "/metrics", "/api/tps/openapi.json"),
    *("/api/tps/openapi.yaml", "/api/webhooks/events"),
)
MEMBER = (
    "/api/audit",
    "/api/webhooks/endpoints",
    "/api/mcp/tools",
    "/api/skills",
    "/api/documents/doc_none",
    "/api/rules",
)
CHANGING = {"date", "x-request-id", "ratelimit", "content-length"}
"""Headers that differ between answers; health shows its age, metrics their numbers."""


async def whole(client: Client, request: bytes) -> tuple[str, dict[str, str], bytes]:
    """Send a request that ends its connection; return status line, headers and the rest."""
    async with connected(client.base) as (reader, writer):
        writer.write(request)
        answer = await asyncio.wait_for(reader.read(), 30)
    head, _, rest = answer.partition(b"\r\n\r\n")
    status_line, *lines = head.decode("latin-1").split("\r\n")
    return status_line, {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}, rest


async def founded(user: Client, name: str) -> None:
    """Make an agent and a domain, and select both."""
    await user.agent(f"{name}-agent")
    (await user.command("DM_Create", vx={"name": f"{name}-domain", "description": "Work"})).ok()
    (await user.command("DM_Select", target={"domain": f"{name}-domain"})).ok()


def asked(method: str, path: str, *headers: str, version: str = "1.1") -> bytes:
    lines = (f"{method} {path} HTTP/{version}", "Host: gateway", "Connection: close", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def sent_by(client: Client) -> Iterator[str]:
    return (f"{name}: {value}" for name, value in client.headers().items())


# HEAD


@pytest.mark.parametrize("path", [*OPEN, *MEMBER, "/debug/actors", "/debug/actors?knid=agent", "/no/such/route"])
async def test_head_answers_as_get_does_without_the_body(user: Client, path: str):
    headers = (*sent_by(user), *(f"{name}: {value}" for name, value in SECRET.items()))
    got, get_headers, body = await whole(user, asked("GET", path, *headers))
    status, head_headers, nothing = await whole(user, asked("HEAD", path, *headers))
    assert (status, nothing) == (got, b"")
    assert body
    assert {**head_headers, **dict.fromkeys(CHANGING)} == {**get_headers, **dict.fromkeys(CHANGING)}
    assert head_headers.keys() == get_headers.keys()
    if path not in ("/metrics", "/api/health", "/debug/actors"):
        assert int(head_headers["content-length"]) == len(body)


async def test_a_connection_goes_on_after_head(user: Client):
    async with connected(user.base) as (reader, writer):
        for _ in range(3):
            writer.write(b"HEAD /api/tps/openapi.json HTTP/1.1\r\nHost: gateway\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\n")
            assert int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) > 10_000


STREAMS = ("/api/webhooks/stream", "/console/watch", "/debug/stream")


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("path", STREAMS)
async def test_head_of_an_endless_stream_is_its_head_alone(user: Client, path: str, version: str):
    headers = SECRET if path == "/debug/stream" else user.headers()
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    request = f"HEAD {path} HTTP/{version}\r\nHost: gateway\r\n{lines}".encode()
    async with asyncio.timeout(30), connected(user.base) as (reader, writer):
        if version == "1.1":
            writer.write(request + b"\r\n")
            assert b"content-type: text/event-stream" in (await reader.readuntil(b"\r\n\r\n")).lower()
        writer.write(request + b"Connection: close\r\n\r\n")  # the connection goes on
        head, _, rest = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-type: text/event-stream" in head.lower()
    assert rest == b""


async def test_head_of_a_stream_is_no_fault(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    run = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    for path in ("/console/watch", f"/api/runs/{run}/events"):
        await whole(user, asked("HEAD", path, *sent_by(user)))
    async with user.http.get(f"{user.base}/metrics") as response:
        lines = (await response.text()).splitlines()
    assert not [line for line in lines if line.startswith("parley_requests_total") and 'code="5000"' in line]


async def test_head_of_what_only_takes_post_is_405_and_allow_names_head_beside_get(user: Client):
    status, headers, body = await whole(user, asked("HEAD", BUS))
    assert (status, headers["allow"], body) == ("HTTP/1.1 405 Method Not Allowed", "POST", b"")
    status, headers, _ = await whole(user, asked("PUT", "/api/webhooks/endpoints"))
    assert (status, headers["allow"]) == ("HTTP/1.1 405 Method Not Allowed", "GET, HEAD, POST")


async def test_head_counts_as_a_request_of_its_caller(user: Client):
    used = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    await whole(user, asked("HEAD", "/api/skills", *sent_by(user)))
    assert (await user.command("US_Read")).ok().profile[0]["quota"]["used"] == used + 2


# Date


def requests(user: Client) -> dict[str, bytes]:
    """Return a request for each kind of answer."""
    credential = tuple(sent_by(user))
    read = b'{"service": "US_Read"}'
    chat = b'{"service": "AP_Chat", "content": "Hello"}'
    return {
        "the fast path's": raw_post(BUS, read, *credential),
        "its errors": raw_post(BUS, b"?", *credential),
        "Sanic's way": raw_post(BUS, read, *credential, "Connection: close"),
        "its errors, too": raw_post(BUS, b"?", *credential, "Connection: close"),
        "a stream": raw_post(BUS, chat, *credential, "Accept: text/event-stream"),
        "a gateway route": asked("GET", "/api/skills", *credential),
        "a page": asked("GET", "/docs"),
        "no route": asked("GET", "/nothing"),
        "MCP": raw_post("/mcp", b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}', "Accept: application/json"),
        "a refused head": b"GET / HTTP/1.1\r\n\r\n",
    }


async def test_every_answer_tells_its_date(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    for name, request in requests(user).items():
        before = await clock_of(user)
        async with connected(user.base) as (reader, writer):
            # The fast path takes nothing before the connection's first answer.
            writer.write(b"HEAD /api/health HTTP/1.1\r\nHost: gateway\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            writer.write(request)
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode("latin-1")
        dates = [line.partition(": ")[2] for line in head.split("\r\n") if line.lower().startswith("date: ")]
        assert len(dates) == 1, f"{name}: {head}"
        assert dates[0].endswith(" GMT")
        assert before <= parsedate_to_datetime(dates[0]).timestamp() <= await clock_of(user), name


async def clock_of(client: Client) -> float:
    """Return the gateway's time in whole seconds."""
    time: str = (await client.command("AP_List")).body["header"]["time"]
    return int(datetime.fromisoformat(time).timestamp())


# HTTP/1.0


@pytest.mark.parametrize("keep", [(), ("Connection: keep-alive",)])
async def test_a_streamed_answer_to_http_1_0_has_no_chunks_and_ends_with_the_connection(
    user: Client, unique: str, keep: tuple[str, ...]
):
    await user.agent(f"{unique}-agent")
    body = b'{"service": "AP_Chat", "content": "Hello"}'
    request = raw_post(BUS, body, *sent_by(user), "Accept: text/event-stream", *keep).replace(b"HTTP/1.1", b"HTTP/1.0")
    status, headers, events = await whole(user, request)
    assert status == "HTTP/1.1 200 OK"
    assert "transfer-encoding" not in headers
    assert headers["connection"] == "close"
    assert events.startswith(b"id: ")
    assert events.endswith(b"\n\n")
    last = events.removesuffix(b"\n\n").rpartition(b"\n\n")[2]
    name, _, data = last.partition(b"\ndata: ")
    assert name.endswith(b".end\nevent: response")
    assert orjson.loads(data)["status"]["success"]


async def test_a_zone_s_stream_to_http_1_0_has_no_chunks(user: Client, unique: str):
    await founded(user, unique)
    body = orjson.dumps({"service": "ZN_Stream"})
    request = raw_post(BUS, body, *sent_by(user)).replace(b"HTTP/1.1", b"HTTP/1.0")
    async with connected(user.base) as (reader, writer):
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert b"transfer-encoding" not in head
        assert (await reader.readuntil(b"\n\n")).startswith(b": ")
        for said in ("first", "second"):
            (await user.command("ZN_Post", content=said)).ok()
            event = await asyncio.wait_for(reader.readuntil(b"\n\n"), 30)
            fields = dict(line.split(": ", 1) for line in event.decode().strip().split("\n"))
            assert fields.keys() == {"id", "data"}
            assert orjson.loads(fields["data"])["message"]["content"] == said


async def test_an_ordinary_answer_to_http_1_0_has_its_length(user: Client):
    request = raw_post(BUS, b'{"service": "US_Read"}', *sent_by(user)).replace(b"HTTP/1.1", b"HTTP/1.0")
    status, headers, body = await whole(user, request)
    assert (status, int(headers["content-length"])) == ("HTTP/1.1 200 OK", len(body))


# streams


@pytest.mark.parametrize("service", ["AP_Chat", "ZN_Stream"])
async def test_a_stream_is_neither_kept_nor_held_back_by_proxies(user: Client, unique: str, service: str):
    await founded(user, unique)
    async with streamed(user, service, content="Hello") as response:
        assert response.content_type == "text/event-stream"
        assert response.headers["X-Accel-Buffering"] == "no"
        assert response.headers["Cache-Control"] == "no-store"


# white space around values


@pytest.mark.parametrize("ending", [(), ("Connection: close",)])
@pytest.mark.parametrize(
    "value", ["X-Api-Key:{}", "X-Api-Key:  {}\t", "X-Api-Key:\t {}  ", "Authorization:\tBearer {} "]
)
async def test_white_space_around_a_value_is_no_part_of_it(user: Client, value: str, ending: tuple[str, ...]):
    async with connected(user.base) as (reader, writer):
        writer.write(raw_post(BUS, b"{}"))
        assert (await read_answer(reader)).http == 400  # afterwards the fast path may be taken, unless it ends
        writer.write(raw_post(BUS, b'{"service": "US_Read"}', value.format(user.token), *ending))
        assert (await read_answer(reader)).ok().profile[0]["name"] == user.name
