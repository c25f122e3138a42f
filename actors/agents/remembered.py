"""A bounded memory of users' things for some time; each user has a share, so that none displaces all of others'."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_OF_USER = 32
"""The number of things that are remembered of one user."""

MOST = 1_024
"""The same of all users; beyond it, the user's who was given one longest ago are forgotten first."""


class Remembered(Generic[T]):
    """Things by their users and ids, the newest of each user, for some time."""

    __slots__ = ("_clock", "_count", "_of_users", "_time")

    def __init__(self, clock: Callable[[], float], time: float) -> None:
        """Remember things for some time, in the unit of the clock."""
        self._clock = clock
        self._time = time
        self._of_users: OrderedDict[str, OrderedDict[str, tuple[T, float]]] = OrderedDict()  # last given, last
        self._count = 0

    def add(self, user_id: str, id: str, value: T) -> None:
        """Remember a thing, and forget those for which there is no room or no time left."""
        self.forget(user_id, id)
        until = self._clock() + self._time
        self._of_users.setdefault(user_id, OrderedDict())[id] = value, until
        self._of_users.move_to_end(user_id)
        self._count += 1
        if len(self._of_users[user_id]) > MOST_OF_USER:
            self._forget_oldest(user_id)
        while self._count > MOST or self._oldest() < self._clock():
            self._forget_oldest(next(iter(self._of_users)))

    def get(self, user_id: str, id: str) -> T | None:
        """Return a user's thing, if it is still remembered."""
        of_user = self._of_users.get(user_id)
        found = None if of_user is None else of_user.get(id)
        return found[0] if found is not None and self._clock() <= found[1] else None

    def forget(self, user_id: str, id: str) -> None:
        """Forget a thing that counts no more."""
        of_user = self._of_users.get(user_id)
        if of_user is not None and of_user.pop(id, None) is not None:
            self._left(user_id, of_user)

    def _oldest(self) -> float:
        """The time until which the oldest thing of the user who was given one longest ago is remembered."""
        of_user = next(iter(self._of_users.values()))
        return next(iter(of_user.values()))[1]

    def _forget_oldest(self, user_id: str) -> None:
        of_user = self._of_users[user_id]
        of_user.popitem(last=False)
        self._left(user_id, of_user)

    def _left(self, user_id: str, of_user: OrderedDict[str, tuple[T, float]]) -> None:
        self._count -= 1
        if not of_user:
            del self._of_users[user_id]
