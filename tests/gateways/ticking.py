"""A gateway whose clock goes on by TEST_TICK_MS (a second) at each reading: two readings for one change show."""

import itertools
import os
import sys
from typing import Any

import server
from actors.ids import system_clock

_ticks = itertools.count()
_tick_ms = int(os.environ.get("TEST_TICK_MS", "1000"))
_start = system_clock() // 1000 * 1000


def clock() -> int:
    return _start + _tick_ms * next(_ticks)


class TickingGateway(server.Gateway):
    async def start(self, **_: Any) -> None:
        await super().start(clock=clock)


if __name__ == "__main__":
    server.Gateway = TickingGateway
    sys.exit(server.main())
