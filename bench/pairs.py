"""Processor time of a request in two checkouts, in turn: `python -m bench.pairs OLD NEW [--rounds N] [--only ROW]`.

Each checkout has a `.venv`, and its own bench/http.py (with `--bench doors`, bench/doors.py) prepares its gateway's
users and loads. One gateway of each runs for the whole time; a pair is a run of the one and a run of the other, which
take turns to be first. With `--store postgres` each gateway has a PostgreSQL of its own, whose processor time counts,
too. `--bench cluster` compares the rows of bench/cluster.py, over all processes of the nodes, PostgreSQL and NATS.
"""

import argparse
import asyncio
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

Sides = dict[str, "subprocess.Popen[str]"]
HOME, HOP = "hop: through its home", "hop: through another node"
Rows = dict[str, Callable[[float], float]]
"""By name, what loads for some seconds and returns the processor time of a request in µs."""


def main() -> None:
    """Measure and print a line per row, or serve one checkout's side."""
    parser = argparse.ArgumentParser(description="Compare the processor time of requests in two checkouts.")
    parser.add_argument("checkouts", nargs="*", type=Path, help="the old one and the new one")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", default="", help="measure only rows whose name contains this")
    parser.add_argument("--bench", default="http", choices=("http", "doors", "cluster"), help="whose rows to measure")
    parser.add_argument("--store", default="sqlite", choices=("sqlite", "postgres"), help="the store of http and doors")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.side:
        serve_side(told.bench, told.store)
        return
    old, new = told.checkouts
    with ExitStack() as stack:
        sides = {
            name: stack.enter_context(side(folder.resolve(), told.bench, told.store))
            for name, folder in (("old", old), ("new", new))
        }
        rows: list[str] = [json.loads(_line(process)) for process in sides.values()][-1]
        rows = [row for row in rows if told.only in row]
        compare(sides, rows, told.rounds, told.seconds)
        for process in sides.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def side(checkout: Path, bench: str, store: str) -> "subprocess.Popen[str]":
    """Start the side of a checkout: its gateway and its loads."""
    program = [checkout / ".venv" / "bin" / "python", "-P", Path(__file__).resolve()]
    return subprocess.Popen(
        [*program, "--side", "--bench", bench, "--store", store],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def serve_side(bench: str, store: str) -> None:
    """Run the gateway of this folder's checkout, and the rows that come on stdin; print each one's processor time."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        rows = rows_of_nodes(stack, folder) if bench == "cluster" else rows_of_gateway(stack, folder, bench, store)
        print(json.dumps(list(rows)), flush=True)
        for line in sys.stdin:
            row, seconds = json.loads(line)
            print(json.dumps(rows[row](seconds)), flush=True)


def rows_of_gateway(stack: ExitStack, folder: Path, bench: str, store: str) -> Rows:
    """Run one gateway until the end of `stack`, and return the rows of a benchmark for it."""
    from bench.http import Load  # noqa: PLC0415 - of this folder, which may be an older one than this file's
    from bench.private_postgres import private_postgres, stored_in  # noqa: PLC0415
    from bench.servers import cpu_s_of_tree, gateway  # noqa: PLC0415

    postgres = stack.enter_context(private_postgres()) if store == "postgres" else None
    url = None if postgres is None else asyncio.run(postgres.database("bench"))
    parley = stack.enter_context(gateway(folder, **stored_in(url)))
    older: Any = importlib.import_module(f"bench.{bench}")
    prepare = getattr(older, "prepare", None) or older._prepare  # its name up to 0.2
    prepared: dict[str, Load] = prepare(folder, parley, parley)

    def run(load: Load, seconds: float) -> float:
        before = cpu_s_of_tree(postgres.pid) if postgres else 0.0
        ran = load.run(seconds)
        after = cpu_s_of_tree(postgres.pid) if postgres else 0.0
        return ran.cpu + (after - before) / max(1, ran.requests) * 1e6

    return {row: partial(run, load) for row, load in prepared.items() if not row.startswith("bare")}


def rows_of_nodes(stack: ExitStack, folder: Path) -> Rows:
    """Return the rows of chats on nodes; each cluster runs from its first row to the end of `stack`."""
    from bench.private_postgres import private_postgres  # noqa: PLC0415

    older: Any = importlib.import_module("bench.cluster")
    postgres = stack.enter_context(private_postgres())

    @cache
    def running(size: int) -> Any:
        return stack.enter_context(older._running(postgres, folder, size))

    @cache
    def loads(row: str, size: int) -> list[Any]:
        cluster = running(size)
        if row in (HOME, HOP):
            owned = asyncio.run(older._tokens_by_owner(cluster))
            tokens = next(tokens for node, tokens in owned.items() if node.startswith("n0-"))
            node = cluster.nodes[row == HOP]
            return [cluster.load(node, tokens, f"hop-{node.pid}", older.CONNECTIONS)]
        connections, tokens = older.CONNECTIONS // size, cluster.tokens[: older.SESSIONS]
        return [cluster.load(node, tokens, str(node.pid), connections) for node in cluster.nodes]

    def run(row: str, size: int, seconds: float) -> float:
        return older._together(running(size), loads(row, size), seconds).cpu.total

    sizes = {"1 node": 1, HOME: 2, HOP: 2, "3 nodes": 3}
    return {row: partial(run, row, size) for row, size in sizes.items()}


def compare(sides: Sides, rows: list[str], rounds: int, seconds: float) -> None:
    """Run the rows of both sides in turn, and print the ratio of each row."""
    cpu: dict[tuple[str, str], list[float]] = defaultdict(list)
    for number in range(rounds + 1):
        for row in rows:
            for name in ("old", "new") if number % 2 else ("new", "old"):
                taken = _run(sides[name], row, seconds if number else 1)
                if number:  # the first warms up
                    cpu[row, name].append(taken)
    for row in rows:
        old, new = cpu[row, "old"], cpu[row, "new"]
        pairs = [after / before for before, after in zip(old, new, strict=True)]
        print(
            f"{row}: {statistics.median(old):.0f} and {statistics.median(new):.0f} us, of the medians "
            f"{statistics.median(new) / statistics.median(old):.2f}, of the pairs {statistics.median(pairs):.2f} "
            f"({min(pairs):.2f} to {max(pairs):.2f})"
        )


def _run(process: "subprocess.Popen[str]", row: str, seconds: float) -> float:
    assert process.stdin is not None
    process.stdin.write(json.dumps([row, seconds]) + "\n")
    process.stdin.flush()
    return float(_line(process))


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit("one side has ended; its error is above")
    return line


if __name__ == "__main__":
    main()
