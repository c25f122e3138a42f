# Made by `make client` from parley_client/_async: don't edit.
"""What the groups of gateway routes share."""

from typing import Any, Protocol

from parley_client._sync.event_stream import EventStream


class Requester(Protocol):
    """Sends requests to gateway routes."""

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        idempotency_key: str | None = None,
        repeatable: bool | None = None,
    ) -> Any:
        """Send a request with all its tries, and return its decoded body."""
        ...

    def stream_events(self, path: str, *, after: str | None = None) -> EventStream:
        """Return a stream of own events."""
        ...


class Routes:
    """A group of gateway routes."""

    def __init__(self, client: Requester) -> None:
        self._client = client
