"""A gateway with faults.

No commit succeeds while `broken` is in its data folder, US_Sessions has a bug, and the engine fails on every message.
"""

import sys
from dataclasses import replace
from typing import Any

import server
from actors.call import Answer, Call
from actors.commands import COMMANDS
from actors.engines.engine import Reply, Turn


class FailingEngine:
    name = "failing"

    def reply(self, turn: Turn) -> Reply:
        raise RuntimeError("detail-of-the-engine")


async def bug(call: Call) -> Answer:
    raise RuntimeError("detail-of-the-bug")


class FaultyGateway(server.Gateway):
    async def start(self, **_: Any) -> None:
        await super().start(engine=FailingEngine(), before_commit=self._break)

    def _break(self) -> None:
        if (self.settings.data_dir / "broken").exists():
            raise OSError("no space left on device")


if __name__ == "__main__":
    COMMANDS["US_Sessions"] = replace(COMMANDS["US_Sessions"], run=bug)
    server.Gateway = FaultyGateway
    sys.exit(server.main())
