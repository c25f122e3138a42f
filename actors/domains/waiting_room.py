"""The room for messages of a domain that wait for engines: one user can't keep all others out."""

import asyncio

from actors.errors import Overloaded
from actors.throttle import Shares

MOST = 32
"""The number of messages of one domain that may wait for engines in tasks."""

ALWAYS = 4
"""The number that each user may have waiting all the same."""


class WaitingRoom:
    """Counts the messages of one domain that wait for engines, and refuses more at once."""

    __slots__ = ("_shares",)

    def __init__(self) -> None:
        self._shares = Shares(MOST, MOST, ALWAYS)

    def require(self, user_id: str) -> None:
        """Refuse a message for which there is no room.

        Raises:
            Overloaded: too many messages wait already, also of the user's.
        """
        if not self._shares.has_room(user_id):
            raise Overloaded("Too many messages wait for replies in this domain already; try again in a second.")

    def take(self, user_id: str, work: asyncio.Task[None]) -> None:
        """Count a message of a user until the work on it has ended."""
        self._shares.take(user_id)
        work.add_done_callback(lambda _: self._shares.leave(user_id))
