"""The directory of one process: finds, activates and passivates actors by kind and key."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from operator import attrgetter
from time import monotonic
from typing import Any, TypeVar

from actors.errors import Overloaded
from actors.runtime.actor import NOT_NOW, Actor
from actors.runtime.directory import ASK_TIMEOUT_S, ActorStatus, Inspected, Kind
from actors.runtime.future import AsyncFuture, Deadlines, once_all_done
from actors.runtime.lifecycle import LIVE, State
from actors.runtime.mailbox import Ask, Envelope, MessageContext, Tell
from actors.runtime.notices import Announced, Notice, Posting, Reload, ReloadConcerning, Told
from actors.runtime.recent import shown

R = TypeVar("R")
T = TypeVar("T", bound=Tell)

IDLE_S = 300.0
"""Seconds without a message after which an actor is passivated."""
MAX_ACTIVE = 200_000
"""The number of live actors above which the longest idle are passivated, however recently used."""

CLOSE_S = 1.0
"""Seconds that a close waits for stopped actors to end, after its grace time."""

log = logging.getLogger("parley.directory")


class LocalDirectory:
    """A `Directory` of this process.

    At most one actor of a key is live: a new incarnation handles nothing until its predecessor is gone and all the
    predecessor's units are answered. Messages in between wait in the new one's mailbox.
    """

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        *,
        idle_s: float = IDLE_S,
        max_active: int = MAX_ACTIVE,
    ) -> None:
        self._kinds = kinds
        self._user_holders = frozenset(kind for kind, made in kinds.items() if made.holds_users)
        self._agent_holders = frozenset(kind for kind, made in kinds.items() if made.holds_agents)
        self._name_holders = frozenset(kind for kind, made in kinds.items() if made.holds_names)
        self._actors: dict[tuple[str, str], Actor] = {}
        self._leaving: dict[tuple[str, str], Actor] = {}  # retired, with units still open
        self._listeners: dict[type[Tell], list[Callable[[Any], Awaitable[None] | None]]] = {}
        self._idle_s = idle_s
        self._max_active = max_active
        self._deadlines = Deadlines()
        self._closing = False
        self._making_room: asyncio.Task[None] | None = None
        self._activations = 0

    # the Directory interface

    async def ask(
        self,
        kind: str,
        key: str,
        message: Ask[R],
        *,
        timeout: float = ASK_TIMEOUT_S,
        request_id: str = "",
        context: MessageContext | None = None,
    ) -> R:
        """Send a message and wait for its answer; see `Directory.ask`."""
        actor = self._actors.get((kind, key)) or self._activate(kind, key)
        answer = actor.ask_now(message, context)
        if answer is NOT_NOW:
            actor = self._actors.get((kind, key)) or self._activate(kind, key)  # messages ahead may have ended it
            queued: AsyncFuture[R] = AsyncFuture()
            deadline = monotonic() + timeout
            actor.deliver(Envelope(message, queued, deadline, request_id, context))
            return await self._deadlines.wait(queued, deadline)
        if isinstance(answer, AsyncFuture):
            pending: AsyncFuture[R] = answer  # pyright: ignore[reportUnknownVariableType]
            return pending.get() if pending.done() else await self._deadlines.wait(pending, monotonic() + timeout)
        return answer

    def ask_inline(self, kind: str, key: str, message: Ask[R]) -> R | None:
        """Ask in this very step if the actor is free; see `Directory.ask_inline`."""
        actor = self._actors.get((kind, key))
        return None if actor is None else actor.answer_inline(message)

    def name_for(self, kind: str, key: str, user_id: str) -> str | None:
        """Return the stored name of a user's own entity; see `Directory.name_for`."""
        actor = self._actors.get((kind, key))
        return None if actor is None or actor.life is not LIVE else actor.name_for(user_id)

    def serves(self, key: str) -> bool:
        """Return True, because all actors are here; see `Directory.serves`."""
        return True

    def elsewhere(self, kind: str, key: str) -> str | None:
        """Return None, because all actors are here; see `Directory.elsewhere`."""
        return None

    def tell(self, kind: str, key: str, message: Tell) -> None:
        """Send a message to an actor if it is live; see `Directory.tell`."""
        self._tell_here(kind, key, message)

    def _tell_here(self, kind: str, key: str, message: Tell) -> None:
        actor = self._actors.get((kind, key))
        if actor is None:
            if self._closing or not self._kinds[kind].started_by_tells:
                return
            actor = self._activate(kind, key)
        try:
            actor.deliver(Envelope(message))
        except Overloaded:
            # It missed a message; a new incarnation will read the store.
            actor.fail(Overloaded("its mailbox was full"))

    def prepare(self, notices: Sequence[Notice]) -> Posting | None:
        """Return None, because all actors are here; see `Directory.prepare`."""
        return None

    async def announce(self, notices: Sequence[Notice]) -> None:
        """Deliver notices that no actor's unit has; see `Directory.announce`."""
        under_way = self.deliver(notices)
        if under_way is not None:
            await under_way

    def listen(self, message_type: type[T], listener: Callable[[T], Awaitable[None] | None]) -> None:
        """Call `listener` with what is announced; see `Directory.listen`."""
        self._listeners.setdefault(message_type, []).append(listener)

    def deliver(self, notices: Iterable[Notice]) -> AsyncFuture[None] | None:
        """Deliver the notices of a unit that was stored; see `Directory.deliver`."""
        slow: list[Awaitable[None]] = []
        for notice in notices:
            match notice:
                case Told(kind, key, message):
                    self._tell_here(kind, key, message)
                case Reload(kind, keys, parts):
                    self._reload(kind, keys, parts)
                case ReloadConcerning(id, kinds, but, is_agent, is_name):
                    holders = self._agent_holders if is_agent else self._user_holders
                    if is_name:
                        holders = self._name_holders
                    self._reload_concerning(id, kinds or holders, but)
                case Announced(message):
                    heard = [listener(message) for listener in self._listeners.get(type(message), ())]
                    slow += [one for one in heard if one is not None]
        return once_all_done(slow) if slow else None

    def _reload(self, kind: str, keys: Iterable[str], parts: Sequence[str]) -> None:
        for key in keys:
            actor = self._actors.get((kind, key))
            if actor is None or (parts and actor.life is LIVE and actor.reloads_only(parts)):
                continue
            actor.retire()

    def _reload_concerning(self, id: str, kinds: Collection[str], but: str) -> None:
        """Stop actors that need their rows of this id; one that is loading starts over, as it may read old rows."""
        for actor in list(self._actors.values()):
            if actor.kind not in kinds or actor.key == but:
                continue
            if actor.life is State.STARTING or (actor.concerns(id) and not actor.goes_on_without(id)):
                actor.retire()

    # life

    def _activate(self, kind: str, key: str, waiting: Iterable[Envelope] = ()) -> Actor:
        if self._closing:
            raise Overloaded("The gateway is stopping; try again in a few seconds.", retry_after=5)
        actor = self._kinds[kind].make(key)
        for envelope in waiting:
            actor.deliver(envelope)
        self._actors[kind, key] = actor
        self._activations += 1
        if len(self._actors) > self._max_active and self._making_room is None:
            self._making_room = asyncio.create_task(self._make_room())
        actor.begin(self._leaving.get((kind, key)), self._retired, self)
        return actor

    def _retired(self, actor: Actor, leftovers: list[Envelope]) -> None:
        """Replace a retired actor, remember it until it is gone, and route its unhandled messages again."""
        address = (actor.kind, actor.key)
        if self._actors.get(address) is actor:
            del self._actors[address]
        self._leaving[address] = actor

        def gone(_: AsyncFuture[None]) -> None:
            if self._leaving.get(address) is actor:
                del self._leaving[address]

        actor.stopped.then(gone)
        if leftovers:
            try:
                self._activate(*address, leftovers)
            except Overloaded as error:
                for envelope in leftovers:
                    envelope.fail(error)

    async def passivate_idle(self) -> int:
        """Stop actors that were idle too long, and the longest idle above the cap; return their number.

        Looks at a thousand actors at a time; only above the cap are all sorted in one step.
        """
        now = monotonic()
        before = now - self._idle_s
        excess = len(self._actors) - self._max_active
        if excess > 0:
            ages = sorted(actor.active_at for actor in self._actors.values())
            # a tenth more than needed, so that the next activation doesn't start over
            before = max(before, ages[min(excess + self._max_active // 10, len(ages) - 1)])
        stopped = 0
        for count, actor in enumerate(list(self._actors.values()), start=1):
            if actor.active_at < before and actor.idle:
                actor.retire()
                stopped += 1
            if count % 1_000 == 0:
                await asyncio.sleep(0)
        return stopped

    async def _make_room(self) -> None:
        try:
            await self.passivate_idle()
        finally:
            self._making_room = None

    async def sweep(self) -> None:
        """Passivate idle actors until cancelled; run it as a task."""
        while True:
            await asyncio.sleep(min(self._idle_s / 4, 15.0))
            stopped = await self.passivate_idle()
            if stopped:
                log.debug("passivated %d idle actors, %d stay", stopped, len(self._actors))

    async def close(self, grace_s: float) -> int:
        """Let mailboxes run empty for up to `grace_s` seconds, then stop all; return the number of unfinished ones."""
        deadline = monotonic() + grace_s
        while self._open() and monotonic() < deadline:
            await asyncio.sleep(0.01)
        unfinished = len(self._open())
        self._closing = True
        for actor in list(self._actors.values()):
            actor.retire()
        while self._leaving and monotonic() < deadline + CLOSE_S:
            await asyncio.sleep(0.01)
        return unfinished

    def _open(self) -> list[Actor]:
        return [actor for actor in self._actors.values() if not actor.idle] + list(self._leaving.values())

    # for maintainers

    @property
    def activations(self) -> int:
        """Actors activated since the start."""
        return self._activations

    def __len__(self) -> int:
        return len(self._actors)

    def count_by_kind(self) -> dict[str, int]:
        """Count live actors per kind."""
        counts = dict.fromkeys(self._kinds, 0)
        for kind, _ in self._actors:
            counts[kind] += 1
        return counts

    def statuses(self, kind: str | None = None) -> Iterator[ActorStatus]:
        """Describe every live actor, or those of one kind."""
        now = monotonic()
        for actor in list(self._actors.values()):
            if kind is None or actor.kind == kind:
                yield _status(actor, now)

    async def fullest(self, count: int) -> list[ActorStatus]:
        """Describe the actors with the fullest mailboxes, looking at a thousand at a time."""
        found: list[Actor] = []
        actors = list(self._actors.values())
        for start in range(0, len(actors), 1_000):
            if start:
                await asyncio.sleep(0)
            found += [actor for actor in actors[start : start + 1_000] if actor.waiting]
        now = monotonic()
        return [_status(actor, now) for actor in nlargest(count, found, key=attrgetter("waiting"))]

    def inspect(self, kind: str, key: str) -> Inspected | None:
        """Describe one live actor with its state and last messages; never activates one."""
        actor = self._actors.get((kind, key))
        if actor is None:
            return None
        return Inspected(_status(actor, monotonic()), actor.snapshot(), shown(actor.recent))


def _status(actor: Actor, now: float) -> ActorStatus:
    life = "engaged" if actor.life is State.LIVE and actor.engaged else actor.life.value
    return ActorStatus(
        kind=actor.kind,
        key=actor.key,
        name=actor.title,
        life=life,
        mailbox=actor.waiting,
        handled=actor.handled,
        age_s=round(now - actor.started_at, 3),
        idle_s=round(now - actor.active_at, 3),
        incarnation=actor.incarnation,
    )
