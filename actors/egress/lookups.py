"""Look-ups of names in a bounded number of threads, shared so that slow names of one user delay no other user.

The system's resolver blocks its thread until the name server answers, or for tens of seconds if it does not, and
nothing can end it early. The loop's own executor has few threads (uvloop's four).
"""

import asyncio
import ipaddress
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import NamedTuple

SLOTS = 64
"""The number of look-ups at a time, without overdue ones."""

PER_USER = 4
"""The number of look-ups of one user at a time, overdue ones included."""

OVERDUE_S = 5.0
"""A look-up that takes longer gives its slot to others; its user's share stays taken until it ends."""

MOST_THREADS = 256
"""The number of look-ups at a time in total, overdue ones included."""

REMEMBERED_S = 10.0
"""Seconds that addresses are cached; failures are not."""

MOST_REMEMBERED = 1_024


class Found(NamedTuple):
    """An address of a name."""

    family: int
    protocol: int
    address: str


Ask = Callable[[str, int], list[Found]]
"""Looks up the addresses of a name and family, blocking; raises OSError if there are none."""


def system_addresses(host: str, family: int) -> list[Found]:
    """Ask the system's resolver for the addresses of a name that this machine can use.

    Raises:
        OSError: there are none.
        UnicodeError: it can't be a name.
    """
    answers = socket.getaddrinfo(host, None, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    found: list[Found] = []
    for family_, _, protocol, _, address in answers:
        ip = str(address[0])
        if family_ == socket.AF_INET6 and len(address) == 4 and address[3]:
            ip = f"{ip.partition('%')[0]}%{address[3]}"
        found.append(Found(family_, protocol, ip))
    return found


def _literal(host: str) -> Found | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    return Found(family, socket.IPPROTO_TCP, host)


_Key = tuple[str, int]  # the name and the family


@dataclass(slots=True, eq=False)
class _Lookup:
    user: str
    key: _Key
    ended: "asyncio.Future[list[Found] | Exception]"
    waiters: int = 0
    begun: bool = False
    overdue: bool = False


@dataclass(slots=True)
class _Share:
    """The look-ups of one user, under way and waiting."""

    running: int = 0
    in_turn: bool = False
    waiting: deque[_Lookup] = field(default_factory=deque["_Lookup"])


class Lookups:
    """Looks names up, taking turns by user; used on one event loop only.

    Args:
        ask: looks a name up, blocking.
        slots: look-ups at a time that are not overdue.
        per_user: look-ups of one user at a time.
        overdue_s: seconds after which a look-up gives its slot to others.
        most_threads: look-ups at a time in total.
        remembered_s: seconds that addresses are cached.
    """

    def __init__(
        self,
        ask: Ask = system_addresses,
        *,
        slots: int = SLOTS,
        per_user: int = PER_USER,
        overdue_s: float = OVERDUE_S,
        most_threads: int = MOST_THREADS,
        remembered_s: float = REMEMBERED_S,
    ) -> None:
        self._ask = ask
        self._slots = slots
        self._per_user = per_user
        self._overdue_s = overdue_s
        self._threads = most_threads
        self._remembered_s = remembered_s
        self._shares: dict[str, _Share] = {}
        self._turns: deque[str] = deque()
        self._asked: dict[tuple[str, _Key], _Lookup] = {}
        self._known: dict[_Key, tuple[float, list[Found]]] = {}

    async def addresses(self, user: str, host: str, family: int = socket.AF_UNSPEC) -> list[Found]:
        """Return the addresses of a name, or an address as it is; the caller sets the time-out.

        Only requests of the same user share a look-up, because in another user's queue it could wait for slow names.

        Raises:
            OSError: there are none.
            UnicodeError: it can't be a name.
        """
        if (literal := _literal(host)) is not None:
            return [literal]
        key = (host, family)
        known = self._known.get(key)
        if known is not None and known[0] > monotonic():
            return known[1]
        lookup = self._asked.get((user, key)) or self._line_up(user, key)
        lookup.waiters += 1
        try:
            ended = await asyncio.shield(lookup.ended)
        finally:
            lookup.waiters -= 1
            if not lookup.waiters and not lookup.begun:
                self._leave(lookup)
        if isinstance(ended, Exception):
            raise ended
        return ended

    def _line_up(self, user: str, key: _Key) -> _Lookup:
        lookup = self._asked[user, key] = _Lookup(user, key, asyncio.get_running_loop().create_future())
        share = self._shares.setdefault(user, _Share())
        share.waiting.append(lookup)
        self._give_turn(user, share)
        self._go_on()
        return lookup

    def _leave(self, lookup: _Lookup) -> None:
        """Remove a queued look-up that nobody waits for any more."""
        share = self._shares[lookup.user]
        share.waiting.remove(lookup)
        del self._asked[lookup.user, lookup.key]
        self._forget_if_idle(lookup.user, share)

    def _give_turn(self, user: str, share: _Share) -> None:
        if share.waiting and share.running < self._per_user and not share.in_turn:
            share.in_turn = True
            self._turns.append(user)

    def _go_on(self) -> None:
        """Begin look-ups while there are free slots, one of each user in turn."""
        while self._slots > 0 and self._threads > 0 and self._turns:
            user = self._turns.popleft()
            share = self._shares[user]
            share.in_turn = False
            if share.waiting:  # else its look-ups have left the queue
                self._begin(share, share.waiting.popleft())
                self._give_turn(user, share)

    def _begin(self, share: _Share, lookup: _Lookup) -> None:
        lookup.begun = True
        share.running += 1
        self._slots -= 1
        self._threads -= 1
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._overdue_s, self._is_overdue, lookup)
        ended = partial(self._ended, lookup, timer)

        def run() -> None:
            try:
                result = self._ask(*lookup.key)
            except Exception as raised:
                result = raised
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(ended, result)

        try:
            # A daemon thread each: a look-up that hangs must not keep a stopped process alive or delay the next one.
            threading.Thread(target=run, name="dns", daemon=True).start()
        except RuntimeError as error:  # the system has no thread to spare
            loop.call_soon(ended, OSError(str(error)))

    def _is_overdue(self, lookup: _Lookup) -> None:
        lookup.overdue = True
        self._slots += 1
        self._go_on()

    def _ended(self, lookup: _Lookup, timer: asyncio.TimerHandle, result: list[Found] | Exception) -> None:
        timer.cancel()
        if not lookup.overdue:
            self._slots += 1
        self._threads += 1
        share = self._shares[lookup.user]
        share.running -= 1
        del self._asked[lookup.user, lookup.key]
        if not isinstance(result, Exception):
            self._remember(lookup.key, result)
        lookup.ended.set_result(result)
        self._give_turn(lookup.user, share)
        self._forget_if_idle(lookup.user, share)
        self._go_on()

    def _remember(self, key: _Key, found: list[Found]) -> None:
        self._known.pop(key, None)
        self._known[key] = (monotonic() + self._remembered_s, found)
        if len(self._known) > MOST_REMEMBERED:
            del self._known[next(iter(self._known))]  # the oldest

    def _forget_if_idle(self, user: str, share: _Share) -> None:
        if not share.running and not share.waiting:
            if share.in_turn:
                self._turns.remove(user)
            del self._shares[user]
