"""Routes of open protocols on three nodes, shown with a door of the tests (tests/support/echo_door.py)."""

import gzip
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from io import BytesIO

import pytest

from actors.core import CoreOptions
from tests.support.echo_door import ROUTES
from tests.support.gateway import Answer, Client
from tests.support.nodes import running
from tests.support.operator import SECRET
from tests.support.roaming import Entries

JSON = {"Content-Type": "application/json"}
REFUSED_BODIES: dict[int, tuple[bytes, dict[str, str]]] = {
    413: (b" " * 1_100_000, JSON),
    415: (gzip.compress(b"{}"), JSON | {"Content-Encoding": "gzip"}),
}
PATHS = ("/v1/chat/completions", "/v1/responses", "/a2a/scout", "/ag-ui/scout", "/api/skills/install")


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


@pytest.mark.parametrize("http", REFUSED_BODIES)
async def test_a_request_with_a_refused_body_counts_through_each_node(entries: Entries, unique: str, http: int):
    for client in (await entries.user_on(0, unique)).through:
        for path in PATHS:
            before = await used(client)
            answer = await sent(client, path, http)
            assert answer.http == http
            assert answer.headers["Cache-Control"] == "no-store"
            assert "RateLimit" in answer.headers
            assert await used(client) == before + 2


@pytest.mark.parametrize("http", REFUSED_BODIES)
async def test_credential_quota_and_scopes_are_checked_before_the_body_through_each_node(
    entries: Entries, unique: str, http: int
):
    user = await entries.user_on(0, unique)
    spent, reading = await user.with_key(limit=1), await user.with_key(scopes={"read_only": True})
    suspended = await user.with_key()
    (await spent[0].command("US_Read")).ok()
    for entry in range(3):
        for path in PATHS:
            assert (await sent(spent[entry], path, http)).http == 429
            if not path.startswith("/a2a"):  # there the body tells whether it changes anything
                assert (await sent(reading[entry], path, http)).http == 403
            assert (await sent(user.through[entry].as_user("pls_wrong"), path, http)).http == 401
    path = f"/api/admin/users/{user.name}/suspend"
    assert (await user.through[0].request("POST", path, headers=SECRET)).http == 200
    for client in suspended:
        assert (await sent(client, "/v1/responses", http)).http == 403


async def used(client: Client) -> int:
    return (await client.command("US_Read")).ok().profile[0]["quota"]["used"]


async def sent(client: Client, path: str, http: int) -> Answer:
    """Send a body that is refused with a status."""
    body, headers = REFUSED_BODIES[http]
    return await client.request("POST", path, data=BytesIO(body), headers=headers)
