"""Throttles: how often something may be tried from one place in a sliding window."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from actors.errors import TooManyAttempts


class Throttle:
    """Allows `limit` events per key in any `window_s` seconds; a limit of 0 allows all.

    Keys that were quiet for a window are forgotten; at most `max_keys` are remembered, the oldest go first.
    """

    def __init__(self, limit: int, window_s: float, clock: Callable[[], float], *, max_keys: int = 100_000) -> None:
        self.limit = limit
        self._window_s = window_s
        self._clock = clock
        self._max_keys = max_keys
        self._events: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, key: str, note: str) -> None:
        """Refuse when the key's window is full.

        Raises:
            TooManyAttempts: with the seconds until the oldest event leaves the window.
        """
        events = self._recent(key)
        if self.limit and events is not None and len(events) >= self.limit:
            wait_s = events[0] + self._window_s - self._clock()
            raise TooManyAttempts(note, retry_after=max(1, int(wait_s) + 1))

    def record(self, key: str) -> None:
        """Count one event of the key."""
        if not self.limit:
            return
        events = self._recent(key)
        if events is None:
            events = self._events[key] = deque(maxlen=self.limit)
        events.append(self._clock())
        self._events.move_to_end(key)
        while len(self._events) > self._max_keys:
            self._events.popitem(last=False)
        self._forget_quiet()

    def take(self, key: str, note: str) -> None:
        """Check, then count, in one step.

        Raises:
            TooManyAttempts: the key's window is full.
        """
        self.check(key, note)
        self.record(key)

    def count(self, key: str) -> int:
        """Count the key's events in the window."""
        return len(self._recent(key) or ())

    def _recent(self, key: str) -> deque[float] | None:
        events = self._events.get(key)
        if events is None:
            return None
        start = self._clock() - self._window_s
        while events and events[0] <= start:
            events.popleft()
        return events

    def _forget_quiet(self) -> None:
        """Drop keys whose last event left the window; the first in order is the longest quiet."""
        start = self._clock() - self._window_s
        while self._events:
            key, events = next(iter(self._events.items()))
            if events and events[-1] > start:
                return
            del self._events[key]


class Tries:
    """Lets tries through until `failures` has too many of a key; never more at once than could still fail.

    So many tries at once can't slip past the limit, and those that would succeed are not refused but wait.
    """

    def __init__(self, failures: Throttle) -> None:
        self._failures = failures
        self._under_way: dict[str, int] = {}
        self._ended: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def one(self, key: str, note: str) -> AsyncGenerator[None]:
        """Make one try; `failed` tells that it went wrong.

        Raises:
            TooManyAttempts: too many failed already.
        """
        while True:
            self._failures.check(key, note)
            under_way = self._under_way.get(key, 0)
            if under_way + self._failures.count(key) < self._failures.limit:
                break
            await self._ended.setdefault(key, asyncio.Event()).wait()
        self._under_way[key] = under_way + 1
        try:
            yield
        finally:
            self._under_way[key] -= 1
            if not self._under_way[key]:
                del self._under_way[key]
            ended = self._ended.pop(key, None)
            if ended is not None:
                ended.set()

    def failed(self, key: str) -> None:
        """Count a failed try."""
        self._failures.record(key)
