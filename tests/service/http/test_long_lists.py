"""No request of an open protocol blocks the loop with a list of very many entries."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from tests.support.gateway import Client
from tests.support.longest_step import Stepped, stepped

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
LONG = 1_000_000
"""Bytes of a list, just below the limit of bodies."""


@pytest.fixture(scope="module")
async def loop(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stepped]:
    """A gateway that measures its loop and has imported the protocols."""
    async with stepped(tmp_path_factory.mktemp("lists")) as loop:
        async with loop.gateway.client() as client:
            warm = await client.register("warm-user")
            for path in ("/ag-ui/none", "/a2a/none/message:send", CHAT, RESPONSES):
                await warm.request("POST", path, json={}, headers={"A2A-Version": "1.0"})
        yield loop


def filled(body: bytes, *entries: Any) -> bytes:
    """Put a list of these entries, over and over, in the place of `"..."` of a body."""
    written = b",".join(orjson.dumps(entry) for entry in entries)
    return body.replace(b'"..."', b"[" + b",".join([written] * (LONG // (len(written) + 1))) + b"]")


AG_UI = b'{"threadId": "t", "runId": "r", "messages": '
PLAIN = {"role": "user", "content": "a"}
SAID = {"id": "1", "role": "user", "content": "a"}
LISTS: dict[str, tuple[str, bytes]] = {
    "messages of AG-UI": ("/ag-ui/none", filled(AG_UI + b'"..."}', SAID)),
    "empty messages of AG-UI": ("/ag-ui/none", filled(AG_UI + b'"..."}', {})),
    "parts of AG-UI": (
        "/ag-ui/none",
        filled(AG_UI + b'[{"id": "1", "role": "user", "content": "..."}]}', {"type": "text"}),
    ),
    "what AG-UI's client sees": ("/ag-ui/none", filled(AG_UI + b'[], "context": "..."}', {})),
    "parts of A2A": (
        "/a2a/none/message:send",
        filled(b'{"message": {"messageId": "m", "role": "ROLE_USER", "parts": "..."}}', {"text": "a"}),
    ),
    "parts of A2A with their type": (
        "/a2a/none/message:send",
        filled(
            b'{"message": {"messageId": "m", "role": "ROLE_USER", "parts": "..."}}',
            {"text": "a", "mediaType": "text/plain"},
        ),
    ),
    "messages of a completion": (CHAT, filled(b'{"model": "none", "messages": "..."}', PLAIN)),
    "messages with a name": (CHAT, filled(b'{"model": "none", "messages": "..."}', PLAIN | {"name": "ada"})),
    "parts of a completion": (
        CHAT,
        filled(b'{"model": "none", "messages": [{"role": "user", "content": "..."}]}', {"type": "text", "text": "a"}),
    ),
    "items of a response": (RESPONSES, filled(b'{"model": "none", "input": "..."}', PLAIN | {"type": "message"})),
}


@pytest.mark.parametrize(("path", "body"), LISTS.values(), ids=LISTS)
async def test_a_long_list_holds_up_nobody(loop: Stepped, unique: str, path: str, body: bytes):
    async with loop.gateway.client() as client:
        user: Client = await client.register(f"{unique}-user")
        agent = f"{unique}-agent"
        await user.agent(agent, select=False)
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}

        async def sent() -> None:
            answer = await user.request(
                "POST", path.replace("none", agent), data=body.replace(b"none", agent.encode()), headers=headers
            )
            assert answer.http in (200, 400)

        await loop.is_never_held_up(sent)
