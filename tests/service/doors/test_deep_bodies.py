"""Deeply nested bodies are refused before anything is said: answers repeat parts of them with fewer levels."""

from typing import Any

import pytest

from tests.support.gateway import Client

DEPTHS = (253, 600)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def bodies(agent: str, deep: Any) -> dict[str, tuple[str, Any]]:
    """Return a path and a body for each member of a door that is open to any value."""
    messages = [{"role": "user", "content": "Hello!"}]
    message = {"messageId": "deep", "role": "ROLE_USER", "parts": [{"text": "Hello!"}], "metadata": deep}
    params = {"message": message}
    tool = {"type": "function", "name": "look", "parameters": deep}
    return {
        "metadata of chat": ("/v1/chat/completions", {"model": agent, "messages": messages, "metadata": deep}),
        "tools of responses": ("/v1/responses", {"model": agent, "input": "Hello!", "tools": [tool]}),
        "json-rpc": (f"/a2a/{agent}", {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}),
        "http+json": (f"/a2a/{agent}/message:send", params),
        "ag-ui": (
            f"/ag-ui/{agent}",
            {"threadId": "deep", "runId": "1", "messages": [{"id": "1"} | messages[0]], "state": deep},
        ),
    }


@pytest.mark.parametrize("name", list(bodies("", None)))
async def test_a_body_nested_too_deep_is_refused_as_malformed_and_nothing_is_said(user: Client, unique: str, name: str):
    agent = f"{unique}-agent"
    await user.agent(agent)
    for depth in DEPTHS:
        path, body = bodies(agent, nested(depth))[name]
        answer = await user.request("POST", path, json=body, headers={"A2A-Version": "1.0"})
        assert answer.http == (200 if name == "json-rpc" else 400), answer.body
        assert "nested in more than" in str(answer.body)
    assert (await user.command("CV_List")).ok().profile == []


async def test_long_histories_are_not_deep(user: Client, unique: str):
    agent = f"{unique}-agent"
    await user.agent(agent)
    parts = [{"type": "text", "text": "[{" * 100}]
    messages = [{"role": "user", "content": parts}, {"role": "assistant", "content": parts}] * 100
    body = {"model": agent, "messages": [*messages, {"role": "user", "content": parts}], "metadata": {"a": "b"}}
    assert (await user.request("POST", "/v1/chat/completions", json=body)).http == 200
