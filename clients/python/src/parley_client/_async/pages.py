"""Lists that are read page by page."""

from collections.abc import AsyncIterator
from typing import Generic, Protocol, TypeVar

from parley_client.answers import Page

T = TypeVar("T")
R = TypeVar("R")


class AsyncReader(Protocol[T, R]):
    """Reads a page: the first one, or the one of a cursor."""

    async def __call__(self, cursor: str | None) -> Page[T, R]:
        """Read the page."""
        ...


class AsyncPages(Generic[T, R]):
    """A list, which is asked for when it is iterated: its entries one by one, or page by page."""

    def __init__(self, read: AsyncReader[T, R], cursor: str | None) -> None:
        self._read = read
        self._cursor = cursor

    async def page(self) -> Page[T, R]:
        """Read the first page alone: the one after `cursor`, if that was given."""
        return await self._read(self._cursor)

    async def pages(self) -> AsyncIterator[Page[T, R]]:
        """Read one page after the other."""
        page = await self.page()
        yield page
        while page.next is not None:
            page = await self._read(page.next)
            yield page

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item
