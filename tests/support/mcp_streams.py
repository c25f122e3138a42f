"""Streams of changes, opened by the official MCP client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.client.subscriptions import ServerEvent, Subscription

from actors.commands.watching import LISTS_S
from tests.support.gateway import Client
from tests.support.mcp_client import bearer, connected

SOON_S = 2.0 + LISTS_S


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
