"""AP_Chat as server-sent events: pieces, the whole answer, errors."""

from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import BUS, Client, running
from tests.support.wire import Event, events_of, streamed
from tests.support.workspaces import opened_with_a_guest


@pytest.fixture
def name(unique: str) -> str:
    """An agent name that no other test uses."""
    return f"{unique}-agent"


async def stream_of(user: Client, content: str, **body: Any) -> list[Event]:
    async with streamed(user, "AP_Chat", content=content, **body) as response:
        assert response.status == 200
        assert response.content_type == "text/event-stream"
        assert response.headers["X-Request-Id"]
        return [event async for event in events_of(response)]


async def test_a_streamed_reply_comes_in_pieces_then_whole(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    *deltas, last = await stream_of(scripted_user, "say:one say:two say:three")
    assert deltas == [Event("delta", {"text": text}) for text in ("one", "two", "three")]
    assert last.name == "response"
    assert last.data.keys() == {"header", "status", "profile", "content"}
    assert last.data["header"]["service"] == "AP_Chat"
    assert last.data["header"]["context"]["agent"] == name
    assert last.data["status"] == {"success": True, "internal_code": 0, "http_code": 200}
    assert last.data["content"][1]["content"] == "onetwothree"
    assert (await scripted_user.command("AP_History")).ok().content == last.data["content"]


async def test_pieces_are_sent_when_they_are_there_and_not_at_the_end(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with streamed(scripted_user, "AP_Chat", content=f"say:now wait:{gate} say:later") as response:
        events = events_of(response)
        assert await anext(events) == Event("delta", {"text": "now"})
        gate.open()
        assert [event.name async for event in events] == ["delta", "response"]


async def test_the_default_engine_streams_too_and_says_the_same(user: Client, name: str):
    await user.agent(name)
    *deltas, last = await stream_of(user, "My dog is called Rex.")
    assert last.name == "response"
    assert "".join(event.data["text"] for event in deltas) == last.data["content"][1]["content"]


async def test_aliases_stream_too_and_other_commands_don_t(user: Client, name: str):
    await user.agent(name)
    headers = user.headers({"Accept": "text/event-stream"})
    async with user.http.post(f"{user.base}{BUS}/agent/chat", json={"content": "Hello"}, headers=headers) as response:
        assert [event.name async for event in events_of(response)][-1] == "response"
    assert (await user.command("AP_Read", headers={"Accept": "text/event-stream"})).ok().profile


@pytest.mark.parametrize(
    "accept",
    [
        "Text/Event-Stream",
        "application/json;q=0.5,text/event-stream;q=0.9",
        "text/event-stream;q=0.1",
        "application/json, text/event-stream",
        "text/event-stream;q=0.1, */*",
    ],
)
async def test_events_may_be_asked_for_in_any_spelling(user: Client, name: str, accept: str):
    await user.agent(name)
    headers = user.headers({"Accept": accept})
    async with user.http.post(f"{user.base}{BUS}/agent/chat", json={"content": "Hello"}, headers=headers) as response:
        assert response.content_type == "text/event-stream"


@pytest.mark.parametrize(
    "accept",
    [
        "application/json",
        "*/*",
        "",
        "text/event-stream;q=0",
        "a/b;q=1, text/event-stream; q=0.00, */*",
        "text/event-stream;q=0.1, application/json",
    ],
)
async def test_without_asking_for_events_a_chat_is_answered_as_json(user: Client, name: str, accept: str):
    await user.agent(name)
    (await user.command("AP_Chat", content="Hello", headers={"Accept": accept})).ok()


@pytest.mark.parametrize(("content", "code", "http"), [("fail", 5001, 500), (None, 1002, 400), ("offline", 3002, 400)])
async def test_an_error_before_the_first_piece_is_a_plain_answer(
    scripted_user: Client, name: str, content: str | None, code: int, http: int
):
    await scripted_user.agent(name, online=content != "offline")
    async with streamed(scripted_user, "AP_Chat", content=content) as response:
        assert response.status == http
        assert response.content_type == "application/json"
        assert (await response.json())["status"]["internal_code"] == code


async def test_an_error_after_the_first_piece_is_an_event_with_the_status(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    delta, error = await stream_of(scripted_user, "say:half fail")
    assert delta == Event("delta", {"text": "half"})
    assert error.name == "error"
    assert error.data.pop("note")
    assert error.data == {"success": False, "internal_code": 5001, "http_code": 502}
    assert [message["role"] for message in (await scripted_user.command("AP_History")).ok().content] == ["user"]


async def test_a_reply_in_a_zone_streams(scripted_user: Client, unique: str):
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain}
    async with streamed(scripted_user, "AP_Chat", target=target, content="say:one say:two") as response:
        events = [event async for event in events_of(response)]
    assert events[:2] == [Event("delta", {"text": "one"}), Event("delta", {"text": "two"})]
    assert events[2].data["content"][1]["content"] == "onetwo"


COMMENT = b": still here\n"


async def test_a_silent_run_gets_comments_from_its_beginning_on(tmp_path: Path, name: str, gate: Gate):
    settings = {"TEST_TIMEOUT_S": "60"}  # its patience is not the subject
    impatient = running(tmp_path / "data", script=ENGINES / "impatient.py", **settings)
    async with impatient as gateway, gateway.client() as client:
        user = await client.register("impatient-user")
        await user.agent(name)
        async with streamed(user, "AP_Chat", content=f"wait:{gate} say:one") as response:
            assert response.headers["X-Run-Id"].startswith("run_")
            assert [await response.content.readline() for _ in range(4)] == [COMMENT, b"\n", COMMENT, b"\n"]
            gate.open()
            assert [event.name async for event in events_of(response)] == ["delta", "response"]
        async with streamed(user, "AP_Chat", content=f"wait:{gate}-2 fail") as response:
            assert await response.content.readline() == COMMENT
            Path(f"{gate}-2").touch()
            (error,) = [event async for event in events_of(response)]
            assert (error.name, error.data["internal_code"]) == ("error", 5001)
