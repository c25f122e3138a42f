"""The event loop's lag: how late its timers are. It is measured only while somebody looks."""

import asyncio
from collections import deque
from time import monotonic

SAMPLE_S = 0.1
WINDOW_S = 1.0
"""Seconds of which the largest lag counts."""

UNSEEN_S = 90.0
"""Seconds without a look after which the measurement stops; metrics are scraped more often."""


class LoopLag:
    """Measures the lag from the first look on, until nobody has looked for `UNSEEN_S`."""

    def __init__(self) -> None:
        self._lags: deque[float] = deque([0.0], maxlen=round(WINDOW_S / SAMPLE_S))
        self._looked_at = 0.0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def look(self) -> float:
        """Return the largest lag of the last second, in seconds; 0 at the first look."""
        now = self._looked_at = monotonic()
        if self._timer is None:
            self._start(now)
        return max(*self._lags, now - self._due, 0.0)

    def _start(self, now: float) -> None:
        self._due = now + SAMPLE_S
        self._timer = asyncio.get_running_loop().call_later(SAMPLE_S, self._sample)

    def _sample(self) -> None:
        now = monotonic()
        self._lags.append(max(0.0, now - self._due))
        self._timer = None
        if now - self._looked_at < UNSEEN_S:
            self._start(now)
        else:
            self._lags = deque([0.0], maxlen=self._lags.maxlen)
