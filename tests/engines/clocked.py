"""A gateway whose clock is ahead of the system's by the milliseconds that stand in the file TEST_CLOCK."""

import os
import sys
from pathlib import Path
from typing import Any

import server
from actors.ids import system_clock

OFFSET = Path(os.environ["TEST_CLOCK"])


def clock() -> int:
    return system_clock() + int(OFFSET.read_text())


class ClockedGateway(server.Gateway):
    async def start(self, **_: Any) -> None:
        await super().start(clock=clock)


if __name__ == "__main__":
    server.Gateway = ClockedGateway
    sys.exit(server.main())
