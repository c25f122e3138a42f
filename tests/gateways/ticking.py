"""A gateway with a clock that advances by TEST_TICK_MS (a second) per reading, to reveal two readings per change."""

import itertools
import os

from actors.ids import system_clock
from tests.gateways.parts import serve

_ticks = itertools.count()
_tick_ms = int(os.environ.get("TEST_TICK_MS", "1000"))
_start = system_clock() // 1000 * 1000


def clock() -> int:
    return _start + _tick_ms * next(_ticks)


if __name__ == "__main__":
    serve(clock=clock)
