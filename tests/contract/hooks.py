"""Hooks of schemathesis (SCHEMATHESIS_HOOKS): it logs on, and again whenever a command has ended its session.

Each time as a new user, since a command may have changed the password or removed the user; and from an address of its
own, since failed log-ons are limited per address. Of the phase `coverage` it sends every COVERAGE_STEP-th case.
"""

import json
import os
import uuid
from collections import Counter
from typing import Any
from urllib.request import Request, urlopen

import schemathesis  # pyright: ignore[reportMissingImports] - it lives in an environment of its own

BUS = os.environ["FUZZED_BUS"]
SECRET = "a password of the fuzzer"
COVERAGE_STEP = int(os.environ["COVERAGE_STEP"])

_generated: Counter[tuple[str, str]] = Counter()


@schemathesis.hook
def filter_case(_context: Any, case: Any) -> bool:
    """Take the first case of each operation and kind of change, and every COVERAGE_STEP-th after it.

    Methods are counted over all operations, since each operation has the same ones in the same order.
    """
    phase = case.meta.phase if case.meta else None
    if phase is None or phase.name.value != "coverage":
        return True
    scenario = phase.data.scenario.value
    kind = ("" if scenario == "unspecified_http_method" else case.operation.label, scenario)
    _generated[kind] += 1
    return _generated[kind] % COVERAGE_STEP == 1 % COVERAGE_STEP


@schemathesis.auth(retry_on=[401]).skip_for(
    path_regex="^/(api/(health|tps|dev|admin|webhooks/events)|docs|metrics|debug)"
)
class Session:
    """A session of a new user."""

    def get(self, _case: Any, _context: Any) -> str:
        name = f"fuzzer-{uuid.uuid4()}"
        _send("US_Create", vx={"name": name, "secret": SECRET})
        return _send("US_LogOn", target={"user": name}, vx={"secret": SECRET})["content"][0]["token"]

    def set(self, case: Any, token: str, _context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {token}"


def _send(service: str, **body: Any) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "X-Forwarded-For": "192.0.2.1"}
    with urlopen(Request(BUS, json.dumps({"service": service, **body}).encode(), headers)) as response:
        return json.load(response)
