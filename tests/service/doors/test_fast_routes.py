"""Routes on the fast path: whole requests take it, others Sanic's, with identical answers."""

import asyncio
from typing import Any

import orjson
import pytest

from routes.gateway.fast import asks_no_stream
from tests.support.gateway import Answer, Client
from tests.support.operator import on_plan
from tests.support.wire import connected, raw_post, read_answer

PATH = "/v1/chat/completions"
VARYING = {"date", "x-conversation-id", "x-run-id"}


def question(agent: str, **more: Any) -> dict[str, Any]:
    return {"model": agent, "messages": [{"role": "user", "content": "How far is the Moon?"}], **more}


async def answered(client: Client, body: bytes, *, whole: bool, path: str = PATH) -> Answer:
    """Send a body on a connection that has answered before; a request in two packets can't take the fast path."""
    lines = [f"{name}: {value}" for name, value in client.headers({"X-Request-Id": "the-same-for-both"}).items()]
    async with connected(client.base) as (reader, writer):
        writer.write(raw_post("/v1/nothing", b"{}"))
        assert (await read_answer(reader)).http == 404
        request = raw_post(path, body, *lines)
        for piece in [request] if whole else [request[:-1], request[-1:]]:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.05)
        return await read_answer(reader)


def lasting(answer: Answer) -> dict[str, str]:
    return {name.lower(): value for name, value in answer.headers.items() if name.lower() not in VARYING}


@pytest.mark.parametrize("wrong", [{"model": "nobody-at-all"}, {"n": 2}, {"messages": []}, {"messages": 7}])
async def test_both_ways_refuse_the_same(user: Client, unique: str, wrong: dict[str, Any]):
    await on_plan(user, "enterprise")
    await user.agent(f"{unique}-agent")
    body = orjson.dumps(question(f"{unique}-agent") | wrong)
    fast, slow = [await answered(user, body, whole=whole) for whole in (True, False)]
    assert fast.http == slow.http >= 400
    assert (fast.body, lasting(fast)) == (slow.body, lasting(slow))


async def test_both_ways_answer_the_same(user: Client, unique: str):
    await on_plan(user, "enterprise")
    await user.agent(f"{unique}-agent", profile="The Moon is 384,400 km away.")
    body = orjson.dumps(question(f"{unique}-agent"))
    fast, slow = [await answered(user, body, whole=whole) for whole in (True, False)]
    for answer in (fast, slow):
        assert answer.http == 200
        assert "384,400" in answer.body["choices"][0]["message"]["content"]
        assert answer.headers["X-Request-Id"] == "the-same-for-both"
    assert fast.body.keys() == slow.body.keys()
    assert {name.lower() for name in fast.headers} == {name.lower() for name in slow.headers}


async def test_both_ways_refuse_a_wrong_credential_and_no_json(user: Client, unique: str):
    for client, body in ((user.as_user("pls_wrong"), orjson.dumps(question(unique))), (user, b"{"), (user, b"[]")):
        fast, slow = [await answered(client, body, whole=whole) for whole in (True, False)]
        assert fast.http == slow.http
        assert fast.http in (400, 401)
        assert (fast.body, lasting(fast).keys()) == (slow.body, lasting(slow).keys())


async def test_a_stream_is_streamed(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    (await user.command("AP_List")).ok()
    answer = await user.request("POST", PATH, json=question(f"{unique}-agent", stream=True))
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.body.rstrip().endswith("data: [DONE]")


async def test_the_work_goes_on_when_the_client_has_gone(user: Client, unique: str):
    await on_plan(user, "enterprise")
    await user.agent(f"{unique}-agent")
    lines = [f"{name}: {value}" for name, value in user.headers({}).items()]
    async with connected(user.base) as (reader, writer):
        writer.write(raw_post("/v1/nothing", b"{}"))
        await read_answer(reader)
        writer.write(raw_post(PATH, orjson.dumps(question(f"{unique}-agent")), *lines))
        await writer.drain()
    async with asyncio.timeout(30):
        while not (await user.command("CV_List", target={"agent": f"{unique}-agent"})).ok().profile:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"model": "scout"}', True),
        (b'{"stream": false}', False),
        (b'{"\\u0073tream": true}', False),
        (b'{"content": "a \\u4e2d stream"}', True),
    ],
)
def test_a_body_that_may_ask_for_a_stream_is_seen(body: bytes, expected: bool):
    assert asks_no_stream(body) is expected
