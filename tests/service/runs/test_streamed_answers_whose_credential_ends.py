"""A streamed answer ends with the session or API key that asked for it; its chat goes on (docs/contract.md, "Chat")."""

import asyncio

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Client
from tests.support.operator import SECRET, on_plan
from tests.support.runs import DOORS, all_events, chatting


async def answers_in(user: Client) -> list[str]:
    """Return what the agents have said in all conversations."""
    conversations = [one["id"] for one in (await user.command("CV_List")).ok().profile]
    read = [(await user.command("AP_History", target={"conversation": one})).ok().content for one in conversations]
    return [message["content"] for messages in read for message in messages if message["role"] == "agent"]


@pytest.mark.parametrize("end", ["revoked", "suspended"])
@pytest.mark.parametrize("door", DOORS)
async def test_the_stream_ends_and_the_chat_goes_on(
    scripted_user: Client, unique: str, gate: Gate, door: str, end: str
):
    user, agent = await on_plan(scripted_user, "builder"), f"{unique}-agent"
    guest = await user.as_user().register(f"{unique}-guest")
    await guest.agent(agent, access="public")
    made = (await user.request("POST", "/api/api-keys", json={"name": "a key"})).body
    key = user.as_user(made["key"], user.name)
    path, body, headers = DOORS[door](agent, f"say:one wait:{gate} say:two")
    async with asyncio.timeout(60):
        async with key.http.post(key.base + path, json=body, headers=key.headers(headers)) as response:
            assert response.status == 200, await response.text()
            heard = b""
            while b"one" not in heard.replace(b"say:one", b""):
                heard += await response.content.readany()
            if end == "revoked":
                answer = await user.request("DELETE", f"/api/api-keys/{made['id']}")
            else:
                answer = await user.request("POST", f"/api/admin/users/{user.name}/suspend", headers=SECRET)
            assert answer.http in (200, 204), answer.body
            heard = await response.content.read()  # to the end, which does not wait for the engine
            assert b"This session or API key has ended" in heard
        gate.open()
        if end == "suspended":
            assert (await user.request("POST", f"/api/admin/users/{user.name}/resume", headers=SECRET)).http == 200
            user = await user.log_on(user.name)
        while not await answers_in(user):
            await asyncio.sleep(0.02)
        assert await answers_in(user) == ["onetwo"]


async def test_the_run_is_followed_with_another_credential_from_where_the_stream_ended(
    scripted_user: Client, unique: str, gate: Gate
):
    await scripted_user.agent(f"{unique}-agent")
    session = await scripted_user.log_on(scripted_user.name)
    target = {"agent": f"{unique}-agent"}
    async with asyncio.timeout(60), chatting(session, f"say:one wait:{gate} say:two", target=target) as chat:
        await chat.next()
        (await session.command("US_LogOff")).ok()
        *_, last = await chat.rest()
        assert (last.name, last.data["internal_code"], last.id) == ("error", 2001, "3")
        gate.open()
    delta, response = await all_events(scripted_user, chat.run, last.id)
    assert (delta.data["text"], response.data["content"][1]["content"]) == ("two", "onetwo")


async def test_an_answer_that_is_not_streamed_is_sent(scripted_user: Client, unique: str, gate: Gate):
    user, agent = await on_plan(scripted_user, "builder"), f"{unique}-agent"
    await user.agent(agent)
    made = (await user.request("POST", "/api/api-keys", json={"name": "a key"})).body
    key = user.as_user(made["key"], user.name)
    said = {"model": agent, "messages": [{"role": "user", "content": f"wait:{gate} say:two"}]}
    chats = [
        asyncio.create_task(key.command("AP_Chat", target={"agent": agent}, content=f"wait:{gate} say:two")),
        asyncio.create_task(key.request("POST", "/v1/chat/completions", json=said)),
    ]
    await gate.reached()
    while len((await user.command("CV_List")).ok().profile) < len(chats):
        await asyncio.sleep(0.02)
    assert (await user.request("DELETE", f"/api/api-keys/{made['id']}")).http == 204
    gate.open()
    for answer in await asyncio.gather(*chats):
        assert answer.http == 200, answer.body
