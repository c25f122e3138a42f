"""How many messages of a domain wait for replies at a time (docs/contract.md, "Zones")."""

import asyncio

from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client

MOST_OF_USER, MOST = 16, 32


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

    def send_many(user: Client) -> list[asyncio.Task[Answer]]:
        return [asyncio.create_task(say(user, f"wait:{gate} say:Late")) for _ in range(MOST + 1)]

    async def refused(chats: list[asyncio.Task[Answer]]) -> set[asyncio.Task[Answer]]:
        """Return those that are refused, once one is; the user has more than its part, whatever the others do."""
        return (await asyncio.wait(chats, return_when=asyncio.FIRST_COMPLETED))[0]

    first, second, third = await member("first"), await member("second"), await member("third")
    chats = send_many(first)
    await refused(chats)
    assert (await say(third, "say:Soon")).ok().content[1]["content"] == "Soon"
    while len(await refused(chats)) < MOST + 1 - MOST_OF_USER:
        await asyncio.sleep(0.01)
    others = send_many(second)
    while len(await refused(others)) < MOST + 1 - MOST_OF_USER:
        await asyncio.sleep(0.01)
    assert (await say(third, "say:Soon")).ok().content[1]["content"] == "Soon"
    gate.open()
    for answer in await asyncio.gather(*chats, *others):
        assert answer.code in (0, 5003)
    assert (await say(first, "say:Soon")).ok().content[1]["content"] == "Soon"
