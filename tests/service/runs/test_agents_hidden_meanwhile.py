"""Chats with an agent that its owner hides from everybody else while they wait or run (docs/contract.md, "Chat")."""

import asyncio

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Client
from tests.support.operator import live_actor
from tests.support.runs import chatting, run_of


@pytest.mark.parametrize("conversation", ["default", "another"])
async def test_a_chat_that_waits_is_refused_and_one_that_runs_is_answered(
    scripted_user: Client, unique: str, gate: Gate, conversation: str
):
    agent, guest = f"{unique}-agent", await scripted_user.as_user().register(f"{unique}-guest")
    id = (await scripted_user.agent(agent, access="public"))["id"]
    target = {"agent": agent}
    if conversation == "another":
        target["conversation"] = (await guest.command("CV_Create", target=target)).ok().profile[0]["id"]
    async with asyncio.timeout(60), chatting(guest, f"say:one wait:{gate} say:two", target=target) as running:
        await gate.reached()
        waiting = asyncio.create_task(guest.command("AP_Chat", target=target, content="say:three"))
        while not any(one["waiting"] for one in (await live_actor(guest, "agent", id)).body["state"]["conversations"]):
            await asyncio.sleep(0.01)
        (await scripted_user.command("AP_Modify", target={"agent": agent}, vx={"access": "agent"})).ok()
        mine = asyncio.create_task(scripted_user.command("AP_Chat", target={"agent": agent}, content="say:mine"))
        gate.open()
        *_, last = await running.rest()
        assert last.data["content"][1]["content"] == "onetwo"
        (await waiting).refused(3000, 404)
        assert (await mine).ok().content[1]["content"] == "mine"
    assert (await run_of(guest, running.run))["state"] == "completed"
