# Made by `make client` from parley_client/_async: don't edit.
"""What the groups of gateway routes share."""

from typing import Any, Protocol


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


class Routes:
    """A group of gateway routes."""

    def __init__(self, client: Requester) -> None:
        self._client = client
