"""Chats that wait while a bank goes out of their user's or their agent's sight (docs/contract.md, "Recall")."""

import asyncio
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Client
from tests.support.operator import live_actor

CHANGES: dict[str, tuple[str, dict[str, Any]]] = {
    "access": ("MB_Permissions", {"vx": {"access": "agent"}}),
    "permission": ("MB_Permissions", {"vx": {"permission": "none"}}),
    "attachment": ("MB_Unload", {}),
    "memory": ("MB_Delete", {"vx": {"name": "zebra-memory"}}),
    "bank": ("MB_Destroy", {}),
}


@pytest.mark.parametrize("change", [*CHANGES, "nothing"])
async def test_a_chat_that_waited_draws_on_no_bank_that_is_out_of_sight_by_its_turn(
    scripted_user: Client, unique: str, gate: Gate, change: str
):
    agent, bank = f"{unique}-agent", f"{unique}-bank"
    guest = await scripted_user.as_user().register(f"{unique}-guest")
    id = (await scripted_user.agent(agent, access="public"))["id"]
    (await scripted_user.command("MB_Create", vx={"name": bank, "access": "public"})).ok()
    memory = {"name": "zebra-memory", "description": "The zebra lives in a house by the recall"}
    (await scripted_user.command("MB_Load", target={"bank": bank}, vx=memory)).ok()
    await scripted_user.agent(f"{unique}-second", access="public", select=False)  # which may read the bank throughout
    second_one = {"bank": bank, "agent": f"{unique}-second"}
    (await scripted_user.command("MB_Permissions", target=second_one, vx={"permission": "read"})).ok()
    first = f"wait:{gate} recall:zebra say:!"
    chats = [asyncio.create_task(guest.command("AP_Chat", target={"agent": agent}, content=first))]
    async with asyncio.timeout(60):
        await gate.reached()
        second = guest.command("AP_Chat", target={"agent": agent}, content="recall:zebra say:!")
        chats.append(asyncio.create_task(second))
        while not any(one["waiting"] for one in (await live_actor(guest, "agent", id)).body["state"]["conversations"]):
            await asyncio.sleep(0.01)
        if change != "nothing":
            service, more = CHANGES[change]
            target = {"bank": bank} if change in ("memory", "bank") else {"bank": bank, "agent": agent}
            (await scripted_user.command(service, target=target, **more)).ok()
        gate.open()
        said = [(await chat).ok().content[1]["content"] for chat in chats]
    assert said == ["zebra-memory!", "zebra-memory!" if change == "nothing" else "!"]
