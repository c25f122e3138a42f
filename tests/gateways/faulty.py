"""A gateway with faults of commits, a command, the engine and the access log.

Commits fail while `broken` is in its data folder, US_Sessions has a bug, the engine fails on every message, and the
access log fails on the request id `unforeseen-fault`.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from actors.calls.call import Answer, Call
from actors.commands.table import COMMANDS
from actors.engines.turn import Reply, Turn
from actors.slices import Steps
from routes.http.access_log import AccessLog, RequestLine
from tests.gateways.parts import serve


class FailingEngine:
    name = "failing"

    def replying(self, turn: Turn) -> Steps[Reply]:
        yield
        raise RuntimeError("detail-of-the-engine")


async def bug(call: Call) -> Answer:
    raise RuntimeError("detail-of-the-bug")


class FailingLog(AccessLog):
    def write(self, line: RequestLine) -> None:
        if line.request_id == "unforeseen-fault":
            raise RuntimeError("detail-of-the-log")
        super().write(line)


def failing(*_: Any) -> FailingEngine:
    return FailingEngine()


def fail_if_broken() -> None:
    if (Path(os.environ["PARLEY_DATA_DIR"]) / "broken").exists():
        raise OSError("no space left on device")


if __name__ == "__main__":
    COMMANDS["US_Sessions"] = replace(COMMANDS["US_Sessions"], run=bug)
    serve(engine=failing, before_commit=fail_if_broken, access_log=FailingLog)
