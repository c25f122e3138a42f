"""Memory and time of activations: 100,000 stored agents, each touched once.

The directory keeps up to 5,000 actors live and passivates one after half a second of idleness, so most agents are
activated and passivated during the run. SQLite's page caches still grow then, up to 32 MB for each of two readers.
After the last passivation C's malloc keeps much of the freed memory; `malloc_trim` shows how much.
"""

import asyncio
import ctypes
import gc
import tempfile
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from actors.agents.messages import ReadAgent
from actors.runtime.local_directory import LocalDirectory
from bench.population import OWNER, agent_id, in_own_process, opened, populate
from bench.report import BenchError, percentile, rss_mib, say, table, verdict

ASKERS = 8
IDLE_S = 0.5
MAX_ACTIVE = 5_000
P99_MARK_MS = 5.0


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the run: the number of live agents, and the process's resident memory."""

    what: str
    live: int
    rss: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run: its moments, and the duration of each first ask in ms."""

    moments: list[Moment]
    taken: "array[float]"
    seconds: float
    activations: int


def measure(agents: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: an agent was not activated exactly once.
    """
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        database = Path(folder) / "parley.db"
        asyncio.run(populate(database, agents))
        outcomes = {
            f"passivated when idle {IDLE_S:g} s or above {MAX_ACTIVE:,}": in_own_process(
                _touch_all, database, agents, True
            ),
            "for comparison, all passivated only at the end": in_own_process(_touch_all, database, agents, False),
        }
    for setting, outcome in outcomes.items():
        table(
            f"Activation: {agents:,} stored agents, each read once by one of {ASKERS} askers; {setting}",
            ["", "live actors", "RSS MiB", ""],
            [[moment.what, f"{moment.live:,}", f"{moment.rss:.0f}", ""] for moment in outcome.moments],
        )
        p50, p99 = percentile(outcome.taken, 50), percentile(outcome.taken, 99)
        rate = agents / outcome.seconds
        print()
        say(f"activation {rate:,.0f}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms: {verdict(p99, P99_MARK_MS, at_most=True)}")
        if outcome.activations != agents:
            raise BenchError(f"{agents} agents were touched, and {outcome.activations} actors started")


async def _touch_all(database: Path, count: int, sweeping: bool) -> Outcome:
    """Ask every agent once and sample the memory; at the end wait until all are passivated."""
    max_active = MAX_ACTIVE if sweeping else count
    async with opened(database, idle_s=IDLE_S, max_active=max_active, sweeping=sweeping) as directory:

        def now(what: str) -> Moment:
            return Moment(what, len(directory), rss_mib())

        moments = [now("before")]
        most = moments[0]
        taken = array(
            "d", bytes(8 * count)
        )  # preallocated, because a growing one would lie above freed memory and hold it
        numbers = iter(range(count))
        started = time.perf_counter()
        asking = asyncio.gather(*(_ask_next(directory, numbers, taken) for _ in range(ASKERS)))
        while not asking.done():
            await asyncio.wait([asking], timeout=0.02)
            most = max(most, now("the most seen"), key=lambda moment: moment.rss)
            while len(moments) < 4 and directory.activations >= count * len(moments) // 4:
                moments.append(now(f"{25 * len(moments)} % touched"))
        await asking
        seconds, activations = time.perf_counter() - started, directory.activations
        moments += [now("all touched"), most]
        while len(directory):
            await asyncio.sleep(IDLE_S)
            await directory.passivate_idle()
        gc.collect()
        moments.append(now("after passivation"))
        ctypes.CDLL(None).malloc_trim(0)
        moments.append(now("after malloc_trim"))
        return Outcome(moments, taken, seconds, activations)


async def _ask_next(directory: LocalDirectory, numbers: Iterator[int], taken: "array[float]") -> None:
    for number in numbers:
        started = time.perf_counter()
        await directory.ask("agent", agent_id(number), ReadAgent(OWNER))
        taken[number] = (time.perf_counter() - started) * 1000
