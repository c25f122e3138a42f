"""Bounds of tool servers: what one may take of the gateway, in processes, bytes, messages and seconds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from actors.errors import Overloaded, StateConflict

MAX_MESSAGE_BYTES = 1_048_576
"""One message of a tool server, and so one result or page of a tool list."""
MAX_TOOLS = 256
"""Tools of one server."""
MAX_TOOLS_BYTES = 524_288
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


class Holder(Protocol):
    """A connection that holds a process."""

    @property
    def idle_since(self) -> float | None:
        """When it was used last, in seconds of `monotonic`; None while it is in use."""
        ...

    def give_way(self, why: str | None = None) -> None:
        """End the process."""
        ...


class ProcessSlots:
    """Counts the processes that run, so that no user and not all together have too many.

    Where there are, the one that idles longest gives way.
    """

    def __init__(self, limits: ToolLimits) -> None:
        self._limits = limits
        self._held: dict[Holder, str] = {}

    def make_room(self, user_id: str) -> None:
        """See that one more process of a user's may start.

        Raises:
            StateConflict: the user has as many as it may, and all are in use.
            Overloaded: the gateway has.
        """
        limits = self._limits
        own = [holder for holder, holder_s in self._held.items() if holder_s == user_id]
        if len(own) >= limits.processes_per_user and not self._end_idlest(own):
            raise StateConflict(
                f"Of your tool servers {limits.processes_per_user} are at work, the most that may be; try again when "
                "one is done."
            )
        if len(self._held) >= limits.processes and not self._end_idlest(self._held):
            raise Overloaded(
                f"The gateway has {limits.processes} tool servers at work, the most that may be; try again later.",
                retry_after=5,
            )

    def _end_idlest(self, holders: Iterable[Holder]) -> bool:
        idle = [(since, holder) for holder in holders if (since := holder.idle_since) is not None]
        if not idle:
            return False
        _, idlest = min(idle, key=lambda pair: pair[0])
        self.give_back(idlest)
        idlest.give_way()
        return True

    def hold(self, holder: Holder, user_id: str) -> None:
        """Count a process that starts."""
        self._held[holder] = user_id

    def give_back(self, holder: Holder) -> None:
        """Count it no more; it has ended, or is about to."""
        self._held.pop(holder, None)


class Flooded(Exception):
    """A tool server sent more than anyone asked for."""
