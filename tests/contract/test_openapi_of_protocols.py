"""Answers of the open protocols' routes are what the OpenAPI document says."""

from typing import Any

import orjson
import pytest
from openapi_schema_validator import OAS30Validator

from tests.support.gateway import CHECKOUT, Answer, Client

A2A = {"A2A-Version": "1.0"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return orjson.loads((CHECKOUT / "docs" / "openapi.json").read_bytes())


def require_as_described(document: dict[str, Any], method: str, path: str, answer: Answer) -> None:
    described = document["paths"][path][method.lower()]["responses"][str(answer.http)]
    schema = described["content"]["application/json"]["schema"]
    found = OAS30Validator({**schema, "components": document["components"]}).iter_errors(answer.body)
    assert [f"{list(error.absolute_path)}: {error.message}" for error in found] == []


async def test_answers_of_openais_api_are_as_described(user: Client, unique: str, document: dict[str, Any]):
    agent = f"{unique}-agent"
    await user.agent(agent, profile="The Moon is 384,400 km away.")
    question = "How far is the Moon?"
    chat = {"model": agent, "messages": [{"role": "user", "content": question}]}
    for method, path, body in (
        ("GET", "/v1/models", None),
        ("POST", "/v1/chat/completions", chat),
        ("POST", "/v1/chat/completions", {**chat, "store": False}),
        ("POST", "/v1/responses", {"model": agent, "input": question}),
        ("POST", "/v1/responses", {"model": agent, "input": question, "store": False}),
    ):
        answer = await user.request(method, path, json=body)
        assert answer.http == 200
        require_as_described(document, method, path, answer)
    response = await user.request("POST", "/v1/responses", json={"model": agent, "input": question})
    for method, below in (("GET", ""), ("GET", "/input_items"), ("DELETE", "")):
        answer = await user.request(method, f"/v1/responses/{response.body['id']}{below}")
        require_as_described(document, method, f"/v1/responses/{{response_id}}{below}", answer)


async def test_runs_are_as_described(user: Client, unique: str, document: dict[str, Any]):
    await user.agent(f"{unique}-agent")
    run = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    answer = await user.request("GET", f"/api/runs/{run}")
    assert answer.body["error"] is None
    require_as_described(document, "GET", "/api/runs/{id}", answer)
    message = (await user.command("AP_History")).ok().content[0]
    fork = {"target": {"conversation": message["conversation"]}, "vx": {"seq": 1}}
    fork = (await user.command("CV_Fork", **fork)).ok().profile[0]["id"]
    (copy,) = (await user.command("AP_History", target={"conversation": fork})).ok().content
    answer = await user.request("GET", f"/api/runs/{copy['id'].replace('msg_', 'run_')}")
    assert (answer.body["state"], answer.body["reply"]) == ("failed", None)
    assert answer.body["error"] is not None
    require_as_described(document, "GET", "/api/runs/{id}", answer)


async def test_answers_of_a2a_are_as_described(user: Client, unique: str, document: dict[str, Any]):
    agent = f"{unique}-agent"
    await user.agent(agent)
    sent = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello"}]}}
    answer = await user.request("POST", f"/a2a/{agent}/message:send", json=sent, headers=A2A)
    require_as_described(document, "POST", "/a2a/{agent}/message:send", answer)
    for rest, path in (
        ("tasks?includeArtifacts=true", "tasks"),
        (f"tasks/{answer.body['task']['id']}", "tasks/{id}"),
        ("extendedAgentCard", "extendedAgentCard"),
        (".well-known/agent-card.json", ".well-known/agent-card.json"),
    ):
        answer = await user.request("GET", f"/a2a/{agent}/{rest}", headers=A2A)
        assert answer.http == 200
        require_as_described(document, "GET", f"/a2a/{{agent}}/{path}", answer)
