"""A gateway with a clock that is ahead of the system's by the milliseconds in the file TEST_CLOCK.

The clock of its throttles is ahead by the milliseconds in the file beside it with the suffix `.ticks`. With
TEST_SCRIPTED it has the scripted engine.
"""

import os
from pathlib import Path
from time import monotonic
from typing import Any

from actors.ids import system_clock
from tests.gateways.parts import serve
from tests.gateways.scripted import scripted

OFFSET = Path(os.environ["TEST_CLOCK"])


def clock() -> int:
    return system_clock() + int(OFFSET.read_text())


def ticks() -> float:
    return monotonic() + int(OFFSET.with_suffix(".ticks").read_text()) / 1000


if __name__ == "__main__":
    engine: dict[str, Any] = {"engine": scripted} if "TEST_SCRIPTED" in os.environ else {}
    serve(clock=clock, ticks=ticks, **engine)
