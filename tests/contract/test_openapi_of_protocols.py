"""Answers of the open protocols' routes are what the OpenAPI document says."""

from collections.abc import Iterator
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


A2A_QUERY = {
    "listAgentCards": {"pageSize", "pageToken"},
    "getTaskByA2A": {"historyLength"},
    "listTasksByA2A": {
        *("contextId", "status", "statusTimestampAfter", "pageSize", "pageToken", "historyLength", "includeArtifacts"),
    },
    "listPushConfigsByA2A": {"pageSize", "pageToken"},
}
"""The query parameters of a2a.proto that the gateway takes, by operation."""


def a2a_operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any], list[dict[str, Any]]]]:
    """Return method, path, operation and parameters of A2A's operations."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if path.startswith("/a2a/"):
                yield method.upper(), path, operation, [resolved(document, one) for one in operation["parameters"]]


def resolved(document: dict[str, Any], parameter: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in parameter:
        return parameter
    return document["components"]["parameters"][parameter["$ref"].rpartition("/")[2]]


async def test_the_document_names_all_that_a_request_by_a2a_needs(user: Client, unique: str, document: dict[str, Any]):
    agent = f"{unique}-agent"
    await user.agent(agent)
    task = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    without_version: set[str] = set()
    for method, path, operation, parameters in a2a_operations(document):
        url = path.format(agent=agent, taskId=task, id="a-config" if "taskId" in path else task)
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        needed = [one for one in parameters if one["in"] == "header" and one.get("required")]
        headers = {one["name"]: one["schema"]["enum"][0] for one in needed}
        answer = await user.request(method, url, json=body, headers=headers)
        assert "VERSION_NOT_SUPPORTED" not in str(answer.body), (method, path)
        if not headers:
            without_version.add(operation["operationId"])
        else:
            assert "VERSION_NOT_SUPPORTED" in str((await user.request(method, url, json=body)).body), (method, path)
    assert without_version == {"listAgentCards", "getAgentCard"}


async def test_the_document_names_the_query_of_a2a(user: Client, unique: str, document: dict[str, Any]):
    agent = f"{unique}-agent"
    await user.agent(agent)
    task = (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]
    named: dict[str, set[str]] = {}
    for method, path, operation, parameters in a2a_operations(document):
        for one in parameters:
            if one["in"] == "query":
                named.setdefault(operation["operationId"], set()).add(one["name"])
                url = path.format(agent=agent, taskId=task, id=task)
                answer = await user.request(method, f"{url}?{one['name']}=%00", headers=A2A)
                assert answer.http == 400, (path, one["name"])  # it is read, because nothing takes a NUL
                assert one["name"] in answer.body["error"]["message"]
    assert named == A2A_QUERY
