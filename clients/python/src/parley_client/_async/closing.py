"""Streams that can be closed from elsewhere while they wait."""

from types import TracebackType
from typing import Self

import httpx2

from parley_client._async_waiting import AsyncBell, async_hang_up


class AsyncLine:
    """The connection on which a stream is read, or the pause before the next one."""

    def __init__(self) -> None:
        self.response: httpx2.Response | None = None
        """The answer that is read."""
        self.is_closed = False
        """Whether the stream is closed."""
        self.pause: AsyncBell = AsyncBell()

    async def hang_up(self) -> None:
        """End what is waited for: the next piece of the answer, or the pause."""
        self.pause.ring()
        if self.response is not None:
            await async_hang_up(self.response)

    async def let_go(self) -> None:
        """Close the answer, if there is one."""
        response, self.response = self.response, None
        if response is not None:
            await response.aclose()


class AsyncClosable:
    """A stream that ends with the block that it was made for, or when it is closed."""

    def __init__(self) -> None:
        self._line = AsyncLine()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the stream for good: nothing more comes, also where another task or thread waits for it."""
        self._line.is_closed = True
        await self._line.hang_up()
