"""Errors below /v1 are in OpenAI's shape, with the precise HTTP status."""

import asyncio
from collections.abc import Callable, Coroutine
from io import BytesIO
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client
from tests.support.openai_client import count_of, messages_of, openai_client
from tests.support.operator import set_plan

ASKED: Any = [{"role": "user", "content": "How far is the Moon?"}]
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
PATH = "/v1/chat/completions"


def assert_error(body: Any, code: str, param: str | None = None) -> None:
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    assert (body["error"]["code"], body["error"]["param"]) == (code, param)
    assert body["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1", 404, "unknown_url"),
        ("GET", "/v1/", 404, "unknown_url"),
        ("POST", "/v1/embeddings", 404, "unknown_url"),
        ("GET", "/v1/chat/completions", 405, "method_not_allowed"),
        ("PUT", "/v1/models", 405, "method_not_allowed"),
        ("GET", "/v1/models/nobody", 404, "model_not_found"),
    ],
)
async def test_routing_errors_are_in_the_shape_too(user: Client, method: str, path: str, status: int, code: str):
    answer = await user.request(method, path)
    assert answer.http == status
    assert_error(answer.body, code, "model" if code == "model_not_found" else None)
    assert answer.headers["x-should-retry"] == "false"
    assert answer.headers["X-Request-Id"]
    assert ("Allow" in answer.headers) is (status == 405)


async def test_a_path_beside_v1_keeps_the_common_shape(user: Client):
    assert (await user.request("GET", "/v12")).body["status"]["internal_code"] == 1006


@pytest.mark.parametrize(
    ("data", "headers", "status", "code"),
    [
        ("{", {}, 400, "invalid_json"),
        ("[]", {}, 400, "invalid_json"),
        ("", {}, 400, "invalid_json"),
        ("{}", {"Content-Type": "text/plain"}, 415, "unsupported_media_type"),
    ],
)
async def test_bodies_that_are_no_requests_are_refused(
    user: Client, data: str, headers: dict[str, str], status: int, code: str
):
    answer = await user.request("POST", PATH, data=data, headers={"Content-Type": "application/json"} | headers)
    assert answer.http == status
    assert_error(answer.body, code)


async def test_a_body_that_is_too_large_is_refused(user: Client):
    answer = await user.request("POST", PATH, data=BytesIO(b"x" * 1_100_000))
    assert answer.http == 413
    assert_error(answer.body, "request_too_large")


async def test_a_missing_or_wrong_credential_is_401(sanic_client: Client):
    async with openai_client(sanic_client.as_user("pls_wrong"), max_retries=0) as client:
        with pytest.raises(openai.AuthenticationError) as refused:
            await client.chat.completions.create(model="scout", messages=ASKED)
    assert refused.value.code == "invalid_api_key"
    assert refused.value.response.headers["x-should-retry"] == "false"
    assert refused.value.response.headers["WWW-Authenticate"] == "Bearer"
    answer = await sanic_client.request("POST", PATH, json={})
    assert answer.http == 401
    assert_error(answer.body, "invalid_api_key")


async def test_either_header_takes_a_credential(user: Client, agent: str):
    body = {"model": agent, "messages": ASKED}
    answer = await user.as_user().request("POST", PATH, json=body, headers={"X-Api-Key": user.token or ""})
    assert answer.http == 200


@pytest.mark.parametrize(
    ("sent", "param", "code"),
    [
        ({"n": 2}, "n", "unsupported_parameter"),
        ({"store": False, "metadata": {"conversation_id": "a"}}, "metadata.conversation_id", "unsupported_parameter"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "invalid_value"),
        ({"messages": [{"role": "user", "content": [IMAGE]}]}, "messages[0].content[0]", "unsupported_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"messages": [{"role": "assistant", "content": "Hello"}]}, "messages", "invalid_value"),
        (
            {"messages": [{"role": "user", "content": "x" * 32_001}]},
            "messages[0].content",
            "string_above_max_length",
        ),
        ({"response_format": {"type": "json_object"}}, "response_format", "unsupported_parameter"),
        ({"metadata": {"conversation_id": "a b"}}, "metadata.conversation_id", "invalid_value"),
    ],
)
async def test_what_would_change_the_answer_is_refused(
    openai: AsyncOpenAI, user: Client, agent: str, sent: dict[str, Any], param: str, code: str
):
    answer = await user.request("POST", PATH, json={"model": agent, "messages": ASKED} | sent)
    assert answer.http == 400
    assert_error(answer.body, code, param)
    assert answer.headers["x-should-retry"] == "false"
    assert await count_of(user, agent) == 0


async def test_what_the_recall_engine_does_not_use_is_ignored(openai: AsyncOpenAI, agent: str):
    answer = await openai.chat.completions.create(
        model=agent,
        messages=[{"role": "system", "content": "Be brief."}, *ASKED],
        tools=[{"type": "function", "function": {"name": "look", "parameters": {}}}],
        temperature=0.1,
        top_p=0.5,
        seed=1,
        stop=["x"],
        max_completion_tokens=1,
        logprobs=True,
        extra_body={"frobnicate": True},
    )
    assert "384,400 km" in (answer.choices[0].message.content or "")


async def test_every_request_counts_and_beyond_the_quota_it_is_429(user: Client, agent: str):
    async def used() -> int:
        return (await user.command("US_Read")).ok().profile[0]["quota"]["used"]

    before = await used()
    for sent in ({"model": agent, "messages": ASKED}, {"model": "nobody", "messages": ASKED}, {}):
        answer = await user.request("POST", PATH, json=sent)
        assert answer.headers["RateLimit"]
    assert await used() == before + 4
    assert (await set_plan(user, user.name, "enterprise", limit=before + 4)).http == 200
    refused = await user.request("POST", PATH, json={"model": agent, "messages": ASKED})
    assert refused.http == 429
    assert_error(refused.body, "insufficient_quota")
    assert int(refused.headers["Retry-After"]) > 0
    assert (await user.request("GET", "/v1/models")).http == 200


async def test_a_chat_leaves_an_audit_row_without_texts(user: Client, agent: str):
    assert (await set_plan(user, user.name, "scale")).http == 200
    body = {"model": agent, "messages": ASKED, "stream": True}
    await user.request("POST", PATH, json=body)
    await user.request("POST", PATH, json=body | {"n": 2})
    rows = (await user.request("GET", "/api/audit?service=createChatCompletion")).body["entries"]
    assert [(row["target"], row["internal_code"]) for row in rows][-1] == ({"agent": agent}, 0)
    assert "Moon" not in str(rows)


def sent_in(client: Client, agent: str, path: str) -> Callable[[str, dict[str, str]], Coroutine[Any, Any, Answer]]:
    """Return what says a text to an agent by one of the two APIs, in plain HTTP."""

    def say(text: str, headers: dict[str, str]) -> Coroutine[Any, Any, Answer]:
        body = {"model": agent, "messages": [{"role": "user", "content": text}], "input": text}
        return client.request("POST", path, json=body, headers=headers)

    return say


@pytest.mark.parametrize("path", [PATH, "/v1/responses"])
async def test_the_error_of_a_message_that_is_kept_names_its_run_and_conversation(
    scripted_user: Client, unique: str, path: str
):
    await scripted_user.agent(f"{unique}-agent")
    say = sent_in(scripted_user, f"{unique}-agent", path)
    failed = await say("fail", {})
    assert failed.http == 502
    run = (await scripted_user.request("GET", f"/api/runs/{failed.headers['X-Run-Id']}")).body
    conversation = failed.headers["X-Conversation-Id"]
    assert (run["state"], run["conversation"]) == ("failed", conversation)
    went_on = await say("say:Hi", {"X-Conversation-Id": conversation})
    assert (went_on.http, went_on.headers["X-Conversation-Id"]) == (200, conversation)
    assert [text for _, text in await messages_of(scripted_user, conversation)] == ["fail", "say:Hi", "Hi"]


@pytest.mark.parametrize("path", [PATH, "/v1/responses"])
async def test_so_does_that_of_a_run_that_was_cancelled_before_a_word(
    scripted_user: Client, unique: str, gate: Gate, path: str
):
    await scripted_user.agent(f"{unique}-agent")
    say = sent_in(scripted_user, f"{unique}-agent", path)
    text = f"wait:{gate}"
    first = asyncio.create_task(say(text, {"x-stainless-retry-count": "0"}))
    await gate.reached()
    async with asyncio.timeout(30):
        while not (listed := (await scripted_user.command("CV_List")).ok().profile):
            await asyncio.sleep(0.01)  # the message is stored beside the engine's work
    (row,) = listed
    (message,) = (await scripted_user.command("AP_History", target={"conversation": row["id"]})).ok().content
    run = message["id"].replace("msg_", "run_")
    assert (await scripted_user.request("POST", f"/api/runs/{run}/cancel")).http == 200
    for answer in (await first, await say(text, {"x-stainless-retry-count": "1"})):
        assert (answer.http, answer.headers["X-Run-Id"], answer.headers["X-Conversation-Id"]) == (409, run, row["id"])


@pytest.mark.parametrize("path", [PATH, "/v1/responses"])
async def test_an_error_without_a_run_names_none(scripted_user: Client, unique: str, path: str):
    await scripted_user.agent(f"{unique}-agent")
    failed = await sent_in(scripted_user, f"{unique}-agent:once", path)("fail", {})
    assert (failed.http, {"X-Run-Id", "X-Conversation-Id"} & set(failed.headers)) == (502, set())
