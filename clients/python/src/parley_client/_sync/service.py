# Made by `make client` from parley_client/_async: don't edit.
"""The base of the groups of services."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from parley_client._sync.pages import Pages
from parley_client._sync.streams import ChatStream, ZoneStream
from parley_client.answers import Answer, Page

T = TypeVar("T")
R = TypeVar("R")


class Sender(Protocol):
    """Sends commands."""

    def send(self, service: str, body: dict[str, Any], *, idempotency_key: str | None = None) -> Answer:
        """Send a command with all its tries."""
        ...

    def stream_chat(self, body: dict[str, Any], *, idempotency_key: str | None = None) -> ChatStream:
        """Return a streamed AP_Chat."""
        ...

    def stream_zone(self, body: dict[str, Any], *, after: str | None = None) -> ZoneStream:
        """Return a followed zone."""
        ...


class Services:
    """The services of a group."""

    def __init__(self, client: Sender) -> None:
        self._client = client


def entities(client: Sender, service: str, body: dict[str, Any], kind: type[T]) -> Pages[T, None]:
    """Return a list of entities, which are in `profile`."""
    return _pages(client, service, body, lambda answer: (answer.records(kind), None))


def entries(client: Sender, service: str, body: dict[str, Any], kind: type[T], of: type[R]) -> Pages[T, R]:
    """Return a list of the entries of an entity: they are in `content`, it is in `profile`."""
    return _pages(client, service, body, lambda answer: (answer.items(kind), answer.record(of)))


def _pages(
    client: Sender,
    service: str,
    body: dict[str, Any],
    parts: Callable[[Answer], tuple[tuple[T, ...], R]],
) -> Pages[T, R]:
    def read(cursor: str | None) -> Page[T, R]:
        page = body.get("page", {}) | ({"cursor": cursor} if cursor else {})
        answer = client.send(service, body | ({"page": page} if page else {}))
        items, record = parts(answer)
        return Page(items, record, answer.header.next)

    return Pages(read, body.get("page", {}).get("cursor"))


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
