"""Asks per second of Parley's actors and of pykka's ThreadingActor, and the memory of an idle actor.

The three rows of asks have the same shape on both sides: one asker and one actor; 64 askers, each with an actor of
its own; 64 askers of one actor with a tell before each ask, so that the actor is never idle. pykka's askers are
threads, because its `ask` blocks; a faster use of it, one thread that sends all asks before it waits for the answers,
is compared too.
"""

import asyncio
import gc
import statistics
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pykka
import uvloop

from actors.agents.messages import ReadAgent
from actors.runtime import directory as directories
from actors.runtime.actor import Actor, handles
from actors.runtime.local_directory import LocalDirectory
from actors.runtime.mailbox import Ask, Tell
from bench.population import OWNER, Touch, agent_id, in_own_process, opened, populate
from bench.report import rss_mib, say, table, verdict

ASKERS = 64
PIPELINED = f"the same, pykka's sent {ASKERS} at a time"
ASKS_MARK = 8.0
BYTES_MARK = 4_000.0

Kind = Literal["minimal", "agent"]


class Ping(Ask[int], frozen=True):
    """Answered with the number."""

    number: int


class Nudge(Tell, frozen=True):
    """Keep the actor busy: a tell is always queued, and a later ask comes after it."""


class Echo(Actor):
    """An actor that answers at once."""

    kind = "echo"

    @handles(Ping)
    def _ping(self, message: Ping) -> int:
        return message.number

    @handles(Nudge)
    def _nudge(self, _: Nudge) -> None:
        pass


class ThreadedEcho(pykka.ThreadingActor):
    """The same actor as a thread of pykka."""

    def on_receive(self, message: Ping) -> int:
        """Answer a message at once."""
        return message.number


def measure(seconds: float, rounds: int, actors: int) -> None:
    """Run the benchmark and print its figures."""
    shorter = min(seconds, 2.0)
    _measure_asks(shorter, rounds)
    _measure_memory(actors)


# asks


def _measure_asks(seconds: float, rounds: int) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, _threaded(ASKERS) as refs:

        def ours(asks: Callable[[LocalDirectory, Actor, float], Coroutine[Any, Any, int]]) -> float:
            return _rate(lambda: runner.run(_with_directory(asks, seconds)))

        def theirs(asks: Callable[[list[pykka.ActorRef[ThreadedEcho]], float], int], count: int) -> float:
            return _rate(lambda: asks(refs[:count], seconds))

        results: dict[str, list[tuple[float, float]]] = {}
        for _ in range(rounds):
            one, own, busy = ours(_one_at_a_time), ours(_to_own_actor), ours(_to_busy_actor)
            their_one = theirs(_threads_ask, 1)
            for what, pair in {
                "one asker, one idle actor": (one, their_one),
                f"{ASKERS} askers, an idle actor each": (own, theirs(_threads_ask, ASKERS)),
                f"{ASKERS} askers, one actor, told before each ask": (busy, theirs(_threads_ask_one, ASKERS)),
                PIPELINED: (busy, theirs(_pipelined, 1)),
            }.items():
                results.setdefault(what, []).append(pair)
    rows: list[list[str]] = []
    for what, pairs in results.items():
        ratio = statistics.median(mine / their for mine, their in pairs)
        rates = (statistics.median(rate) for rate in zip(*pairs, strict=True))
        judged = "for comparison" if what == PIPELINED else verdict(ratio, ASKS_MARK)
        rows.append([what, *(f"{rate:,.0f}" for rate in rates), f"{ratio:.1f}", judged])
    table(
        f"Actors: asks a second through LocalDirectory.ask, medians of {rounds} rounds of {seconds:g} s",
        ["", "ours", "pykka's ThreadingActor", "ratio", ""],
        rows,
    )


def _rate(asks: Callable[[], int]) -> float:
    started = time.perf_counter()
    return asks() / (time.perf_counter() - started)


async def _with_directory(asks: Callable[[LocalDirectory, Actor, float], Coroutine[Any, Any, int]], s: float) -> int:
    """Run askers for `s` seconds; they get the directory and the live actor with the key `0`."""
    made: dict[str, Echo] = {}

    def echo(key: str) -> Echo:
        made[key] = Echo(key)
        return made[key]

    directory = LocalDirectory({"echo": directories.Kind(echo)})
    for key in range(ASKERS):
        await directory.ask("echo", str(key), Ping(0))
    asked = await asks(directory, made["0"], time.perf_counter() + s)
    await directory.close(grace_s=1)
    return asked


async def _one_at_a_time(directory: LocalDirectory, _: Actor, until: float) -> int:
    return await _ask(directory, "0", until)


async def _to_own_actor(directory: LocalDirectory, _: Actor, until: float) -> int:
    return sum(await asyncio.gather(*(_ask(directory, str(key), until) for key in range(ASKERS))))


async def _to_busy_actor(directory: LocalDirectory, actor: Actor, until: float) -> int:
    async def ask() -> int:
        asked = 0
        while time.perf_counter() < until:
            for number in range(100):
                directory.tell("echo", "0", Nudge())
                await directory.ask("echo", "0", Ping(number))
            asked += 100
            await asyncio.sleep(0)
        return asked

    return sum(await asyncio.gather(*(ask() for _ in range(ASKERS))))


async def _ask(directory: LocalDirectory, key: str, until: float) -> int:
    """Ask repeatedly; yield to other askers every hundred times, because nothing else makes it wait."""
    asked = 0
    while time.perf_counter() < until:
        for number in range(100):
            await directory.ask("echo", key, Ping(number))
        asked += 100
        await asyncio.sleep(0)
    return asked


@contextmanager
def _threaded(count: int) -> Generator[list[pykka.ActorRef[ThreadedEcho]]]:
    refs = [ThreadedEcho.start() for _ in range(count)]
    try:
        yield refs
    finally:
        for ref in refs:
            ref.stop()


def _threads_ask(refs: list[pykka.ActorRef[ThreadedEcho]], seconds: float) -> int:
    """Ask each actor from a thread of its own."""
    until = time.perf_counter() + seconds
    asked: list[int] = []

    def ask(ref: pykka.ActorRef[ThreadedEcho]) -> None:
        count = 0
        while time.perf_counter() < until:
            ref.ask(Ping(count))
            count += 1
        asked.append(count)

    threads = [threading.Thread(target=ask, args=(ref,)) for ref in refs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(asked)


def _threads_ask_one(refs: list[pykka.ActorRef[ThreadedEcho]], seconds: float) -> int:
    """Ask one actor from one thread per actor."""
    return _threads_ask([refs[0]] * len(refs), seconds)


def _pipelined(refs: list[pykka.ActorRef[ThreadedEcho]], seconds: float) -> int:
    """Ask from one thread, sending 64 asks before waiting for their answers."""
    until, asked = time.perf_counter() + seconds, 0
    while time.perf_counter() < until:
        for future in [refs[0].ask(Ping(number), block=False) for number in range(ASKERS)]:
            future.get()
        asked += ASKERS
    return asked


# memory


def _measure_memory(actors: int) -> None:
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        database = Path(folder) / "parley.db"
        asyncio.run(populate(database, actors))
        rows: list[list[str]] = []
        kinds: dict[Kind, str] = {"minimal": "minimal DurableActor", "agent": "AgentActor, loaded from SQLite"}
        for kind, what in kinds.items():
            resident = in_own_process(_bytes_per_actor, database, kind, actors, False)
            allocated = in_own_process(_bytes_per_actor, database, kind, actors, True)
            rows.append([what, f"{allocated:,.0f}", f"{resident:,.0f}", verdict(resident, BYTES_MARK, at_most=True)])
    table(
        f"Actors: bytes of an idle one, over {actors:,} of them",
        ["", "allocated by Python", "resident", ""],
        rows,
    )
    say("allocated: tracemalloc's difference; resident: the process's, with what the allocator and SQLite's page")
    say("caches (at most 32 MB a reader) hold. Each in a process of its own; the mark is for resident bytes.")


async def _bytes_per_actor(database: Path, kind: Kind, count: int, traced: bool) -> float:
    """Activate `count` actors; return the growth of the process in bytes per actor."""
    async with opened(database) as directory:
        ask = partial(_touch, directory, kind)
        await asyncio.gather(*map(ask, range(1_000)))  # warms up code paths, statement caches and threads
        gc.collect()
        if traced:
            tracemalloc.start()
        before = _bytes(traced)
        for first in range(1_000, count, 500):
            await asyncio.gather(*map(ask, range(first, min(first + 500, count))))
        gc.collect()
        return (_bytes(traced) - before) / (count - 1_000)


async def _touch(directory: LocalDirectory, kind: Kind, number: int) -> None:
    if kind == "agent":
        await directory.ask("agent", agent_id(number), ReadAgent(OWNER))
    else:
        await directory.ask("minimal", agent_id(number), Touch())


def _bytes(traced: bool) -> float:
    return tracemalloc.get_traced_memory()[0] if traced else rss_mib() * 2**20
