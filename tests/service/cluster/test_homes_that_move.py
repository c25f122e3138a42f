"""A user's home that moves to another node between the look at its credential and the count of its request."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from actors.core import CoreOptions
from actors.runtime.cluster.shards import shard_of
from actors.sessions.messages import Caller
from tests.support.gateway import BUS, Client
from tests.support.mcp_client import sent
from tests.support.nodes import Nodes, running
from tests.support.roaming import UserEverywhere, user_of_two

OPTIONS = CoreOptions(registrations_per_hour=0, default_plan="builder")


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Nodes]:
    async with running(tmp_path, 2, http=True, options=OPTIONS) as two:
        yield two


@pytest.fixture
async def user(nodes: Nodes) -> AsyncIterator[UserEverywhere]:
    """A user at home on the first node, with an agent."""
    async with user_of_two(nodes) as user:
        yield user


async def bus(client: Client) -> int:
    return (await client.command("AP_Chat", content="Hello")).ok().http


async def alias(client: Client) -> int:
    return (await client.alias("/agent/read")).ok().http


async def events(client: Client) -> int:
    body = {"service": "AP_Chat", "content": "Hello"}
    headers = client.headers({"Accept": "text/event-stream"})
    async with client.http.post(client.base + BUS, json=body, headers=headers) as answer:
        assert b'"success":true' in await answer.read()
        return answer.status


async def zone(client: Client) -> int:
    body = {"service": "ZN_Stream", "target": {"domain": "observatory"}}
    async with client.http.post(client.base + BUS, json=body, headers=client.headers()) as answer:
        return answer.status


async def route(client: Client) -> int:
    return (await client.request("GET", "/api/webhooks/endpoints")).http


async def door(client: Client) -> int:
    body = {"model": "scout", "messages": [{"role": "user", "content": "Hello"}]}
    return (await client.request("POST", "/v1/chat/completions", json=body)).http


async def tool(client: Client) -> int:
    call = {"method": "tools/call", "params": {"name": "AP_Read", "arguments": {}}}
    answer = await sent(client, {"jsonrpc": "2.0", "id": 1, **call})
    assert answer.body["result"]["isError"] is False, answer.body
    return answer.http


WAYS = (bus, alias, events, zone, route, door, tool)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("entry", [0, 1])
async def test_its_request_goes_on_at_its_new_home_and_is_counted_once(
    nodes: Nodes, user: UserEverywhere, entry: int, way: Callable[[Client], Awaitable[int]]
):
    client = user.through[entry]
    (await client.command("DM_Create", vx={"name": "observatory", "description": "d"})).ok()
    before = (await client.command("US_Read")).ok().profile[0]["quota"]["used"]
    credentials, moved = nodes[0].core.credentials, list[str]()
    authenticate = credentials.authenticate

    async def authenticate_and_move(credential: str | None) -> Caller:
        caller = await authenticate(credential)
        if not moved:
            moved.append(caller.user_id)
            await nodes.placed.hand_over({shard_of(caller.user_id)}, "node1")
        return caller

    credentials.authenticate = authenticate_and_move  # pyright: ignore[reportAttributeAccessIssue]
    assert await way(client) == 200
    assert moved
    after = (await client.command("US_Read")).ok().profile[0]["quota"]["used"]
    assert after == before + 2
