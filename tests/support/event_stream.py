"""Streams of a user's own events (docs/contract.md, "The stream of events")."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import orjson
import standardwebhooks
import stripe

from tests.support.gateway import Client
from tests.support.wire import events_of

STREAM = "/api/webhooks/stream"


class OwnEvents:
    """A stream that verifies each event as a receiver would; `last_id` resumes it."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response
        self.secret = ""
        self.last_id = ""
        self._source = events_of(response)

    async def start(self) -> None:
        """Take the first event, which has the secret."""
        async with asyncio.timeout(30):
            first = await anext(self._source)
        assert first.name == "secret"
        self.secret, self.last_id = first.data["secret"], first.id

    async def next(self) -> dict[str, Any]:
        """Wait for the next event, verify it and return its body."""
        async with asyncio.timeout(30):
            event = await anext(self._source)
        assert event.data.keys() == {"headers", "body"}, event
        headers, body = event.data["headers"], event.data["body"]
        stripe.WebhookSignature.verify_header(body, headers["X-Service-Signature"], self.secret, tolerance=300)
        verified = standardwebhooks.Webhook(self.secret).verify(body, headers)
        assert verified == orjson.loads(body)
        assert headers["webhook-id"] == headers["X-Service-Delivery"] == verified["id"]
        assert headers["X-Service-Event"] == verified["type"]
        assert headers["Content-Type"] == "application/json"
        self.last_id = event.id
        return verified

    async def types(self, count: int) -> list[str]:
        """Wait for this number of events, and return their types."""
        return [(await self.next())["type"] for _ in range(count)]

    async def numbers(self, count: int) -> list[int]:
        """Wait for this number of test events, and return the number in each."""
        return [(await self.next())["data"]["number"] for _ in range(count)]

    async def end(self) -> str:
        """Wait for the end, and return its reason."""
        async with asyncio.timeout(30):
            event = await anext(self._source)
            assert event.name == "end", event
            async for after in self._source:
                raise AssertionError(after)
        return event.data["reason"]


@asynccontextmanager
async def own_events(user: Client, last_id: str | None = None, events: str | None = None) -> AsyncIterator[OwnEvents]:
    """Follow a user's own events, after one if it is named."""
    headers = user.headers({} if last_id is None else {"Last-Event-ID": last_id})
    query = {} if events is None else {"events": events}
    async with user.http.get(user.base + STREAM, params=query, headers=headers) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        stream = OwnEvents(response)
        await stream.start()
        yield stream


async def emitted(user: Client, number: int, event_type: str = "webhook.test", **data: Any) -> str:
    """Emit an event of a type; return its id."""
    sent = {"event_type": event_type, "data": {"number": number, **data}}
    answer = await user.request("POST", "/api/webhooks/test", json=sent)
    assert answer.http == 202, answer.body
    return answer.body["event_id"]
