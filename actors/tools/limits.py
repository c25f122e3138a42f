"""The limits of tool servers: processes, bytes, messages and seconds."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from actors.errors import Overloaded, StateConflict

MAX_MESSAGE_BYTES = 1_048_576
"""The largest message of a tool server, and so the largest result or page of a tool list."""
MAX_VALUES = 20_000
"""The largest number of values in a message: of objects, lists, their members and elements."""
VALUES_OF_LINE = 50
"""The number of values that take as long as a line or message does without them."""
MAX_BLOCKS = 500
"""The largest number of content blocks in a result."""
MAX_TOOLS = 256
"""The largest number of tools of one server."""
MAX_TOOLS_BYTES = 524_288
"""The largest size of one server's tools with their schemas, as JSON."""
MAX_SERVERS = 16
"""The largest number of tool servers of one user."""
MAX_CALLS = 16
"""The number of calls that one tool server works on at once."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """The operator's limits; times in seconds.

    Args:
        processes: the number of stdio servers that run at once, in total.
        processes_per_user: the same for one user.
        connect_timeout_s: from the start of a server until its list of tools is there.
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
        """The time of its last use, in seconds of `monotonic`; None while it is in use."""
        ...

    def give_way(self, why: str | None = None) -> None:
        """End the process."""
        ...


class ProcessSlots:
    """Counts running processes, to limit those of one user and of all users together.

    At the limit, the process that has been idle for longest is ended.
    """

    def __init__(self, limits: ToolLimits) -> None:
        self._limits = limits
        self._held: dict[Holder, str] = {}

    def make_room(self, user_id: str) -> None:
        """Make room for one more process of a user.

        Raises:
            StateConflict: the user has the largest number allowed, and all are in use.
            Overloaded: the same holds for the gateway.
        """
        limits = self._limits
        own = [holder for holder, holder_s in self._held.items() if holder_s == user_id]
        if len(own) >= limits.processes_per_user and not self._end_idlest(own):
            raise StateConflict(
                f"All {limits.processes_per_user} of your tool servers are busy; try again when one finishes."
            )
        if len(self._held) >= limits.processes and not self._end_idlest(self._held):
            raise Overloaded(
                f"All {limits.processes} tool servers of the gateway are busy; try again later.",
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
        """Stop counting a process that has ended or is about to end."""
        self._held.pop(holder, None)
