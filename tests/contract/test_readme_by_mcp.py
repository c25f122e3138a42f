"""The README's quick start by the official MCP client alone: the same commands, the same answers."""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client

from actors.commands.table import COMMANDS
from routes.mcp.groups import WITH_PASSWORD
from tests.support.gateway import CHECKOUT, MAKE_RUN, running
from tests.support.pages import BLOCK, matches

CURL = re.compile(r"curl -s \$BUS(/\w+/\w+)?(.*?)-d '(.*?)'", re.DOTALL)
SERVICES = {command.alias: service for service, command in COMMANDS.items()}


class Step(NamedTuple):
    """A command of the quick start, and its answer if the README shows it."""

    service: str
    arguments: dict[str, Any]
    shown: Any


def quick_start() -> list[Step]:
    """Read the commands out of the README's curls; the last one of a block has its answer shown."""
    steps: list[Step] = []
    for kind, text in BLOCK.findall((CHECKOUT / "README.md").read_text(encoding="utf-8")):
        if kind == "json":
            steps[-1] = steps[-1]._replace(shown=json.loads(text))
            continue
        for alias, _, body in CURL.findall(text):
            arguments = json.loads(body)
            service = SERVICES[alias] if alias else arguments.pop("service")
            steps.append(Step(service, arguments, None))
    return steps


async def test_the_official_client_runs_the_quick_start_through_mcp_alone(tmp_path: Path):
    steps = quick_start()
    assert [step.service for step in steps] == [
        *("US_Create", "US_LogOn", "AP_Create", "AP_LogOn", "AP_Select", "AP_Chat", "AP_LogOn")
    ]
    headers: dict[str, str] = {}
    async with running(tmp_path / "data", command=MAKE_RUN) as gateway:
        for step in steps:
            url = f"{gateway.base}/mcp" + ("?groups=user" if step.service in WITH_PASSWORD else "")
            async with (
                httpx2.AsyncClient(headers=headers, timeout=30) as http,
                McpClient(streamable_http_client(url, http_client=http)) as client,
            ):
                result = await client.call_tool(step.service, step.arguments)
            answer = result.structured_content
            assert answer is not None
            assert result.is_error is not answer["status"]["success"]
            if step.shown is not None:
                assert matches(step.shown, answer), json.dumps(answer, indent=2)
            if step.service == "US_LogOn":
                headers["Authorization"] = f"Bearer {answer['content'][0]['token']}"
    assert sum(step.shown is not None for step in steps) >= 4
