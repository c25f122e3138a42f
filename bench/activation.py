"""A hundred thousand stored agents, each touched once: is memory bounded by the active set, and what does one cost?

The directory may keep 5,000 actors live and passivates one that idled for half a second, so most of the agents come
and go while others are touched.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from actors.agent import ReadAgent
from actors.directory import LocalDirectory
from bench.population import OWNER, agent_id, in_own_process, opened, populate
from bench.report import BenchError, percentile, rss_mib, say, table, verdict

ASKERS = 8
IDLE_S = 0.5
MAX_ACTIVE = 5_000
P99_MARK_MS = 5.0


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of the run: how many agents are live, and the process's resident memory."""

    what: str
    live: int
    rss: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to: its moments, and how long each first ask took, in ms."""

    moments: list[Moment]
    taken: list[float]
    seconds: float
    activations: int


def measure(agents: int) -> None:
    """Measure and print.

    Raises:
        BenchError: an agent was not activated exactly once.
    """
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as folder:
        database = Path(folder) / "parley.db"
        asyncio.run(populate(database, agents))
        outcomes = {
            f"idle {IDLE_S:g} s, at most {MAX_ACTIVE:,} live": in_own_process(
                _touch_all, database, agents, IDLE_S, MAX_ACTIVE
            ),
            "nothing passivated meanwhile": in_own_process(_touch_all, database, agents, 3600, 1_000_000),
        }
    for setting, outcome in outcomes.items():
        table(
            f"Activation: {agents:,} stored agents, each read once by one of {ASKERS} askers; {setting}",
            ["", "live actors", "RSS MiB", ""],
            [[moment.what, f"{moment.live:,}", f"{moment.rss:.0f}", ""] for moment in outcome.moments],
        )
        p50, p99 = percentile(outcome.taken, 50), percentile(outcome.taken, 99)
        say("")
        say(
            f"activation {agents / outcome.seconds:,.0f}/s, p50 {p50:.2f} ms, p99 {p99:.2f} ms: "
            f"{verdict(p99, P99_MARK_MS, at_most=True)}"
        )
        if outcome.activations != agents:
            raise BenchError(f"{agents} agents were touched, and {outcome.activations} actors started")


async def _touch_all(database: Path, count: int, idle_s: float, max_active: int) -> Outcome:
    """Ask every agent once, and look at the memory now and then; at the end passivate all that still live."""
    async with opened(database, idle_s=idle_s, max_active=max_active) as directory:
        gc.collect()
        moments = [Moment("before", len(directory), rss_mib())]
        taken: list[float] = []
        numbers = iter(range(count))
        started = time.perf_counter()
        asking = [asyncio.create_task(_ask_next(directory, numbers, taken)) for _ in range(ASKERS)]
        most = moments[0]
        for quarter in range(1, 5):
            while len(taken) < count * quarter // 4:
                await asyncio.wait(asking, timeout=0.02)
                most = max(most, Moment("the most seen", len(directory), rss_mib()), key=lambda moment: moment.rss)
                if not any(not task.done() for task in asking) and len(taken) < count:
                    break
            moments.append(Moment(f"{quarter * 25} % touched", len(directory), rss_mib()))
        await asyncio.gather(*asking)
        seconds, activations = time.perf_counter() - started, directory.activations
        moments.append(most)
        await directory.close(grace_s=10)
        gc.collect()
        moments.append(Moment("after passivation", len(directory), rss_mib()))
        return Outcome(moments, taken, seconds, activations)


async def _ask_next(directory: LocalDirectory, numbers: Iterator[int], taken: list[float]) -> None:
    for number in numbers:
        started = time.perf_counter()
        await directory.ask("agent", agent_id(number), ReadAgent(OWNER))
        taken.append((time.perf_counter() - started) * 1000)
