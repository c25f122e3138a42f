"""Output of the benchmarks: aligned tables, verdicts, and a description of the machine."""

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path


class BenchError(Exception):
    """The measurement failed, so its figures are invalid."""


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns: the first and the last aligned left, all others right."""
    widths = [max(len(line[place]) for line in (head, *rows)) for place in range(len(head))]
    print(f"\n{title}\n")
    for line in (head, ["-" * width for width in widths], *rows):
        cells = [
            cell.ljust(width) if place in (0, len(head) - 1) else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        print("  " + "  ".join(cells).rstrip())


def verdict(value: float, mark: float, *, at_most: bool = False) -> str:
    """Return the verdict on a figure and its mark."""
    passed = value <= mark if at_most else value >= mark
    return f"{'PASS' if passed else 'MISS'} (mark: {'at most ' if at_most else ''}{mark:,g})"


def say(line: str) -> None:
    """Print a line beneath or between tables, at once."""
    print(f"  {line}", flush=True)


def percentile(values: Sequence[float], percent: int) -> float:
    """Return a percentile of the values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def rss_mib(pid: int | None = None) -> float:
    """Return the resident memory of a process; by default, of this one."""
    pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def describe_machine() -> None:
    """Print the conditions of the figures: processor, versions, other load, speed of the disk's sync."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    libraries = ", ".join(f"{name} {version(name)}" for name in ("sanic", "uvloop", "orjson", "pykka", "aiosqlite"))
    print(f"{model}, {os.cpu_count()} cores, Linux {platform.release()}, load {os.getloadavg()[0]:.2f}")
    print(f"Python {platform.python_version()}, {libraries}")
    print(f"Data in {tempfile.gettempdir()}: append 4 KiB and fdatasync takes {_sync_ms():.2f} ms (median of 100)")


def _sync_ms() -> float:
    taken: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(100):
            started = time.perf_counter()
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000
