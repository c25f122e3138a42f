"""How many messages of a domain wait for replies at a time (docs/contract.md, "Zones")."""

import asyncio

from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client

MOST, ALWAYS = 32, 4


async def test_a_user_s_messages_that_wait_for_replies_leave_room_for_others(
    scripted_user: Client, gate: Gate, unique: str
):
    agent, domain = f"{unique}-agent", f"{unique}-domain"
    await scripted_user.agent(agent, access="public")
    (await scripted_user.command("DM_Create", vx={"name": domain, "description": "d", "access": "public"})).ok()

    async def member(name: str) -> Client:
        user = await scripted_user.as_user().register(f"{unique}-{name}")
        await user.agent(f"{unique}-{name}-agent")
        (await user.command("DM_Join", target={"agent": f"{unique}-{name}-agent", "domain": domain})).ok()
        return user

    async def say(user: Client, content: str) -> Answer:
        return await user.command("AP_Chat", target={"agent": agent, "domain": domain}, content=content)

    async def send_many(user: Client, room: int) -> list[asyncio.Task[Answer]]:
        """Send one message more than there is room for, and wait until one is refused."""
        chats = [asyncio.create_task(say(user, f"wait:{gate} say:Late")) for _ in range(room + 1)]
        done, _ = await asyncio.wait(chats, return_when=asyncio.FIRST_COMPLETED)
        assert [chat.result().refused(5003, 503).code for chat in done] == [5003]
        return chats

    first, second, third = await member("first"), await member("second"), await member("third")
    chats = [*await send_many(first, MOST), *await send_many(second, ALWAYS)]
    assert (await say(third, "say:Soon")).ok().content[1]["content"] == "Soon"
    gate.open()
    codes = sorted(answer.code for answer in await asyncio.gather(*chats))
    assert codes == [0] * (MOST + ALWAYS) + [5003] * 2
    assert (await say(first, "say:Soon")).ok().content[1]["content"] == "Soon"
