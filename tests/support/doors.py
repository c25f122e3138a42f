"""Every way to say something to an agent, as one request each over plain HTTP."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from tests.support import ag_ui
from tests.support.gateway import Client
from tests.support.mcp_client import sent, tool_call


class Heard(NamedTuple):
    """A door's answer: its HTTP status, the internal code if it tells one, and the reply with its conversation."""

    http: int
    code: int | None
    reply: str = ""
    conversation: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """A request: the text, the conversation that it goes on with, and the client's id of it, by which it is repeated.

    `again` is the number of the try, from 0.
    """

    text: str
    conversation: str = ""
    id: str = ""
    again: int = 0


class Door(NamedTuple):
    """A door; `repeatable`: whether it joins repeats."""

    name: str
    say: Callable[[Client, str, Saying], Awaitable[Heard]]
    repeatable: bool = True


async def _bus(client: Client, agent: str, saying: Saying) -> Heard:
    return await _command(client, "", {"service": "AP_Chat"}, agent, saying)


async def _alias(client: Client, agent: str, saying: Saying) -> Heard:
    return await _command(client, "/agent/chat", {}, agent, saying)


async def _command(client: Client, alias: str, body: dict[str, Any], agent: str, saying: Saying) -> Heard:
    target = {"conversation": saying.conversation} if saying.conversation else {"agent": agent}
    headers = {"Idempotency-Key": saying.id} if saying.id else {}
    answer = await client.alias(alias, headers=headers, **body, target=target, content=saying.text)
    return _of_tps(answer.http, answer.body)


async def _mcp(client: Client, agent: str, saying: Saying) -> Heard:
    target = {"conversation": saying.conversation} if saying.conversation else {"agent": agent}
    answer = await sent(client, tool_call("AP_Chat", target=target, content=saying.text))
    if answer.http != 200:
        return Heard(answer.http, None)
    return _of_tps(200, answer.body["result"]["structuredContent"])


def _of_tps(http: int, body: Any) -> Heard:
    status = body["status"]
    if status["internal_code"]:
        return Heard(status["http_code"], status["internal_code"])
    reply = body["content"][1]
    return Heard(http, 0, reply["content"], reply["conversation"])


async def _chat_completions(client: Client, agent: str, saying: Saying) -> Heard:
    body = {"model": agent, "messages": [{"role": "user", "content": saying.text}]}
    answer = await client.request("POST", "/v1/chat/completions", json=body, headers=_of_openai(saying))
    if answer.http != 200:
        return Heard(answer.http, None)
    reply = answer.body["choices"][0]["message"]["content"]
    return Heard(200, None, reply, answer.headers["X-Conversation-Id"])


async def _responses(client: Client, agent: str, saying: Saying) -> Heard:
    body = {"model": agent, "input": saying.text}
    answer = await client.request("POST", "/v1/responses", json=body, headers=_of_openai(saying))
    if answer.http != 200:
        return Heard(answer.http, None)
    reply = answer.body["output"][0]["content"][0]["text"]
    return Heard(200, None, reply, answer.headers["X-Conversation-Id"])


def _of_openai(saying: Saying) -> dict[str, str]:
    headers = {"x-stainless-retry-count": str(saying.again)} if saying.id else {}
    return headers | ({"X-Conversation-Id": saying.conversation} if saying.conversation else {})


def _a2a_message(saying: Saying) -> dict[str, Any]:
    message = {"messageId": saying.id or str(uuid4()), "role": "ROLE_USER", "parts": [{"text": saying.text}]}
    return {"message": message | ({"contextId": saying.conversation} if saying.conversation else {})}


async def _json_rpc(client: Client, agent: str, saying: Saying) -> Heard:
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": _a2a_message(saying)}
    answer = await client.request("POST", f"/a2a/{agent}", json=body, headers={"A2A-Version": "1.0"})
    if answer.http != 200 or "error" in answer.body:
        return Heard(answer.http, answer.body["error"]["code"] if answer.http == 200 else None)
    return _of_task(answer.body["result"]["task"])


async def _http_json(client: Client, agent: str, saying: Saying) -> Heard:
    headers = {"A2A-Version": "1.0"}
    answer = await client.request("POST", f"/a2a/{agent}/message:send", json=_a2a_message(saying), headers=headers)
    return _of_task(answer.body["task"]) if answer.http == 200 else Heard(answer.http, None)


def _of_task(task: Any) -> Heard:
    return Heard(200, 0, task["artifacts"][0]["parts"][0]["text"], task["contextId"])


async def _ag_ui(client: Client, agent: str, saying: Saying) -> Heard:
    message, thread = ag_ui.user_says(saying.text, saying.id or None), saying.conversation or None
    sent = ag_ui.run_input(message, thread=thread or saying.id or None, run=saying.id or None)
    answer = await ag_ui.run(client, agent, sent)
    if answer.http != 200:
        return Heard(answer.http, None)
    return Heard(200, 0, ag_ui.said(answer), answer.headers["X-Conversation-Id"])


DOORS = (
    Door("bus", _bus),
    Door("alias", _alias),
    Door("mcp", _mcp, repeatable=False),
    Door("chat completions", _chat_completions),
    Door("responses", _responses),
    Door("a2a json-rpc", _json_rpc),
    Door("a2a http+json", _http_json),
    Door("ag-ui", _ag_ui),
)
