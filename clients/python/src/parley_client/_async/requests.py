"""The base of the groups of gateway routes."""

from typing import Any, Protocol
from urllib.parse import quote, urlencode

from parley_client._async.event_stream import AsyncEventStream
from parley_client._async.figure_stream import AsyncFigureStream
from parley_client.errors import InvalidSetting


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

    def stream_figures(self) -> AsyncFigureStream:
        """Return the stream of the gateway's figures."""
        ...


class AsyncRoutes:
    """A group of gateway routes."""

    def __init__(self, client: AsyncRequester) -> None:
        self._client = client


def segment_of(name: str) -> str:
    """Return a name or an id as one segment of a path, whatever its characters are.

    Raises:
        InvalidSetting: it is empty or only dots; these would make another path. Or it has half of a surrogate pair.
    """
    if not name.strip("."):
        raise InvalidSetting(f"a name or an id is needed, not {name!r}")
    try:
        return quote(name, safe="")
    except UnicodeError as error:
        raise InvalidSetting(f"a name or an id can't be sent: {error}") from None


def query_of(**members: Any) -> str:
    """Return a query, with its `?`, of the members that are not None.

    Raises:
        InvalidSetting: one has half of a surrogate pair.
    """
    given = {name: value for name, value in members.items() if value is not None}
    try:
        return f"?{urlencode(given)}" if given else ""
    except UnicodeError as error:
        raise InvalidSetting(f"what is given can't be sent: {error}") from None
