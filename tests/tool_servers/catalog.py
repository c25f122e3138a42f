"""Catalogs of tool servers for test gateways, and helpers for their routes."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.support.gateway import Answer, Client

FOLDER = Path(__file__).parent
UNRULY_MODES = ("exits", "silent", "babbles", "floods", "too_many", "too_large", "no_tools", "endless")

SDK_CODES = (-32000, -32001, -32600, -32700)
"""The codes of errors that the SDK makes itself, and servers send as well."""


def write_catalog(path: Path, servers: dict[str, list[str]], **limits: float) -> str:
    """Write a catalog; return its path as a setting."""
    lines = ["[limits]", *(f"{name} = {value}" for name, value in limits.items())]
    for name, command in servers.items():
        lines += [f"[servers.{name}]", f"command = {json.dumps(command)}", f'description = "The server {name}"']
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def unruly(*arguments: str) -> list[str]:
    """Return the command of the unruly server."""
    return [sys.executable, "-I", "-S", str(FOLDER / "unruly.py"), *arguments]


def official(module: str, *arguments: str) -> list[str]:
    """Return the command of one of the official servers in the development environment."""
    return [sys.executable, "-m", module, *arguments]


async def install(user: Client, name: str, **what: Any) -> Answer:
    """Install a tool server and assert success."""
    answer = await user.request("POST", "/api/mcp/tools/install", json={"name": name, **what})
    assert answer.http == 201, answer.body
    return answer


async def invoke(user: Client, tool: str, **arguments: Any) -> Answer:
    return await user.request("POST", "/api/mcp/tools/invoke", json={"tool": tool, "arguments": arguments})


async def listed(user: Client) -> dict[str, Any]:
    answer = await user.request("GET", "/api/mcp/tools")
    assert answer.http == 200, answer.body
    return answer.body


async def server_of(user: Client, name: str) -> dict[str, Any]:
    """Return one of the listed servers."""
    return next(server for server in (await listed(user))["servers"] if server["name"] == name)


def words(answer: Answer) -> str:
    """Return the text of a tool's answer."""
    assert answer.http == 200, answer.body
    return answer.body["content"][0]["text"]


async def until_well(user: Client, echo: str) -> Answer:
    """Call a server until it answers again, because the gateway waits after repeated failures."""
    async with asyncio.timeout(60):
        while (answer := await invoke(user, echo, text="well")).http != 200:
            answer.refused(5001, 502)
            await asyncio.sleep(0.1)
    return answer
