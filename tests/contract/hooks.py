"""Hooks of schemathesis (SCHEMATHESIS_HOOKS): what would end the fuzzer's own session is sent under another one."""

import json
import os
import urllib.request
from typing import Any

import schemathesis  # pyright: ignore[reportMissingImports] - it lives in an environment of its own

BASE = os.environ["PARLEY_BASE"]
USER, PASSWORD = os.environ["PARLEY_USER"], os.environ["PARLEY_PASSWORD"]
ENDS_SESSION = ("US_LogOff", "US_Destroy")


@schemathesis.hook
def before_call(_context: Any, case: Any, _kwargs: Any) -> None:
    body = case.body if isinstance(case.body, dict) else {}
    services = (case.operation.definition.raw.get("operationId"), body.get("service"))
    if any(service in ENDS_SESSION for service in services) and "Authorization" in case.headers:
        case.headers["Authorization"] = f"Bearer {_fresh_token()}"


def _fresh_token() -> str:
    body = {"target": {"user": USER}, "vx": {"secret": PASSWORD}}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{BASE}/demo/v1/Svc/tps/user/logon", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["content"][0]["token"]
