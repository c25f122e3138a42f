"""The pace of the machine: the processor time of a fixed piece of work, now and on a quiet machine."""

from time import thread_time

import orjson

QUIET_PACE_MS = 11.5
"""Milliseconds of the fixed piece of work on a quiet machine, of the kind that limits of processor time were set on.
If it takes longer now, the machine is slower, and work is scaled down by the same factor."""

MARK_MS = 20.0
"""Limit of a step's processor time in ms, on a quiet machine."""

_RUNS = 3
# as large as the largest body that is measured: fresh memory costs much more on some machines
_BODY = orjson.dumps({f"m{number}": [number, str(number)] for number in range(40_000)})


def pace() -> float:
    """Return the milliseconds of decoding and walking a fixed body now: the median of some runs."""

    def run() -> float:
        started = thread_time()
        found = 0
        for name, value in orjson.loads(_BODY).items():
            found += len(name) + value[0]
        return (thread_time() - started) * 1000

    return sorted(run() for _ in range(_RUNS))[_RUNS // 2]


def slower(before: float, after: float) -> float:
    """Return the factor by which the machine is slower than a quiet one, from its pace before and after some work."""
    return max(1.0, (before + after) / 2 / QUIET_PACE_MS)
