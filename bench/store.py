"""One gateway on SQLite and one on PostgreSQL, loaded in turn: requests per second, and processor time of each process.

PostgreSQL is a private cluster with fsync on and the memory settings of a fresh installation; the gateway talks to it
over a Unix socket. Both gateways run for the whole time, and the one that waits takes no processor time. A pair is a
run on the one and a run on the other, which take turns to be first; ratios are taken within a pair.
"""

import asyncio
import os
import shutil
import sqlite3
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.http import CHAT, CONNECTIONS, COUNT_MESSAGES, READ, RECALL, VARIED_CHAT, Load, Run, prepare, require_stored
from bench.private_postgres import private_postgres, stored_in
from bench.report import BenchError, say, table, verdict
from bench.servers import cpu_s_of_tree, gateway
from tests.support.postgres import Cluster

DATABASE = "bench"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
ROWS = (READ, CHAT, VARIED_CHAT, RECALL)
RATE_MARK = 0.9
"""The smallest share of SQLite's chats per second that a gateway on PostgreSQL should reach."""
CPU_MARK = 1.0
"""The largest share of the processor time that a gateway on SQLite takes for a chat."""


class Measured(NamedTuple):
    """A run, and the processor time that the database's own processes took for each of its requests, in µs."""

    run: Run
    database_cpu: float


@dataclass(slots=True)
class Side:
    """A gateway's loads by row, and the processor time of its database's processes so far, in s."""

    loads: dict[str, Load]
    database_cpu_s: Callable[[], float]

    def run(self, row: str, seconds: float) -> Measured:
        """Run one load; all answers must be 2xx.

        Raises:
            BenchError: an answer was not, or a connection failed.
        """
        before = self.database_cpu_s()
        run = self.loads[row].run(seconds)
        if run.refused or run.broken:
            raise BenchError(f"{row}: {run.refused} answers were not 2xx, {run.broken} connections failed")
        return Measured(run, (self.database_cpu_s() - before) / max(1, run.requests) * 1e6)


Results = dict[tuple[str, str], list[Measured]]
"""The runs by row and side; the first of each warmed up."""


def measure(seconds: float, rounds: int) -> None:
    """Run the benchmark and print its figures.

    Raises:
        BenchError: wrk or PostgreSQL is missing, a request was refused, or rows are missing.
    """
    if shutil.which("wrk") is None:
        raise BenchError("`wrk` is not installed; on Debian: apt-get install wrk")
    with tempfile.TemporaryDirectory(prefix="parley-bench-") as name, private_postgres() as cluster:
        on_sqlite, on_postgres = Path(name) / "sqlite", Path(name) / "postgres"
        with (
            gateway(on_sqlite) as one,
            gateway(on_postgres, **stored_in(asyncio.run(cluster.database(DATABASE)))) as other,
        ):
            results = _runs(
                {
                    SQLITE: Side(prepare(on_sqlite, one, one), lambda: 0.0),
                    POSTGRES: Side(prepare(on_postgres, other, other), lambda: cpu_s_of_tree(cluster.pid)),
                },
                seconds,
                rounds,
            )
        _print(results)
        with closing(sqlite3.connect(f"file:{on_sqlite / 'data' / 'parley.db'}?mode=ro", uri=True)) as connection:
            stored = connection.execute(COUNT_MESSAGES).fetchone()
        _require_stored(results, SQLITE, stored)
        _require_stored(results, POSTGRES, asyncio.run(_count_messages(cluster)))


def _runs(sides: dict[str, Side], seconds: float, rounds: int) -> Results:
    """Run the rows of both sides in turn, after a run of a second each to warm up."""
    results: Results = defaultdict(list)
    for number in range(rounds + 1):
        for row in ROWS:
            for name in (SQLITE, POSTGRES) if number % 2 else (POSTGRES, SQLITE):
                results[row, name].append(sides[name].run(row, seconds if number else 1))
        if number:
            shown = (f"{row} {_ratio(results, row, _rate, slice(-1, None)):.2f}" for row in ROWS)
            say(f"pair {number} of {rounds}, requests/s of PostgreSQL by SQLite: {', '.join(shown)}")
    return results


def _print(results: Results) -> None:
    rows: list[list[str]] = []
    for row in ROWS:
        rate, cpu = _ratio(results, row, _rate), _ratio(results, row, _cpu)
        database = _median(results[row, POSTGRES], lambda measured: measured.database_cpu)
        marked = row in (CHAT, VARIED_CHAT)
        cells = [row, *(f"{_median(results[row, name], _rate):,.0f}" for name in (SQLITE, POSTGRES))]
        cells += [f"{rate:.2f}", verdict(rate, RATE_MARK) if marked else ""]
        cells += [f"{_median(results[row, name], _cpu):.0f}" for name in (SQLITE, POSTGRES)]
        cells += [f"{cpu:.2f}", verdict(cpu, CPU_MARK, at_most=True) if marked else "", f"{database:.0f}"]
        rows.append(cells)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    table(
        f"Store: wrk -t1 -c{CONNECTIONS}, medians of {len(results[CHAT, SQLITE]) - 1} pairs; load average {load}",
        ["", "SQLite/s", "PostgreSQL/s", "ratio", "", "node µs", "on PostgreSQL", "ratio", "", "its own µs"],
        rows,
    )


def _rate(measured: Measured) -> float:
    return measured.run.rate


def _cpu(measured: Measured) -> float:
    return measured.run.cpu


def _median(measured: list[Measured], figure: Callable[[Measured], float]) -> float:
    return statistics.median(figure(one) for one in measured[1:])


def _ratio(results: Results, row: str, figure: Callable[[Measured], float], pairs: slice = slice(1, None)) -> float:
    """Return the median over pairs of a figure on PostgreSQL by that on SQLite."""
    both = zip(results[row, SQLITE][pairs], results[row, POSTGRES][pairs], strict=True)
    return statistics.median(figure(other) / figure(one) for one, other in both)


def _require_stored(results: Results, name: str, stored: tuple[int, int]) -> None:
    require_stored(stored, [one.run for row in (CHAT, VARIED_CHAT) for one in results[row, name]], f"{name}: ")


async def _count_messages(cluster: Cluster) -> tuple[int, int]:
    connection = await cluster.connect(DATABASE)
    try:
        stored, wrong = await connection.fetchrow(COUNT_MESSAGES) or (0, 0)
    finally:
        await connection.close()
    return stored, wrong
