"""Readers of GET /debug/stream."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.support.gateway import Client
from tests.support.wire import events_of

PATH = "/debug/stream"


class Figures:
    """A stream of figures."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._events = events_of(response)

    async def next(self) -> dict[str, Any]:
        """Wait for the next figures; a dict with `end` and the reason at the end."""
        async with asyncio.timeout(30):
            event = await anext(self._events)
        return {"end": event.data["reason"]} if event.name == "end" else event.data


@asynccontextmanager
async def figures(client: Client, **headers: str) -> AsyncIterator[Figures]:
    """Read the figures as a user, or with the internal secret."""
    async with client.http.get(client.base + PATH, headers=client.headers(headers)) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        yield Figures(response)
