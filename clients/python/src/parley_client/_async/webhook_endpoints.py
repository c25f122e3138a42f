"""Webhook endpoints and deliveries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from parley_client._async.event_stream import AsyncEventStream
from parley_client._async.pages import AsyncPages
from parley_client._async.requests import AsyncRoutes, query_of, segment_of
from parley_client._decoding import decode, encode, member
from parley_client.answers import Page, listed, page_of
from parley_client.records import (
    ChangedWebhookEndpoint,
    NewWebhookEndpoint,
    TestEvent,
    WebhookDelivery,
    WebhookEndpoint,
)

ENDPOINTS = "/api/webhooks/endpoints"


class AsyncWebhookEndpoints(AsyncRoutes):
    """Webhook endpoints and deliveries; `parley_client.webhooks.verify` verifies what they receive."""

    async def create(
        self,
        url: str,
        *,
        events: Sequence[str] | None = None,
        active: bool | None = None,
        description: str | None = None,
        idempotency_key: str | None = None,
    ) -> NewWebhookEndpoint:
        """Create an endpoint; only this answer shows its secret.

        Args:
            url: where events go: https, reachable from the Internet.
            events: types, or patterns such as `quota.*`; absent: all.
            active: whether events go to it; true where absent.
            description: what it is, for people.
            idempotency_key: the key under which it is created once; one is made where absent.

        Example:
            await client.webhooks.create("https://receiver.example/webhooks", events=["quota.*"])

        Raises:
            RequestError: the URL or an event's type is not allowed (1003).
            EntityError: there are too many endpoints (3002).
        """
        body = _given(url=url, events=events and [*events], active=active, description=description)
        return decode(
            NewWebhookEndpoint,
            await self._client.request("POST", ENDPOINTS, body, idempotency_key=idempotency_key),
        )

    async def list(self) -> tuple[WebhookEndpoint, ...]:
        """List the endpoints, oldest first, without their secrets.

        Example:
            await client.webhooks.list()
        """
        return listed(WebhookEndpoint, await self._client.request("GET", ENDPOINTS), "endpoints")

    async def change(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        active: bool | None = None,
        description: str | None = None,
        rotate_secret: Literal[True, "now"] | None = None,
    ) -> ChangedWebhookEndpoint:
        """Change what is given of an endpoint.

        Args:
            endpoint_id: its id, `whe_...`.
            url: where events go from now on.
            events: types, or patterns such as `quota.*`.
            active: whether events go to it; true also ends a disabling.
            description: what it is, for people.
            rotate_secret: True makes a new secret, which this answer shows; the old one signs for 24 hours beside it.
                "now" ends the old one at once.

        Example:
            await client.webhooks.change("whe_067b9c1c8e40a5f13d5e8f0b6c2a4907", rotate_secret=True)

        Raises:
            EntityError: there is no such endpoint (3000).
        """
        body = _given(
            url=url,
            events=None if events is None else [*events],
            active=active,
            description=description,
            rotate_secret=rotate_secret,
        )
        path = f"{ENDPOINTS}/{segment_of(endpoint_id)}"
        return decode(
            ChangedWebhookEndpoint,
            await self._client.request("PATCH", path, body, repeatable=rotate_secret is None),
        )

    async def disable(self, endpoint_id: str) -> WebhookEndpoint:
        """Disable an endpoint; what waits for it is cancelled.

        Example:
            await client.webhooks.disable("whe_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is no such endpoint (3000).
        """
        return decode(WebhookEndpoint, await self._client.request("DELETE", f"{ENDPOINTS}/{segment_of(endpoint_id)}"))

    async def delete(self, endpoint_id: str) -> None:
        """Delete an endpoint for good.

        Example:
            await client.webhooks.delete("whe_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is no such endpoint (3000).
        """
        await self._client.request("DELETE", f"{ENDPOINTS}/{segment_of(endpoint_id)}?hard=true", repeatable=False)

    async def recover(self, endpoint_id: str, since: datetime, *, idempotency_key: str | None = None) -> int:
        """Queue again all deliveries that failed since a time, 14 days ago at most; return their number.

        Example:
            an_hour_ago = datetime.now(UTC) - timedelta(hours=1)
            await client.webhooks.recover("whe_067b9c1c8e40a5f13d5e8f0b6c2a4907", an_hour_ago)

        Raises:
            EntityError: there is no such endpoint (3000).
        """
        path = f"{ENDPOINTS}/{segment_of(endpoint_id)}/recover"
        body = {"since": encode(since)}
        made = await self._client.request("POST", path, body, idempotency_key=idempotency_key)
        return member(int, made, "deliveries")

    def deliveries(
        self,
        *,
        endpoint_id: str | None = None,
        event_type: str | None = None,
        state: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> AsyncPages[WebhookDelivery, None]:
        """List deliveries with their attempts, newest first.

        Args:
            endpoint_id: those to this endpoint.
            event_type: those of events of this type.
            state: those in this state, such as `exhausted`.
            limit: the largest number on a page.
            cursor: `next` of the page before, unchanged; the first page when absent.

        Example:
            [item async for item in client.webhooks.deliveries(event_type="webhook.test")]
        """

        async def read(cursor: str | None) -> Page[WebhookDelivery, None]:
            query = query_of(endpoint_id=endpoint_id, event_type=event_type, state=state, limit=limit, cursor=cursor)
            page = await self._client.request("GET", f"/api/webhooks/deliveries{query}")
            return page_of(WebhookDelivery, page, "deliveries")

        return AsyncPages(read, cursor)

    def stream(self, *, events: Sequence[str] | None = None, after: str | None = None) -> AsyncEventStream:
        """Follow own events, signed as their deliveries are; needs no endpoint, and no address that can be reached.

        Args:
            events: types, or patterns such as `quota.*`; absent: all.
            after: the id of the event after which to begin, `0.0` for all that are kept; now where absent.

        Example:
            async for item in client.webhooks.stream(events=["agent.deployment.*"]):
                print(item)

        Raises:
            RequestError: a type that is not in the catalog, or no id of such a stream (1003).
            EntityError: the session or key has too many streams open (3002).
        """
        query = query_of(events=",".join(events) if events else None)
        return self._client.stream_events(f"/api/webhooks/stream{query}", after=after)

    async def retry(self, delivery_id: str, *, idempotency_key: str | None = None) -> WebhookDelivery:
        """Deliver an event again, as a new delivery.

        Example:
            await client.webhooks.retry("dlv_067b9c1c8e40a5f13d5e8f0b6c2a4907")

        Raises:
            EntityError: there is no such delivery (3000), or its endpoint is disabled (3002).
        """
        path = f"/api/webhooks/deliveries/{segment_of(delivery_id)}/retry"
        return decode(WebhookDelivery, await self._client.request("POST", path, idempotency_key=idempotency_key))

    async def test(
        self, event_type: str, data: dict[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> TestEvent:
        """Send an event of a type of the catalog, such as `webhook.test`, to the endpoints that match.

        Example:
            await client.webhooks.test("webhook.test", {"greeting": "Hello"})

        Raises:
            RequestError: the type is not in the catalog (1003).
        """
        body = _given(event_type=event_type, data=data)
        return decode(
            TestEvent, await self._client.request("POST", "/api/webhooks/test", body, idempotency_key=idempotency_key)
        )


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
