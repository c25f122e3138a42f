"""Event streams whose texts hold U+2028, U+2029 and U+0085, which many readers of lines take for line breaks."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from tests.support import ag_ui
from tests.support.gateway import Client
from tests.support.wire import streamed
from tests.support.workspaces import opened_with_a_guest, post

SAID = "say:the\u2028Moon\u2029is\u0085far"


class Streamed(NamedTuple):
    """A request for an answer as a stream."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str] | None = None


_MESSAGE = {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": SAID}]}}
_A2A = {"A2A-Version": "1.0"}
STREAMS: dict[str, Callable[[str], Streamed]] = {
    "bus": lambda agent: Streamed(
        "/demo/v1/Svc/tps",
        {"service": "AP_Chat", "target": {"agent": agent}, "content": SAID},
        {"Accept": "text/event-stream"},
    ),
    "chat completions": lambda agent: Streamed(
        "/v1/chat/completions", {"model": agent, "stream": True, "messages": [{"role": "user", "content": SAID}]}
    ),
    "responses": lambda agent: Streamed("/v1/responses", {"model": agent, "stream": True, "input": SAID}),
    "a2a http+json": lambda agent: Streamed(f"/a2a/{agent}/message:stream", _MESSAGE, _A2A),
    "a2a json-rpc": lambda agent: Streamed(
        f"/a2a/{agent}", {"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": _MESSAGE}, _A2A
    ),
    "ag-ui": lambda agent: Streamed(f"/ag-ui/{agent}", ag_ui.run_input(ag_ui.user_says(SAID))),
}


def insist_on_whole_lines(stream: str) -> None:
    """Insist that each line of a stream is a whole field of an event, and that a text kept its characters."""
    lines = stream.splitlines()
    assert {line.partition(":")[0] for line in lines} <= {"", "id", "event", "data"}
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    texts = "".join(str(list(texts_in(json.loads(each)))) for each in data if each != "[DONE]")
    for character in "\u2028\u2029\u0085":
        assert ascii(character).strip("'") in texts


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


@pytest.mark.parametrize("door", STREAMS)
async def test_a_door_escapes_them(scripted_user: Client, unique: str, door: str):
    await scripted_user.agent(f"{unique}-agent")
    asked = STREAMS[door](f"{unique}-agent")
    answer = await scripted_user.request("POST", asked.path, json=asked.body, headers=asked.headers)
    assert answer.http == 200
    insist_on_whole_lines(answer.body)


async def test_the_stream_of_a_run_escapes_them(scripted_user: Client, unique: str):
    await scripted_user.agent(f"{unique}-agent")
    run = (await scripted_user.command("AP_Chat", content=SAID)).headers["X-Run-Id"]
    insist_on_whole_lines((await scripted_user.request("GET", f"/api/runs/{run}/events")).body)


async def test_the_stream_of_a_zone_escapes_them(scripted_user: Client, unique: str):
    space = await opened_with_a_guest(scripted_user, unique)
    async with streamed(scripted_user, "ZN_Stream", target={"domain": space.domain}) as response:
        (await post(scripted_user, space.domain, SAID)).ok()
        async with asyncio.timeout(30):
            line = b""
            while not line.startswith(b"data"):
                line = await response.content.readline()
    insist_on_whole_lines(line.decode())
