"""Ending a streaming engine's turn early, so that what it has said so far is a reply."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

P = TypeVar("P")


class Halt:
    """The means to end one turn of a streaming engine, from another task."""

    __slots__ = ("_wait", "called", "late")

    def __init__(self) -> None:
        self.called = False
        """Whether the turn is to end."""
        self.late = False
        """Whether the answer is complete, so that there is nothing to end."""
        self._wait: asyncio.Timeout | None = None

    def call(self) -> None:
        """End the turn: the engine is cancelled where it waits. Changes nothing if its answer is complete."""
        if self.late or self.called:
            return
        self.called = True
        if self._wait is not None:
            self._wait.reschedule(asyncio.get_running_loop().time())

    async def until(self, pieces: AsyncIterator[P]) -> AsyncIterator[P]:
        """Yield an engine's pieces until it ends, or until it is halted and yields no more."""
        cancelled = False
        while True:
            wait = asyncio.timeout(0 if self.called and not cancelled else None)
            try:
                async with wait:
                    self._wait = None if cancelled else wait
                    try:
                        piece = await anext(pieces)
                    finally:
                        self._wait = None
            except StopAsyncIteration:
                return
            except TimeoutError:
                if wait.expired():
                    return
                raise
            cancelled = cancelled or wait.expired()
            yield piece
