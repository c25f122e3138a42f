"""Streams of changes, opened by the official MCP client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import pytest
from mcp.client.client import Client as McpClient
from mcp.client.subscriptions import ServerEvent, Subscription
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import event_from_wire
from mcp_types import ServerNotification

from actors.commands.watching import LISTS_S
from tests.support.gateway import Client
from tests.support.mcp_client import bearer, connected, sent

SOON_S = 15.0 + LISTS_S

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}},
}


class Heard:
    """The events of a stream, in the order of their arrival."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self.events: asyncio.Queue[ServerEvent | None] = asyncio.Queue()

    async def keep(self) -> None:
        async for event in self._subscription:
            self.events.put_nowait(event)
        self.events.put_nowait(None)

    async def next(self) -> ServerEvent | None:
        """Return the next event; None at the orderly end of the stream."""
        async with asyncio.timeout(SOON_S):
            return await self.events.get()

    async def nothing(self, seconds: float = 0.5) -> bool:
        """Return whether nothing comes within a time."""
        await asyncio.sleep(seconds)
        return self.events.empty()


@asynccontextmanager
async def listening(
    user: Client, *uris: str, resources: bool = False, prompts: bool = False, honored: int | None = None
) -> AsyncIterator[Heard]:
    """Open a stream; `honored` is the number of URIs that the server acknowledges, by default all."""
    async with (
        connected(user.base, bearer(user)) as client,
        client.listen(
            resource_subscriptions=uris, resources_list_changed=resources, prompts_list_changed=prompts
        ) as subscription,
    ):
        acknowledged = subscription.honored.resource_subscriptions or []
        assert len(acknowledged) == (len(uris) if honored is None else honored)
        assert bool(subscription.honored.resources_list_changed) is resources
        heard = Heard(subscription)
        keeping = asyncio.create_task(heard.keep())
        try:
            yield heard
        finally:
            keeping.cancel()


class InSession:
    """A connected client of before 2026-07-28, with the notifications of its session."""

    def __init__(self) -> None:
        self.client: McpClient
        self.events: asyncio.Queue[ServerEvent] = asyncio.Queue()

    async def hear(self, message: object) -> None:
        """Take a message of the server; see `MessageHandlerFnT`."""
        if isinstance(message, ServerNotification):
            sent = message.model_dump(by_alias=True, mode="json")
            event = event_from_wire(sent["method"], sent.get("params"))
            assert event is not None
            self.events.put_nowait(event)

    async def subscribe(self, *uris: str) -> None:
        for uri in uris:
            with pytest.warns(MCPDeprecationWarning):
                await self.client.session.subscribe_resource(uri)  # pyright: ignore[reportDeprecated]

    async def unsubscribe(self, uri: str) -> None:
        with pytest.warns(MCPDeprecationWarning):
            await self.client.session.unsubscribe_resource(uri)  # pyright: ignore[reportDeprecated]

    async def next(self) -> ServerEvent:
        """Return the next event."""
        async with asyncio.timeout(SOON_S):
            return await self.events.get()

    async def nothing(self, seconds: float = 0.5) -> bool:
        """Return whether nothing comes within a time."""
        await asyncio.sleep(seconds)
        return self.events.empty()


@asynccontextmanager
async def in_session(user: Client) -> AsyncIterator[InSession]:
    """Connect as a client of before 2026-07-28 does, with a session and its stream."""
    session = InSession()
    async with connected(user.base, bearer(user), "legacy", hear=session.hear) as client:
        session.client = client
        yield session


def asking(does: str, uri: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": f"resources/{does}", "params": {"uri": uri}}


async def begun(user: Client) -> dict[str, str]:
    """Begin a session by hand; return the headers of its requests."""
    answer = await sent(user, INITIALIZE, bearer(user))
    return bearer(user) | {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}


@asynccontextmanager
async def stream(user: Client, headers: dict[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
    """Open a session's stream."""
    events = {"Accept": "text/event-stream"}
    async with user.http.get(f"{user.base}/mcp", headers=headers | events) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        yield response


async def next_message(response: aiohttp.ClientResponse) -> dict[str, Any]:
    """Return the next notification; comments are skipped."""
    async with asyncio.timeout(30):
        async for line in response.content:
            if line.startswith(b"data: "):
                return orjson.loads(line.removeprefix(b"data: "))
    raise AssertionError("the stream has ended")
