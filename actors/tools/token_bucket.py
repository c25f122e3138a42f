"""A token bucket: bursts up to its size, then a steady rate."""

from actors.tools.limits import Flooded


class TokenBucket:
    """Paces what a tool server sends: beyond a burst, so much a second and no more.

    Handling a message takes a step of the gateway's only loop, so a server that floods is read slowly, and its pipe or
    socket fills up. One that goes on with it is cut off.
    """

    def __init__(self, rate: float, burst: float, most: float) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._debt = 0.0
        self._since = 0.0
        self._sum = 0.0

    def took(self, amount: float, now: float) -> float:
        """Count what came in, `now` in seconds; return how many seconds to wait before reading on.

        Raises:
            Flooded: it is more than the most that may come between two calls.
        """
        self._sum += amount
        if self._sum > self._most:
            raise Flooded("it sent too much")
        self._debt = max(0.0, self._debt - (now - self._since) * self._rate) + amount
        self._since = now
        return max(0.0, (self._debt - self._burst) / self._rate)

    def restart(self) -> None:
        """Begin a new sum: a call begins, which may take many messages."""
        self._sum = 0.0
