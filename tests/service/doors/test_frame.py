"""The frame of the open protocols' routes, shown with a door of the tests (tests/support/echo_door.py)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import Client, GatewayProcess, running


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    data = tmp_path_factory.mktemp("doors") / "data"
    settings = {"PARLEY_DEFAULT_PLAN": "scale", "PARLEY_TRUSTED_PROXIES": "127.0.0.1"}
    async with running(data, script=ENGINES / "doors.py", **settings) as gateway:
        yield gateway


@pytest.fixture
async def member(server: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    async with server.client() as client:
        user = await client.register(f"{unique}-user")
        await user.agent(f"{unique}-agent")
        yield user


async def used(user: Client) -> int:
    return (await user.command("US_Read")).ok().profile[0]["quota"]["used"]


async def test_an_answer_is_whole_with_its_own_type_and_headers(member: Client, unique: str):
    answer = await member.request("POST", f"/echo/{unique}-agent", json={"text": "say:Hello", "other": 1})
    assert (answer.http, answer.body) == (200, "Hello")
    assert answer.headers["Content-Type"] == "text/plain"
    assert answer.headers["X-Echo"] == "whole"
    assert answer.headers["RateLimit-Policy"].startswith('"day";q=')
    assert answer.headers["X-Request-Id"]


async def test_a_stream_comes_in_pieces_as_the_route_writes_them(member: Client, unique: str):
    said = {"text": "say:Hello say:World", "stream": True}
    answer = await member.request("POST", f"/echo/{unique}-agent", json=said)
    assert answer.body == "piece Hello\npiece World\nend\n"
    assert answer.headers["Content-Type"] == "text/x-echo"
    assert answer.headers["X-Echo"] == "streamed"
    assert answer.headers["RateLimit-Policy"].startswith('"day";q=')


@pytest.mark.one_node(reason="the route sets how long the stream of its own node may be silent")
async def test_a_silent_stream_of_events_gets_comments_and_others_nothing(member: Client, unique: str, tmp_path: Path):
    url, headers = f"{member.base}/echo/{unique}-agent", member.headers()
    others = f"{unique}-others"
    await member.agent(others)
    gate, gate_of_others = Gate(tmp_path / "gate"), Gate(tmp_path / "gate-of-others")
    said = {"text": f"say:One wait:{gate_of_others} say:Two", "stream": True}
    without = asyncio.create_task(member.request("POST", f"/echo/{others}", json=said))
    await gate_of_others.reached()
    said = {"text": f"say:One wait:{gate} say:Two", "stream": True, "media_type": "text/event-stream"}
    async with member.http.post(url, json=said, headers=headers) as response:
        assert await response.content.readline() == b"piece One\n"
        for _ in range(3):
            assert await response.content.readuntil(b"\n\n") == b": still here\n\n"
        gate.open()
        rest = await response.text()
    assert rest.replace(": still here\n\n", "") == "piece Two\nend\n"
    gate_of_others.open()  # it was silent for longer
    assert (await without).body == "piece One\npiece Two\nend\n"


async def test_an_error_before_the_first_piece_is_the_door_s_and_after_it_the_stream_s_last_piece(
    member: Client, unique: str
):
    body = '{"text":"fail","stream":true}'
    failed = await member.request("POST", f"/echo/{unique}-agent", data=body)
    assert (failed.http, failed.body) == (502, {"oops": 5001, "body": body})
    body = '{"text":"say:Hello fail","stream":true}'
    cut = await member.request("POST", f"/echo/{unique}-agent", data=body)
    assert (cut.http, cut.body) == (200, f"piece Hello\noops 5001 {body}\n")


async def test_refusals_and_unknown_paths_have_the_door_s_shape(member: Client, server: GatewayProcess, unique: str):
    nobody = member.as_user()
    for method, path, status, code in (
        ("POST", "/echo/x", 401, 2000),
        ("GET", "/echo", 418, 1006),
        ("GET", "/echo/", 418, 1006),
        ("GET", "/echo/a/b/c/d", 418, 1006),
        ("PUT", "/echo/x", 405, 1006),
        ("GET", "/echo/x/things/1:jump", 200, 0),
        ("POST", "/echo/x/things/1:jump", 418, 1006),
        ("POST", "/echo/x/things/1", 405, 1006),
        ("GET", "/echo/x/things/1:stop", 405, 1006),
        ("GET", "/echo/x/thing:make", 405, 1006),
        ("POST", "/echo/x/thing:take", 418, 1006),
    ):
        answer = await nobody.request(method, path)
        assert answer.http == status, (method, path, answer)
        if code:
            assert answer.body == {"oops": code, "body": ""}
            assert answer.headers["X-Oops"] == "yes"
            assert answer.headers["X-Request-Id"]
    assert (await nobody.request("POST", "/echo/x")).headers["WWW-Authenticate"] == "Bearer"
    assert "POST" in (await nobody.request("PUT", "/echo/x")).headers["Allow"]
    assert (await nobody.request("GET", "/echo/x/things/1:stop")).headers["Allow"] == "POST"
    assert (await nobody.request("POST", "/echo/x/things/1:follow")).headers["Allow"] == "GET, HEAD"
    assert (await nobody.request("GET", "/echoes")).body["status"]["internal_code"] == 1006
    unknown = await member.request("POST", f"/echo/{unique}-nobody", json={"text": "Hi"})
    assert (unknown.http, unknown.body["oops"]) == (418, 3000)


async def test_a_guest_needs_no_credential_but_one_that_is_sent_must_be_valid(member: Client):
    headers = {"A2A-Version": "1.0", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "parley.example"}
    seen = await member.as_user().request("GET", "/echo/x/look", headers=headers)
    assert seen.body == {
        "user": None,
        "params": {"agent": "x"},
        "base_url": "https://parley.example",
        "version": "1.0",
    }
    assert (await member.request("GET", "/echo/x/look/")).body["user"] == member.name
    assert (await member.as_user("pls_wrong").request("GET", "/echo/x/look")).http == 401


async def test_only_routes_that_count_are_counted(member: Client):
    before = await used(member)
    await member.request("GET", "/echo/x/look")
    assert await used(member) == before + 1  # AP_Read's own
    answer = await member.request("GET", "/echo/x/things/1")
    assert "RateLimit" in answer.headers
    assert await used(member) == before + 3


async def test_verbs_stand_behind_a_colon(member: Client):
    for method, path, params in (
        ("GET", "/echo/a/things/7:follow", {"agent": "a", "id": "7"}),
        ("POST", "/echo/a/things/7:stop", {"agent": "a", "id": "7"}),
        ("POST", "/echo/a/thing:make", {"agent": "a"}),
        ("POST", "/echo/a/thing:make/", {"agent": "a"}),
    ):
        answer = await member.request(method, path)
        assert (answer.http, answer.body) == (200, {"verb": True, **params}), path
    assert (await member.request("GET", "/echo/a/things/7")).body["params"] == {"agent": "a", "id": "7"}
    assert (await member.request("GET", "/echo/a/things/7:other")).body["params"]["id"] == "7:other"


@pytest.mark.parametrize("stream", [True, False])
async def test_the_work_goes_on_when_the_client_has_gone(member: Client, unique: str, tmp_path: Path, stream: bool):
    gate = tmp_path / "gate"
    said = {"text": f"say:Begun wait:{gate} say:Done", "stream": stream}
    sending = asyncio.create_task(member.request("POST", f"/echo/{unique}-agent", json=said))
    while not gate.with_name("gate.reached").exists():
        await asyncio.sleep(0.01)
    sending.cancel()
    await asyncio.wait([sending])
    await asyncio.sleep(0.1)
    gate.touch()
    async with asyncio.timeout(30):
        while len(history := (await member.command("AP_History")).ok().content) < 2:
            await asyncio.sleep(0.02)
    assert [message["content"] for message in history][1] == "BegunDone"


async def test_a_change_has_its_audit_row(member: Client, unique: str):
    await member.request("POST", f"/echo/{unique}-agent", json={"text": "say:Hi", "stream": True})
    rows = (await member.request("GET", "/api/audit")).body["entries"]
    assert [(row["service"], row["target"], row["internal_code"]) for row in rows if row["service"] == "echoTalk"] == [
        ("echoTalk", {"agent": f"{unique}-agent"}, 0)
    ]


async def test_pieces_arrive_while_the_work_goes_on(member: Client, unique: str, tmp_path: Path):
    gate = tmp_path / "gate"
    said = {"text": f"say:Begun wait:{gate} say:Done", "stream": True}
    url, headers = f"{member.base}/echo/{unique}-agent", member.headers()
    async with member.http.post(url, json=said, headers=headers, timeout=aiohttp.ClientTimeout(30)) as response:
        assert await response.content.readline() == b"piece Begun\n"
        gate.touch()
        assert await response.content.read() == b"piece Done\nend\n"
