"""The directory: one live actor per key, activated on demand, passivated when idle, started anew after a fault."""

import asyncio
import random
from collections import Counter as Tally
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from actors.errors import InternalError, Overloaded, StorageUnavailable
from actors.runtime.actor import Actor, handles
from actors.runtime.directory import Kind
from actors.runtime.future import AsyncFuture
from actors.runtime.local_directory import LocalDirectory
from actors.runtime.mailbox import MAILBOX_LIMIT, Ask, Tell
from actors.runtime.notices import Reload, ReloadConcerning
from tests.support.disk import Counter, Disk, Increment, ReadCount, open_store, spin, value


class Visit(Ask[str], frozen=True):
    """Answered with the actor's key."""

    number: int = 0


class VisitLater(Ask[str], frozen=True):
    """Answered later, while the mailbox goes on."""

    number: int = 0


class Knock(Tell, frozen=True):
    """Noted."""


class Stumble(Ask[None], frozen=True):
    """Fails with an unexpected exception."""

    number: int = 0


@dataclass
class World:
    """The shared state of a test's hosts."""

    seed: int = 0
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    begun: list[str] = field(default_factory=list)
    alive: set[str] = field(default_factory=set)
    overlaps: list[str] = field(default_factory=list)
    visits: Tally[int] = field(default_factory=Tally)
    knocks: Tally[str] = field(default_factory=Tally)
    hosts: list["Host"] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.gate.set()

    async def pause(self) -> None:
        """Wait for nothing, some steps of the loop, or a millisecond or two."""
        match self.random.randrange(4):
            case 0:
                pass
            case 1 | 2:
                await spin(self.random.randrange(6))
            case _:
                await asyncio.sleep(self.random.random() / 500)


class Host(Actor):
    """An actor that starts and stops slowly, and records two live ones of one key."""

    kind = "host"

    def __init__(self, key: str, world: World) -> None:
        super().__init__(key)
        self.world = world
        self.present = False
        self.busy = False
        self.user = f"user of {key}"
        world.hosts.append(self)

    async def on_begin(self) -> None:
        if self.key in self.world.alive:
            self.world.overlaps.append(self.key)
        self.world.alive.add(self.key)
        self.world.begun.append(self.key)
        await self.world.gate.wait()
        await self.world.pause()
        self.present = True

    async def on_end(self) -> None:
        await self.world.pause()
        self.present = False
        self.world.alive.discard(self.key)

    @property
    def engaged(self) -> bool:
        return self.busy

    def concerns(self, user_id: str) -> bool:
        return self.user == user_id

    def _note(self, number: int) -> None:
        if not self.present or self.key not in self.world.alive:
            self.world.overlaps.append(f"{self.key} handles what it should not")
        self.world.visits[number] += 1

    @handles(Visit)
    def _visit(self, message: Visit) -> str:
        self._note(message.number)
        return self.key

    @handles(VisitLater)
    def _visit_later(self, message: VisitLater) -> AsyncFuture[str]:
        self._note(message.number)
        future: AsyncFuture[str] = AsyncFuture()
        asyncio.get_running_loop().call_later(self.world.random.random() / 500, future.set, self.key)
        return future

    @handles(Knock)
    def _knock(self, _: Knock) -> None:
        self.world.knocks[self.key] += 1

    @handles(Stumble)
    def _stumble(self, message: Stumble) -> None:
        self._note(message.number)
        raise ZeroDivisionError("nobody foresaw this")


Opener = Callable[..., tuple[World, LocalDirectory]]


@pytest.fixture
async def hosts() -> AsyncIterator[Opener]:
    """Open directories of hosts; they are closed afterwards."""
    opened: list[tuple[World, LocalDirectory]] = []

    def open_one(seed: int = 0, **options: Any) -> tuple[World, LocalDirectory]:
        world = World(seed)
        opened.append((world, LocalDirectory({"host": Kind(lambda key: Host(key, world))}, **options)))
        return opened[-1]

    yield open_one
    for world, directory in opened:
        world.gate.set()
        await directory.close(1)


def visiting(directory: LocalDirectory, key: str, message: Ask[Any] | None = None, **options: Any) -> asyncio.Task[Any]:
    return asyncio.create_task(directory.ask("host", key, message or Visit(), **options))


# Activation


async def test_a_thousand_asks_of_a_cold_key_start_one_actor(hosts: Opener):
    world, directory = hosts()
    answers = await asyncio.gather(*(visiting(directory, "a", Visit(number)) for number in range(1_000)))
    assert answers == ["a"] * 1_000
    assert world.begun == ["a"]
    assert directory.activations == len(directory) == 1
    assert world.visits == Tally(range(1_000))


async def test_each_key_has_an_actor_of_its_own(hosts: Opener):
    world, directory = hosts()
    keys = [f"{number % 200}" for number in range(2_000)]
    assert await asyncio.gather(*(visiting(directory, key) for key in keys)) == keys
    assert sorted(world.begun) == sorted(set(keys))
    assert directory.count_by_kind() == {"host": 200}


async def test_a_tell_reaches_a_live_actor_and_starts_none(hosts: Opener):
    world, directory = hosts()
    directory.tell("host", "cold", Knock())
    await directory.ask("host", "warm", Visit())
    directory.tell("host", "warm", Knock())
    await spin()
    assert world.knocks == {"warm": 1}
    assert world.begun == ["warm"]


async def test_a_tell_to_an_actor_that_begins_waits_for_it(hosts: Opener):
    world, directory = hosts()
    world.gate.clear()
    visit = visiting(directory, "a")
    await spin()
    directory.tell("host", "a", Knock())
    world.gate.set()
    await visit
    await spin()
    assert world.knocks == {"a": 1}


async def test_maintainers_see_live_actors_and_start_none_by_looking(hosts: Opener):
    _, directory = hosts()
    await directory.ask("host", "a", Visit())
    (status,) = directory.statuses()
    assert (status.kind, status.key, status.life, status.mailbox, status.handled) == ("host", "a", "live", 0, 1)
    assert list(directory.statuses("other")) == []
    assert directory.inspect("host", "cold") is None
    found = directory.inspect("host", "a")
    assert found is not None
    assert found[1] == {}
    assert len(directory) == 1


# Passivation


async def test_an_idle_actor_is_passivated_and_starts_again_when_asked(hosts: Opener):
    world, directory = hosts(idle_s=0)
    await directory.ask("host", "a", Visit())
    assert await directory.passivate_idle() == 1
    assert len(directory) == 0
    assert await directory.ask("host", "a", Visit()) == "a"
    assert world.begun == ["a", "a"]
    assert not world.overlaps


async def test_an_actor_that_was_busy_just_now_is_not_passivated(hosts: Opener):
    _, directory = hosts(idle_s=60)
    await directory.ask("host", "a", Visit())
    assert await directory.passivate_idle() == 0
    assert len(directory) == 1


async def test_an_actor_that_still_begins_is_not_passivated(hosts: Opener):
    world, directory = hosts(idle_s=0)
    world.gate.clear()
    visit = visiting(directory, "a")
    await spin()
    assert await directory.passivate_idle() == 0
    world.gate.set()
    assert await visit == "a"
    assert world.begun == ["a"]


async def test_an_actor_with_messages_in_its_mailbox_is_not_passivated(hosts: Opener):
    world, directory = hosts(idle_s=0)
    await directory.ask("host", "a", Visit())
    directory.tell("host", "a", Knock())
    assert await directory.passivate_idle() == 0
    await spin()
    assert world.knocks == {"a": 1}
    assert await directory.passivate_idle() == 1


async def test_an_engaged_actor_is_not_passivated(hosts: Opener):
    world, directory = hosts(idle_s=0)
    await directory.ask("host", "a", Visit())
    world.hosts[0].busy = True
    assert [status.life for status in directory.statuses()] == ["engaged"]
    assert await directory.passivate_idle() == 0
    world.hosts[0].busy = False
    assert await directory.passivate_idle() == 1


async def test_an_actor_with_an_open_unit_is_not_passivated(tmp_path: Path):
    disk = Disk()
    async with open_store(tmp_path, disk) as store:
        directory = LocalDirectory({"counter": Kind(lambda key: Counter(key, store))}, idle_s=0)
        await directory.ask("counter", "a", ReadCount())
        disk.hold()
        change = asyncio.create_task(directory.ask("counter", "a", Increment()))
        await disk.reached()
        assert await directory.passivate_idle() == 0
        disk.let_go()
        assert await change == 1
        assert await directory.passivate_idle() == 1
        assert await directory.ask("counter", "a", ReadCount()) == 1
        await directory.close(1)


async def test_above_the_cap_the_longest_idle_go_first(hosts: Opener):
    _, directory = hosts(idle_s=3_600, max_active=10)
    for number in range(25):
        await directory.ask("host", f"{number}", Visit())
    await spin()
    live = sorted(int(status.key) for status in directory.statuses())
    assert 5 <= len(live) <= 10
    assert live == list(range(25 - len(live), 25))
    assert await directory.passivate_idle() == 0


async def test_above_the_cap_no_actor_goes_that_is_not_idle(hosts: Opener):
    world, directory = hosts(idle_s=3_600, max_active=1)
    await directory.ask("host", "engaged", Visit())
    world.hosts[0].busy = True
    await directory.ask("host", "idle", Visit())
    await directory.ask("host", "last", Visit())
    await directory.passivate_idle()
    assert "engaged" in {status.key for status in directory.statuses()}
    world.hosts[0].busy = False


async def test_room_is_made_again_after_a_fault_while_it_was_made(hosts: Opener, monkeypatch: pytest.MonkeyPatch):
    _, directory = hosts(idle_s=3_600, max_active=1)

    def fails(_: Host) -> bool:
        raise ZeroDivisionError("nobody foresaw this")

    with monkeypatch.context() as faulty:
        faulty.setattr(Host, "engaged", property(fails))
        for key in "ab":
            await directory.ask("host", key, Visit())
        await spin()
    await directory.ask("host", "c", Visit())
    await spin()
    assert len(directory) == 1


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_of_asks_to_actors_being_passivated_loses_none_and_never_runs_two_of_one_key(
    hosts: Opener, seed: int
):
    world, directory = hosts(seed, idle_s=0)
    rng = random.Random(seed)
    asks, clients = 6_000, 60
    answered: Tally[int] = Tally()
    passivated = 0

    async def passivate() -> None:
        nonlocal passivated
        while True:
            passivated += await directory.passivate_idle()
            await asyncio.sleep(0)

    async def client(numbers: range) -> None:
        for number in numbers:
            key = f"{rng.randrange(300)}"
            kind = rng.random()
            if kind < 0.02:
                with pytest.raises(InternalError):
                    await directory.ask("host", key, Stumble(number))
            else:
                message = VisitLater(number) if kind < 0.3 else Visit(number)
                assert await directory.ask("host", key, message) == key
            answered[number] += 1
            if rng.random() < 0.5:
                await spin(rng.randrange(4))

    passivation = asyncio.create_task(passivate())
    try:
        await asyncio.gather(*(client(range(first, asks, clients)) for first in range(clients)))
    finally:
        passivation.cancel()
    assert world.overlaps == []
    assert answered == world.visits == Tally(range(asks))
    assert passivated > 1_000
    assert directory.activations == len(world.begun) > 1_000


async def test_a_storm_of_changes_to_durable_actors_being_passivated_loses_none(tmp_path: Path):
    async with open_store(tmp_path) as store:
        directory = LocalDirectory({"counter": Kind(lambda key: Counter(key, store))}, idle_s=0)
        rng = random.Random(7)
        keys = [f"{number}" for number in range(100)]
        highest = dict.fromkeys(keys, 0)

        async def passivate() -> None:
            while True:
                await directory.passivate_idle()
                await asyncio.sleep(0)

        async def client() -> None:
            for _ in range(50):
                key = rng.choice(keys)
                highest[key] = max(highest[key], await directory.ask("counter", key, Increment()))

        passivation = asyncio.create_task(passivate())
        try:
            await asyncio.gather(*(client() for _ in range(60)))
        finally:
            passivation.cancel()
        assert sum(highest.values()) == 3_000
        assert await value(store, "SELECT sum(n) FROM counters") == 3_000
        assert await value(store, "SELECT count(*) FROM increments") == 3_000
        assert directory.activations > len(keys)
        await directory.close(1)


# Faults, evictions


async def test_messages_behind_a_fault_are_routed_to_the_next_incarnation(hosts: Opener):
    world, directory = hosts()
    world.gate.clear()
    fault = visiting(directory, "a", Stumble(0))
    behind = [visiting(directory, "a", Visit(number)) for number in range(1, 500)]
    await spin()
    world.gate.set()
    assert await asyncio.gather(*behind) == ["a"] * 499
    with pytest.raises(InternalError):
        await fault
    assert world.visits == Tally(range(500))
    assert world.begun == ["a", "a"]
    assert not world.overlaps


async def test_a_full_mailbox_behind_a_fault_is_handled_by_the_next_incarnation(hosts: Opener):
    world, directory = hosts()
    await directory.ask("host", "a", Visit(0))
    tells = MAILBOX_LIMIT - 1
    fault = visiting(directory, "a", Stumble(1))
    directory.tell("host", "a", Knock())
    for _ in range(tells - 1):
        directory.tell("host", "a", Knock())
    with pytest.raises(InternalError):
        await fault
    while world.knocks["a"] < tells:
        await asyncio.sleep(0)
    assert await directory.ask("host", "a", Visit(2)) == "a"


async def test_an_evicted_actor_is_loaded_anew_at_the_next_ask(hosts: Opener):
    world, directory = hosts()
    for key in "abc":
        await directory.ask("host", key, Visit())
    directory.deliver(
        [
            Reload(
                "host",
                (
                    "a",
                    "b",
                    "cold",
                ),
            )
        ]
    )
    assert len(directory) == 1
    assert await asyncio.gather(visiting(directory, "a"), visiting(directory, "b")) == ["a", "b"]
    assert Tally(world.begun) == {"a": 2, "b": 2, "c": 1}
    assert not world.overlaps


async def test_eviction_loses_no_message(hosts: Opener):
    world, directory = hosts()
    await directory.ask("host", "a", Visit(0))
    directory.tell("host", "a", Knock())
    visits = [visiting(directory, "a", Visit(number)) for number in range(1, 100)]
    await spin(1)
    directory.deliver([Reload("host", ("a",))])
    assert await asyncio.gather(*visits) == ["a"] * 99
    assert world.visits == Tally(range(100))
    assert world.knocks == {"a": 1}


async def test_an_actor_evicted_while_it_begins_starts_over(hosts: Opener):
    world, directory = hosts()
    world.gate.clear()
    visit = visiting(directory, "a")
    await spin()
    directory.deliver([Reload("host", ("a",))])
    await spin()
    world.gate.set()
    assert await visit == "a"
    assert world.begun == ["a", "a"]
    assert world.visits == {0: 1}


async def test_evicting_what_concerns_a_user_spares_the_others_and_the_one_named(hosts: Opener):
    world, directory = hosts()
    for key in "abcd":
        await directory.ask("host", key, Visit())
    for host in world.hosts[:3]:
        host.user = "lovelace"
    directory.deliver([ReloadConcerning("lovelace", ("host",), but="b")])
    assert {status.key for status in directory.statuses()} == {"b", "d"}


async def test_evicting_what_concerns_a_user_starts_over_what_still_loads(hosts: Opener):
    world, directory = hosts()
    world.gate.clear()
    loading, named = visiting(directory, "loading"), visiting(directory, "named")
    await spin()
    directory.deliver([ReloadConcerning("lovelace", ("host",), but="named")])
    world.gate.set()
    assert await asyncio.gather(loading, named) == ["loading", "named"]
    assert Tally(world.begun) == {"loading": 2, "named": 1}


@pytest.mark.parametrize("seed", range(3))
async def test_a_storm_of_evictions_and_faults_loses_no_ask(hosts: Opener, seed: int):
    world, directory = hosts(seed)
    rng = random.Random(seed)
    keys = [f"{number}" for number in range(40)]
    answered: Tally[int] = Tally()

    async def evict() -> None:
        while True:
            directory.deliver([Reload("host", tuple(rng.sample(keys, 3)))])
            await asyncio.sleep(rng.random() / 100)

    async def client(numbers: range) -> None:
        for number in numbers:
            key = rng.choice(keys)
            if rng.random() < 0.05:
                with pytest.raises(InternalError):
                    await directory.ask("host", key, Stumble(number))
            else:
                assert await directory.ask("host", key, Visit(number)) == key
            answered[number] += 1
            await spin(rng.randrange(4))

    evictions = asyncio.create_task(evict())
    try:
        await asyncio.gather(*(client(range(first, 3_000, 50)) for first in range(50)))
    finally:
        evictions.cancel()
    assert answered == world.visits == Tally(range(3_000))


# Closing


async def test_closing_answers_all_that_waits(hosts: Opener):
    world, directory = hosts()
    world.gate.clear()
    visits = [visiting(directory, f"{number % 20}", VisitLater(number)) for number in range(200)]
    await spin()
    closing = asyncio.create_task(directory.close(30))
    await spin()
    world.gate.set()
    assert await closing == 0
    assert len(await asyncio.gather(*visits)) == 200
    assert world.alive == set()
    assert len(directory) == 0


async def test_closing_waits_until_changes_are_stored(tmp_path: Path):
    disk = Disk()
    async with open_store(tmp_path, disk) as store:
        directory = LocalDirectory({"counter": Kind(lambda key: Counter(key, store))})
        await directory.ask("counter", "a", ReadCount())
        disk.hold()
        change = asyncio.create_task(directory.ask("counter", "a", Increment()))
        await disk.reached()
        closing = asyncio.create_task(directory.close(30))
        await spin()
        assert not closing.done()
        disk.let_go()
        assert await closing == 0
        assert await change == 1


async def test_what_is_not_done_within_the_grace_time_is_counted_and_answered(hosts: Opener):
    world, directory = hosts()
    await directory.ask("host", "done", Visit())
    world.gate.clear()
    waiting = [visiting(directory, "stuck", Visit(number)) for number in range(1, 4)]
    await spin()
    closing = asyncio.create_task(directory.close(0.05))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [Overloaded] * 3
    world.gate.set()
    assert await closing == 1


async def test_an_actor_that_never_ends_beginning_does_not_hold_up_the_close_for_ever(hosts: Opener):
    world, directory = hosts()
    world.gate.clear()
    waiting = visiting(directory, "stuck")
    await spin()
    closing = asyncio.create_task(directory.close(0.05))
    done, _ = await asyncio.wait([closing], timeout=2)
    world.gate.set()
    assert [type(result) for result in await asyncio.gather(waiting, return_exceptions=True)] == [Overloaded]
    assert done, "close() still waits, long after its grace time"


async def test_a_closed_directory_refuses_asks(hosts: Opener):
    world, directory = hosts()
    await directory.ask("host", "a", Visit())
    await directory.close(1)
    with pytest.raises(Overloaded) as error:
        await directory.ask("host", "a", Visit())
    assert error.value.retry_after
    directory.tell("host", "a", Knock())
    assert world.begun == ["a"]
    assert world.alive == set()


# Failing stores


async def test_an_actor_whose_unit_failed_is_replaced_and_nothing_that_waits_is_lost(tmp_path: Path):
    disk = Disk()
    async with open_store(tmp_path, disk) as store:
        directory = LocalDirectory({"counter": Kind(lambda key: Counter(key, store))})
        assert await directory.ask("counter", "a", Increment()) == 1
        disk.hold()
        doomed = asyncio.create_task(directory.ask("counter", "a", Increment()))
        await disk.reached()
        disk.let_go(failing=True)
        later: list[asyncio.Task[int]] = []
        doomed.add_done_callback(
            lambda _: later.extend(asyncio.create_task(directory.ask("counter", "a", Increment())) for _ in range(50))
        )
        with pytest.raises(StorageUnavailable):
            await doomed
        await spin(1)
        assert sorted(await asyncio.gather(*later)) == list(range(2, 52))
        assert await value(store, "SELECT n FROM counters") == 51
        assert directory.activations == 2
        await directory.close(1)


async def test_a_store_that_can_not_be_read_fails_the_asks_and_is_asked_again_later(tmp_path: Path):
    async with open_store(tmp_path) as store:
        directory = LocalDirectory({"counter": Kind(lambda key: Unreadable(key, store))})
        with pytest.raises(StorageUnavailable):
            await directory.ask("counter", "a", ReadCount())
        Unreadable.table = "counters"
        assert await directory.ask("counter", "a", ReadCount()) == 0
        Unreadable.table = "missing"
        await directory.close(1)


class Unreadable(Counter):
    """Reads a missing table until it is told the name of an existing one."""

    table = "missing"

    async def on_begin(self) -> None:
        await value(self.store, f"SELECT count(*) FROM {self.table}")
