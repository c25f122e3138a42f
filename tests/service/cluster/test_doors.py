"""Routes of open protocols on three nodes, shown with a door of the tests (tests/support/echo_door.py)."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from actors.core import CoreOptions
from tests.support.echo_door import ROUTES
from tests.support.nodes import running
from tests.support.roaming import Entries


@pytest.fixture(scope="module")
async def entries(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Entries]:
    options = CoreOptions(registrations_per_hour=0, default_plan="scale")
    folder = tmp_path_factory.mktemp("doors")
    async with AsyncExitStack() as stack:
        nodes = await stack.enter_async_context(running(folder, 3, http=True, options=options, more_routes=ROUTES))
        yield Entries(nodes, [await stack.enter_async_context(nodes.client(index)) for index in range(3)])


@pytest.mark.parametrize("entry", range(3))
@pytest.mark.parametrize("stream", [True, False])
async def test_a_door_answers_through_each_node(entries: Entries, unique: str, entry: int, stream: bool):
    owner, guest = await entries.user_on(0, f"{unique}-owner"), await entries.user_on(1, f"{unique}-guest")
    await owner.through[0].agent(f"{unique}-agent", access="public")
    for number, user in enumerate((owner, guest)):
        client = user.through[entry]
        before = (await client.command("US_Read")).ok().profile[0]["quota"]["used"]
        said = {"text": f"Hello {number}", "stream": stream}
        answer = await client.request("POST", f"/echo/{unique}-agent", json=said)
        history = (await client.command("AP_History", target={"agent": f"{unique}-agent"})).ok().content
        assert [message["content"] for message in history if message["role"] == "user"] == [f"Hello {number}"]
        reply = history[1]["content"]
        *pieces, end = answer.body.splitlines() if stream else (reply, "end")
        assert ("".join(piece.removeprefix("piece ") for piece in pieces), end) == (reply, "end")
        assert answer.headers["Content-Type"] == ("text/x-echo" if stream else "text/plain")
        assert answer.headers["X-Echo"] == ("streamed" if stream else "whole")
        assert "RateLimit" in answer.headers
        assert len(answer.headers["X-Request-Id"]) == 36
        assert (await client.command("US_Read")).ok().profile[0]["quota"]["used"] == before + 3
        log = (await client.request("GET", "/api/audit")).body["entries"]
        assert [row["service"] for row in log].count("echoTalk") == 1


@pytest.mark.parametrize("entry", range(3))
async def test_refusals_and_headers_are_the_same_through_each_node(entries: Entries, unique: str, entry: int):
    client = (await entries.user_on(2, f"{unique}-user")).through[entry]
    for stream in (True, False):
        unknown = await client.request("POST", f"/echo/{unique}-nobody", json={"text": "Hi", "stream": stream})
        assert (unknown.http, unknown.body["oops"], unknown.headers["X-Oops"]) == (418, 3000, "yes")
        assert unknown.body["body"].startswith('{"text":')
    seen = (await client.request("GET", "/echo/x/look", headers={"A2A-Version": "1.0"})).body
    assert seen["base_url"] == client.base
    assert (seen["user"], seen["version"]) == (client.name, "1.0")
    assert (await client.as_user("pls_wrong").request("POST", "/echo/x", json={})).body["oops"] == 2001
