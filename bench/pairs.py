"""Processor time of a request in two checkouts, in turn: `python -m bench.pairs OLD NEW [--rounds N] [--only ROW]`.

Each checkout has a `.venv`, and its own bench/http.py (with `--bench doors`, bench/doors.py) prepares its gateway's
users and loads. One gateway of each runs for the whole time; a pair is a run of the one and a run of the other, which
take turns to be first.
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

Sides = dict[str, "subprocess.Popen[str]"]


def main() -> None:
    """Measure and print a line per row, or serve one checkout's side."""
    parser = argparse.ArgumentParser(description="Compare the processor time of requests in two checkouts.")
    parser.add_argument("checkouts", nargs="*", type=Path, help="the old one and the new one")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--only", default="", help="measure only rows whose name contains this")
    parser.add_argument("--bench", default="http", choices=("http", "doors"), help="the rows of this benchmark")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.side:
        serve_side(told.bench)
        return
    old, new = told.checkouts
    with ExitStack() as stack:
        sides = {
            name: stack.enter_context(side(folder.resolve(), told.bench))
            for name, folder in (("old", old), ("new", new))
        }
        rows: list[str] = [json.loads(_line(process)) for process in sides.values()][-1]
        rows = [row for row in rows if told.only in row]
        compare(sides, rows, told.rounds, told.seconds)
        for process in sides.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def side(checkout: Path, bench: str) -> "subprocess.Popen[str]":
    """Start the side of a checkout: its gateway and its loads."""
    return subprocess.Popen(
        [checkout / ".venv" / "bin" / "python", "-P", Path(__file__).resolve(), "--side", "--bench", bench],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def serve_side(bench: str) -> None:
    """Run the gateway of this folder's checkout, and the rows that come on stdin; print each one's processor time."""
    from bench.http import Load  # noqa: PLC0415 - of this folder, which may be an older one than this file's
    from bench.servers import gateway  # noqa: PLC0415

    older: Any = importlib.import_module(f"bench.{bench}")
    with tempfile.TemporaryDirectory() as name, gateway(Path(name)) as parley:
        prepare = getattr(older, "prepare", None) or older._prepare  # its name up to 0.2
        prepared: dict[str, Load] = prepare(Path(name), parley, parley)
        loads = {row: load for row, load in prepared.items() if not row.startswith("bare")}
        print(json.dumps(list(loads)), flush=True)
        for line in sys.stdin:
            row, seconds = json.loads(line)
            print(json.dumps(loads[row].run(seconds).cpu), flush=True)


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
