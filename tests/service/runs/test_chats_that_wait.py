"""Chats that wait behind another one in their conversation: heads, comments, refusals (docs/contract.md, "Chat")."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import BUS, Client, running
from tests.support.runs import A2A, EVENTS, all_events, cancelled, chatting, followed, run_of, text_of
from tests.support.wire import events_of, streamed

COMMENT = b": still here\n"


class Door(NamedTuple):
    """A request that says a text to an agent in a conversation, and is answered with a stream."""

    path: str
    body: Any
    headers: dict[str, str] = {}  # noqa: RUF012 - not changed


def doors(agent: str, conversation: str, text: str) -> dict[str, Door]:
    said = {"message": {"messageId": text, "contextId": conversation, "role": "ROLE_USER", "parts": [{"text": text}]}}
    completion = {"model": agent, "stream": True, "messages": [{"role": "user", "content": text}]}
    messages = [{"id": text, "role": "user", "content": text}]
    return {
        "bus": Door(BUS, {"service": "AP_Chat", "target": {"conversation": conversation}, "content": text}, EVENTS),
        "completions": Door("/v1/chat/completions", completion | {"metadata": {"conversation_id": conversation}}),
        "responses": Door(
            "/v1/responses", {"model": agent, "stream": True, "input": text, "conversation": conversation}
        ),
        "A2A": Door(f"/a2a/{agent}/message:stream", said, A2A),
        "JSON-RPC": Door(
            f"/a2a/{agent}", {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": said}, A2A
        ),
        "AG-UI": Door(f"/ag-ui/{agent}", {"threadId": conversation, "runId": text, "messages": messages}),
    }


EVERY_DOOR = list(doors("", "", ""))


@asynccontextmanager
async def opened(user: Client, door: Door) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = user.headers(door.headers)
    async with asyncio.timeout(30), user.http.post(user.base + door.path, json=door.body, headers=headers) as response:
        yield response


class Behind(NamedTuple):
    """An agent whose engine works on a chat until the gate is opened, and that chat's conversation."""

    agent: str
    conversation: str


@asynccontextmanager
async def behind(user: Client, agent: str, gate: Gate) -> AsyncIterator[Behind]:
    """Begin a chat that ends with the block, at the latest."""
    await user.agent(agent)
    async with chatting(user, f"say:first wait:{gate}") as chat:
        await gate.reached()
        said = (await user.command("AP_History")).ok().content
        yield Behind(agent, said[0]["conversation"])
        gate.open()
        await chat.rest()


@pytest.fixture
async def impatient_user(tmp_path: Path, unique: str) -> AsyncIterator[Client]:
    """A user of a gateway whose streams are silent for a tenth of a second at most."""
    impatient = running(tmp_path / "data", script=ENGINES / "impatient.py", TEST_TIMEOUT_S="60")
    async with impatient as gateway, gateway.client() as client:
        yield await client.register(f"{unique}-user")


async def test_through_every_door_it_is_answered_with_head_and_comments_while_it_waits(
    impatient_user: Client, unique: str, gate: Gate
):
    user = impatient_user
    async with AsyncExitStack() as stack:
        work = await stack.enter_async_context(behind(user, f"{unique}-agent", gate))
        waiting: dict[str, aiohttp.ClientResponse] = {}
        for name in EVERY_DOOR:
            door = doors(*work, f"say:{name}")[name]
            response = waiting[name] = await stack.enter_async_context(opened(user, door))
            assert (response.status, response.content_type) == (200, "text/event-stream"), name
            while await response.content.readline() != COMMENT:
                pass
            run = response.headers.get("X-Run-Id")
            assert name in ("A2A", "JSON-RPC") or (await run_of(user, run or ""))["state"] == "working"
            assert name in ("bus", "A2A", "JSON-RPC") or response.headers["X-Conversation-Id"] == work.conversation
        gate.open()
        for name, response in waiting.items():
            assert f'"{name}"' in (await response.content.read()).decode(), name
    history = (await user.command("AP_History")).ok().content
    assert [message["content"] for message in history][1::2] == ["first", *EVERY_DOOR]


@pytest.mark.parametrize("name", EVERY_DOOR)
async def test_a_refusal_at_its_turn_ends_its_stream(scripted_user: Client, unique: str, gate: Gate, name: str):
    async with (
        behind(scripted_user, f"{unique}-agent", gate) as work,
        opened(scripted_user, doors(*work, "say:never")[name]) as response,
    ):
        assert response.status == 200
        (await scripted_user.command("AP_LogOff")).ok()
        gate.open()
        told = (await response.content.read()).decode()
    assert "The agent went offline or was stopped before this message's turn came; send it again once" in told
    if name == "bus":
        assert '"internal_code":3002' in told.split("event: error")[1]
    if name == "responses":
        kinds = [line[7:] for line in told.splitlines() if line.startswith("event: ")]
        assert kinds == ["response.created", "response.in_progress", "response.failed"]
    assert len((await scripted_user.command("AP_History")).ok().content) == 2
    (await scripted_user.command("AP_LogOn")).ok()
    assert (await scripted_user.command("AP_Chat", content="say:again")).ok().content[1]["content"] == "again"


async def test_where_too_many_wait_one_more_is_refused_before_the_head(scripted_user: Client, unique: str, gate: Gate):
    user = scripted_user
    async with behind(user, f"{unique}-agent", gate) as work:
        chats = [asyncio.create_task(user.command("AP_Chat", content="say:on")) for _ in range(31)]
        async with streamed(user, "AP_Chat", content="say:last") as last:
            assert last.status == 200
            for name in EVERY_DOOR:
                async with asyncio.timeout(30):
                    while True:
                        async with opened(user, doors(*work, "say:more")[name]) as response:
                            if response.status != 200:
                                assert response.content_type != "text/event-stream"
                                break
            gate.open()
        for chat in chats:
            await chat


def run_of_ag_ui(work: Behind, run: str, id: str = "") -> Door:
    messages = [{"id": id, "role": "user", "content": "say:on"}]
    return Door(f"/ag-ui/{work.agent}", {"threadId": work.conversation, "runId": run, "messages": messages})


async def test_runs_of_ag_ui_whose_message_has_no_id_wait_as_other_chats(
    scripted_user: Client, unique: str, gate: Gate
):
    user = scripted_user
    async with (
        behind(user, f"{unique}-agent", gate) as work,
        opened(user, run_of_ag_ui(work, "one")) as one,
        opened(user, run_of_ag_ui(work, "two")) as two,
    ):
        assert (one.status, two.status) == (200, 200)
        chats = [asyncio.create_task(user.command("AP_Chat", content="say:on")) for _ in range(31)]
        await asyncio.wait(chats, return_when=asyncio.FIRST_COMPLETED, timeout=30)
        async with opened(user, run_of_ag_ui(work, "three")) as refused:
            assert (await refused.json())["status"]["internal_code"] == 5003
        gate.open()
        assert sorted(answer.code for answer in await asyncio.gather(*chats)) == [0] * 30 + [5003]
        for response in (one, two):
            assert b"RUN_FINISHED" in await response.content.read()


async def test_of_runs_of_ag_ui_with_one_message_too_many_are_refused(scripted_user: Client, unique: str, gate: Gate):
    user = scripted_user
    async with (
        behind(user, f"{unique}-agent", gate) as work,
        opened(user, run_of_ag_ui(work, "first", "m")) as first,
    ):
        doors = [run_of_ag_ui(work, f"r-{number}", "m") for number in range(33)]
        runs = [asyncio.create_task(user.request("POST", door.path, json=door.body)) for door in doors]
        done, _ = await asyncio.wait(runs, return_when=asyncio.FIRST_COMPLETED, timeout=30)
        assert [run.result().body["status"]["internal_code"] for run in done] == [5003]
        gate.open()
        assert b"RUN_FINISHED" in await first.content.read()
        assert sorted(answer.http for answer in await asyncio.gather(*runs)) == [200] * 32 + [503]


async def test_it_is_read_followed_and_cancelled_by_its_id(scripted_user: Client, unique: str, gate: Gate):
    user = scripted_user
    async with (
        behind(user, f"{unique}-agent", gate) as work,
        streamed(user, "AP_Chat", content="say:never") as response,
    ):
        id = response.headers["X-Run-Id"]
        run = await run_of(user, id)
        assert (run["id"], run["state"], run["conversation"]) == (id, "working", work.conversation)
        assert (run["message"]["content"], run["message"]["seq"], run["reply"]) == ("say:never", 0, None)
        async with followed(user, id) as events:
            run = (await cancelled(user, id)).body
            assert (run["state"], run["message"]["mark"], run["error"]["internal_code"]) == (
                "cancelled",
                "cancelled",
                3002,
            )
            assert await run_of(user, id) == run == (await cancelled(user, id)).body
            gate.open()
            (last,) = [event async for event in events]
        (told,) = [event async for event in events_of(response)]
    assert (told.name, told.data, told.id) == ("error", run["error"], "0.end") == (last.name, last.data, last.id)
    history = (await user.command("AP_History")).ok().content
    assert [(message["content"], message["mark"]) for message in history[1:]] == [
        ("first", None),
        ("say:never", "cancelled"),
    ]
    assert (await run_of(user, id))["message"] == history[2]


async def test_who_follows_it_hears_it_when_its_turn_has_come(scripted_user: Client, unique: str, gate: Gate):
    user = scripted_user
    async with behind(user, f"{unique}-agent", gate), streamed(user, "AP_Chat", content="say:Grüße") as response:
        run = response.headers["X-Run-Id"]
        async with followed(user, run) as events:
            gate.open()
            heard = [event async for event in events]
        for events in (heard, [event async for event in events_of(response)], await all_events(user, run)):
            assert text_of(events) == "Grüße"
            assert (events[-1].id, events[-1].data["content"]) == ("5.end", heard[-1].data["content"])


async def test_other_users_do_not_see_it(scripted_user: Client, unique: str, gate: Gate):
    other = await scripted_user.as_user().register(f"{unique}-other")
    async with (
        behind(scripted_user, f"{unique}-agent", gate),
        streamed(scripted_user, "AP_Chat", content="say:mine") as response,
    ):
        run = response.headers["X-Run-Id"]
        for answer in (await other.request("GET", f"/api/runs/{run}"), await cancelled(other, run)):
            assert answer.http == 404
        gate.open()
        assert [event.name async for event in events_of(response)] == ["delta", "response"]
