"""The headers that answers have, as far as clients need them, are those that the OpenAPI document names."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.gateways.gate import ENGINES
from tests.support.gateway import BUS, CHECKOUT, Answer, Client, running
from tests.support.runs import said_by_a2a

A2A = {"A2A-Version": "1.0"}
EVENTS = {"Accept": "text/event-stream"}
EVENTS_TOO = {"Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
TOOL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "US_Read", "arguments": {}}}
NOT_ON_EVERY_REFUSAL = {"Retry-After", "X-Run-Id", "X-Conversation-Id"}
"""Headers of refusals that name another error of their status, or a message that is stored."""


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return orjson.loads((CHECKOUT / "docs" / "openapi.json").read_bytes())


class Watched:
    """Sends requests, and collects the headers of their answers by method, path and status."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._sent: dict[tuple[str, str, str], set[str]] = defaultdict(set)

    async def request(
        self, client: Client, method: str, path: str, body: Any = None, headers: Any = None, **ids: str
    ) -> Answer:
        """Send a request to a path of the document."""
        answer = await client.request(method, path.format(**ids), json=body, headers=headers)
        known = {name for name in self._document["components"]["headers"] if name in answer.headers}
        if answer.headers.get("Cache-Control") == "no-store":  # on whatever belongs to its caller
            known -= {"Cache-Control"}
        self._sent[method, path, str(answer.http)] |= known
        return answer

    def require_as_documented(self) -> None:
        """Compare the headers of all answers with the document."""
        for (method, path, status), sent in self._sent.items():
            response = self._document["paths"][path][method.lower()]["responses"][status]
            if "$ref" in response:
                response = self._document["components"]["responses"][response["$ref"].rpartition("/")[2]]
            named = set(response["headers"])
            assert sent <= named, (method, path, status)
            assert named - sent <= (NOT_ON_EVERY_REFUSAL if int(status) >= 400 else set()), (method, path, status)


async def test_answers_have_the_headers_that_the_document_names(tmp_path: Path, document: dict[str, Any]):
    watched = Watched(document)
    async with (
        running(tmp_path / "data", script=ENGINES / "scripted.py") as gateway,
        gateway.client() as nobody,
        gateway.client() as client,
    ):
        user = await client.register("lovelace")
        await _without_a_credential(watched, nobody)
        await user.agent("sleeper", online=False)
        await user.agent("scout", access="public")
        await _by_commands(watched, user)
        await _by_open_protocols(watched, user)
    watched.require_as_documented()


async def _without_a_credential(watched: Watched, nobody: Client) -> None:
    wrong = {"target": {"user": "lovelace"}, "vx": {"secret": "no such password"}}
    await watched.request(nobody, "GET", "/api/health")
    for method, path, body in (
        ("POST", BUS, {"service": "US_Read"}),
        ("POST", f"{BUS}/user/read", {}),
        ("POST", f"{BUS}/user/logon", wrong),
        ("GET", "/api/webhooks/endpoints", None),
        ("GET", "/debug/cluster", None),
        ("GET", "/console/session", None),
        ("GET", "/v1/models", None),
        ("POST", "/v1/responses", {"model": "scout", "input": "Hello"}),
        ("POST", "/ag-ui/{agent}", {}),
        ("GET", "/a2a/{agent}/tasks", None),
        ("POST", "/a2a/{agent}", {}),
        ("POST", "/mcp", TOOL),
    ):
        answer = await watched.request(nobody, method, path, body, A2A | EVENTS_TOO, agent="scout")
        assert (answer.http, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), path


async def _by_commands(watched: Watched, user: Client) -> None:
    chat = f"{BUS}/agent/chat"
    for path, body in (
        (chat, {"content": "say:one"}),
        (BUS, {"service": "AP_Chat", "content": "say:one"}),
        (f"{BUS}/bank/create", {"vx": {"name": "shelf"}}),
        ("/api/webhooks/test", {"event_type": "webhook.test"}),
    ):
        for _ in range(2):
            answer = await watched.request(user, "POST", path, body, {"Idempotency-Key": path})
            assert answer.http in (200, 202), path
        assert answer.headers["Idempotency-Replayed"] == "true"
    streamed = await watched.request(user, "POST", chat, {"content": "say:one"}, EVENTS)
    failed = await watched.request(user, "POST", chat, {"content": "fail"})
    assert (failed.http, "X-Run-Id" in failed.headers) == (500, True)
    offline = await watched.request(user, "POST", chat, {"target": {"agent": "sleeper"}, "content": "say:one"})
    assert offline.http == 400
    run, path = streamed.headers["X-Run-Id"], "/api/runs/{id}/events"
    assert (await watched.request(user, "GET", path, id=run)).http == 200
    assert (await watched.request(user, "GET", path, headers={"Last-Event-ID": "3.end"}, id=run)).http == 204


async def _by_open_protocols(watched: Watched, user: Client) -> None:
    for path, said in (("/v1/chat/completions", _messages), ("/v1/responses", lambda text: {"input": text})):
        for text, status in (("say:one", 200), ("say:one", 200), ("fail", 502)):
            headers = {"Idempotency-Key": f"{path}-{text}", "X-Conversation-Id": f"{path}-{text}"}
            answer = await watched.request(user, "POST", path, {"model": "scout", **said(text)}, headers)
            assert answer.http == status
            assert {"X-Run-Id", "X-Conversation-Id"} <= answer.headers.keys()
        assert "Idempotency-Replayed" not in answer.headers
        for model, status in (("sleeper", 409), ("nobody", 404), ("", 400)):
            answer = await watched.request(user, "POST", path, {"model": model, **said("say:one")})
            assert (answer.http, answer.headers["x-should-retry"]) == (status, "false")
    asked = {"threadId": "t-1", "runId": "r-1", "messages": [{"id": "1", "role": "user", "content": "say:one"}]}
    assert (await watched.request(user, "POST", "/ag-ui/{agent}", asked, agent="scout")).http == 200
    assert (await watched.request(user, "POST", "/ag-ui/{agent}", asked, agent="nobody")).http == 404
    card = "/a2a/{agent}/.well-known/agent-card.json"
    etag = (await watched.request(user, "GET", card, agent="scout")).headers["ETag"]
    assert (await watched.request(user, "GET", card, headers={"If-None-Match": etag}, agent="scout")).http == 304
    message = said_by_a2a("say:one")
    for method, path, body in (("POST", "message:send", message), ("GET", "tasks", None), ("GET", "tasks/{id}", None)):
        await watched.request(user, method, f"/a2a/{{agent}}/{path}", body, A2A, agent="scout", id="run_0")
    begun = await watched.request(user, "POST", "/mcp", INITIALIZE, EVENTS_TOO)
    assert (begun.http, "Mcp-Session-Id" in begun.headers) == (200, True)


def _messages(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}
