"""Chats with an agent that its owner hides from everybody else while they wait or run (docs/contract.md, "Chat")."""

import asyncio
from typing import Any

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


CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "access": ("AP_Modify", {"vx": {"access": "bank"}}),
    "membership": ("DM_Kick", {}),
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("change", [*CHANGES, "nothing"])
async def test_a_chat_that_waits_is_refused_once_its_user_shares_nothing_with_the_agent(
    scripted_user: Client, unique: str, gate: Gate, change: str, named: bool
):
    agent, visitor, domain = f"{unique}-agent", f"{unique}-visitor", f"{unique}-domain"
    guest = await scripted_user.as_user().register(f"{unique}-guest")
    id = (await scripted_user.agent(agent, access="domain"))["id"]
    await guest.agent(visitor, access="public")
    (await scripted_user.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    (await scripted_user.command("DM_Invite", target={"domain": domain, "agent": visitor})).ok()
    (await guest.command("DM_Join", target={"domain": domain, "agent": visitor})).ok()
    target = {"agent": agent}
    for service in ("AP_Add", "AP_Select"):
        (await guest.command(service, target=target)).ok()
    async with asyncio.timeout(60), chatting(guest, f"say:one wait:{gate} say:two", target=target) as running:
        await gate.reached()
        more = {"target": target} if named else {}
        waiting = asyncio.create_task(guest.command("AP_Chat", content="say:three", **more))
        while not any(one["waiting"] for one in (await live_actor(guest, "agent", id)).body["state"]["conversations"]):
            await asyncio.sleep(0.01)
        if change != "nothing":
            service, members = CHANGES[change]
            of = {"agent": agent} if change == "access" else {"domain": domain, "agent": visitor}
            (await scripted_user.command(service, target=of, **members)).ok()
        gate.open()
        *_, last = await running.rest()
        assert last.data["content"][1]["content"] == "onetwo"
        answer = await waiting
    if change == "nothing":
        assert answer.ok().content[1]["content"] == "three"
    else:
        answer.refused(3000, 404)
        assert (await run_of(guest, answer.headers["X-Run-Id"]))["state"] == "failed"
