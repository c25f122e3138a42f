"""Throttles: limits on events and failed attempts per key in a sliding window, and on work per key at a time."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from actors.errors import Overloaded, TooManyAttempts
from persistence.store import StoreUnavailable


class Throttle:
    """Allows `limit` events per key in any `window_s` seconds; a limit of 0 allows all.

    `clock` returns seconds that never go back: setting the machine's time must not open a window or keep it closed.
    Keys without an event for a whole window are forgotten; up to `max_keys` are remembered, and the oldest go first.
    """

    def __init__(self, limit: int, window_s: float, clock: Callable[[], float], *, max_keys: int = 100_000) -> None:
        self.limit = limit
        self._window_s = window_s
        self._clock = clock
        self._max_keys = max_keys
        self._events: OrderedDict[str, deque[float]] = OrderedDict()

    def check(self, key: str, note: str) -> None:
        """Refuse when the key's window is full.

        Raises:
            TooManyAttempts: with the seconds until the oldest event leaves the window.
        """
        events = self._recent(key)
        if self.limit and events is not None and len(events) >= self.limit:
            wait_s = events[0] + self._window_s - self._clock()
            raise TooManyAttempts(note, retry_after=max(1, int(wait_s) + 1))

    def record(self, key: str) -> float:
        """Count one event of the key; return its time."""
        now = self._clock()
        if not self.limit:
            return now
        events = self._recent(key)
        if events is None:
            events = self._events[key] = deque(maxlen=self.limit)
        events.append(now)
        self._events.move_to_end(key)
        while len(self._events) > self._max_keys:
            self._events.popitem(last=False)
        self._forget_quiet()
        return now

    def take(self, key: str, note: str) -> float:
        """Check, then count, in one step; return the time of the event.

        Raises:
            TooManyAttempts: the key's window is full.
        """
        self.check(key, note)
        return self.record(key)

    @contextmanager
    def taken(self, key: str, note: str) -> Generator[None]:
        """Count the work within as one event, unless the gateway has no room for it or can't store it.

        Raises:
            TooManyAttempts: the key's window is full.
        """
        at = self.take(key, note)
        try:
            yield
        except (Overloaded, StoreUnavailable):
            events = self._recent(key)
            if events and at in events:
                events.remove(at)
            raise

    def count(self, key: str) -> int:
        """Count the key's events in the window."""
        return len(self._recent(key) or ())

    def _recent(self, key: str) -> deque[float] | None:
        events = self._events.get(key)
        if events is None:
            return None
        start = self._clock() - self._window_s
        while events and events[0] <= start:
            events.popleft()
        return events

    def _forget_quiet(self) -> None:
        """Drop keys whose last event left the window; the first in order has been quiet for longest."""
        start = self._clock() - self._window_s
        while self._events:
            key, events = next(iter(self._events.items()))
            if events and events[-1] > start:
                return
            del self._events[key]


class AttemptLimiter:
    """Limits failed attempts per key. Concurrent attempts never exceed the failures still allowed; the rest wait.

    Attempts that would succeed thus wait instead of being refused, up to `waiting` for each key. `at_once` lets fewer
    run at a time.
    """

    def __init__(self, failures: Throttle, *, at_once: int | None = None, waiting: int = 64) -> None:
        self._failures = failures
        self._at_once = failures.limit if at_once is None else at_once
        self._max_waiting = waiting
        self._under_way: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[bool]]] = {}

    @asynccontextmanager
    async def one(self, key: str, note: str) -> AsyncGenerator[None]:
        """Make one attempt; the caller reports a failure with `failed`.

        Raises:
            TooManyAttempts: too many failed already.
            Overloaded: too many wait already.
        """
        while True:
            self._failures.check(key, note)
            if key not in self._waiting and self._has_room(key):
                self._under_way[key] = self._under_way.get(key, 0) + 1
                break
            if await self._turn(key):
                break
        try:
            yield
        finally:
            self._end(key)

    def failed(self, key: str) -> None:
        """Count a failed attempt."""
        self._failures.record(key)

    def _has_room(self, key: str) -> bool:
        under_way = self._under_way.get(key, 0)
        return under_way < min(self._at_once, self._failures.limit - self._failures.count(key))

    async def _turn(self, key: str) -> bool:
        """Wait; return True with the slot of an attempt that has ended, False where the caller must look again."""
        queue = self._waiting.setdefault(key, deque())
        if len(queue) >= self._max_waiting:
            raise Overloaded("Too many log-ons of this user or from this address at once; try again in a second.")
        turn = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                if turn.result():
                    self._end(key)
            elif turn in queue:
                queue.remove(turn)
                if not queue and self._waiting.get(key) is queue:
                    del self._waiting[key]
            raise

    def _end(self, key: str) -> None:
        """End an attempt, and hand its slot to one that waits, as far as the limit allows."""
        self._under_way[key] -= 1
        queue = self._waiting.get(key, deque())
        while queue:
            full = self._failures.count(key) >= self._failures.limit  # then those that wait look again, and are refused
            if not full and not self._has_room(key):
                break
            turn = queue.popleft()
            if not turn.done():
                self._under_way[key] += not full
                turn.set_result(not full)
        if not queue:
            self._waiting.pop(key, None)
        if not self._under_way[key]:
            del self._under_way[key]


class CountedLock(asyncio.Lock):
    """A lock that lets a limited number wait for it."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most, self._waiting = most, 0

    async def acquire_or_refuse(self, refusal: Exception) -> None:
        """Acquire the lock; raise the refusal if too many wait for it already."""
        if self._waiting >= self._most:
            raise refusal
        self._waiting += 1
        try:
            await self.acquire()
        finally:
            self._waiting -= 1


class AtOnce:
    """Lets a few works of each key run at a time; the rest wait in order, and keep no other key's waiting."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._of_keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def one(self, key: str) -> AsyncGenerator[None]:
        """Do one work, after those of the key that came before."""
        turn = self._of_keys.setdefault(key, asyncio.Semaphore(self._most))
        async with turn:
            yield


class Shares:
    """Counts the work of each key at a time, so that none takes all the room: how much more there may be."""

    __slots__ = ("_always", "_most", "_most_of_key", "_of_keys", "_taken")

    def __init__(self, most: int, most_of_key: int, always: int) -> None:
        """Make room for works.

        Args:
            most: the number of works of all keys.
            most_of_key: the number of each key's among them.
            always: the number that each key may have although there are `most`.
        """
        self._most, self._most_of_key, self._always = most, most_of_key, always
        self._of_keys = Counter[str]()
        self._taken = 0

    def has_room(self, key: str) -> bool:
        """Return whether the key may have one more."""
        return self._of_keys[key] < (self._most_of_key if self._taken < self._most else self._always)

    @property
    def without_room(self) -> list[str]:
        """The keys that may have no more."""
        return [key for key in self._of_keys if not self.has_room(key)]

    def take(self, key: str) -> None:
        """Count one more of a key."""
        self._of_keys[key] += 1
        self._taken += 1

    def leave(self, key: str) -> None:
        """Count one less."""
        self._taken -= 1
        self._of_keys[key] -= 1
        if not self._of_keys[key]:
            del self._of_keys[key]
