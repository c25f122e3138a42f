"""A gateway with faults.

No commit succeeds while `broken` is in its data folder, US_Sessions has a bug, the engine fails on every message, and
so does the access log on the request id `unforeseen-fault`.
"""

import sys
from dataclasses import replace
from typing import Any

import server
from actors.calls.call import Answer, Call
from actors.commands.table import COMMANDS
from actors.engines.turn import Reply, Turn
from actors.slices import Steps
from routes.http.access_log import AccessLog


class FailingEngine:
    name = "failing"

    def replying(self, turn: Turn) -> Steps[Reply]:
        yield
        raise RuntimeError("detail-of-the-engine")


async def bug(call: Call) -> Answer:
    raise RuntimeError("detail-of-the-bug")


class FailingLog(AccessLog):
    def write(self, request_id: str, *line: Any) -> None:
        if request_id == "unforeseen-fault":
            raise RuntimeError("detail-of-the-log")
        super().write(request_id, *line)


class FaultyGateway(server.Gateway):
    async def start(self, **_: Any) -> None:
        await super().start(engine=FailingEngine(), before_commit=self._break)

    def _break(self) -> None:
        if (self.settings.data_dir / "broken").exists():
            raise OSError("no space left on device")


if __name__ == "__main__":
    COMMANDS["US_Sessions"] = replace(COMMANDS["US_Sessions"], run=bug)
    server.AccessLog = FailingLog
    server.Gateway = FaultyGateway
    sys.exit(server.main())
