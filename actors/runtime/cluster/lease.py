"""This node's lease as the node itself may rely on it: shorter than the ledger grants it."""

import time
from collections.abc import Callable

SHARE = 0.8
"""The part of a lease that its node relies on, so clocks may run differently by up to a fifth."""


def boottime() -> float:
    """Return the seconds since the machine's start; the time in which it was suspended counts."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Lease:
    """A lease, valid until `SHARE` of its length after the moment before the last successful renewal was sent.

    A renewal that succeeds after the lease has lapsed makes it valid again, and what the node has in memory is still
    right: the ledger renews only for a node that nobody has declared dead, and before that nobody gets its shards. So
    nobody else can have committed for its actors in between. Only the node itself could have, and it forgot nothing.
    """

    def __init__(self, ttl_s: float, clock: Callable[[], float] = boottime) -> None:
        self.ttl_s = ttl_s
        self.clock = clock
        self.deadline = float("-inf")
        self._held_since = float("inf")

    @property
    def valid(self) -> bool:
        """Whether this node may answer now."""
        return self.clock() < self.deadline

    @property
    def held_for_ttl(self) -> bool:
        """Whether it has been valid for its whole length, so that others had as long to renew theirs."""
        now = self.clock()
        return now < self.deadline and now - self._held_since >= self.ttl_s

    def renewed(self, sent: float) -> None:
        """Note a renewal that succeeded, sent just after the time `sent`."""
        if sent >= self.deadline:
            self._held_since = sent
        self.deadline = sent + SHARE * self.ttl_s

    def end(self) -> None:
        """End it for good: `renewed` is not called any more."""
        self.deadline = float("-inf")
