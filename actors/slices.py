"""Long work on the event loop, cut into slices, so that other work need not wait for all of it.

Such work is written as a generator that yields where it may be interrupted. Short work is done within the first
slice, in the caller's own step; for all other work, each turn of the loop does one slice.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import suppress
from time import perf_counter
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")

SLICE_S = 0.004
"""Seconds of a slice; the work between two yields comes on top (docs/performance.md, "Longest steps")."""

Steps = Generator[None, None, T]
"""Work that may be interrupted where it yields; its result is what the generator returns."""

_turns: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


class Work(Generic[T]):
    """Work that is done in slices.

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

    __slots__ = ("_steps", "done", "result")

    result: T

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps
        self.done = False
        """Whether the `result` is there."""

    def slice(self, seconds: float = SLICE_S) -> bool:
        """Do one slice of the work; return True once the `result` is there.

        Raises:
            Exception: the work's own.
        """
        until = perf_counter() + seconds
        try:
            while True:
                next(self._steps)
                if perf_counter() >= until:
                    return False
        except StopIteration as end:
            self.result = end.value
            self.done = True
            return True

    async def rest(self) -> T:
        """Do the rest if any, one slice in each turn of the loop, and return the result."""
        if self.done:
            return self.result
        turn = _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        while True:
            async with turn:  # first come, first served, so that all long work progresses alike
                await asyncio.sleep(0)
                if self.slice():
                    return self.result


async def sliced(steps: Steps[T]) -> T:
    """Do work in slices, the first of them at once, and return its result."""
    work = Work(steps)
    return work.result if work.slice() else await work.rest()


def whole(steps: Steps[T]) -> T:
    """Do work in one step and return its result, for short work or where nobody waits."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value


LARGE = 2_000
"""The number of items from which on a dict is let go of in slices."""

FREEING_S = 0.001
"""Seconds of a slice in which items are freed, one in each turn of the loop."""

_FREED_TOGETHER = 64

_to_free: WeakKeyDictionary[AbstractEventLoop, deque[Work[None]]] = WeakKeyDictionary()
"""The work of freeing on each loop, done one after another, however much is let go of together."""


def let_go(*unused: dict[Any, Any]) -> None:
    """Empty dicts that nothing uses any more, a slice in each turn of the loop if the first is large.

    With its last reference a dict frees all of its items in one step, which takes about 0.5 µs for each.
    """
    if len(unused[0]) >= LARGE:
        with suppress(RuntimeError):  # without a loop nobody waits
            loop = asyncio.get_running_loop()
            waiting = _to_free.setdefault(loop, deque())
            waiting.append(Work(_emptying(unused)))
            if len(waiting) == 1:
                loop.call_soon(_free, loop, waiting)


def _free(loop: AbstractEventLoop, waiting: deque[Work[None]]) -> None:
    if waiting[0].slice(FREEING_S):
        waiting.popleft()
    if waiting:
        loop.call_soon(_free, loop, waiting)


def _emptying(unused: Iterable[dict[Any, Any]]) -> Steps[None]:
    for items in unused:
        while items:
            for _ in range(min(_FREED_TOGETHER, len(items))):
                items.popitem()
            yield
