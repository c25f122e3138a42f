"""The directory: finds the one live actor of a (kind, key), activates it on demand, passivates it when idle.

`Directory` is the seam: `LocalDirectory` keeps every actor in this process, a cluster's will know where each lives.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol, TypeVar

from actors.errors import Overloaded
from actors.runtime.actor import NOT_NOW, Actor, Ask, AsyncFuture, Deadlines, Envelope, MessageContext, State, Tell

R = TypeVar("R")

ASK_TIMEOUT_S = 30.0
IDLE_S = 300.0
"""An actor that handled nothing for so long is passivated."""
MAX_ACTIVE = 200_000
"""Above this many, the longest idle are passivated first, however short their idling."""

CLOSE_S = 1.0
"""How long a close waits for stopped actors to let go, after its grace time."""

log = logging.getLogger("parley.directory")


@dataclass(frozen=True, slots=True)
class ActorStatus:
    """What maintainers see of a live actor; times in seconds."""

    kind: str
    key: str
    name: str | None
    life: str
    mailbox: int
    handled: int
    age_s: float
    idle_s: float
    incarnation: int


class Directory(Protocol):
    """How everything reaches an actor, wherever it lives."""

    async def ask(
        self,
        kind: str,
        key: str,
        message: Ask[R],
        *,
        timeout: float = ASK_TIMEOUT_S,
        request_id: str = "",
        aside: MessageContext | None = None,
    ) -> R:
        """Send a message and wait for its answer.

        `timeout` is in seconds; `aside` is what goes along with the message.

        Raises:
            ServiceError: what the actor answered, or Overloaded: a full mailbox, or no answer in time.
        """
        ...

    def ask_inline(self, kind: str, key: str, message: Ask[R]) -> R | Awaitable[R]:
        """Ask an actor that is here and has nothing to do, in this very step, where `ask` takes a coroutine.

        Returns the answer, or what to await for it.

        Raises:
            ServiceError: what the actor answered.
        """
        ...

    def tell(self, kind: str, key: str, message: Tell) -> None:
        """Send a message to an actor if it is live; one that is not will read the store when it starts."""
        ...

    def evict(self, kind: str, keys: Iterable[str]) -> None:
        """Stop actors whose rows were changed under them; the next ask loads the rows anew."""
        ...

    def evict_concerning(self, kind: str, user_id: str, *, but: str = "") -> None:
        """Stop the actors of a kind that hold rows of this user's, but the one of the key `but`."""
        ...


class LocalDirectory:
    """A `Directory` of this process.

    At most one actor of a key is live: a new incarnation handles nothing before the one before it is gone, with
    every unit of its answered. Messages that come in between wait in the new one's mailbox.
    """

    def __init__(
        self,
        factories: Mapping[str, Callable[[str], Actor]],
        *,
        idle_s: float = IDLE_S,
        max_active: int = MAX_ACTIVE,
    ) -> None:
        self._factories = factories
        self._actors: dict[tuple[str, str], Actor] = {}
        self._leaving: dict[tuple[str, str], Actor] = {}  # retired, with units still open
        self._idle_s = idle_s
        self._max_active = max_active
        self._deadlines = Deadlines()
        self._closing = False
        self._making_room: asyncio.Task[None] | None = None
        self.activations = 0

    # the Directory interface

    async def ask(
        self,
        kind: str,
        key: str,
        message: Ask[R],
        *,
        timeout: float = ASK_TIMEOUT_S,
        request_id: str = "",
        aside: MessageContext | None = None,
    ) -> R:
        """Send a message and wait for its answer; see `Directory.ask`."""
        actor = self._actors.get((kind, key)) or self._activate(kind, key)
        answer = actor.ask_now(message, aside)
        if answer is NOT_NOW:
            actor = self._actors.get((kind, key)) or self._activate(kind, key)  # what was ahead may have ended it
            queued = AsyncFuture[R]()
            deadline = monotonic() + timeout
            actor.deliver(Envelope(message, queued, deadline, request_id, aside))
            return await self._deadlines.wait(queued, deadline)
        if isinstance(answer, AsyncFuture):
            pending: AsyncFuture[R] = answer  # pyright: ignore[reportUnknownVariableType]
            return pending.get() if pending.done() else await self._deadlines.wait(pending, monotonic() + timeout)
        return answer

    def ask_inline(self, kind: str, key: str, message: Ask[R]) -> R | Awaitable[R]:
        """Ask an actor in this very step, where that can be; see `Directory.ask_inline`."""
        actor = self._actors.get((kind, key))
        answer = NOT_NOW if actor is None else actor.ask_now(message, None)
        return self.ask(kind, key, message) if answer is NOT_NOW else answer

    def tell(self, kind: str, key: str, message: Tell) -> None:
        """Send a message to an actor if it is live; see `Directory.tell`."""
        actor = self._actors.get((kind, key))
        if actor is None:
            return
        try:
            actor.deliver(Envelope(message))
        except Overloaded:
            # It missed what happened; a new incarnation will read it from the store.
            actor.fail(Overloaded("its mailbox was full"))

    def evict(self, kind: str, keys: Iterable[str]) -> None:
        """Stop actors whose rows were changed under them; see `Directory.evict`."""
        for key in keys:
            actor = self._actors.get((kind, key))
            if actor is not None:
                actor.retire()

    def evict_concerning(self, kind: str, user_id: str, *, but: str = "") -> None:
        """Stop the actors of a kind that hold rows of this user's; see `Directory.evict_concerning`.

        One that is still loading may be reading the old rows, so it starts over too.
        """
        for actor in list(self._actors.values()):
            if actor.kind == kind and actor.key != but and (actor.life is State.STARTING or actor.concerns(user_id)):
                actor.retire()

    # life

    def _activate(self, kind: str, key: str, waiting: Iterable[Envelope] = ()) -> Actor:
        if self._closing:
            raise Overloaded("The gateway is stopping; try again in a few seconds.", retry_after=5)
        actor = self._factories[kind](key)
        for envelope in waiting:
            actor.deliver(envelope)
        self._actors[kind, key] = actor
        self.activations += 1
        if len(self._actors) > self._max_active and self._making_room is None:
            self._making_room = asyncio.create_task(self._make_room())
        actor.begin(self._leaving.get((kind, key)), self._retired)
        return actor

    def _retired(self, actor: Actor, leftovers: list[Envelope]) -> None:
        """Take a retired actor out, remember it until it is gone, and route its unhandled messages anew."""
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
        """Stop every actor that idled for too long, and the longest idle ones above the cap; return how many.

        Looks at a thousand of the actors at a time; only above the cap are all sorted by their idleness in one step.
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
        await self.passivate_idle()
        self._making_room = None

    async def sweep(self) -> None:
        """Passivate idle actors for ever; run it as a task."""
        while True:
            await asyncio.sleep(min(self._idle_s / 4, 15.0))
            stopped = await self.passivate_idle()
            if stopped:
                log.debug("passivated %d idle actors, %d stay", stopped, len(self._actors))

    async def close(self, grace_s: float) -> int:
        """Let every mailbox run empty for up to `grace_s` seconds, then stop all; return how many were not done."""
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

    def __len__(self) -> int:
        return len(self._actors)

    def count_by_kind(self) -> dict[str, int]:
        """Count live actors per kind."""
        counts = dict.fromkeys(self._factories, 0)
        for kind, _ in self._actors:
            counts[kind] += 1
        return counts

    def statuses(self, kind: str | None = None) -> Iterator[ActorStatus]:
        """Describe every live actor, or those of one kind."""
        now = monotonic()
        for actor in list(self._actors.values()):
            if kind is None or actor.kind == kind:
                yield _status(actor, now)

    def inspect(self, kind: str, key: str) -> tuple[ActorStatus, dict[str, Any]] | None:
        """Describe one live actor with its state; never activates one."""
        actor = self._actors.get((kind, key))
        if actor is None:
            return None
        return _status(actor, monotonic()), actor.snapshot()


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
