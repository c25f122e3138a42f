"""Whatever answers, and whatever is asked for: the client raises errors of its own."""

import json
from collections.abc import AsyncIterable, Awaitable, Callable
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from parley_client import AsyncParley, InvalidSetting, LimitError, SignedEvent, UnexpectedAnswer
from tests.support.client_world import PASSWORD
from tests.support.command_line import CommandLine
from tests.support.other_server import HEADER, answer, answering, events, refusal, tps

NESTED = "[" * 200_000
"""JSON that is nested more deeply than Python reads it."""

Called = Callable[[AsyncParley], Awaitable[Any]]

ROUTES: list[Called] = [
    lambda client: client.keys.list(),
    lambda client: client.webhooks.list(),
    lambda client: client.webhooks.deliveries().page(),
    lambda client: client.webhooks.recover("whe_1", datetime.now(UTC)),
    lambda client: client.admin.users().page(),
    lambda client: client.admin.audit().page(),
    lambda client: client.gateway.health(),
]


@pytest.mark.parametrize("called", ROUTES)
@pytest.mark.parametrize("body", [{}, None, [], {"api_keys": None, "users": 5, "endpoints": {}, "deliveries": "1"}])
async def test_an_answer_of_a_route_that_no_gateway_gives_is_unexpected(called: Called, body: Any) -> None:
    async with answering(answer(200, body)) as other, AsyncParley(other.url, "plk_x") as client:
        with pytest.raises(UnexpectedAnswer):
            await called(client)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, {"header": HEADER, "profile": None, "content": []}),
        (200, {"header": HEADER, "profile": [], "content": 5}),
        (200, {"header": None, "profile": [], "content": []}),
        (200, NESTED),
        (400, NESTED),
        (400, {"status": {"internal_code": "abc", "http_code": 404}}),
        (400, {"status": {"internal_code": 3000, "http_code": None}}),
    ],
)
async def test_an_answer_of_a_command_that_no_gateway_gives_is_unexpected(status: int, body: Any) -> None:
    async with answering(answer(status, body)) as other, AsyncParley(other.url, "plk_x") as client:
        with pytest.raises(UnexpectedAnswer):
            await client.agents.read("scout")


@pytest.mark.parametrize(
    "text",
    [
        'event: delta\nid: one\ndata: {"text": "One"}\n\n',
        'event: error\ndata: {"internal_code": "x", "http_code": 503}\n\n',
        f"event: delta\ndata: {NESTED}\n\n",
    ],
)
async def test_an_event_of_a_chat_that_no_gateway_sends_is_unexpected(text: str) -> None:
    async with answering(events(text)) as other, AsyncParley(other.url, "plk_x") as client:
        with pytest.raises(UnexpectedAnswer):
            await anext(aiter(client.agents.stream_chat("Hello", agent="scout")))


END = 'event: end\ndata: {"reason": "revoked"}\n\n'

MESSAGE = {
    "id": "msg_1",
    "role": "user",
    "name": "lovelace",
    "content": "Hello",
    "at": "2026-11-20T10:00:00.000Z",
    "zone": None,
    "conversation": None,
    "seq": 1,
    "mark": None,
    "sources": [],
}


ZONE_EVENT = {"type": "message", "message": MESSAGE}
OWN_EVENT = {"headers": {}, "body": "{}"}


@pytest.mark.parametrize(
    ("stream_of", "known", "later"),
    [
        (lambda client: client.zones.stream(domain="observatory"), ZONE_EVENT, {"type": "reaction"}),
        (lambda client: client.webhooks.stream(), OWN_EVENT, None),
    ],
)
async def test_events_that_only_a_later_gateway_sends_are_left_out(
    stream_of: Callable[[AsyncParley], AsyncIterable[Any]], known: Any, later: Any
) -> None:
    text = "id: 1\nevent: reaction\ndata: no JSON\n\n"
    text += f"id: 2\ndata: {json.dumps(later)}\n\n" if later else ""
    text += f"id: 3\ndata: {json.dumps(known)}\n\n"
    async with answering(events(text + END)) as other, AsyncParley(other.url, "plk_x") as client:
        assert [event.id async for event in stream_of(client)] == ["3"]


@pytest.mark.parametrize("data", [{"headers": None, "body": "{}"}, {"headers": {}, "body": 5}])
async def test_an_own_event_that_no_gateway_sends_is_unexpected(data: Any) -> None:
    event = events(f"id: 1.0\ndata: {json.dumps(data)}\n\n")
    async with answering(event) as other, AsyncParley(other.url, "plk_x") as client:
        with pytest.raises(UnexpectedAnswer):
            await anext(aiter(client.webhooks.stream()))
    for body in (b"{", b"[]", NESTED.encode()):
        with pytest.raises(UnexpectedAnswer):
            _ = SignedEvent("1.0", {}, body).event


async def test_a_call_that_is_tried_again_is_logged_without_what_it_sends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "parley_client")
    busy = refusal(4001, 429, Retry_After="0")
    async with answering(busy, tps()) as other, AsyncParley(other.url, "plk_secret") as client:
        await client.send("US_LogOn", {"vx": {"secret": PASSWORD}})
    (logged,) = (record.getMessage() for record in caplog.records if record.name == "parley_client")
    assert logged.startswith("4001: No.; trying again in 0.")
    assert "plk_secret" not in caplog.text
    assert PASSWORD not in caplog.text


async def test_a_command_that_waits_for_long_says_why(tmp_path: Path) -> None:
    async with answering(refusal(4001, 429, Retry_After="3"), refusal(4001, 429, Retry_After="0"), tps()) as other:
        ran = await CommandLine(tmp_path, other.url)("agents", "list", PARLEY_API_KEY="plk_x")
    assert (ran.status, ran.err) == (0, "4001: No.; trying again in 3.0 s.\n")


async def test_a_retry_after_of_centuries_is_not_waited_for() -> None:
    late = refusal(4001, 429, Retry_After="9" * 400)
    async with answering(events("id: 1\n\n"), late) as other, AsyncParley(other.url, "plk_x") as client:
        with pytest.raises(LimitError):
            await anext(aiter(client.zones.stream(domain="observatory")))
    async with answering(late) as other, AsyncParley(other.url, "plk_x", max_wait=float("inf")) as client:
        with pytest.raises(LimitError):
            await client.agents.destroy("scout")


async def test_a_body_that_names_another_service_is_refused() -> None:
    async with answering(tps()) as other, AsyncParley(other.url, "plk_x") as client:
        with pytest.raises(InvalidSetting, match="names another service: AP_Create"):
            await client.send("AP_Read", {"service": "AP_Create"})
        with pytest.raises(InvalidSetting, match="names another service: AP_Create"):
            client.stream_chat({"service": "AP_Create"})
        await client.send("AP_Read", {"service": "AP_Read"})
    assert [json.loads(body) for body in other.bodies] == [{"service": "AP_Read"}]


LONG = "x" * 70_000


@pytest.mark.parametrize(
    "called",
    [
        lambda client: client.request("GET", "/api/\x00"),
        lambda client: client.request("POST", "/api/keys", reduce(lambda inner, _: [inner], range(100_000), [])),
        lambda client: client.runs.read(LONG),
        lambda client: client.admin.users(prefix=LONG).page(),
        lambda client: client.runs.read("\ud83d"),
        lambda client: client.admin.users(prefix="\ud83d").page(),
    ],
)
async def test_what_no_request_can_hold_is_refused_before_anything_is_sent(called: Called) -> None:
    async with AsyncParley("http://127.0.0.1:1", "plk_x") as client:
        with pytest.raises(InvalidSetting) as error:
            await called(client)
    assert len(str(error.value)) < 1_000


async def test_profiles_that_are_nested_too_deeply_are_told_of(tmp_path: Path) -> None:
    (tmp_path / "parley").mkdir()
    (tmp_path / "parley" / "profiles.json").write_text(NESTED)
    ran = await CommandLine(tmp_path, "http://127.0.0.1:1")("agents", "list")
    assert (ran.status, "doesn't hold profiles" in ran.err) == (2, True)
