"""The room for messages of a domain that wait for engines: one user can't keep all others out."""

import asyncio
from collections import Counter

from actors.errors import Overloaded

MOST = 32
"""The number of messages of one domain that may wait for engines in tasks."""

ALWAYS = 4
"""The number that each user may have waiting all the same."""


class Room:
    """Counts the messages of one domain that wait for engines, and refuses more at once."""

    __slots__ = ("_of_users", "_taken")

    def __init__(self) -> None:
        self._of_users = Counter[str]()
        self._taken = 0

    def require(self, user_id: str) -> None:
        """Refuse a message for which there is no room.

        Raises:
            Overloaded: too many messages wait already, also of the user's.
        """
        if self._taken >= MOST and self._of_users[user_id] >= ALWAYS:
            raise Overloaded("Too many messages wait for replies in this domain already; try again in a second.")

    def take(self, user_id: str, work: asyncio.Task[None]) -> None:
        """Count a message of a user until the work on it has ended."""
        self._of_users[user_id] += 1
        self._taken += 1
        work.add_done_callback(lambda _: self._leave(user_id))

    def _leave(self, user_id: str) -> None:
        self._taken -= 1
        self._of_users[user_id] -= 1
        if not self._of_users[user_id]:
            del self._of_users[user_id]
