"""Streams of sessions and API keys that end after their request was admitted, before they would be told of it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from actors.core import CoreOptions
from actors.sessions import open_streams
from actors.sessions.messages import Caller
from tests.gateways.gate import Gate
from tests.gateways.scripted import ScriptedEngine
from tests.support.gateway import BUS, Client
from tests.support.mcp_client import ACCEPT, sent
from tests.support.mcp_streams import begun
from tests.support.nodes import Nodes, running
from tests.support.operator import SECRET
from tests.support.runs import DOORS
from tests.support.workspaces import founded


@pytest.fixture
async def nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Nodes]:
    """One node in this process whose streams look at their sessions at their beginning alone."""
    monkeypatch.setattr(open_streams, "USE_EVERY_S", 3600.0)
    options = CoreOptions(registrations_per_hour=0, default_plan="enterprise")
    async with running(tmp_path, 1, http=True, options=options, engine=ScriptedEngine) as nodes:
        yield nodes


@pytest.fixture
async def owner(nodes: Nodes, unique: str) -> AsyncIterator[Client]:
    async with nodes.client(0) as client:
        owner = await client.register(f"{unique}-owner")
        await owner.agent(f"{unique}-host")
        await founded(owner, f"{unique}-domain")
        await (await client.register(f"{unique}-guest")).agent(f"{unique}-agent", access="public")
        yield owner


async def revoked(owner: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    """Log on anew; return the session, and what ends it."""
    return await owner.log_on(owner.name), lambda: owner.command("US_Revoke", vx={"name": "all"})


async def suspended(owner: Client) -> tuple[Client, Callable[[], Awaitable[Any]]]:
    """Make an API key; return its client, and what suspends its user."""
    made = (await owner.request("POST", "/api/api-keys", json={"name": "a key"})).body
    path = f"/api/admin/users/{owner.name}/suspend"
    return owner.as_user(made["key"], owner.name), lambda: owner.request("POST", path, headers=SECRET)


CODES = {revoked: 2001, suspended: 2005}
ENDS = pytest.mark.parametrize("end", [revoked, suspended])


def ends_once_admitted(nodes: Nodes, user: Client, end: Callable[[], Awaitable[Any]]) -> None:
    """End a credential when its next request has been admitted."""
    credentials, ended = nodes[0].core.credentials, False
    authenticate = credentials.authenticate

    async def admitted(token: str | None) -> Caller:
        nonlocal ended
        caller = await authenticate(token)
        if token == user.token and not ended:
            ended = True
            assert (await end()).http == 200
        return caller

    credentials.authenticate = admitted


def streams_of(nodes: Nodes) -> int:
    core = nodes[0].core
    return len(core.streams) + len(core.open_streams)


@ENDS
@pytest.mark.parametrize("path", [f"{BUS}/zone/stream", "/api/webhooks/stream", "/console/watch?zone={}/lobby"])
async def test_a_stream_is_refused(nodes: Nodes, owner: Client, unique: str, path: str, end: Any):
    user, act = await end(owner)
    ends_once_admitted(nodes, user, act)
    method, json = ("POST", {"target": {"domain": f"{unique}-domain"}}) if BUS in path else ("GET", None)
    async with asyncio.timeout(30):
        answer = await user.request(method, path.format(f"{unique}-domain"), json=json)
    assert answer.body["status"]["internal_code"] == CODES[end]
    assert streams_of(nodes) == 0


@ENDS
@pytest.mark.parametrize("door", DOORS)
async def test_a_streamed_answer_ends(nodes: Nodes, owner: Client, unique: str, gate: Gate, door: str, end: Any):
    user, act = await end(owner)
    ends_once_admitted(nodes, user, act)
    path, body, headers = DOORS[door](f"{unique}-agent", f"wait:{gate} say:one")
    async with asyncio.timeout(30):
        async with user.http.post(user.base + path, json=body, headers=user.headers(headers)) as response:
            assert b"This session or API key has ended" in await response.content.read()
    gate.open()


LISTEN: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"promptsListChanged": True},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


@ENDS
async def test_a_stream_of_mcp_is_refused(nodes: Nodes, owner: Client, end: Any):
    user, act = await end(owner)
    ends_once_admitted(nodes, user, act)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen"}
    async with asyncio.timeout(30):
        answer = await sent(user, LISTEN, headers)
    assert answer.body["error"]["data"]["status"]["internal_code"] == CODES[end]
    assert streams_of(nodes) == 0


@ENDS
async def test_a_stream_of_a_session_of_mcp_is_refused(nodes: Nodes, owner: Client, end: Any):
    user, act = await end(owner)
    headers = await begun(user)
    ends_once_admitted(nodes, user, act)
    async with asyncio.timeout(30):
        answer = await user.request("GET", "/mcp", headers=headers | ACCEPT)
    assert answer.body["status"]["internal_code"] == CODES[end]
    assert streams_of(nodes) == 0
