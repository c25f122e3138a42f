"""What the groups of gateway routes share."""

from typing import Any, Protocol

from parley_client._async.event_stream import AsyncEventStream


class AsyncRequester(Protocol):
    """Sends requests to gateway routes."""

    async def request(
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

    def stream_events(self, path: str, *, after: str | None = None) -> AsyncEventStream:
        """Return a stream of own events."""
        ...


class AsyncRoutes:
    """A group of gateway routes."""

    def __init__(self, client: AsyncRequester) -> None:
        self._client = client
