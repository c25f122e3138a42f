# Made by `make client` from parley_client/_async: don't edit.
"""Webhook endpoints and deliveries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from parley_client._decoding import decode, encode
from parley_client._sync.event_stream import EventStream
from parley_client._sync.pages import Pages
from parley_client._sync.requests import Routes
from parley_client.answers import Page
from parley_client.records import (
    ChangedWebhookEndpoint,
    NewWebhookEndpoint,
    TestEvent,
    WebhookDelivery,
    WebhookEndpoint,
)

ENDPOINTS = "/api/webhooks/endpoints"


class WebhookEndpoints(Routes):
    """Webhook endpoints and deliveries; `parley_client.webhooks.verify` verifies what they receive."""

    def create(
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
        """
        body = _given(url=url, events=events and [*events], active=active, description=description)
        return decode(
            NewWebhookEndpoint,
            self._client.request("POST", ENDPOINTS, body, idempotency_key=idempotency_key),
        )

    def list(self) -> tuple[WebhookEndpoint, ...]:
        """List the endpoints, oldest first, without their secrets."""
        listed = self._client.request("GET", ENDPOINTS)
        return tuple(decode(WebhookEndpoint, endpoint) for endpoint in listed["endpoints"])

    def change(
        self,
        endpoint_id: str,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        active: bool | None = None,
        description: str | None = None,
        rotate_secret: Literal[True, "now"] | None = None,
    ) -> ChangedWebhookEndpoint:
        """Change what is given of an endpoint; `rotate_secret` makes a new secret, which this answer shows."""
        body = _given(
            url=url,
            events=None if events is None else [*events],
            active=active,
            description=description,
            rotate_secret=rotate_secret,
        )
        path = f"{ENDPOINTS}/{endpoint_id}"
        return decode(
            ChangedWebhookEndpoint,
            self._client.request("PATCH", path, body, repeatable=rotate_secret is None),
        )

    def disable(self, endpoint_id: str) -> WebhookEndpoint:
        """Disable an endpoint; what waits for it is cancelled."""
        return decode(WebhookEndpoint, self._client.request("DELETE", f"{ENDPOINTS}/{endpoint_id}"))

    def delete(self, endpoint_id: str) -> None:
        """Delete an endpoint for good."""
        self._client.request("DELETE", f"{ENDPOINTS}/{endpoint_id}?hard=true", repeatable=False)

    def recover(self, endpoint_id: str, since: datetime, *, idempotency_key: str | None = None) -> int:
        """Queue again all deliveries that failed since a time, 14 days ago at most; return their number."""
        path = f"{ENDPOINTS}/{endpoint_id}/recover"
        body = {"since": encode(since)}
        return int((self._client.request("POST", path, body, idempotency_key=idempotency_key))["deliveries"])

    def deliveries(
        self,
        *,
        endpoint_id: str | None = None,
        event_type: str | None = None,
        state: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Pages[WebhookDelivery, None]:
        """List deliveries with their attempts, newest first."""
        query = _given(endpoint_id=endpoint_id, event_type=event_type, state=state, limit=limit)

        def read(cursor: str | None) -> Page[WebhookDelivery, None]:
            asked = urlencode(query | ({"cursor": cursor} if cursor else {}))
            page = self._client.request("GET", f"/api/webhooks/deliveries?{asked}")
            return Page(tuple(decode(WebhookDelivery, made) for made in page["deliveries"]), None, page["next"])

        return Pages(read, cursor)

    def stream(self, *, events: Sequence[str] | None = None, after: str | None = None) -> EventStream:
        """Follow own events, signed as their deliveries are; needs no endpoint, and no address that can be reached.

        Args:
            events: types, or patterns such as `quota.*`; absent: all.
            after: the id of the event after which to begin, `0.0` for all that are kept; now where absent.

        Raises:
            RequestError: a type that is not in the catalog, or no id of such a stream (1003).
            EntityError: the session or key has too many streams open (3002).
        """
        query = f"?{urlencode({'events': ','.join(events)})}" if events else ""
        return self._client.stream_events(f"/api/webhooks/stream{query}", after=after)

    def retry(self, delivery_id: str, *, idempotency_key: str | None = None) -> WebhookDelivery:
        """Deliver an event again, as a new delivery."""
        path = f"/api/webhooks/deliveries/{delivery_id}/retry"
        return decode(WebhookDelivery, self._client.request("POST", path, idempotency_key=idempotency_key))

    def test(
        self, event_type: str, data: dict[str, Any] | None = None, *, idempotency_key: str | None = None
    ) -> TestEvent:
        """Send an event of a type of the catalog, such as `webhook.test`, to the endpoints that match."""
        body = _given(event_type=event_type, data=data)
        return decode(
            TestEvent, self._client.request("POST", "/api/webhooks/test", body, idempotency_key=idempotency_key)
        )


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
