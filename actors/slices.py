"""Long work of the event loop in slices, so that nobody else waits for the whole of it.

Such work is written as a generator that yields where it may be interrupted. Short work is done before the first slice
is over, in the caller's own step; of all the rest one slice is done in each turn of the loop.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Generator
from time import perf_counter
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

SLICE_S = 0.004
"""How long a slice lasts; the work between two yields comes on top of it (docs/performance.md, "Longest steps")."""

Steps = Generator[None, None, T]
"""Work that may be interrupted where it yields; its result is what the generator returns."""

_turns: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Work(Generic[T]):
    """Work under way.

    >>> def added(numbers):
    ...     total = 0
    ...     for number in numbers:
    ...         total += number
    ...         yield
    ...     return total
    >>> work = Work(added([1, 2, 3]))
    >>> work.slice()
    True
    >>> work.result
    6
    """

    __slots__ = ("_steps", "result")

    result: T

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps

    def slice(self, seconds: float = SLICE_S) -> bool:
        """Work for about so long; True once the `result` is there.

        Raises:
            Exception: what the work raised.
        """
        until = perf_counter() + seconds
        try:
            while True:
                next(self._steps)
                if perf_counter() >= until:
                    return False
        except StopIteration as end:
            self.result = end.value
            return True

    async def rest(self) -> T:
        """Do what is left, a slice in a turn of the loop, and return the result."""
        turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        while True:
            async with turn:  # in the order of asking, so that all long work goes on alike
                await asyncio.sleep(0)
                if self.slice():
                    return self.result


async def sliced(steps: Steps[T]) -> T:
    """Do work in slices, the first of them at once, and return its result."""
    work = Work(steps)
    return work.result if work.slice() else await work.rest()


def whole(steps: Steps[T]) -> T:
    """Do work in one go and return its result: for short work, and where nobody waits."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value
