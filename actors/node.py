"""This process as a node of the cluster: its lease, its post, and the parts that its core takes from it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Self

from actors.domains.cluster_feed import ClusterFeed
from actors.domains.streams import Streams
from actors.ids import number_as
from actors.runtime.cluster.changes import ClusterChanges
from actors.runtime.cluster.directory import ClusterDirectory
from actors.runtime.cluster.nats_post import NatsPost
from actors.runtime.cluster.ownership import Ownership
from actors.runtime.cluster.places import Traffic
from actors.runtime.cluster.post import Post
from actors.runtime.cluster.shards import ShardMap
from actors.runtime.directory import Kind
from actors.runtime.placement import OwnedPlacement
from actors.users.attempts import PasswordAttempts
from actors.users.attempts_of_nodes import share_failures
from persistence.ledger import Ledger, NodeRow
from persistence.store import Store

PROTOCOL = 1
"""The version of what nodes send each other; live nodes' versions differ by at most one."""


MAP = "map"
"""The topic on which a node says that it has changed the owners of shards, so that the others look at once."""


class ClusterNode:
    """A node that has joined: `directory` and `feed` for its core, then `start`; `hand_over` and `leave` at the end."""

    traffic: Traffic | None = None
    """Its requests to others, once it serves."""

    def __init__(self, row: NodeRow, ownership: Ownership, post: Post) -> None:
        self.row = row
        self.ownership = ownership
        self.post = post
        self.placement = OwnedPlacement(ownership, row.number)
        self._tasks: list[asyncio.Task[None]] = []
        self._feed: ClusterFeed | None = None
        self._owners = ownership.map.owners
        ownership.on_change.append(self._map_changed)

    @classmethod
    async def join(cls, ledger: Ledger, lease_s: float, nats_url: str, name: str, version: str, catalogs: str) -> Self:
        """Join the cluster; the node serves nothing until `start`.

        Raises:
            NotAdmitted, StoreLocked: the cluster can't have this node.
            StoreError: the database can't be used.
        """
        ownership = Ownership(ledger, lease_s)
        row = await ownership.join(name, version, PROTOCOL, catalogs)
        number_as(row.number)
        return cls(row, ownership, NatsPost(nats_url))

    def directory(self, store: Store, idle_s: float) -> Callable[[Mapping[str, Kind]], ClusterDirectory]:
        """Return the function that makes the directory over all nodes."""
        return lambda kinds: ClusterDirectory(kinds, self.ownership, self.post, store, idle_s=idle_s)

    def feed(self, store: Store) -> Callable[[Streams], ClusterFeed]:
        """Return the function that makes the feed to the streams' readers on all nodes."""

        def make(streams: Streams) -> ClusterFeed:
            self._feed = ClusterFeed(streams, self.ownership, self.post, store)
            return self._feed

        return make

    def changes(self) -> ClusterChanges:
        """Return the hints of changes over all nodes."""
        return ClusterChanges(self.ownership, self.post)

    def share_failures(self, attempts: PasswordAttempts) -> None:
        """Count failed log-ons on all nodes together."""
        share_failures(attempts, self.post, self.ownership.node)

    async def start(self) -> None:
        """Serve: requests of other nodes, and shards.

        Raises:
            ConnectionError: NATS can't be reached, or its settings don't fit.
            LedgerUnavailable: the database does not answer.
        """
        await self.post.start(self.ownership.node)
        self.post.follow(MAP, lambda _: self.ownership.look_soon())
        await self.ownership.start()
        if self._feed is not None:
            self._tasks.append(asyncio.create_task(self._feed.keep_up(), name="feed"))

    def _map_changed(self, new: ShardMap) -> None:
        """Tell the others of a change of this node's shards; else they learn of it half a second later."""
        me, before, self._owners = self.ownership.node, self._owners, new.owners
        if any((old == me) != (now == me) for old, now in zip(before, new.owners, strict=True)):
            self.post.publish(MAP, b"")

    async def hand_over(self) -> None:
        """Give all shards to the other nodes, if there are any, while this one still passes requests on to them."""
        if any(not row.draining for node, row in self.ownership.nodes.items() if node != self.ownership.node):
            await self.ownership.drain()

    async def leave(self) -> None:
        """Leave the cluster: this process stores and answers nothing any more."""
        for task in self._tasks:
            task.cancel()
        await self.ownership.leave()
        await self.post.close()
