"""The directory of one node of several: its own actors are here, all others are reached by post."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import Protocol, TypeVar

from actors.errors import Overloaded, ServiceError
from actors.runtime.actor import Actor
from actors.runtime.cluster.hand_overs import HandOvers
from actors.runtime.cluster.map_changes import MapChanges
from actors.runtime.cluster.notices import NodeNotices, Nodes
from actors.runtime.cluster.post import Lost, NotReached, Post
from actors.runtime.cluster.shards import ShardMap, shard_of
from actors.runtime.cluster.wire import (
    Unreadable,
    decode_ask,
    decode_reply,
    encode_ask,
    encode_error,
    encode_reply,
    raise_error,
    unresolved,
)
from actors.runtime.directory import ASK_TIMEOUT_S, Kind, NotOwner
from actors.runtime.future import LATE
from actors.runtime.local_directory import IDLE_S, MAX_ACTIVE, LocalDirectory
from actors.runtime.mailbox import Ask, Envelope, MessageContext, Tell
from actors.runtime.notices import Notice, Posting, Told
from persistence.store import Store, Unit

R = TypeVar("R")

ASK = "ask"
"""The subject of asks to other nodes."""

PATIENCE_S = 8.0
"""How long an ask waits for an owner that can be reached: a fail-over takes half of this, in seconds."""

PAUSE_S = 0.1
"""The longest pause between two tries, in seconds; a change of the map ends it."""

DRAIN_S = 3.0
"""How long actors of a shard that moves may finish what they do, in seconds; their callers wait meanwhile."""

WORK_S = 7.0
"""The same for work that somebody waits for, in seconds: less than the patience of the other callers."""

log = logging.getLogger("parley.cluster")

_REPLY, _ERROR = b"r", b"e"
_TAG = slice(0, 1)
_REST = slice(1, None)
_AT_ONCE = 1_000
"""The number of actors that a walk over all of them looks at in one step."""


class Owners(Nodes, Protocol):
    """The part of `Ownership` that the directory uses."""

    leaving: HandOvers
    on_change: list[Callable[[ShardMap], None]]
    on_dead: list[Callable[[str], None]]
    drained: Callable[[Collection[int]], Awaitable[None]]

    @property
    def valid(self) -> bool:
        """Whether this node holds its lease now."""
        ...

    def owner(self, key: str) -> str | None:
        """Return the node that owns the shard of a key."""
        ...


class ClusterDirectory(LocalDirectory):
    """A `Directory` over several nodes.

    An actor is served by the owner of its shard only, and only while that node's lease is valid: this is looked at when
    a message reaches the actor and again when its answer leaves, so a message that waited in between is covered too.
    An ask that finds no owner, or one that can't be reached, waits for the map to change.
    """

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        owners: Owners,
        post: Post,
        store: Store,
        *,
        idle_s: float = IDLE_S,
        max_active: int = MAX_ACTIVE,
    ) -> None:
        """Serve the requests of other nodes; to be called before `post` starts."""
        super().__init__(kinds, idle_s=idle_s, max_active=max_active)
        self._owners = owners
        self._post = post
        self._store = store
        self._notices = NodeNotices(owners, post, self.deliver)
        self._map_changes = MapChanges(owners.on_change)
        owners.on_dead.append(post.lose)
        owners.drained = self.drained
        owners.leaving.at_work = self.shards_at_work
        post.serve(ASK, self._serve_ask)

    # where actors are

    def serves(self, key: str) -> bool:
        """Return whether this node owns a key, keeps it, and holds its lease; see `Directory.serves`."""
        return self._owners.is_mine(key)

    def elsewhere(self, kind: str, key: str) -> str | None:
        """Return the other node that owns an actor; see `Directory.elsewhere`."""
        owner = self._owners.owner(key)
        return None if owner == self._owners.node else owner

    async def owner_of(self, key: str) -> str:
        """Return the node that owns a key, this one included; wait for one where there is none.

        Raises:
            Overloaded: there is still none after `PATIENCE_S`.
        """
        until = monotonic() + PATIENCE_S
        while (owner := self._owners.owner(key)) is None:
            await self.moved(until)
        return owner

    async def moved(self, until: float) -> None:
        """Wait for the map to change, for up to `PAUSE_S`.

        Raises:
            Overloaded: the time `until` (of `time.monotonic`) has come.
        """
        if monotonic() >= until:
            raise Overloaded("The node that serves this can't be reached; try again in a few seconds.", retry_after=2)
        await self._map_changes.next(PAUSE_S)

    # asks

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
        """Send a message to an actor wherever it is, and wait for its answer; see `Directory.ask`.

        Raises:
            NotOwner: another node owns the actor, but the message carries what can't leave this process.
        """
        owners, until = self._owners, monotonic() + PATIENCE_S
        while True:
            try:
                if owners.is_mine(key):
                    return await self._ask_here(kind, key, message, timeout, request_id, context)
                if not owners.valid:
                    raise no_lease()
                owner = self.elsewhere(kind, key)
                if owner is not None:
                    if message.local or (context is not None and context.receipt is not None):
                        raise moved_away()
                    return await self._ask_there(owner, kind, key, message, timeout)
            except NotReached:
                pass
            await self.moved(until)

    async def _ask_here(
        self, kind: str, key: str, message: Ask[R], timeout: float, request_id: str, context: MessageContext | None
    ) -> R:
        """Ask an actor of this node.

        Raises:
            NotReached: its shard left this node before the message was handled.
            ServiceError: the actor's error, or Overloaded.
        """
        try:
            reply = await super().ask(kind, key, message, timeout=timeout, request_id=request_id, context=context)
        except NotOwner as error:
            raise NotReached from error
        except ServiceError:
            self._require_lease()
            raise
        self._require_lease()
        return reply

    def _require_lease(self) -> None:
        """Refuse to answer without a lease, because another node may have the actor by now."""
        if not self._owners.valid:
            raise Overloaded(
                "This node of the gateway lost its lease meanwhile; the command may have been carried out, so look "
                "before you send it again."
            )

    async def _ask_there(self, node: str, kind: str, key: str, message: Ask[R], timeout: float) -> R:
        try:
            frame = await self._post.call(node, ASK, encode_ask(kind, key, message), timeout_s=timeout)
        except Lost:
            raise Overloaded(LATE) from None
        if frame[_TAG] == _ERROR:
            raise_error(frame[_REST])
        return decode_reply(type(message), frame[_REST])

    async def _serve_ask(self, body: bytes) -> AsyncIterator[bytes]:
        """Answer another node's ask, if the actor is here."""
        try:
            kind, key, message = decode_ask(body)
        except Unreadable as error:
            log.error("another node's message can't be read here: %s", error)
            raise NotReached from None
        if not self._owners.is_mine(key):
            raise NotReached
        try:
            reply = await self._ask_here(kind, key, message, ASK_TIMEOUT_S, "", None)
            for future in unresolved(reply):
                await future
        except ServiceError as error:
            yield _ERROR + encode_error(error)
        else:
            yield _REPLY + encode_reply(type(message), reply)

    def name_for(self, kind: str, key: str, user_id: str) -> str | None:
        """Return the stored name of a user's own entity if this node owns it; see `Directory.name_for`."""
        return super().name_for(kind, key, user_id) if self._owners.is_mine(key) else None

    def ask_inline(self, kind: str, key: str, message: Ask[R]) -> R | None:
        """Ask in this very step if the actor is here and free; see `Directory.ask_inline`."""
        return super().ask_inline(kind, key, message) if self._owners.is_mine(key) else None

    # notices

    def tell(self, kind: str, key: str, message: Tell) -> None:
        """Send a message to a live actor wherever it is; a tell to another node may be lost, unlike a notice."""
        node = self.elsewhere(kind, key)
        if node is None:
            super().tell(kind, key, message)
        else:
            self._notices.hint(node, Told(kind, key, message))

    def _tell_here(self, kind: str, key: str, message: Tell) -> None:
        """Tell a live actor; start one only on the node that may run it, because a notice comes to every node."""
        if (kind, key) in self._actors or self._owners.is_mine(key):
            super()._tell_here(kind, key, message)

    def prepare(self, notices: Sequence[Notice]) -> Posting:
        """Prepare the notices of a unit for all nodes; see `Directory.prepare`."""
        return self._notices.prepare(notices)

    async def announce(self, notices: Sequence[Notice]) -> None:
        """Deliver notices that no actor's unit has, on all nodes; see `Directory.announce`."""
        posting = self.prepare(notices)
        try:
            if posting.writes:
                await self._store.commit(Unit(tuple(posting.writes)))
        except BaseException:
            posting.drop()
            raise
        under_way = posting.deliver()
        if under_way is not None:
            await under_way

    # shards that leave

    async def drained(self, shards: Collection[int], grace_s: float = DRAIN_S) -> None:
        """Stop the actors of shards that leave this node, and wait until all are gone and all units are settled.

        `Owners.is_mine` is false for them already, so no new one begins. What they are doing may end for `grace_s`
        seconds, and for `WORK_S` where somebody waits for it; messages that still wait then are refused as not begun.
        """
        leaving = [actor for actor in await self._all_actors() if shard_of(actor.key) in shards]
        for actor in leaving:
            actor.on_leaving()
        began, busy = monotonic(), leaving
        while busy := [
            actor
            for actor in busy
            if not (actor.idle or actor.stopping)
            and monotonic() - began < (max(grace_s, WORK_S) if actor.at_work else grace_s)
        ]:
            await asyncio.sleep(0.01)
        for actor in leaving:
            actor.retire()
        for (_, key), actor in list(self._leaving.items()):
            if shard_of(key) in shards:
                await actor.stopped
        await self._notices.all_settled()

    async def shards_at_work(self) -> set[int]:
        """Return the shards of the actors that are at work for somebody."""
        return {shard_of(actor.key) for actor in await self._all_actors() if actor.at_work}

    async def _all_actors(self) -> list[Actor]:
        """List the live actors, in steps that hold nobody up."""
        actors: list[Actor] = []
        for count, actor in enumerate(list(self._actors.values()), start=1):
            actors.append(actor)
            if count % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return actors

    def _retired(self, actor: Actor, leftovers: list[Envelope]) -> None:
        """Replace a retired actor, or refuse its messages where its shard is leaving."""
        if leftovers and not self._owners.is_mine(actor.key):
            for envelope in leftovers:
                envelope.fail(moved_away())
            leftovers = []
        super()._retired(actor, leftovers)


def no_lease() -> Overloaded:
    """Make the error of a node that has no lease; nothing was done."""
    return Overloaded("This node of the gateway has lost its lease; try again in a few seconds.", retry_after=2)


def moved_away() -> NotOwner:
    """Make the error for a message that must be carried out on another node."""
    return NotOwner("This moved to another node of the gateway meanwhile; try again.")
