"""The room in memory for statements that left the windows of conversations and zones, shared by all of a process."""

MAX_WHOLE = 50_000
"""The largest number of indexed statements of a conversation in use that are in memory, so that it needs no look-up.

These are about 140,000 messages of everyday talk, because questions and most replies state nothing and take no room.
"""

MAX_KEPT = 1_600
"""The number that stay in memory, the newest ones, of a conversation that has more, or where not all have room."""

MAX_KEPT_IN_ALL = 200_000
"""The number of all conversations of this process together; a long one counts once more for each 250 characters."""

FOR_OTHERS = 50_000
"""The part of this that conversations with more than `MAX_KEPT` leave to the others."""


class _InAll:
    weight = 0


class Room:
    """The room that the statements of one conversation or zone take, until it is gone."""

    __slots__ = ("_taken",)

    def __init__(self) -> None:
        self._taken = 0

    def __del__(self) -> None:
        _InAll.weight -= self._taken

    def take(self, weight: int) -> None:
        """Take so much in all, more or less than before."""
        _InAll.weight += weight - self._taken
        self._taken = weight

    @property
    def left(self) -> int:
        """The room that the others leave; < 0 if they have too much."""
        return MAX_KEPT_IN_ALL - _InAll.weight + self._taken

    def holds_whole(self, count: int, weight: int) -> bool:
        """Return whether there is room for all statements of a conversation, more than `MAX_KEPT` of them."""
        return count <= MAX_WHOLE and weight <= self.left - FOR_OTHERS
