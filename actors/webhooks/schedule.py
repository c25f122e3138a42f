"""The schedule of attempts: retries with jitter, Retry-After, and an endpoint's circuit breaker; pure decisions."""

import math
from collections.abc import Callable, Sequence

from actors.wire import http_date_s

MAX_RETRY_AFTER_S = 10 * 3600
JITTER = 0.2
BREAKER_FAILURES = 10
BREAKER_OPEN_MS = 30_000
LONGEST_OPEN_MS = 60_000
"""The longest time that nothing is done for an endpoint; a later end is from before the clock was set back."""
MAX_IN_FLIGHT = 16
"""The largest number of attempts of one endpoint under way."""
MAX_OPEN = 32
"""The largest number of deliveries of one endpoint without a stored outcome, which a SIGKILL may repeat."""
FIRST_IN_FLIGHT = 4
"""The number of attempts that a new endpoint may have under way, so that a hanging receiver holds few connections."""
GIVE_UP_MS = 5 * 86_400 * 1000
"""The time without a successful attempt after which an endpoint is disabled."""


class RetrySchedule:
    """The waits between attempts.

    Args:
        delays_s: seconds to wait after the first, second, ... failed attempt; one more failure exhausts a delivery.
        random: returns a number from 0 to 1, for the jitter.
    """

    def __init__(self, delays_s: Sequence[float], random: Callable[[], float]) -> None:
        self._delays_s = tuple(delays_s)
        self._random = random

    def wait_ms(self, failed: int, retry_after_s: float | None) -> int | None:
        """Return the wait after this number of failed attempts, or None after the last attempt.

        A receiver's Retry-After lengthens the wait, never shortens it.
        """
        if failed > len(self._delays_s):
            return None
        wait_s = self._delays_s[failed - 1] * (1 - JITTER + 2 * JITTER * self._random())
        if retry_after_s is not None:
            wait_s = max(wait_s, min(retry_after_s, MAX_RETRY_AFTER_S))
        return round(wait_s * 1000)


def asked_wait_s(status: int | None, retry_after: str | None, now: int) -> float | None:
    """Return the seconds that a receiver asks to wait, by a Retry-After with 429 or 503; None if it asks nothing.

    `now` is in ms since the epoch.
    """
    return retry_after_s(retry_after, now) if status in (429, 503) else None


def retry_after_s(value: str | None, now: int) -> float | None:
    """Read a Retry-After header, as seconds or as a date (RFC 9110, 10.2.3); None if there is no valid one.

    `now` is in ms since the epoch.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    at = http_date_s(text)
    return None if at is None else max(0.0, math.ceil(at - now / 1000))


class Breaker:
    """Limits the attempts of an endpoint under way: few at first, one after many failures in a row."""

    __slots__ = ("_failures", "_window", "open_until")

    def __init__(self) -> None:
        self._failures = 0
        self._window = FIRST_IN_FLIGHT
        self.open_until = 0
        """The time before which nothing is done for the endpoint, in ms since the epoch."""

    @property
    def failures(self) -> int:
        """The number of failures since the last success."""
        return self._failures

    @property
    def tripped(self) -> bool:
        """Whether the breaker is open, or waits for the outcome of its probe."""
        return self._failures >= BREAKER_FAILURES

    def is_open(self, now: int) -> bool:
        """Return whether nothing is done for the endpoint now."""
        return now < self.open_until <= now + LONGEST_OPEN_MS

    def room(self, in_flight: int, now: int) -> int:
        """Return the number of attempts that may begin now, in addition to those under way."""
        if not self.tripped:
            return max(0, self._window - in_flight)
        return 0 if in_flight or self.is_open(now) else 1

    def succeeded(self) -> None:
        """Note a success, which closes the breaker."""
        self._failures = self.open_until = 0
        self._window = min(MAX_IN_FLIGHT, self._window + 1)

    def failed(self, now: int, *, timed_out: bool) -> None:
        """Note a failure; the tenth in a row and each after it open the breaker for 30 s from now."""
        self._failures += 1
        if timed_out:
            self._window = max(1, self._window // 2)
        if self.tripped:
            self.open_until = now + BREAKER_OPEN_MS
