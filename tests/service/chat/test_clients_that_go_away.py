"""Chats whose client goes away before the answer."""

import asyncio

import orjson
import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import BUS, Client
from tests.support.operator import on_plan
from tests.support.wire import connected, events_of, raw_post, streamed, until_closed
from tests.support.workspaces import opened_with_a_guest, said_in


@pytest.fixture
def name(unique: str) -> str:
    """An agent name that no other test uses."""
    return f"{unique}-agent"


@pytest.mark.parametrize("plan", ["free", "scale"])
async def test_a_chat_whose_client_went_away_is_stored_whole(scripted_user: Client, name: str, gate: Gate, plan: str):
    await on_plan(scripted_user, plan)
    await scripted_user.agent(name)
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:done"))
    await gate.reached()
    chat.cancel()
    await asyncio.wait((chat,))
    gate.open()
    async with asyncio.timeout(30):
        while len(said := (await scripted_user.command("AP_History")).ok().content) < 2:
            await asyncio.sleep(0.1)
    assert said[1]["content"] == "done"
    logged = (await scripted_user.request("GET", "/api/audit?service=AP_Chat")).body
    if plan == "scale":
        assert [entry["internal_code"] for entry in logged["entries"]] == [0]


async def test_a_client_that_goes_away_does_not_cancel_a_streamed_chat(scripted_user: Client, name: str, gate: Gate):
    await scripted_user.agent(name)
    async with streamed(scripted_user, "AP_Chat", content=f"say:one wait:{gate} say:two") as response:
        assert (await anext(events_of(response))).data == {"text": "one"}
    gate.open()
    (await scripted_user.command("AP_Chat", content="say:next")).ok()  # it starts after the first one's end
    history = (await scripted_user.command("AP_History")).ok().content
    assert [message["content"] for message in history][1:] == ["onetwo", "say:next", "next"]


async def test_a_client_that_goes_away_does_not_cancel_a_chat_answered_as_json(
    scripted_user: Client, name: str, gate: Gate
):
    await scripted_user.agent(name)
    chat = asyncio.create_task(scripted_user.command("AP_Chat", content=f"wait:{gate} say:done"))
    await gate.reached()
    chat.cancel()
    await asyncio.gather(chat, return_exceptions=True)
    gate.open()
    (await scripted_user.command("AP_Chat", content="say:next")).ok()
    history = (await scripted_user.command("AP_History")).ok().content
    assert [message["content"] for message in history][1:] == ["done", "say:next", "next"]


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_a_client_that_closes_only_its_sending_side_has_gone_too(
    scripted_user: Client, name: str, gate: Gate, accept: str
):
    await scripted_user.agent(name)
    body = orjson.dumps({"service": "AP_Chat", "content": f"wait:{gate} say:done"})
    async with connected(scripted_user.base) as (reader, writer):
        writer.write(raw_post(BUS, body, f"Authorization: Bearer {scripted_user.token}", f"Accept: {accept}"))
        await gate.reached()
        writer.write_eof()
        assert await asyncio.wait_for(until_closed(reader), 30) == b""
    gate.open()
    (await scripted_user.command("AP_Chat", content="say:next")).ok()
    history = (await scripted_user.command("AP_History")).ok().content
    assert [message["content"] for message in history][1:] == ["done", "say:next", "next"]


async def test_a_reply_whose_client_went_away_is_stored_on_a_plan_with_a_log(
    scripted_user: Client, gate: Gate, unique: str
):
    await on_plan(scripted_user, "scale")
    workspace = await opened_with_a_guest(scripted_user, unique)
    target = {"domain": workspace.domain}
    slow = asyncio.create_task(scripted_user.command("AP_Chat", target=target, content=f"wait:{gate} say:done"))
    await gate.reached()
    slow.cancel()
    await asyncio.wait((slow,))
    gate.open()
    async with asyncio.timeout(30):
        while len(said := await said_in(scripted_user, workspace.domain)) < 2:
            await asyncio.sleep(0.02)
    assert said[1][2] == "done"
