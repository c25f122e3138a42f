# Made by `make client` from parley_client/_async: don't edit.
"""Streams that can be closed from elsewhere while they wait."""

from types import TracebackType
from typing import Self

import httpx2

from parley_client._waiting import Bell, hang_up


class Line:
    """The connection on which a stream is read, or the pause before the next one."""

    def __init__(self) -> None:
        self.response: httpx2.Response | None = None
        """The answer that is read."""
        self.is_closed = False
        """Whether the stream is closed."""
        self.pause: Bell = Bell()

    def hang_up(self) -> None:
        """End what is waited for: the next piece of the answer, or the pause."""
        self.pause.ring()
        if self.response is not None:
            hang_up(self.response)

    def let_go(self) -> None:
        """Close the answer, if there is one."""
        response, self.response = self.response, None
        if response is not None:
            response.close()


class Closable:
    """A stream that ends with the block that it was made for, or when it is closed."""

    def __init__(self) -> None:
        self._line = Line()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the stream for good: nothing more comes, also where another task or thread waits for it."""
        self._line.is_closed = True
        self._line.hang_up()
