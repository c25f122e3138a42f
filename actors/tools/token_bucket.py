"""A token bucket: bursts up to its size, then a steady rate."""

from actors.tools.limits import Flooded


class TokenBucket:
    """Limits the rate of a tool server's messages, beyond a burst.

    Handling a message takes a step of the gateway's only event loop, so a flooding server is read slowly, and its pipe
    or socket fills up. A server that continues is cut off.
    """

    def __init__(self, rate: float, burst: float, most: float) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._debt = 0.0
        self._since = 0.0
        self._sum = 0.0

    def took(self, amount: float, now: float) -> float:
        """Count received messages at `now`, in seconds; return the seconds to wait before reading on.

        Raises:
            Flooded: too much came between two calls.
        """
        self._sum += amount
        if self._sum > self._most:
            raise Flooded("it sent too much")
        self._debt = max(0.0, self._debt - (now - self._since) * self._rate) + amount
        self._since = now
        return max(0.0, (self._debt - self._burst) / self._rate)

    def restart(self) -> None:
        """Start a new sum, because a call begins, which may take many messages."""
        self._sum = 0.0
