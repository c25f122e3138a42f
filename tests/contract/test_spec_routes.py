"""Every gateway route answers as the table in docs/contract.md, "Gateway routes", says."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import orjson
import pytest

from tests.support.event_stream import emitted, own_events
from tests.support.gateway import CHECKOUT, Client, GatewayProcess, running
from tests.support.operator import SECRET, on_plan

Row = Callable[[Client], Awaitable[None]]
ROWS: dict[str, Row] = {}
OPEN = {
    "GET /api/health",
    "POST /api/dev/sandbox-key",
    "GET /api/tps/openapi.json",
    "GET /api/tps/openapi.yaml",
    "GET /api/webhooks/events",
}
"""Rows that need no credential."""


def row(name: str) -> Callable[[Row], Row]:
    """Register a check for one row of the table."""

    def add(check: Row) -> Row:
        assert name not in ROWS
        ROWS[name] = check
        return check

    return add


@pytest.fixture(scope="module")
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[GatewayProcess]:
    """A gateway with all optional routes."""
    settings: dict[str, Any] = {
        "PARLEY_SANDBOX_KEYS_ENABLED": "true",
        "PARLEY_SANDBOX_KEYS_PER_HOUR": "0",
        "DEV_MOCKS_ENABLED": "true",
        "PARLEY_WEBHOOKS_ALLOW_INSECURE": "true",
    }
    async with running(tmp_path_factory.mktemp("spec") / "data", **settings) as gateway:
        yield gateway


@pytest.fixture
async def member(gateway: GatewayProcess, unique: str) -> AsyncIterator[Client]:
    """A user with an entitlement."""
    async with gateway.client() as nobody:
        yield await on_plan(await nobody.register(f"{unique}-user"), "builder")


# user routes


@row("GET /api/health")
async def health(user: Client) -> None:
    answer = await user.request("GET", "/api/health")
    assert (answer.http, answer.body["status"]) == (200, "ok")


@row("POST /api/dev/sandbox-key")
async def sandbox_key(user: Client) -> None:
    answer = await Client(user.http, user.base).request("POST", "/api/dev/sandbox-key")
    assert answer.http == 201
    assert answer.body["key"].startswith("plx_")
    assert answer.body["limit"] == 100


@row("GET /api/tps/openapi.json")
async def openapi_json(user: Client) -> None:
    answer = await user.request("GET", "/api/tps/openapi.json")
    assert (answer.http, answer.body["openapi"], answer.body["info"]["version"]) == (200, "3.0.3", "2026-03-19")


@row("GET /api/tps/openapi.yaml")
async def openapi_yaml(user: Client) -> None:
    answer = await user.request("GET", "/api/tps/openapi.yaml")
    assert answer.http == 200
    assert answer.body.startswith("openapi: 3.0.3")


@row("POST /api/api-keys")
async def create_key(user: Client) -> None:
    answer = await user.request("POST", "/api/api-keys", json={"name": "ci"})
    assert answer.http == 201
    assert answer.body["key"].startswith("plk_")


@row("GET /api/api-keys")
async def list_keys(user: Client) -> None:
    await create_key(user)
    answer = await user.request("GET", "/api/api-keys")
    assert answer.http == 200
    (key,) = answer.body["api_keys"]
    assert "key" not in key


@row("GET /api/mcp/tools")
async def list_tools(user: Client) -> None:
    answer = await user.request("GET", "/api/mcp/tools")
    assert (answer.http, answer.body["tools"], answer.body["servers"]) == (200, [], [])


@row("POST /api/mcp/tools/install")
async def install_tool(user: Client) -> None:
    answer = await user.request("POST", "/api/mcp/tools/install", json={"name": "parley", "server": "parley"})
    assert answer.http == 201, answer.body


@row("POST /api/mcp/tools/invoke")
async def invoke_tool(user: Client) -> None:
    await install_tool(user)
    listed = (await user.request("GET", "/api/mcp/tools")).body["tools"]
    tool = next(tool["name"] for tool in listed if "time" in tool["name"])
    answer = await user.request("POST", "/api/mcp/tools/invoke", json={"tool": tool, "arguments": {}})
    assert (answer.http, answer.body["is_error"]) == (200, False)
    assert answer.body["content"]
    unknown = await user.request("POST", "/api/mcp/tools/invoke", json={"tool": "parley.none", "arguments": {}})
    assert unknown.http == 404


@row("GET /api/skills")
async def list_skills(user: Client) -> None:
    answer = await user.request("GET", "/api/skills")
    assert (answer.http, answer.body) == (200, {"skills": []})


@row("POST /api/skills/install")
async def install_skill(user: Client) -> None:
    answer = await user.request("POST", "/api/skills/install", json={"name": "meeting-notes"})
    assert (answer.http, answer.body["name"]) == (201, "meeting-notes")


@row("GET /api/webhooks/events")
async def event_catalog(user: Client) -> None:
    answer = await Client(user.http, user.base).request("GET", "/api/webhooks/events")
    assert answer.http == 200
    assert {event["type"] for event in answer.body["events"]} == {
        "billing.plan.changed",
        "quota.threshold.reached",
        "quota.request.rejected",
        "agent.deployment.created",
        "agent.deployment.updated",
        "agent.deployment.deleted",
        "webhook.endpoint.created",
        "webhook.endpoint.updated",
        "webhook.endpoint.deleted",
        "webhook.test",
    }


async def new_endpoint(user: Client) -> dict[str, Any]:
    body = {"url": "http://127.0.0.1:9/hook", "events": ["webhook.test"]}
    answer = await user.request("POST", "/api/webhooks/endpoints", json=body)
    assert answer.http == 201, answer.body
    return answer.body


@row("POST /api/webhooks/endpoints")
async def create_endpoint(user: Client) -> None:
    assert (await new_endpoint(user))["secret"].startswith("whsec_")


@row("GET /api/webhooks/endpoints")
async def list_endpoints(user: Client) -> None:
    await new_endpoint(user)
    answer = await user.request("GET", "/api/webhooks/endpoints")
    (endpoint,) = answer.body["endpoints"]
    assert (answer.http, endpoint.get("secret")) == (200, None)


@row("PATCH /api/webhooks/endpoints/{id}")
async def change_endpoint(user: Client) -> None:
    made = await new_endpoint(user)
    path = f"/api/webhooks/endpoints/{made['id']}"
    answer = await user.request("PATCH", path, json={"active": False, "events": ["quota.*"], "rotate_secret": True})
    assert (answer.http, answer.body["active"], answer.body["events"]) == (200, False, ["quota.*"])
    assert answer.body["secret"] != made["secret"]


@row("DELETE /api/webhooks/endpoints/{id}")
async def delete_endpoint(user: Client) -> None:
    path = f"/api/webhooks/endpoints/{(await new_endpoint(user))['id']}"
    answer = await user.request("DELETE", path)
    assert (answer.http, answer.body["active"]) == (200, False)
    assert (await user.request("DELETE", f"{path}?hard=true")).http == 204
    assert (await user.request("DELETE", path)).http == 404


@row("GET /api/webhooks/deliveries")
async def list_deliveries(user: Client) -> None:
    answer = await user.request("GET", "/api/webhooks/deliveries")
    assert (answer.http, answer.body) == (200, {"deliveries": [], "next": None})


@row("GET /api/webhooks/stream")
async def event_stream(user: Client) -> None:
    async with own_events(user, events="webhook.test") as stream:
        assert stream.secret.startswith("whsec_")
        await emitted(user, 1)
        assert await stream.numbers(1) == [1]


@row("POST /api/webhooks/test")
async def send_test_event(user: Client) -> None:
    body = {"event_type": "webhook.test", "data": {"hello": "there"}}
    answer = await user.request("POST", "/api/webhooks/test", json=body)
    assert answer.http == 202
    assert answer.body["event_id"]
    unknown = await user.request("POST", "/api/webhooks/test", json={"event_type": "no.such", "data": {}})
    assert unknown.http == 400


@row("POST /api/dev/mock-agent-deployment")
async def mock_deployment(user: Client) -> None:
    user_id = (await user.command("US_Read")).ok().profile[0]["id"]
    body = {"user_id": user_id, "action": "updated", "deployment_id": "d-1", "data": {}}
    answer = await user.request("POST", "/api/dev/mock-agent-deployment", json=body, headers=SECRET)
    assert answer.http == 202
    assert answer.body["event_id"]


# rules, documents, skills and tools


def rule(method: str, path: str) -> None:
    @row(f"{method} {path}")
    async def answers_501(user: Client) -> None:
        body = {"json": {"any": "thing"}} if method in ("POST", "PUT") else {}
        answer = await user.request(method, path.replace("{id}", "rule-1"), **body)
        assert answer.refused(1501, 501).http == 501
        assert answer.body.keys() == {"status"}


for _method, _path in (
    ("GET", "/api/rules"),
    ("POST", "/api/rules"),
    ("GET", "/api/rules/{id}"),
    ("PUT", "/api/rules/{id}"),
    ("DELETE", "/api/rules/{id}"),
):
    rule(_method, _path)


async def new_document(user: Client) -> dict[str, Any]:
    answer = await user.request("POST", "/api/documents", json={"name": "Plan", "content": "Mars tonight."})
    assert answer.http == 202
    return answer.body


@row("POST /api/documents")
async def add_document(user: Client) -> None:
    assert (await new_document(user))["status"] == "queued"
    assert (await user.request("POST", "/api/documents", json={"name": "Plan"})).http == 400


@row("GET /api/documents")
async def list_documents(user: Client) -> None:
    document = await new_document(user)
    answer = await user.request("GET", "/api/documents")
    assert answer.http == 200
    assert [one["id"] for one in answer.body["documents"]] == [document["id"]]


@row("DELETE /api/documents/{id}")
async def remove_document(user: Client) -> None:
    assert (await user.request("DELETE", f"/api/documents/{(await new_document(user))['id']}")).http == 204
    assert (await user.request("DELETE", "/api/documents/doc_0")).http == 404


@row("GET /api/documents/{id}")
async def read_document(user: Client) -> None:
    answer = await user.request("GET", f"/api/documents/{(await new_document(user))['id']}")
    assert answer.http == 200
    assert answer.body["status"] in ("queued", "processing", "ready")


@row("POST /ag-ui/{agent}")
async def run_agent(user: Client) -> None:
    await user.agent(f"{user.name}-agent")
    body = {"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": "Hi"}]}
    answer = await user.request("POST", f"/ag-ui/{user.name}-agent", json=body)
    assert (answer.http, answer.headers["Content-Type"]) == (200, "text/event-stream")
    assert answer.body.rstrip().endswith('"outcome":{"type":"success"}}')


@row("DELETE /api/skills/{name}")
async def uninstall_skill(user: Client) -> None:
    await install_skill(user)
    assert (await user.request("DELETE", "/api/skills/meeting-notes")).http == 204


@row("DELETE /api/mcp/tools/{name}")
async def uninstall_tool(user: Client) -> None:
    await install_tool(user)
    assert (await user.request("DELETE", "/api/mcp/tools/parley")).http == 204


async def new_run(user: Client) -> str:
    await user.agent(f"{user.name}-agent")
    return (await user.command("AP_Chat", content="Hello")).ok().headers["X-Run-Id"]


@row("GET /api/runs/{id}")
async def read_run(user: Client) -> None:
    run = await new_run(user)
    answer = await user.request("GET", f"/api/runs/{run}")
    assert (answer.http, answer.body["id"], answer.body["state"]) == (200, run, "completed")
    assert answer.body.keys() == {"id", "conversation", "state", "message", "reply", "error"}


@row("GET /api/runs/{id}/events")
async def follow_run(user: Client) -> None:
    answer = await user.request("GET", f"/api/runs/{await new_run(user)}/events")
    assert (answer.http, answer.headers["Content-Type"].split(";")[0]) == (200, "text/event-stream")
    assert "event: response" in answer.body


@row("POST /api/runs/{id}/cancel")
async def cancel_run(user: Client) -> None:
    answer = await user.request("POST", f"/api/runs/{await new_run(user)}/cancel")
    assert (answer.http, answer.body["state"]) == (200, "completed")


# the checks


@pytest.mark.parametrize("name", sorted(ROWS))
async def test_a_row_answers_as_it_should(member: Client, name: str):
    await ROWS[name](member)


@pytest.mark.parametrize("name", sorted(ROWS))
async def test_a_row_is_in_the_openapi_document_and_needs_its_credential(
    member: Client, gateway: GatewayProcess, name: str
):
    method, path = name.split(" ")
    operation = orjson.loads((CHECKOUT / "docs" / "openapi.json").read_bytes())["paths"][path][method.lower()]
    assert bool(operation["security"]) == (name not in OPEN)
    if path.startswith("/api/rules"):
        assert next(iter(operation["responses"])) == "501"
    if name not in OPEN:
        nobody = Client(member.http, member.base)
        body = {"json": {}} if method in ("POST", "PUT", "PATCH") else {}
        answer = await nobody.request(method, path.replace("{id}", "x").replace("{name}", "x"), **body)
        assert answer.refused(2000, 401).http == 401
        assert answer.note
