# Made by `make client` from parley_client/_async: don't edit.
"""Lists that are read page by page."""

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from parley_client.answers import Page

T = TypeVar("T")
R = TypeVar("R")


class Reader(Protocol[T, R]):
    """Reads a page: the first one, or the one of a cursor."""

    def __call__(self, cursor: str | None) -> Page[T, R]:
        """Read the page."""
        ...


class Pages(Generic[T, R]):
    """A list, which is asked for when it is iterated: its entries one by one, or page by page."""

    def __init__(self, read: Reader[T, R], cursor: str | None) -> None:
        self._read = read
        self._cursor = cursor

    def page(self) -> Page[T, R]:
        """Read the first page alone: the one after `cursor`, if that was given."""
        return self._read(self._cursor)

    def pages(self) -> Iterator[Page[T, R]]:
        """Read one page after the other."""
        page = self.page()
        yield page
        while page.next is not None:
            page = self._read(page.next)
            yield page

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            for item in page.items:
                yield item
