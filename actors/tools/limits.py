"""Bounds of tool servers: what one may take of the gateway, in processes, bytes, messages and seconds."""

from collections import Counter
from dataclasses import dataclass

from actors.errors import Overloaded, StateConflict

MAX_MESSAGE_BYTES = 1_048_576
"""One message of a tool server, and so one result or page of a tool list."""
MAX_OFFERS = 256
"""Tools of one server."""
MAX_OFFERS_BYTES = 524_288
"""All the tools of one server with their schemas, as JSON."""
MAX_SERVERS = 16
"""Tool servers that a user may install."""
MAX_CALLS = 16
"""Calls that one tool server works on at a time."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """What the operator allows; times in seconds.

    Args:
        processes: stdio servers that run at a time, in all.
        processes_per_user: those of one user.
        connect_timeout_s: from the start of a server until it has listed its tools.
        call_timeout_s: one call of a tool.
    """

    processes: int = 32
    processes_per_user: int = 4
    connect_timeout_s: float = 20.0
    call_timeout_s: float = 60.0


class ProcessSlots:
    """Counts the processes that run, so that no user and not all together have too many."""

    def __init__(self, limits: ToolLimits) -> None:
        self._limits = limits
        self._of_user: Counter[str] = Counter()

    def take(self, user_id: str) -> None:
        """Take a slot for a process about to start.

        Raises:
            StateConflict: the user has as many processes as it may.
            Overloaded: the gateway has.
        """
        limits = self._limits
        if self._of_user[user_id] >= limits.processes_per_user:
            raise StateConflict(
                f"Of your tool servers {limits.processes_per_user} run as processes already, the most that may; "
                "one that is idle ends after five minutes, or at once when you remove it."
            )
        if self._of_user.total() >= limits.processes:
            raise Overloaded(
                f"The gateway runs {limits.processes} tool servers already, the most that it may; try again later.",
                retry_after=30,
            )
        self._of_user[user_id] += 1

    def give_back(self, user_id: str) -> None:
        """Give the slot of a process back that has ended."""
        self._of_user[user_id] -= 1
        if not self._of_user[user_id]:
            del self._of_user[user_id]

    @property
    def taken(self) -> int:
        """How many processes run."""
        return self._of_user.total()


class Flow:
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


class Flooded(Exception):
    """A tool server sent more than anyone asked for."""
