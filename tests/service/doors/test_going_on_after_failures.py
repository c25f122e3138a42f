"""The advice of each door after the engine failed on a message, and what comes of following it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.support.ag_ui import run_input, user_says
from tests.support.gateway import BUS, Client

Sent = Callable[[Client, str, str, int], Awaitable[str]]


async def post(client: Client, path: str, body: Any, **headers: str) -> str:
    timeout = aiohttp.ClientTimeout(total=30)
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    url = client.base + path
    async with client.http.post(url, json=body, headers=client.headers(more), timeout=timeout) as answer:
        return await answer.text()


async def get(client: Client, path: str) -> str:
    headers = client.headers({"A2A-Version": "1.0"})
    async with client.http.get(client.base + path, headers=headers) as answer:
        return await answer.text()


async def only_one(user: Client, agent: str) -> str:
    (conversation,) = (await user.command("CV_List", target={"agent": agent})).ok().profile
    return conversation["id"]


async def bus(client: Client, agent: str, text: str, tries: int) -> str:
    body = {"service": "AP_Chat", "target": {"agent": agent}, "content": text}
    return await post(client, BUS, body, Idempotency_Key="one")


async def completions(client: Client, agent: str, text: str, tries: int) -> str:
    body = {"model": agent, "messages": [{"role": "user", "content": text}]}
    return await post(client, "/v1/chat/completions", body, x_stainless_retry_count=str(tries))


async def streamed_completions(client: Client, agent: str, text: str, tries: int) -> str:
    body = {"model": agent, "stream": True, "messages": [{"role": "user", "content": text}]}
    return await post(client, "/v1/chat/completions", body, x_stainless_retry_count=str(tries))


async def responses(client: Client, agent: str, text: str, tries: int) -> str:
    return await post(client, "/v1/responses", {"model": agent, "input": text}, x_stainless_retry_count=str(tries))


async def a2a(client: Client, agent: str, text: str, tries: int) -> str:
    message = {"messageId": "one", "role": "ROLE_USER", "parts": [{"text": text}]}
    return await post(client, f"/a2a/{agent}/message:send", {"message": message}, A2A_Version="1.0")


async def ag_ui(client: Client, agent: str, text: str, tries: int) -> str:
    return await post(client, f"/ag-ui/{agent}", run_input(user_says(text, "one"), thread="t", run="r"))


ADVICE: dict[Sent, str] = {
    bus: "send it again with the same Idempotency-Key",
    completions: "Send the request again",
    streamed_completions: "Send the request again",
    responses: "Send the request again",
    a2a: "send it again with the same messageId",
    ag_ui: "run it again with the same threadId and runId",
}


@pytest.mark.parametrize("sent", ADVICE, ids=lambda sent: sent.__name__)
async def test_each_door_says_how_to_go_on_and_that_works(
    scripted_user: Client, unique: str, tmp_path: Path, sent: Sent
):
    user, agent = scripted_user, f"{unique}-agent"
    await user.agent(agent)
    text = f"failonce:{tmp_path / 'failed'} say:Answered"
    failed = await sent(user, agent, text, 0)
    assert ADVICE[sent] in failed, failed
    assert ("Idempotency-Key" in failed) == (sent is bus), failed
    (said,) = (await user.command("AP_History", target={"conversation": await only_one(user, agent)})).ok().content
    if sent is a2a:
        assert ADVICE[sent] in await get(user, f"/a2a/{agent}/tasks/{said['id'].replace('msg_', 'run_')}")
    if sent is responses:
        assert ADVICE[sent] in await get(user, f"/v1/responses/{said['id'].replace('msg_', 'resp_')}")
    assert "Answered" in await sent(user, agent, text, 1)
    listed = (await user.command("CV_List", target={"agent": agent})).ok().profile
    assert [one["messages"] for one in listed] == [2], "the message is stored once, with its reply"


async def test_who_has_sent_no_key_is_told_what_comes_of_a_repeat(scripted_user: Client, unique: str):
    user, agent = scripted_user, f"{unique}-agent"
    await user.agent(agent)
    said = {"target": {"agent": agent}, "content": "fail"}
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "AP_Chat", "arguments": said}}
    for answer in (
        await post(user, BUS, {"service": "AP_Chat", **said}),
        await post(user, BUS, {"service": "AP_Chat", **said}, Accept="text/event-stream"),
        await post(user, "/mcp", called, Accept="application/json, text/event-stream"),
    ):
        assert "without one it is said once more" in answer, answer
    kept = (await user.command("AP_History", target={"conversation": await only_one(user, agent)})).ok().content
    assert [message["content"] for message in kept] == ["fail"] * 3
