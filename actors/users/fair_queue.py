"""A bounded queue that no sender can fill for others: lanes take turns, and the longest makes room."""

from collections import OrderedDict, deque
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class SenderLane(NamedTuple):
    """The sender of an item: a place (an address) and a user there; the user is '' for work without a user."""

    place: str
    user: str = ""


class FairQueue(Generic[T]):
    """Holds up to `room` items; places take turns, and in each place its users do.

    When it is full, an item of a shorter lane replaces the newest item of the longest lane. So a flood may use all the
    room while nobody else needs it, but only its share once others do.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._places: OrderedDict[str, OrderedDict[str, deque[T]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, lane: SenderLane, item: T) -> T | None:
        """Add an item; return the item that must leave: none, another one, or the item itself."""
        if self._count < self._room:
            self._append(lane, item)
            return None
        longest = self._longest(lane)
        if longest is None:
            return item
        evicted = self._places[longest.place][longest.user][-1]
        self.remove(longest, evicted)
        self._append(lane, item)
        return evicted

    def next(self) -> T | None:
        """Remove and return the item whose turn it is."""
        if not self._places:
            return None
        place, users = next(iter(self._places.items()))
        user, items = next(iter(users.items()))
        item = items[0]
        self._places.move_to_end(place)
        users.move_to_end(user)
        self.remove(SenderLane(place, user), item)
        return item

    def remove(self, lane: SenderLane, item: T) -> None:
        """Remove an item, if it is there."""
        users = self._places.get(lane.place, OrderedDict[str, deque[T]]())
        items = users.get(lane.user, deque[T]())
        if item not in items:
            return
        items.remove(item)
        self._count -= 1
        if not items:
            del users[lane.user]
        if not users:
            del self._places[lane.place]

    def _append(self, lane: SenderLane, item: T) -> None:
        self._places.setdefault(lane.place, OrderedDict()).setdefault(lane.user, deque()).append(item)
        self._count += 1

    def _longest(self, newcomer: SenderLane) -> SenderLane | None:
        """Find the lane that makes room: of another place with more items, else of another user of the same place."""
        sizes = {place: sum(map(len, users.values())) for place, users in self._places.items()}
        place = max(sizes, key=lambda name: sizes[name])
        if sizes[place] <= sizes.get(newcomer.place, 0) + 1:
            place = newcomer.place
        users = self._places.get(place, OrderedDict[str, deque[T]]())
        user = max(users, key=lambda name: len(users[name]), default=newcomer.user)
        if place == newcomer.place and len(users.get(user, ())) <= len(users.get(newcomer.user, ())) + 1:
            return None
        return SenderLane(place, user)
