"""Actors over several nodes: where they are served, and what their messages meet when shards move."""

import asyncio
import random
from collections import Counter as Tally
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.errors import NotFound, Overloaded, ServiceError
from actors.ids import new_id
from actors.runtime.actor import Actor, handles
from actors.runtime.cluster import directory as over_nodes
from actors.runtime.cluster.directory import ASK, ClusterDirectory, NotOwner
from actors.runtime.cluster.post import NotReached
from actors.runtime.cluster.shards import shard_of
from actors.runtime.directory import Kind
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask, MessageContext, OwnTell, Tell
from tests.support.loopback_post import LoopbackPost, Network
from tests.support.nodes import Placed, PlacedOwnership

SOON_S = 0.3


class Whereabouts(Ask[str], frozen=True):
    """Answered with the name of the node."""

    slowly: bool = False


class TurnAway(Ask[None], frozen=True):
    """Answered with an error."""


class Bell(Tell, frozen=True):
    """Counted."""

    number: int = 0


class Slept(OwnTell, frozen=True):
    """The slow work of a `Whereabouts` is done."""

    answer: AsyncFuture[str]


@dataclass
class World:
    """What the guests of all nodes share."""

    live: dict[str, str] = field(default_factory=dict)
    """The node of each key whose guest is live or working."""
    overlaps: list[str] = field(default_factory=list)
    bells: Tally[tuple[str, str]] = field(default_factory=Tally)
    gate: asyncio.Event | None = None
    """Ends the slow work, if set; else that ends by itself."""
    works: list[asyncio.Task[None]] = field(default_factory=list)
    """The slow work that has begun."""


class Guest(Actor):
    """An actor that notices another live one of its key, on whatever node."""

    kind = "guest"
    works_for_callers = True
    __slots__ = ("_node", "_working", "_world")

    def __init__(self, key: str, node: str, world: World) -> None:
        super().__init__(key)
        self._node = node
        self._world = world
        self._working = 0

    def name_for(self, user_id: str) -> str | None:
        return f"guest of {user_id}" if user_id == "usr_1" else None

    async def on_begin(self) -> None:
        await asyncio.sleep(0)
        if self.key in self._world.live:
            self._world.overlaps.append(self.key)
        self._world.live[self.key] = self._node

    async def on_end(self) -> None:
        await asyncio.sleep(0.001)

    def on_finished(self) -> None:
        self._world.live.pop(self.key, None)

    @property
    def engaged(self) -> bool:
        return self._working > 0

    def concerns(self, user_id: str) -> bool:
        return user_id == self.key

    @handles(Whereabouts)
    def _where(self, message: Whereabouts) -> str | AsyncFuture[str]:
        if not message.slowly:
            return self._node
        answer: AsyncFuture[str] = AsyncFuture()
        self._working += 1
        self._world.works.append(asyncio.create_task(self._work(answer)))
        return answer

    async def _work(self, answer: AsyncFuture[str]) -> None:
        await (asyncio.sleep(0.02) if self._world.gate is None else self._world.gate.wait())
        self.tell_self(Slept(answer))

    @handles(Slept)
    def _slept(self, message: Slept) -> None:
        self._working -= 1
        message.answer.set(self._node)

    @handles(TurnAway)
    def _refuse(self, _: TurnAway) -> None:
        raise NotFound("There is nothing here.", retry_after=3)

    @handles(Bell)
    def _bell(self, _: Bell) -> None:
        self._world.bells[self._node, self.key] += 1


@dataclass
class Inn:
    """Directories of several nodes over a network, without a store."""

    network: Network
    placed: Placed
    world: World
    directories: list[ClusterDirectory]
    posts: list[LoopbackPost]
    ownerships: list[PlacedOwnership]

    def key_on(self, index: int) -> str:
        while self.placed.map.owner(key := new_id("gst")) != f"node{index}":
            pass
        return key


class NoStore:
    """For notices that nothing stores."""


async def opened(count: int = 3, network: Network | None = None) -> Inn:
    network, world = network or Network(), World()
    placed = Placed([f"node{index}" for index in range(count)])
    inn = Inn(network, placed, world, [], [], [])
    store: Any = NoStore()
    for index in range(count):
        name = f"node{index}"
        post, ownership = LoopbackPost(network), PlacedOwnership(name, placed)

        def guest(key: str, name: str = name) -> Guest:
            return Guest(key, name, world)

        inn.directories.append(ClusterDirectory({"guest": Kind(guest)}, ownership, post, store))
        inn.posts.append(post)
        inn.ownerships.append(ownership)
        await post.start(name)
    return inn


async def test_an_ask_reaches_its_actor_from_every_node():
    inn = await opened()
    key = inn.key_on(1)
    answers = [await directory.ask("guest", key, Whereabouts()) for directory in inn.directories]
    assert answers == ["node1"] * 3
    assert [len(directory) for directory in inn.directories] == [0, 1, 0]
    assert [directory.elsewhere("guest", key) for directory in inn.directories] == ["node1", None, "node1"]
    assert inn.directories[0].ask_inline("guest", key, Whereabouts()) is None
    assert inn.directories[1].ask_inline("guest", key, Whereabouts()) == "node1"


async def test_a_name_is_told_without_a_message_only_where_its_actor_is_owned_and_live():
    inn = await opened()
    key = inn.key_on(1)
    assert [directory.name_for("guest", key, "usr_1") for directory in inn.directories] == [None] * 3
    await inn.directories[0].ask("guest", key, Whereabouts())
    assert [directory.name_for("guest", key, "usr_1") for directory in inn.directories] == [
        None,
        "guest of usr_1",
        None,
    ]
    assert inn.directories[1].name_for("guest", key, "usr_2") is None
    inn.ownerships[1].valid = False
    assert inn.directories[1].name_for("guest", key, "usr_1") is None


async def test_an_error_crosses_as_it_was_raised():
    inn = await opened()
    with pytest.raises(NotFound, match="nothing here") as raised:
        await inn.directories[0].ask("guest", inn.key_on(2), TurnAway())
    assert raised.value.retry_after == 3


async def test_an_ask_of_another_version_that_can_not_be_read_is_refused_as_not_begun():
    inn = await opened()
    with pytest.raises(NotReached):
        await inn.posts[0].call("node1", ASK, b"from tomorrow", timeout_s=5)


async def test_a_node_without_a_lease_answers_nothing():
    inn = await opened()
    key = inn.key_on(1)
    assert await inn.directories[1].ask("guest", key, Whereabouts()) == "node1"
    inn.ownerships[1].valid = False
    with pytest.raises(Overloaded, match="lost its lease") as raised:
        await inn.directories[1].ask("guest", key, Whereabouts())
    assert raised.value.retry_after
    assert inn.directories[1].ask_inline("guest", key, Whereabouts()) is None


async def test_an_answer_that_was_under_way_when_the_lease_ended_is_not_given():
    inn = await opened()
    key = inn.key_on(1)
    inn.world.gate = asyncio.Event()
    here = asyncio.create_task(inn.directories[1].ask("guest", key, Whereabouts(slowly=True)))
    there = asyncio.create_task(inn.directories[0].ask("guest", key, Whereabouts(slowly=True)))
    while len(inn.world.works) < 2:
        await asyncio.sleep(0.001)
    inn.ownerships[1].valid = False
    inn.world.gate.set()
    for answer in (here, there):
        with pytest.raises(Overloaded, match="may have been carried out"):
            await answer


async def test_an_ask_waits_for_a_shard_without_an_owner(monkeypatch: pytest.MonkeyPatch):
    inn = await opened()
    key = inn.key_on(1)
    inn.network.cut("node1")
    waiting = asyncio.create_task(inn.directories[0].ask("guest", key, Whereabouts()))
    await asyncio.sleep(SOON_S)
    assert not waiting.done()
    inn.placed.take_over("node1", None)
    await asyncio.sleep(SOON_S)
    assert not waiting.done()
    found = asyncio.create_task(inn.directories[0].owner_of(key))
    inn.placed.assign({shard_of(key)}, "node2")
    assert await waiting == await found == "node2"
    monkeypatch.setattr(over_nodes, "PATIENCE_S", SOON_S)
    inn.placed.assign({shard_of(key)}, None)
    for late in (inn.directories[0].ask("guest", key, Whereabouts()), inn.directories[0].owner_of(key)):
        with pytest.raises(Overloaded, match="can't be reached"):
            await late


async def test_what_can_not_leave_its_process_is_refused_before_it_begins():
    inn = await opened()
    context = MessageContext(receipt=object())
    with pytest.raises(NotOwner):
        await inn.directories[0].ask("guest", inn.key_on(1), Whereabouts(), context=context)


async def test_a_shard_leaves_only_when_its_actors_have_finished():
    inn = await opened()
    key = inn.key_on(1)
    inn.world.gate = asyncio.Event()
    slow = asyncio.create_task(inn.directories[0].ask("guest", key, Whereabouts(slowly=True)))
    while len(inn.world.works) < 1:
        await asyncio.sleep(0.001)
    moving = asyncio.create_task(inn.placed.hand_over({shard_of(key)}, "node2"))
    await asyncio.sleep(0.01)
    behind = asyncio.create_task(inn.directories[0].ask("guest", key, Whereabouts()))
    await asyncio.sleep(0.1)
    assert not moving.done()
    assert not behind.done()
    inn.world.gate.set()
    assert await slow == "node1"
    await moving
    assert await behind == "node2"
    assert inn.world.overlaps == []


async def test_a_shard_waits_longer_for_work_that_a_caller_waits_for(monkeypatch: pytest.MonkeyPatch):
    inn = await opened()
    node = inn.directories[1]
    inn.world.gate = asyncio.Event()
    keys = [inn.key_on(1)]
    while shard_of(key := inn.key_on(1)) == shard_of(keys[0]):
        pass
    keys.append(key)
    slow = [asyncio.create_task(node.ask("guest", key, Whereabouts(slowly=True))) for key in keys]
    while len(inn.world.works) < 2:
        await asyncio.sleep(0.001)
    assert await node.shards_at_work() == {shard_of(key) for key in keys}
    monkeypatch.setattr(Guest, "at_work", property(lambda guest: guest.engaged and guest.key == keys[0]))
    assert await node.shards_at_work() == {shard_of(keys[0])}
    async with asyncio.timeout(30):
        await node.drained({shard_of(keys[1])}, grace_s=0.01)
        waited_for = asyncio.create_task(node.drained({shard_of(keys[0])}, grace_s=0.01))
        await asyncio.sleep(0.1)
        assert not waited_for.done()
        inn.world.gate.set()
        await waited_for
        assert await slow[0] == "node1"
    slow[1].cancel()  # its guest has ended


async def test_a_tell_to_another_node_arrives():
    inn = await opened()
    key = inn.key_on(1)
    await inn.directories[1].ask("guest", key, Whereabouts())
    inn.directories[0].tell("guest", key, Bell())
    while not inn.world.bells:
        await asyncio.sleep(0.001)
    await asyncio.sleep(SOON_S)
    assert inn.world.bells == {("node1", key): 1}


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32))
def test_at_most_one_actor_of_a_key_answers_while_shards_move(seed: int) -> None:
    asyncio.run(_moves(seed))


async def _moves(seed: int) -> None:
    rng = random.Random(seed)
    inn = await opened(3, Network(seed, failed=0.1, delay_s=0.005))
    keys = [new_id("gst") for _ in range(6)]
    refused: list[ServiceError] = []

    async def guests() -> None:
        for _ in range(30):
            key, at = rng.choice(keys), rng.randrange(3)
            try:
                await inn.directories[at].ask("guest", key, Whereabouts(slowly=rng.random() < 0.1))
            except Overloaded as error:
                refused.append(error)
            await asyncio.sleep(rng.random() / 100)

    async def moves() -> None:
        for _ in range(12):
            shards = {shard_of(key) for key in rng.sample(keys, 3)}
            await inn.placed.hand_over(shards, f"node{rng.randrange(3)}")
            await asyncio.sleep(rng.random() / 100)

    await asyncio.gather(*[guests() for _ in range(4)], moves())
    assert inn.world.overlaps == []
    assert len(refused) < 30  # only those whose end a fault of the network hides
    inn.network.failed = 0
    for key in keys:
        owner = inn.placed.map.owner(key)
        assert {await directory.ask("guest", key, Whereabouts()) for directory in inn.directories} == {owner}
