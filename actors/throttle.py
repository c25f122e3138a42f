"""Throttles: how often something may be tried from one place in a sliding window."""

from collections import OrderedDict, deque
from collections.abc import Callable

from actors.errors import TooManyAttempts


class Throttle:
    """Allows `limit` events per key in any `window_s` seconds; a limit of 0 allows all.

    Keys that were quiet for a window are forgotten; at most `max_keys` are remembered, the oldest go first.
    """

    def __init__(self, limit: int, window_s: float, clock: Callable[[], float], *, max_keys: int = 100_000) -> None:
        self._limit = limit
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
        if self._limit and events is not None and len(events) >= self._limit:
            wait_s = events[0] + self._window_s - self._clock()
            raise TooManyAttempts(note, retry_after=max(1, int(wait_s) + 1))

    def record(self, key: str) -> None:
        """Count one event of the key."""
        if not self._limit:
            return
        events = self._recent(key)
        if events is None:
            events = self._events[key] = deque(maxlen=self._limit)
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

    def take_back(self, key: str) -> None:
        """Uncount the newest event of the key."""
        events = self._events.get(key)
        if events:
            events.pop()

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
