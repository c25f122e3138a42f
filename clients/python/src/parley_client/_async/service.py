"""The base of the groups of services."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from parley_client._async.pages import AsyncPages
from parley_client._async.streams import AsyncChatStream, AsyncZoneStream
from parley_client.answers import Answer, Page

T = TypeVar("T")
R = TypeVar("R")


class AsyncSender(Protocol):
    """Sends commands."""

    async def send(self, service: str, body: dict[str, Any], *, idempotency_key: str | None = None) -> Answer:
        """Send a command with all its tries."""
        ...

    def stream_chat(self, body: dict[str, Any], *, idempotency_key: str | None = None) -> AsyncChatStream:
        """Return a streamed AP_Chat."""
        ...

    def stream_zone(self, body: dict[str, Any], *, after: str | None = None) -> AsyncZoneStream:
        """Return a followed zone."""
        ...


class AsyncServices:
    """The services of a group."""

    def __init__(self, client: AsyncSender) -> None:
        self._client = client


def entities(client: AsyncSender, service: str, body: dict[str, Any], kind: type[T]) -> AsyncPages[T, None]:
    """Return a list of entities, which are in `profile`."""
    return _pages(client, service, body, lambda answer: (answer.records(kind), None))


def entries(client: AsyncSender, service: str, body: dict[str, Any], kind: type[T], of: type[R]) -> AsyncPages[T, R]:
    """Return a list of the entries of an entity: they are in `content`, it is in `profile`."""
    return _pages(client, service, body, lambda answer: (answer.items(kind), answer.record(of)))


def _pages(
    client: AsyncSender,
    service: str,
    body: dict[str, Any],
    parts: Callable[[Answer], tuple[tuple[T, ...], R]],
) -> AsyncPages[T, R]:
    async def read(cursor: str | None) -> Page[T, R]:
        page = body.get("page", {}) | ({"cursor": cursor} if cursor else {})
        answer = await client.send(service, body | ({"page": page} if page else {}))
        items, record = parts(answer)
        return Page(items, record, answer.header.next)

    return AsyncPages(read, body.get("page", {}).get("cursor"))


def body_of(
    target: dict[str, Any] | None = None,
    vx: dict[str, Any] | None = None,
    page: dict[str, Any] | None = None,
    content: str | None = None,
) -> dict[str, Any]:
    """Return a request's body without the members that are None."""
    parts = {"target": _given(target), "vx": _given(vx), "page": _given(page), "content": content}
    return {name: part for name, part in parts.items() if part}


def _given(part: dict[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (part or {}).items() if value is not None}
