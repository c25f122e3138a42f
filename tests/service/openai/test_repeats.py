"""Requests that the official client repeats, because it got no answer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from openai import APIStatusError, APITimeoutError, AsyncOpenAI

from routes.openai_api.refusals import RETRY_S
from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client, GatewayProcess
from tests.support.openai_client import LosingProxy, count_of, losing_proxy, messages_of, openai_client
from tests.support.operator import set_plan

ASKED: Any = [{"role": "user", "content": "How far is the Moon?"}]
FIRST = {"x-stainless-retry-count": "0"}
REPEAT = {"x-stainless-retry-count": "1"}


@pytest.fixture
async def proxy(sanic_server: GatewayProcess) -> AsyncIterator[LosingProxy]:
    async with losing_proxy(sanic_server) as proxy:
        yield proxy


@pytest.mark.parametrize("stream", [False, True])
async def test_a_lost_answer_is_got_again_and_the_chat_is_stored_once(
    proxy: LosingProxy, user: Client, agent: str, stream: bool
):
    async with openai_client(user, proxy.base, max_retries=2) as client:
        proxy.loses = 2
        create: Any = client.chat.completions.create
        answer = await create(model=agent, messages=ASKED, stream=stream)
        if stream:
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
        else:
            text = answer.choices[0].message.content
    assert proxy.lost == 2
    assert "384,400 km" in text
    assert await count_of(user, agent) == 2


async def test_a_repeat_comes_before_a_conversation_is_looked_for(proxy: LosingProxy, user: Client, agent: str):
    async with openai_client(user, proxy.base, max_retries=1) as client:
        first = await client.chat.completions.create(model=agent, messages=ASKED)
        history = [*ASKED, {"role": "assistant", "content": first.choices[0].message.content}, ASKED[0]]
        proxy.loses = 1
        second = await client.chat.completions.create(model=agent, messages=history)
        assert (first.metadata, proxy.lost) == (second.metadata, 1)
        assert first.metadata is not None
        assert len(await messages_of(user, first.metadata["conversation_id"])) == 4
        assert await count_of(user, agent) == 4


async def test_a_first_try_is_always_a_new_chat_and_a_repeat_that_of_the_last_try(
    openai: AsyncOpenAI, user: Client, agent: str
):
    async def said(headers: dict[str, str]) -> str:
        return (await openai.chat.completions.create(model=agent, messages=ASKED, extra_headers=headers)).id

    one, two = await said(FIRST), await said(FIRST)
    assert one != two
    assert await said(REPEAT) == two
    assert await said({"x-stainless-retry-count": "2"}) == two
    assert await count_of(user, agent) == 4


async def test_a_repeat_is_one_only_with_the_same_body_credential_and_path(
    openai: AsyncOpenAI, user: Client, agent: str, unique: str
):
    body = {"model": agent, "messages": ASKED}
    first = await user.request("POST", "/v1/chat/completions", json=body, headers=FIRST)
    other = [{"role": "user", "content": "How far is the Moon ?"}]
    again = await user.request("POST", "/v1/chat/completions", json=body | {"messages": other}, headers=REPEAT)
    elsewhere = await user.log_on(user.name)
    of_other = await elsewhere.request("POST", "/v1/chat/completions", json=body, headers=REPEAT)
    named = await user.request(
        "POST", "/v1/chat/completions", json=body, headers=REPEAT | {"X-Conversation-Id": f"{unique}-own"}
    )
    assert len({answer.body["id"] for answer in (first, again, of_other, named)}) == 4
    repeated = await user.request("POST", "/v1/chat/completions", json=body, headers=REPEAT)
    assert repeated.body["id"] == first.body["id"]


async def test_a_repeat_joins_the_run_under_way(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    says: Any = [{"role": "user", "content": f"say:Hello wait:{gate} say:World"}]
    async with openai_client(scripted_user, timeout=1, max_retries=2) as impatient:
        with pytest.raises(APITimeoutError):
            await impatient.chat.completions.create(model=f"{unique}-agent", messages=says)
    gate.open()
    async with openai_client(scripted_user) as client:
        answer = await client.chat.completions.create(
            model=f"{unique}-agent", messages=says, extra_headers={"x-stainless-retry-count": "3"}
        )
    assert answer.choices[0].message.content == "HelloWorld"
    assert await count_of(scripted_user, f"{unique}-agent") == 2


async def test_a_failed_run_is_taken_up_by_a_repeat(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    says: Any = [{"role": "user", "content": f"failonce:{gate} say:Hello"}]
    async with openai_client(scripted_user, max_retries=1) as client:
        answer = await client.chat.completions.create(model=f"{unique}-agent", messages=says)
    assert answer.choices[0].message.content == "Hello"
    assert await count_of(scripted_user, f"{unique}-agent") == 2


async def test_a_try_that_was_refused_before_its_run_is_carried_out_anew(openai: AsyncOpenAI, user: Client, agent: str):
    async def said(headers: dict[str, str]) -> str:
        return (await openai.chat.completions.create(model=agent, messages=ASKED, extra_headers=headers)).id

    old = await said(FIRST)
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    with pytest.raises(APIStatusError) as offline:
        await said(FIRST)
    assert offline.value.status_code == 409
    (await user.command("AP_LogOn", target={"agent": agent})).ok()
    new = await said(REPEAT)
    assert new != old
    assert await count_of(user, agent) == 4


async def test_a_try_beyond_the_quota_is_carried_out_anew(openai: AsyncOpenAI, user: Client, agent: str):
    async def said(headers: dict[str, str]) -> str:
        return (await openai.chat.completions.create(model=agent, messages=ASKED, extra_headers=headers)).id

    old = await said(FIRST)
    used = (await user.command("US_Read")).ok().profile[0]["quota"]["used"]
    assert (await set_plan(user, user.name, "enterprise", limit=used)).http == 200
    with pytest.raises(APIStatusError) as refused:
        await said(FIRST)
    assert (refused.value.status_code, refused.value.code) == (429, "insufficient_quota")
    told = refused.value.response.headers
    is_soon = int(told["retry-after"]) <= RETRY_S  # just before midnight
    assert told.get("x-should-retry") == (None if is_soon else "false")
    assert (await set_plan(user, user.name, "builder")).http == 200
    assert await said(REPEAT) != old
    assert await count_of(user, agent) == 4


async def both_heard(user: Client, path: str, body: dict[str, Any], gate: Gate) -> tuple[str, str]:
    """Return what a stream and its repeat hear; the repeat comes once "Hello" was heard, and then opens the gate."""
    stored = asyncio.Event()

    async def heard(headers: dict[str, str], at_hello: Callable[[], object]) -> str:
        text = ""
        async with user.http.post(f"{user.base}/v1/{path}", json=body, headers=user.headers(headers)) as answer:
            async for line in answer.content:
                text += line.decode()
                if '"Hello"' in text:
                    at_hello()
        return text

    first = asyncio.create_task(heard(FIRST, stored.set))
    await stored.wait()  # the engine may be at the gate before the message is stored
    again = await heard(REPEAT, gate.open)
    return await first, again


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
async def test_a_repeat_hears_the_run_under_way_as_it_goes_on(
    scripted_user: Client, unique: str, gate: Gate, path: str
):
    agent, says = f"{unique}-agent", f"say:Hello wait:{gate} say:World"
    await scripted_user.agent(agent)
    body = {"model": agent, "messages": [{"role": "user", "content": says}], "input": says, "stream": True}
    first, again = await both_heard(scripted_user, path, body, gate)
    assert first == again
    assert await count_of(scripted_user, agent) == 2


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
async def test_a_repeat_hears_that_the_run_under_way_fails(scripted_user: Client, unique: str, gate: Gate, path: str):
    agent, says = f"{unique}-agent", f"say:Hello wait:{gate} fail"
    await scripted_user.agent(agent)
    body = {"model": agent, "messages": [{"role": "user", "content": says}], "input": says, "stream": True}
    for answer in await both_heard(scripted_user, path, body, gate):
        assert "The chat engine failed" in answer or "engine_failed" in answer
        assert answer.count('"Hello"') == 1
    assert await count_of(scripted_user, agent) == 1


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
@pytest.mark.parametrize("stored", [{"model": "{}:once"}, {"model": "{}", "store": False}])
async def test_a_repeat_gets_what_is_not_stored_too(user: Client, agent: str, path: str, stored: dict[str, Any]):
    body = {"messages": ASKED, "input": "How far is the Moon?"} | stored | {"model": stored["model"].format(agent)}

    async def said(headers: dict[str, str]) -> Any:
        answer = await user.request("POST", f"/v1/{path}", json=body, headers=headers)
        assert (answer.http, "X-Conversation-Id" in answer.headers) == (200, False)
        return answer.body

    first, again, new = await said(FIRST), await said(REPEAT), await said(FIRST)
    assert first == again
    assert "384,400 km" in str(first)
    assert new["id"] != first["id"]
    assert (await said(REPEAT))["id"] == new["id"]
    assert await count_of(user, agent) == 0


async def test_a_repeat_joins_what_is_not_stored(scripted_user: Client, unique: str, gate: Gate):
    agent = f"{unique}-agent"
    await scripted_user.agent(agent)
    body = {"model": f"{agent}:once", "input": f"say:Hello wait:{gate} say:World", "stream": True}

    async def said(headers: dict[str, str]) -> str:
        return (await scripted_user.request("POST", "/v1/responses", json=body, headers=headers)).body

    first = asyncio.create_task(said(FIRST))
    await gate.reached()
    second = asyncio.create_task(said(REPEAT))
    third = asyncio.create_task(said({"x-stainless-retry-count": "2"}))
    gate.open()
    ends = {events.strip().splitlines()[-3] for events in await asyncio.gather(first, second, third)}
    assert [end for end in ends if "HelloWorld" in end] == list(ends)
    assert len({end.partition('"id":')[2][:40] for end in ends}) == 1


async def test_what_is_not_stored_is_not_repeated_once_a_memory_in_it_is_censored(user: Client, unique: str):
    agent, bank = f"{unique}-agent", f"{unique}-bank"
    await user.agent(agent)
    (await user.command("MB_Create", vx={"name": bank})).ok()
    (await user.command("MB_Load", target={"bank": bank}, vx={"name": "moon"}, content="The Moon is 1 km away.")).ok()
    body = {"model": f"{agent}:once", "messages": ASKED}

    async def said(headers: dict[str, str]) -> Any:
        return (await user.request("POST", "/v1/chat/completions", json=body, headers=headers)).body

    first = await said(FIRST)
    assert "1 km" in str(first)
    assert await said(REPEAT) == first
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "moon"})).ok()
    assert "1 km" not in str(await said(REPEAT))


@pytest.mark.parametrize("path", ["chat/completions", "responses"])
@pytest.mark.parametrize("stream", [False, True])
async def test_an_idempotency_key_is_carried_out_once(user: Client, agent: str, path: str, stream: bool):
    body = {"model": agent, "messages": ASKED, "input": "How far is the Moon?", "stream": stream}

    async def said(key: str, **more: Any) -> Answer:
        headers = {"Idempotency-Key": key, **more.pop("headers", {})}
        return await user.request("POST", f"/v1/{path}", json=body | more, headers=headers)

    first = await said("one")
    again = await said("one", headers=FIRST)
    assert (first.http, again.http) == (200, 200)
    assert (first.headers["X-Run-Id"], first.body) == (again.headers["X-Run-Id"], again.body)
    assert ("Idempotency-Replayed" in first.headers, again.headers["Idempotency-Replayed"]) == (False, "true")
    assert (await said("two")).headers["X-Run-Id"] != first.headers["X-Run-Id"]
    for other in ({"user": "ada"}, {"headers": {"X-Conversation-Id": "mine"}}):
        refused = await said("one", **other)
        assert (refused.http, refused.body["error"]["code"]) == (409, "conflict")
    elsewhere = await user.log_on(user.name)
    theirs = await elsewhere.request("POST", f"/v1/{path}", json=body, headers={"Idempotency-Key": "one"})
    assert theirs.headers["X-Run-Id"] != first.headers["X-Run-Id"]
    assert await count_of(user, agent) == 6


async def test_requests_at_once_with_one_idempotency_key_are_one_chat(user: Client, agent: str):
    body, headers = {"model": agent, "messages": ASKED}, {"Idempotency-Key": "at-once"}
    answers = await asyncio.gather(
        *[user.request("POST", "/v1/chat/completions", json=body, headers=headers) for _ in range(5)]
    )
    assert len({answer.body["id"] for answer in answers}) == 1
    assert await count_of(user, agent) == 2


@pytest.mark.parametrize("stream", [False, True])
async def test_a_blank_idempotency_key_counts_as_missing(user: Client, agent: str, stream: bool):
    body, headers = {"model": agent, "messages": ASKED, "stream": stream}, {"Idempotency-Key": ""}
    answers = [await user.request("POST", "/v1/chat/completions", json=body, headers=headers) for _ in range(2)]
    assert len({answer.headers["X-Run-Id"] for answer in answers}) == 2


@pytest.mark.parametrize("key", ["a b", "x" * 256, "\xe9"])
async def test_a_wrong_idempotency_key_is_refused(user: Client, agent: str, key: str):
    body = {"model": agent, "messages": ASKED}
    refused = await user.request("POST", "/v1/chat/completions", json=body, headers={"Idempotency-Key": key})
    assert (refused.http, refused.body["error"]["code"]) == (400, "invalid_value")
    assert await count_of(user, agent) == 0


async def test_a_refusal_keeps_nothing_for_its_idempotency_key(user: Client, agent: str):
    body, headers = {"model": agent, "messages": ASKED}, {"Idempotency-Key": "refused"}
    (await user.command("AP_LogOff", target={"agent": agent})).ok()
    assert (await user.request("POST", "/v1/chat/completions", json=body, headers=headers)).http == 409
    (await user.command("AP_LogOn", target={"agent": agent})).ok()
    assert (await user.request("POST", "/v1/chat/completions", json=body, headers=headers)).http == 200
    assert await count_of(user, agent) == 2


@pytest.mark.parametrize("headers", [(FIRST, REPEAT), ({"Idempotency-Key": "one"},) * 2])
async def test_what_was_erased_is_unknown_to_a_repeat_too(
    user: Client, agent: str, headers: tuple[dict[str, str], dict[str, str]]
):
    body = {"model": agent, "messages": ASKED}
    first, again = headers
    said = await user.request("POST", "/v1/chat/completions", json=body, headers=first)
    conversation = said.headers["X-Conversation-Id"]
    (await user.command("CV_Destroy", target={"conversation": conversation})).ok()
    anew = await user.request("POST", "/v1/chat/completions", json=body, headers=again)
    assert (anew.http, "Idempotency-Replayed" in anew.headers) == (200, False)
    assert anew.headers["X-Conversation-Id"] != conversation


async def test_the_first_try_of_a_chat_that_is_erased_ends_so_that_the_client_does_not_repeat_it(
    scripted_user: Client, unique: str, gate: Gate
):
    await scripted_user.agent(f"{unique}-agent")
    async with openai_client(scripted_user, max_retries=2) as client:
        messages: Any = [{"role": "user", "content": f"wait:{gate}"}]
        asked = asyncio.create_task(client.chat.completions.create(model=f"{unique}-agent", messages=messages))
        await gate.reached()
        async with asyncio.timeout(30):
            while not (listed := (await scripted_user.command("CV_List")).ok().profile):
                await asyncio.sleep(0.01)  # the message is stored beside the engine's work
        (await scripted_user.command("CV_Destroy", target={"conversation": listed[0]["id"]})).ok()
        with pytest.raises(APIStatusError) as refused:
            await asked
    assert (refused.value.status_code, refused.value.response.headers["x-should-retry"]) == (404, "false")
    assert (await scripted_user.command("CV_List")).ok().profile == []
