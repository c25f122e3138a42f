"""Several nodes of one gateway in this process: their cores over one database, and who owns which shard.

The owners change only where a test says so; `actors/runtime/cluster/ownership.py` is the real thing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, cast

import aiohttp
from sanic import Sanic

from actors.core import Core, CoreOptions
from actors.domains.cluster_feed import ClusterFeed
from actors.engines.recall import RecallEngine
from actors.engines.turn import Engine
from actors.ids import Clock, new_id, system_clock
from actors.runtime.cluster.changes import ClusterChanges
from actors.runtime.cluster.directory import ClusterDirectory
from actors.runtime.cluster.hand_overs import HandOvers
from actors.runtime.cluster.places import Clustered, Traffic
from actors.runtime.cluster.shards import SHARDS, ShardMap, shard_of
from actors.runtime.future import AsyncFuture
from actors.runtime.placement import OwnedPlacement
from actors.sealing import Sealer
from actors.users.attempts_of_nodes import share_failures
from actors.users.passwords import PasswordHasher
from persistence import notices
from persistence.ledger import NoticeRow
from persistence.postgres.store import PostgresStore
from persistence.store import Store
from routes.app import App, HttpOptions, build_app
from routes.gateway.route import Route
from routes.http.access_log import AccessLog
from routes.listener import Listener
from tests.support.core import CHEAP
from tests.support.gateway import INTERNAL_SECRET, Client
from tests.support.loopback_post import LoopbackPost, Network
from tests.support.stores import database_for

BEAT_S = 0.1
"""Seconds between two heartbeats."""


@dataclass(slots=True)
class Standing:
    """What the others know of a node."""

    live: bool = True
    seen: int = 0


class Placed:
    """The owner of every shard, the same for all nodes, evenly spread at first."""

    def __init__(self, names: Sequence[str]) -> None:
        self.nodes = {name: Standing() for name in names}
        self.map = ShardMap(tuple(names[shard % len(names)] for shard in range(SHARDS)), (0,) * SHARDS, 1)
        self.of: dict[str, PlacedOwnership] = {}

    async def hand_over(self, shards: Collection[int], to: str) -> None:
        """Move shards of live nodes to another one, each after its owner has stopped their actors."""
        for name, ownership in self.of.items():
            mine = {shard for shard in shards if self.map.owners[shard] == name != to}
            if mine:
                ownership.leaving.wait("actors", mine)
                await ownership.drained(mine)
                self.assign(mine, to)
                ownership.leaving.end(mine)

    async def beat(self, ownership: "PlacedOwnership", store: Store) -> None:
        """Let a live node read notices as with its heartbeat, for ever."""
        me = self.nodes[ownership.node]
        while me.live:
            await asyncio.sleep(BEAT_S)
            if ownership.beats:
                found = await store.fetch(notices.notices_after(me.seen, 1000))
                under_way = ownership.on_notices(found)
                if under_way is not None:
                    await under_way
                me.seen = found[-1].place if found else me.seen

    def take_over(self, dead: str, to: str | None) -> None:
        """Declare a node dead, and give its shards to another; it finds out for itself only when a test says so."""
        self.nodes[dead].live = False
        self.assign({shard for shard in range(SHARDS) if self.map.owners[shard] == dead}, to)
        for name, ownership in self.of.items():
            if name != dead:
                for callback in ownership.on_dead:
                    callback(dead)

    def assign(self, shards: Collection[int], to: str | None) -> None:
        """Change the owner of shards, and tell every live node."""
        before = self.map
        self.map = ShardMap(
            tuple(to if shard in shards else owner for shard, owner in enumerate(before.owners)),
            tuple(epoch + (shard in shards) for shard, epoch in enumerate(before.epochs)),
            before.version + 1,
        )
        for name, ownership in self.of.items():
            if self.nodes[name].live:
                ownership.map = self.map
                for callback in list(ownership.on_change):
                    callback(self.map)


async def _nothing_to_drain(_: Collection[int]) -> None:
    pass


class PlacedOwnership:
    """One node's `Ownership`, whose lease is valid while a test says so."""

    def __init__(self, node: str, placed: Placed) -> None:
        self.node = node
        self.map = placed.map
        self.nodes = placed.nodes
        self.valid = True
        self.draining = False
        self.beats = True
        """Whether this node reads notices now."""
        self.leaving = HandOvers(monotonic)
        self.on_change: list[Callable[[ShardMap], None]] = []
        self.on_dead: list[Callable[[str], None]] = []
        self.on_over: Callable[[str], None] = lambda _: None
        self.on_notices: Callable[[Sequence[NoticeRow]], AsyncFuture[None] | None] = lambda _: None
        self.drained: Callable[[Collection[int]], Awaitable[None]] = _nothing_to_drain
        placed.of[node] = self

    def owner(self, key: str) -> str | None:
        """Return the node that owns the shard of a key."""
        return self.map.owner(key)

    def is_mine(self, key: str) -> bool:
        """Return whether this node may serve the actors of a key now."""
        return self.valid and self.map.owner(key) == self.node and shard_of(key) not in self.leaving


@dataclass(slots=True)
class Node:
    """One node: its core, its post, and what it owns."""

    name: str
    core: Core
    post: LoopbackPost
    ownership: PlacedOwnership
    directory: ClusterDirectory
    feed: ClusterFeed
    base: str = ""
    """The URL of its HTTP socket, if it has one."""
    traffic: Traffic | None = None


@dataclass(slots=True)
class Nodes:
    """The nodes by name (`node0`, `node1` ...), their network and the owners of the shards."""

    network: Network
    placed: Placed
    by_name: dict[str, Node] = field(default_factory=dict)

    def __getitem__(self, index: int) -> Node:
        return self.by_name[f"node{index}"]

    def __iter__(self) -> Any:
        return iter(self.by_name.values())

    def key_on(self, index: int, prefix: str = "usr") -> str:
        """Make an id whose actors are on a node now."""
        while self.placed.map.owner(id := new_id(prefix)) != f"node{index}":
            pass
        return id

    async def home_of(self, user: Client) -> int:
        """Return the number of the node that serves a user's requests."""
        home = await self[0].core.credentials.home_of(user.token)
        return int((self.placed.map.owner(home) or "").removeprefix("node"))

    @asynccontextmanager
    async def client(self, index: int) -> AsyncIterator[Client]:
        """Open a client of a node's HTTP socket, without a user."""
        async with aiohttp.ClientSession() as http:
            yield Client(http, self[index].base)


@asynccontextmanager
async def running(
    folder: Path,
    count: int = 3,
    *,
    seed: int = 0,
    network: Network | None = None,
    http: bool = False,
    clock: Clock = system_clock,
    options: CoreOptions | None = None,
    engine: Callable[[], Engine] = RecallEngine,
    before_start: Callable[[Node], None] | None = None,
    more_routes: Sequence[Route] = (),
) -> AsyncIterator[Nodes]:
    """Run nodes over one database.

    Args:
        folder: names the database.
        count: the number of nodes.
        seed: of the network that is made if none is given.
        network: carries what the nodes send each other.
        http: whether each node also listens on a socket of this machine.
        clock: the time for all nodes.
        options: the settings of every core.
        engine: makes a node's chat engine.
        before_start: called for each node before its post starts, to serve subjects.
        more_routes: further routes of each node.
    """
    names = [f"node{index}" for index in range(count)]
    network = network or Network(seed)
    nodes = Nodes(network, Placed(names))
    url = await database_for(folder / "nodes.db")
    async with AsyncExitStack() as stack:
        store = await PostgresStore.open(url)
        stack.push_async_callback(store.close)
        for name in names:
            node = _made(name, store, nodes, clock, options or CoreOptions(registrations_per_hour=0), engine())
            stack.push_async_callback(_closed, node)
            if before_start is not None:
                before_start(node)
            app = _application(node, more_routes) if http else None
            await node.post.start(name)
            stack.callback(asyncio.create_task(node.feed.keep_up()).cancel)
            stack.callback(asyncio.create_task(nodes.placed.beat(node.ownership, store)).cancel)
            if app is not None:
                await stack.enter_async_context(_listening(node, app))
        yield nodes


def _made(name: str, store: Store, nodes: Nodes, clock: Clock, options: CoreOptions, engine: Engine) -> Node:
    ownership = PlacedOwnership(name, nodes.placed)
    post = LoopbackPost(nodes.network)

    core = Core(
        store,
        engine,
        Sealer(bytes(32)),
        options,
        clock,
        hasher=PasswordHasher(cost=CHEAP),
        directory=lambda kinds: ClusterDirectory(kinds, ownership, post, store, idle_s=options.idle_s),
        feed=lambda streams: ClusterFeed(streams, ownership, post, store),
        changes=ClusterChanges(ownership, post),
        placement=OwnedPlacement(ownership, len(nodes.by_name)),
    )
    directory, feed = core.directory, core.feed
    assert isinstance(directory, ClusterDirectory)
    assert isinstance(feed, ClusterFeed)
    node = nodes.by_name[name] = Node(name, core, post, ownership, directory, feed)
    share_failures(core.attempts, post, name)
    core.cluster = cast(Clustered, node)  # as far as its tests use it
    return node


async def _closed(node: Node) -> None:
    await node.core.stop(5)
    await node.post.close()


def _application(node: Node, more_routes: Sequence[Route]) -> App:
    options = HttpOptions(version="test", internal_secret=INTERNAL_SECRET, more_routes=more_routes)
    app = build_app(node.core, options, AccessLog(None))
    Sanic.unregister_app(app)  # a process has one application of a name
    app.config.TOUCHUP = False  # it rewrites Sanic's methods, which works once in a process
    return app


@asynccontextmanager
async def _listening(node: Node, app: App) -> AsyncIterator[None]:
    listener = await Listener.open(app, "127.0.0.1", 0)
    node.base = listener.urls[0]
    sweeping = asyncio.create_task(node.core.directory.sweep())
    try:
        yield
    finally:
        node.core.streams.close("gateway stops")
        sweeping.cancel()
        await listener.drain(5)
