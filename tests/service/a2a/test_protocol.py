"""What the official client never does: raw requests to both bindings of the running gateway."""

import asyncio
import itertools
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson
import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client
from tests.support.operator import on_plan, set_plan

VERSION = {"A2A-Version": "1.0"}
JSON = VERSION | {"Content-Type": "application/json"}
_ids = itertools.count(1)


def message(text: str = "Hello!", **more: Any) -> dict[str, Any]:
    """Return parameters of SendMessage."""
    said = {"messageId": f"m-{next(_ids)}", "role": "ROLE_USER", "parts": [{"text": text}]}
    return {"message": said | more}


class Raw:
    """Sends requests to an agent of a user's."""

    def __init__(self, user: Client, agent: str) -> None:
        self.user = user
        self.path = f"/a2a/{agent}"

    async def rpc(self, method: str, params: Any = None, *, at: str = "", **headers: str) -> Answer:
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}}
        return await self.user.request("POST", self.path + at, json=body, headers=VERSION | headers)

    async def rest(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        return await self.user.request(method, self.path + path, json=body, headers=VERSION | headers)


@pytest.fixture
async def raw(user: Client, unique: str) -> Raw:
    await user.agent(f"{unique}-agent")
    return Raw(user, f"{unique}-agent")


def reason(answer: Answer) -> str:
    error = answer.body["error"]
    return (error.get("data") or error["details"])[0]["reason"]


async def test_json_rpc_is_served_with_and_without_a_final_slash(raw: Raw):
    for at in ("", "/"):
        answer = await raw.rpc("SendMessage", message(), at=at)
        assert (answer.http, answer.body["id"]) == (200, 7)
        assert answer.body["result"]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_refused_credential_is_refused_before_the_body_is_read(raw: Raw):
    url = urlsplit(raw.user.base)
    for path, credential in (("", ""), ("/message:send", ""), ("/", "Authorization: Bearer pls_wrong\r\n")):
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(
            f"POST {raw.path}{path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{credential}"
            "A2A-Version: 1.0\r\nContent-Length: 1000\r\n\r\n".encode()
        )
        async with asyncio.timeout(30):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 401 ")
        assert "www-authenticate: bearer" in head
        writer.close()
        await writer.wait_closed()


async def test_other_versions_are_refused_in_both_bindings(raw: Raw):
    for headers in ({}, {"A2A-Version": "0.3"}, {"A2A-Version": "1.1"}, {"A2A-Version": "99.0"}):
        body = {"jsonrpc": "2.0", "id": "x", "method": "SendMessage", "params": message()}
        refused = await raw.user.request("POST", raw.path, json=body, headers=headers)
        assert (refused.http, refused.body["id"], refused.body["error"]["code"]) == (200, "x", -32009)
        for method, path, sent in (("POST", "/message:send", message()), ("GET", "/tasks", None)):
            refused = await raw.user.request(method, raw.path + path, json=sent, headers=headers)
            assert (refused.http, reason(refused)) == (400, "VERSION_NOT_SUPPORTED")
    for name in ("A2A-Version", "a2a-version"):
        named = await raw.user.request("GET", f"{raw.path}/tasks?{name}=1.0")
        assert (named.http, named.body["totalSize"]) == (200, 0)


async def test_a_method_of_another_version_is_refused_for_the_version(raw: Raw):
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message()}
    refused = await raw.user.request("POST", raw.path, json=body)
    assert refused.body["error"]["code"] == -32009
    assert (await raw.rpc("message/send", message())).body["error"]["code"] == -32601


async def test_http_json_answers_in_the_type_that_the_request_names(raw: Raw):
    for headers, expected in (
        ({}, "application/json"),
        ({"Accept": "application/a2a+json"}, "application/a2a+json"),
        ({"Accept": "text/html, application/a2a+json;q=0.9"}, "application/a2a+json"),
        ({"Content-Type": "application/a2a+json"}, "application/a2a+json"),
        ({"Content-Type": "application/json; charset=utf-8"}, "application/json"),
    ):
        answer = await raw.rest("POST", "/message:send", message(), **headers)
        assert (answer.http, answer.headers["Content-Type"]) == (200, expected)
        refused = await raw.rest("GET", "/tasks/nothing", **headers)
        assert (refused.http, refused.headers["Content-Type"]) == (404, expected)
        body = orjson.loads(refused.body) if isinstance(refused.body, str) else refused.body
        assert body["error"]["status"] == "NOT_FOUND"
        for method, path in (("GET", "/nothing/there"), ("PUT", "/tasks")):
            assert (await raw.rest(method, path, **headers)).headers["Content-Type"] == expected


async def test_a_body_of_another_type_is_415(raw: Raw):
    wrong = await raw.rest("POST", "/message:send", message(), **{"Content-Type": "text/plain"})
    assert (wrong.http, reason(wrong)) == (415, "CONTENT_TYPE_NOT_SUPPORTED")
    wrong = await raw.rpc("SendMessage", message(), **{"Content-Type": "text/plain"})
    assert (wrong.http, wrong.body["error"]["code"]) == (415, -32005)


async def test_parts_that_are_no_text_are_refused(raw: Raw):
    for part in (
        {"raw": "eA==", "mediaType": "image/png"},
        {"url": "https://x.example/"},
        {"data": {"a": 1}},
        {"kind": "file", "file": {"uri": "https://x.example/"}},  # as in version 0.3
    ):
        refused = await raw.rpc("SendMessage", message(parts=[{"text": "Look:"}, part]))
        assert (refused.http, refused.body["error"]["code"]) == (200, -32005)
        refused = await raw.rest("POST", "/message:send", message(parts=[part]))
        assert (refused.http, reason(refused)) == (400, "CONTENT_TYPE_NOT_SUPPORTED")
        refused = await raw.rest("POST", "/message:stream", message(parts=[part]))
        assert (refused.http, reason(refused)) == (400, "CONTENT_TYPE_NOT_SUPPORTED")
    assert (await raw.rest("GET", "/tasks")).body["totalSize"] == 0


async def test_malformed_requests_are_refused_by_json_rpc_s_codes(raw: Raw):
    for body, code in (("{", -32700), ("[]", -32600), ('{"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}', -32601)):
        refused = await raw.user.request("POST", raw.path, data=body, headers=JSON)
        assert (refused.http, refused.body["error"]["code"]) == (200, code)
    refused = await raw.rpc("SendMessage")
    assert refused.body["error"]["code"] == -32602
    assert refused.body["error"]["data"][1]["fieldViolations"][0]["field"] == "message"
    refused = await raw.rest("POST", "/message:send", {"message": {}})
    assert (refused.http, refused.body["error"]["status"]) == (400, "INVALID_ARGUMENT")
    refused = await raw.user.request("POST", f"{raw.path}/message:send", data="{", headers=JSON)
    assert (refused.http, reason(refused)) == (400, "INVALID_REQUEST")
    for path in ("?pageSize=0", "?historyLength=-1", "?status=NO", "?pageToken=x"):
        assert reason(await raw.rest("GET", f"/tasks{path}")) == "INVALID_PARAMS"
    for method, path in (("POST", "/message:other"), ("GET", "/nothing"), ("POST", "/tasks/x:other")):
        assert (await raw.rest(method, path)).http == 404
    for path in ("/tasks/x:cancel", "/message:send"):
        refused = await raw.rest("GET", path)
        assert (refused.http, refused.headers["Allow"]) == (405, "POST")


async def test_the_colon_before_a_verb_may_be_encoded(raw: Raw):
    async with httpx.AsyncClient(base_url=raw.user.base + raw.path, headers=raw.user.headers(VERSION)) as http:
        for path in ("/message:send", "/message%3Asend", "/message%3asend/"):
            assert (await http.post(path, json=message())).status_code == 200
        refused = (await http.post("/tasks/run_x%3Acancel")).json()
        assert refused["error"]["details"][0]["reason"] == "TASK_NOT_FOUND"
        assert (await http.post("/message%3Aother", json=message())).status_code == 404
        assert (await http.get("/message%3Asend")).headers["Allow"] == "POST"


async def test_subscribe_takes_get_and_post(scripted_user: Client, unique: str, gate: Gate):
    await scripted_user.agent(f"{unique}-agent")
    raw = Raw(scripted_user, f"{unique}-agent")
    sent = message(f"wait:{gate} say:Done") | {"configuration": {"returnImmediately": True}}
    task = (await raw.rest("POST", "/message:send", sent)).body["task"]
    await gate.reached()
    url, headers = f"{scripted_user.base}{raw.path}/tasks/{task['id']}:subscribe", scripted_user.headers(VERSION)
    async with (
        scripted_user.http.get(url, headers=headers) as by_get,
        scripted_user.http.post(url, headers=headers) as by_post,
    ):
        gate.open()  # not before: a task that has ended can't be subscribed to
        for response in (by_get, by_post):
            assert response.headers["Content-Type"].startswith("text/event-stream")
            text = await response.text()
            assert '"text":"Done"' in text
            assert "TASK_STATE_COMPLETED" in text.split("data: ")[-1]


async def test_an_agent_that_is_offline_or_gone_or_hidden_takes_no_message(
    raw: Raw, user: Client, sanic_client: Client, unique: str
):
    stranger = Raw(await sanic_client.register(f"{unique}-stranger"), f"{unique}-agent")
    (await user.command("AP_LogOff", target={"agent": f"{unique}-agent"})).ok()
    refused = await raw.rpc("SendMessage", message())
    assert (refused.http, refused.body["error"]["code"]) == (200, -32004)
    assert (await raw.rest("POST", "/message:send", message())).http == 409
    assert (await raw.rest("POST", "/message:stream", message())).http == 409
    assert (await stranger.rest("POST", "/message:send", message())).http == 404
    assert (await stranger.rpc("SendMessage", message())).http == 404
    (await user.command("AP_Destroy", target={"agent": f"{unique}-agent"})).ok()
    for gone in (await raw.rpc("SendMessage", message()), await raw.rest("POST", "/message:send", message())):
        assert (gone.http, reason(gone)) == (404, "AGENT_NOT_FOUND")


async def test_messages_are_counted_and_audited_and_reads_by_http_json_are_not(user: Client, unique: str):
    await on_plan(user, "scale")
    await user.agent(f"{unique}-agent")
    raw = Raw(user, f"{unique}-agent")

    async def used() -> int:
        return (await user.command("US_Read")).ok().profile[0]["quota"]["used"]

    before = await used()
    task = (await raw.rest("POST", "/message:send", message())).body["task"]
    assert await used() == before + 2
    await raw.rest("GET", f"/tasks/{task['id']}")
    await raw.rest("GET", "/tasks")
    assert await used() == before + 3
    await raw.rpc("SendMessage", message())
    await raw.rpc("GetTask", {"id": task["id"]})
    assert await used() == before + 6
    assert reason(await raw.rpc("GetTask", {"id": "run_none"})) == "TASK_NOT_FOUND"
    assert reason(await raw.rpc("SendMessages", message())) == "METHOD_NOT_FOUND"
    for refused in (
        await raw.rpc("SendMessage", {"message": 5}),
        await raw.rest("POST", "/message:send", {"message": 5}),
    ):
        assert reason(refused) == "INVALID_PARAMS"
    entries = (await user.request("GET", "/api/audit?limit=10")).body["entries"]
    services = [(entry["service"], entry["target"]) for entry in entries if "A2A" in entry["service"]]
    target = {"agent": f"{unique}-agent"}
    assert services == [("callAgentByA2A", target), ("sendMessageByA2A", target)]


async def test_the_quota_holds_in_both_bindings(user: Client, unique: str):
    await user.agent(f"{unique}-agent")
    raw = Raw(user, f"{unique}-agent")
    assert (await set_plan(user, user.name, "enterprise", limit=8)).http == 200
    answers = [await raw.rpc("SendMessage", message()) for _ in range(8)]
    refused = answers[-1]
    assert (refused.http, reason(refused)) == (429, "QUOTA_EXCEEDED")
    assert refused.body["id"] == answers[0].body["id"] is not None
    assert refused.headers["Retry-After"]
    refused = await raw.rest("POST", "/message:stream", message())
    assert (refused.http, refused.body["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert (await raw.rest("GET", "/tasks")).http == 200
