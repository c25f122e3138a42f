"""POST /api/runs/{id}/cancel: what was said so far is stored (docs/contract.md, "Runs")."""

import asyncio
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client
from tests.support.operator import on_plan
from tests.support.runs import all_events, cancelled, chatting, followed, run_of, text_of


@pytest.fixture
def name(unique: str) -> str:
    """An agent name that no other test uses."""
    return f"{unique}-agent"


async def history(user: Client) -> list[tuple[str, str, str | None]]:
    messages = (await user.command("AP_History")).ok().content
    assert [message["seq"] for message in messages] == list(range(1, len(messages) + 1))
    return [(message["role"], message["content"], message["mark"]) for message in messages]


async def test_what_was_said_is_the_reply_of_a_cancelled_run(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    content = f"say:one wait:{gate} say:two"
    async with chatting(scripted_user, content) as chat:
        await chat.next()
        async with followed(scripted_user, chat.run) as events:
            run = (await cancelled(scripted_user, chat.run)).body
            *deltas, last = [event async for event in events]
        *pieces, whole = await chat.rest()
    assert (pieces, whole.id, whole.data["content"]) == (deltas, last.id, last.data["content"])
    assert (run["state"], run["reply"]["content"], run["reply"]["mark"], run["error"]) == (
        "cancelled",
        "one",
        "cancelled",
        None,
    )
    assert (last.name, last.data["content"][1], last.id) == ("response", run["reply"], "3.end")
    assert await run_of(scripted_user, chat.run) == run
    assert await history(scripted_user) == [("user", content, None), ("agent", "one", "cancelled")]
    assert text_of(await all_events(scripted_user, chat.run, "1")) == "ne"
    (await scripted_user.command("AP_Chat", content="say:next")).ok()
    assert len(await history(scripted_user)) == 4


async def test_a_chat_answered_as_json_is_answered_with_what_was_said(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"say:one wait:{gate} say:two"))
    await gate.reached()
    message = (await scripted_user.command("AP_History")).ok().content[0]
    run = (await cancelled(scripted_user, message["id"].replace("msg_", "run_"))).body
    assert (await chat).ok().content == [message, run["reply"]]


async def test_a_run_in_which_nothing_was_said_is_refused_and_its_message_marked(
    scripted_user: Client, name: str, gate: Gate
):
    await scripted_user.agent(name)
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:two"))
    await gate.reached()
    message = (await scripted_user.command("AP_History")).ok().content[0]
    run_id = message["id"].replace("msg_", "run_")
    async with followed(scripted_user, run_id) as events:
        run = (await cancelled(scripted_user, run_id)).body
        (last,) = [event async for event in events]
    refused = (await chat).refused(3002, 409)
    assert (refused.http, refused.headers["X-Run-Id"]) == (400, run_id)
    assert (run["state"], run["reply"], run["error"]) == ("cancelled", None, refused.body["status"])
    assert (last.name, last.data, last.id) == ("error", refused.body["status"], "0.end")
    assert await history(scripted_user) == [("user", f"wait:{gate} say:two", "cancelled")]
    assert await all_events(scripted_user, run_id) == [last]


async def test_a_refusal_of_a_cancelled_run_is_kept_for_its_key(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)

    async def send() -> Answer:
        headers = {"Idempotency-Key": "once"}
        return await scripted_user.command("AP_Chat", content=f"wait:{gate} say:two", headers=headers)

    chat = asyncio.create_task(send())
    await gate.reached()
    message = (await scripted_user.command("AP_History")).ok().content[0]
    await cancelled(scripted_user, message["id"].replace("msg_", "run_"))
    first = (await chat).refused(3002, 409)
    assert first.headers["X-Run-Id"] == message["id"].replace("msg_", "run_")
    assert (await send()).refused(3002, 409).body == first.body
    assert len(await history(scripted_user)) == 1


@pytest.mark.parametrize("content", ["say:one", "Hello"])
async def test_cancelling_an_ended_run_changes_nothing(scripted_user: Client, user: Client, name: str, content: str):
    client = user if content == "Hello" else scripted_user
    await client.agent(name)
    run = (await client.command("AP_Chat", content=content)).ok().headers["X-Run-Id"]
    before = await run_of(client, run)
    for _ in range(2):
        answer = await cancelled(client, run)
        assert (answer.http, answer.body) == (200, before)
    assert before["state"] == "completed"


async def test_cancelling_twice_is_as_once(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate}") as chat:
        await chat.next()
        answers = await asyncio.gather(*(cancelled(scripted_user, chat.run) for _ in range(5)))
        assert {answer.body["state"] for answer in answers} == {"cancelled"}
    assert len(await history(scripted_user)) == 2


async def test_cancelling_a_failed_run_changes_nothing(scripted_user: Client, name: str):
    await scripted_user.agent(name)
    (await scripted_user.command("AP_Chat", content="fail")).refused(5001, 502)
    message = (await scripted_user.command("AP_History")).ok().content[0]
    run = (await cancelled(scripted_user, message["id"].replace("msg_", "run_"))).body
    assert (run["state"], run["error"]["internal_code"]) == ("failed", 5001)
    assert await history(scripted_user) == [("user", "fail", None)]


async def test_a_run_is_cancelled_while_it_waits_for_its_turn(
    scripted_user: Client, name: str, gate: Gate, tmp_path: Any
):
    """A chat that failed and is repeated waits behind the chat that is at work; its id is known by then."""
    await scripted_user.agent(name)
    repeated = f"failonce:{tmp_path / 'failed'} say:again"
    headers = {"Idempotency-Key": "once"}
    (await scripted_user.command("AP_Chat", content=repeated, headers=headers)).refused(5001, 502)
    message = (await scripted_user.command("AP_History")).ok().content[0]
    run_id = message["id"].replace("msg_", "run_")
    async with chatting(scripted_user, f"say:one wait:{gate} say:two") as chat:
        await chat.next()
        waiting = asyncio.create_task(scripted_user.command("AP_Chat", content=repeated, headers=headers))
        while (await run_of(scripted_user, run_id))["state"] != "working":
            await asyncio.sleep(0.01)
        run = (await cancelled(scripted_user, run_id)).body
        assert (run["state"], run["reply"]) == ("cancelled", None)
        (await waiting).refused(3002, 409)
        gate.open()
        await chat.rest()
    assert text_of(chat.events) == "onetwo"
    assert [(role, mark) for role, _, mark in await history(scripted_user)] == [
        ("user", "cancelled"),
        ("user", None),
        ("agent", None),
    ]


async def test_the_next_chat_goes_on_after_a_cancelled_one(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate}") as chat:
        await chat.next()
        following = asyncio.create_task(scripted_user.command("AP_Chat", content="say:next"))
        await cancelled(scripted_user, chat.run)
        assert (await following).ok().content[1]["content"] == "next"
    assert [content for role, content, _ in await history(scripted_user) if role == "agent"] == ["one", "next"]


async def test_a_cancellation_is_in_the_audit_log_and_counts(scripted_user: Client, name: str, gate: Gate):
    await on_plan(scripted_user, "scale")
    await scripted_user.agent(name)
    async with chatting(scripted_user, f"say:one wait:{gate}") as chat:
        await chat.next()
        used = (await scripted_user.command("US_Read")).ok().profile[0]["quota"]["used"]
        headers = {"Idempotency-Key": "cancel"}
        for _ in range(2):
            path = f"/api/runs/{chat.run}/cancel"
            answer = await scripted_user.request("POST", path, headers=headers)
            assert answer.body["state"] == "cancelled"
            assert "Idempotency-Replayed" not in answer.headers, "a repeat is carried out, and changes nothing"
    assert (await scripted_user.command("US_Read")).ok().profile[0]["quota"]["used"] == used + 3
    entries = (await scripted_user.request("GET", "/api/audit?service=cancelRun")).body["entries"]
    assert [(entry["internal_code"], entry["target"]) for entry in entries] == [(0, {"id": chat.run})]
