"""When the next attempt is: retries with jitter, Retry-After, an endpoint's breaker (product 9). Pure decisions."""

import math
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime

MAX_RETRY_AFTER_S = 10 * 3600
JITTER = 0.2
BREAKER_FAILURES = 10
BREAKER_OPEN_MS = 30_000
MAX_IN_FLIGHT = 16
"""Attempts of one endpoint that are under way."""
MAX_OPEN = 32
"""Deliveries of one endpoint that are under way, or whose outcome is not stored yet: what a kill may repeat."""
FIRST_IN_FLIGHT = 4
"""How many an endpoint begins with: a receiver that hangs is to hold few connections."""
GIVE_UP_MS = 5 * 86_400 * 1000
"""An endpoint all of whose attempts failed for so long is disabled."""


class RetrySchedule:
    """The waits between attempts.

    Args:
        delays_s: seconds to wait after the first, second, ... failed attempt; after as many, a delivery is exhausted.
        random: returns a number from 0 to 1, for the jitter.
    """

    def __init__(self, delays_s: Sequence[float], random: Callable[[], float]) -> None:
        self._delays_s = tuple(delays_s)
        self._random = random

    def wait_ms(self, failed: int, retry_after_s: float | None) -> int | None:
        """Return how long to wait after so many failed attempts, or None where that was the last.

        A receiver's Retry-After lengthens the wait, never shortens it.
        """
        if failed > len(self._delays_s):
            return None
        wait_s = self._delays_s[failed - 1] * (1 - JITTER + 2 * JITTER * self._random())
        if retry_after_s is not None:
            wait_s = max(wait_s, min(retry_after_s, MAX_RETRY_AFTER_S))
        return round(wait_s * 1000)


def retry_after_s(value: str | None, now: int) -> float | None:
    """Read a Retry-After header, as seconds or as a date (RFC 9110, 10.2.3); None where there is none that makes sense.

    `now` is in ms since the epoch.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, math.ceil(at - now / 1000))


class Breaker:
    """Decides how many attempts of an endpoint may be under way: few at first, one after many failures in a row."""

    __slots__ = ("_failures", "_window", "open_until")

    def __init__(self) -> None:
        self._failures = 0
        self._window = FIRST_IN_FLIGHT
        self.open_until = 0
        """In ms since the epoch: before this no attempt begins."""

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._failures

    @property
    def tripped(self) -> bool:
        """Return whether it is open, or waits for the outcome of its probe."""
        return self._failures >= BREAKER_FAILURES

    def room(self, in_flight: int, now: int) -> int:
        """Tell how many attempts may begin now, beside those under way."""
        if not self.tripped:
            return max(0, self._window - in_flight)
        return 1 if now >= self.open_until and not in_flight else 0

    def succeeded(self) -> None:
        """Note a success: it closes the breaker."""
        self._failures = 0
        self._window = min(MAX_IN_FLIGHT, self._window + 1)

    def failed(self, now: int, *, timed_out: bool) -> None:
        """Note a failure; the tenth in a row and each after it open the breaker for 30 s from now."""
        self._failures += 1
        if timed_out:
            self._window = max(1, self._window // 2)
        if self.tripped:
            self.open_until = now + BREAKER_OPEN_MS
