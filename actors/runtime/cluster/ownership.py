"""A node's place in its cluster: its lease, the map of shards, and the moves of shards from and to it.

Safety rests on three rules (docs/cluster.md). A node serves a shard only while the map names it as the owner and its
lease is valid by its own clock. A shard leaves a live node only by that node itself, once its actors have stopped.
A dead node's shards are given away only after its fence has fallen, so it commits nothing after that.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from actors.runtime.cluster.hand_overs import HandOvers
from actors.runtime.cluster.lease import Lease, boottime
from actors.runtime.cluster.planning import expired, misplaced, unclaimed, wanted, without_live_owner
from actors.runtime.cluster.shards import SHARDS, ShardMap, shard_of
from actors.runtime.future import AsyncFuture
from persistence.ledger import Beat, Ledger, LedgerUnavailable, NodeEnded, NodeRow, NotAdmitted, NoticeRow, patiently

T = TypeVar("T")

BEATS = 6
"""The number of heartbeats in a lease."""

RETRY_S = 0.1
"""The pause after a failure of the ledger, in seconds, or less for a short lease."""

MAX_OFFSET_MS = 2_000
"""How much this machine's clock and the ledger's may differ: days of quotas and ends of sessions depend on them."""

FORGET_BEATS = 20
"""The number of heartbeats between two deletions of notices that all have seen."""

DECLARED_DEAD = "this node was declared dead, because its lease had expired"
LEFT = "this node has left"
LOST_COMMITS = "the database has lost changes of shards that were acknowledged"

log = logging.getLogger("parley.cluster")


def _tell(calls: Sequence[Callable[[T], None]], what: T) -> None:
    """Call all, also after one that fails: what they are told does not come again."""
    for call in calls:
        try:
            call(what)
        except Exception:
            log.exception("a change in the cluster was not taken in")


async def _nothing_to_drain(_: Collection[int]) -> None:
    return


class Ownership:
    """This node in the cluster. `join`, then `start` once it can serve; `drain` and `leave` at the end.

    Args:
        ledger: where leases and owners are.
        ttl_s: the length of a lease, in seconds, the same on all nodes.
        clock: a monotonic time in seconds that goes on while the machine is suspended.

    Attributes:
        node: the id of this node, once it has joined.
        map: the owners of the shards as far as this node knows; it may be late for others' shards.
        nodes: the live nodes by their ids.
        seen: the place of the last notice that was acted on.
        on_change: called with each new map.
        on_dead: called with the id of each node that has died or left.
        on_notices: called with new notices, in order; those of this node are among them, and those that it still acts
            on come again. Returns the future that resolves once it has acted on them, or None if it has.
        on_over: called once with the reason when this node may serve and store no more: the process must end.
        drained: stops the actors of shards, and returns when all their units are settled.
    """

    def __init__(self, ledger: Ledger, ttl_s: float = 3.0, clock: Callable[[], float] = boottime) -> None:
        self.node = ""
        self.map = ShardMap((None,) * SHARDS, (0,) * SHARDS, 0)
        self.nodes: Mapping[str, NodeRow] = {}
        self.leaving = HandOvers(clock)
        self.seen = 0
        self.on_change: list[Callable[[ShardMap], None]] = []
        self.on_dead: list[Callable[[str], None]] = []
        self.on_notices: Callable[[Sequence[NoticeRow]], AsyncFuture[None] | None] = lambda _: None
        self.on_over: Callable[[str], None] = lambda _: None
        self.drained: Callable[[Collection[int]], Awaitable[None]] = _nothing_to_drain
        self._ledger = ledger
        self._lease = Lease(ttl_s, clock)
        self._retry_s = min(RETRY_S, ttl_s / 2 / BEATS)
        self._mine = [False] * SHARDS
        self._over: str | None = None
        self._is_leaving = False
        self._joined = 0.0
        self._epochs_of_last_beat: tuple[int, ...] = (0,) * SHARDS
        self._beating = asyncio.Lock()
        self._look, self._changed = asyncio.Event(), asyncio.Event()
        self._work: list[asyncio.Task[None]] = []

    @property
    def valid(self) -> bool:
        """Whether the lease is valid now, so that this node may answer."""
        return self._lease.valid

    @property
    def draining(self) -> bool:
        """Whether this node is about to leave, or has to end."""
        return self._is_leaving or self._over is not None

    @property
    def over(self) -> str | None:
        """The reason why this node may serve no more; None while it may."""
        return self._over

    @property
    def lease_s(self) -> float:
        """The rest of the lease, in seconds; negative or infinite once it has lapsed."""
        return self._lease.deadline - self._lease.clock()

    def owner(self, key: str) -> str | None:
        """Return the node that owns an actor's shard, or None."""
        return self.map.owners[shard_of(key)]

    def is_mine(self, key: str) -> bool:
        """Return whether this node may run an actor now: it owns the shard, keeps it, and its lease is valid."""
        return self._mine[shard_of(key)] and self._lease.clock() < self._lease.deadline

    async def join(self, name: str, version: str, protocol: int, catalogs: str) -> NodeRow:
        """Join the cluster, as a node that takes no shards until `start`, and hold a lease from now on.

        Raises:
            NotAdmitted: the cluster can't have this node, or this machine's clock is wrong.
            StoreLocked: a gateway that is no node has the database.
            LedgerUnavailable: the database does not answer.
        """
        row = await self._ledger.join(name, version, protocol, catalogs)
        self.node, self.seen, self._joined = row.id, row.seen, self._lease.clock()
        try:
            offset_ms = (await patiently(self._beat)).clock_offset_ms
            if abs(offset_ms) > MAX_OFFSET_MS:
                raise NotAdmitted(
                    f"this machine's clock is {offset_ms / 1000:+.1f} s off the database's, and may be up to"
                    f" {MAX_OFFSET_MS // 1000} s: set both by NTP"
                )
        except BaseException:
            with suppress(LedgerUnavailable):
                await self._ledger.leave()
            raise
        self._work.append(asyncio.create_task(self._keep_beating(), name="heartbeat"))
        return row

    async def start(self) -> None:
        """Take part: claim shards without an owner, be given others, take over from the dead.

        Beside other nodes this is at the earliest a lease after `join`: whoever then has a valid lease knows this node,
        and so tells it what changes under its actors before it answers.

        Raises:
            LedgerUnavailable: the database does not answer.
        """
        if any(row.expires_in_ms >= 0 for row in self.nodes.values() if row.id != self.node):
            await asyncio.sleep(self._joined + self._lease.ttl_s - self._lease.clock())
        await patiently(lambda: self._ledger.set_draining(False))
        await patiently(self._beat)
        await patiently(self._settle_once)
        self._work.append(asyncio.create_task(self._keep_settled(), name="ownership"))

    def look_soon(self) -> None:
        """Have a heartbeat now, because another node may have changed the map or written notices."""
        self._look.set()

    async def drain(self, timeout_s: float = 30.0) -> None:
        """Give all shards to other nodes, or to none if there are none, and take no more.

        Shards that are not handed over after `timeout_s` seconds stay until `leave`.
        """
        self._is_leaving = True
        if self._over is None:
            with suppress(LedgerUnavailable, TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._ledger.set_draining(True)
                    while self.node in self.map.owners and self._over is None:
                        self._changed.set()
                        await asyncio.sleep(self._retry_s)

    async def leave(self, timeout_s: float = 30.0) -> None:
        """Give all shards away as `drain` does, and end this node.

        Shards that are not handed over after `timeout_s` seconds are left without an owner, and whatever this process
        still commits is refused.
        """
        await self.drain(timeout_s)
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._stop_serving()
        if self._over is None:
            self._over = LEFT
            with suppress(LedgerUnavailable):
                await self._ledger.leave()
        await self._ledger.close()

    def end(self, reason: str) -> None:
        """Stop serving for good, at once: another node may have the shards. Also called when the writer is fenced."""
        if self._over is None:
            self._over = reason
            log.critical("%s: this node serves nothing any more", reason)
            self._stop_serving()
            self.on_over(reason)

    def _stop_serving(self) -> None:
        self._lease.end()
        self._mine = [False] * SHARDS

    async def _keep_beating(self) -> None:
        loop = asyncio.get_running_loop()
        is_reached, beats = True, 0
        while self._over is None:
            began = loop.time()
            try:
                found = await self._beat()
                beats += 1
                if beats % FORGET_BEATS == 0 and self.map.owners[0] == self.node and not found.notices:
                    await self._ledger.forget_notices()
                if not is_reached:
                    log.info("the ledger can be reached again")
                is_reached, pause_s = True, self._lease.ttl_s / BEATS
            except LedgerUnavailable as error:
                if is_reached:
                    log.error("a heartbeat failed: %s", error)
                is_reached, pause_s = False, self._retry_s
            except Exception:
                log.exception("a heartbeat failed")
                pause_s = self._retry_s
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, began + pause_s - loop.time())):
                    await self._look.wait()
            self._look.clear()

    async def _beat(self) -> Beat:
        """Renew the lease and take in what others have changed.

        Raises:
            LedgerUnavailable: the ledger does not answer.
        """
        async with self._beating:
            sent = self._lease.clock()
            beat = await self._ledger.beat(self.seen)
            if self._over is not None:
                raise NodeEnded(self._over)
            if not beat.held:
                self.end(DECLARED_DEAD)
                raise NodeEnded(DECLARED_DEAD)
            if any(now < before for now, before in zip(beat.epochs, self._epochs_of_last_beat, strict=True)):
                self.end(LOST_COMMITS)
                raise NodeEnded(LOST_COMMITS)
            self._epochs_of_last_beat = beat.epochs
            self._lease.renewed(sent)
            self._take_in(beat)
            return beat

    def _take_in(self, beat: Beat) -> None:
        if abs(beat.clock_offset_ms) > MAX_OFFSET_MS:
            log.error("this machine's clock is %+.1f s off the database's", beat.clock_offset_ms / 1000)
        gone = self.nodes.keys() - {row.id for row in beat.nodes}
        self.nodes = {row.id: row for row in beat.nodes}
        if beat.epochs != self.map.epochs:
            self.map = ShardMap(beat.owners, beat.epochs, sum(beat.epochs))
            self._find_mine()
            _tell(self.on_change, self.map)
        for node in gone:
            log.info("the node %s has gone", node)
            _tell(self.on_dead, node)
        if beat.notices:
            place, under_way = beat.notices[-1].place, self.on_notices(beat.notices)
            if under_way is None:
                self._have_seen(place)
            else:
                under_way.then(lambda _: self._have_seen(place))
        self._changed.set()

    def _have_seen(self, place: int) -> None:
        self.seen = max(self.seen, place)
        self._look.set()  # others may wait until this node has seen them, and there may be more

    def _find_mine(self) -> None:
        self._mine = [owner == self.node and shard not in self.leaving for shard, owner in enumerate(self.map.owners)]

    async def _keep_settled(self) -> None:
        while self._over is None:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._settle_once()
            except Exception as error:
                trace = None if isinstance(error, LedgerUnavailable) else error
                log.warning("shards could not be moved: %s", error, exc_info=trace)
                await asyncio.sleep(self._retry_s)
                self._changed.set()

    async def _settle_once(self) -> None:
        """Do what the last heartbeat calls for."""
        if self._lease.held_for_ttl and not self._is_leaving:
            for dead in {*expired(self.nodes.values()), *without_live_owner(self.map.owners, self.nodes)}:
                await self._take_over(dead)
        places = self._places()
        if shards := unclaimed(self.node, self.map.owners, places):
            await self._ledger.claim(shards)
            await self._beat()
        plan = misplaced(self.node, self.map.owners, self._places())
        for to, shards in await self.leaving.portions(plan, stopping=self._is_leaving):
            await self._hand_over(shards, to)

    def _places(self) -> tuple[str | None, ...]:
        return wanted([row for row in self.nodes.values() if not (self._is_leaving and row.id == self.node)])

    async def _take_over(self, dead: str) -> None:
        others = [row for row in self.nodes.values() if row.id != dead]
        places = dict(enumerate(wanted(others)))
        shards = [shard for shard, owner in enumerate(self.map.owners) if owner == dead]
        if await self._ledger.take_over(dead, {shard: places[shard] or self.node for shard in shards}):
            log.warning("the node %s is dead; its %d shards have other owners now", dead, len(shards))
            await self._beat()

    async def _hand_over(self, shards: Sequence[int], to: str | None) -> None:
        """Stop the actors of shards of this node, and give them to another one.

        Until the ledger has told how it ended, in a heartbeat after it, nobody serves the shards.
        """
        self.leaving.wait("actors", shards)
        self._find_mine()
        try:
            await self.drained(shards)
        except BaseException:
            self._keep(shards)  # the ledger has not heard of it
            raise
        self.leaving.wait("ledger", shards)
        while self._over is None:
            try:
                await self._ledger.hand_over(shards, to)
                await self._beat()
                break
            except LedgerUnavailable:
                await asyncio.sleep(self._retry_s)
        self._keep(shards)

    def _keep(self, shards: Sequence[int]) -> None:
        """End a hand-over; this node goes on with the shards that the map still names it the owner of."""
        self.leaving.end(shards)
        if self._over is None:
            self._find_mine()
