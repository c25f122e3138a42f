"""The official MCP client, connected to a gateway; every answer is validated by its tool's output schema."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, Literal, cast

import httpx2
import orjson
from jsonschema import Draft202012Validator
from mcp.client.client import Client as McpClient
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from actors.commands.table import COMMANDS
from routes.mcp.results import output_schema
from tests.support.gateway import Answer, Client

Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
"""Modes of the official client to find the protocol's version: discovery (2026-07-28), or the earlier handshake."""

ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def connected(
    base: str,
    headers: dict[str, str] | None = None,
    mode: Mode = "auto",
    groups: str = "",
    hear: MessageHandlerFnT | None = None,
) -> AsyncIterator[McpClient]:
    """Connect the official client; `hear` gets the notifications of a session."""
    url = f"{base}/mcp?groups={groups}" if groups else f"{base}/mcp"
    async with (
        # gateways speak plain HTTP, and to read the machine's certificates takes 20 ms
        httpx2.AsyncClient(headers=headers, timeout=30, verify=False) as http,
        McpClient(
            streamable_http_client(url, http_client=http), mode=mode, read_timeout_seconds=30, message_handler=hear
        ) as client,
    ):
        yield client


def bearer(user: Client) -> dict[str, str]:
    return {"Authorization": f"Bearer {user.token}"}


async def call(client: McpClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and assert its success; return its TPSResponse."""
    answer = checked(tool, await client.call_tool(tool, arguments))
    assert answer["status"] == {"success": True, "internal_code": 0, "http_code": 200}, answer
    return answer


async def refused(client: McpClient, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and assert its refusal; return its TPSResponse."""
    answer = checked(tool, await client.call_tool(tool, arguments))
    assert answer["status"]["success"] is False
    return answer


def checked(tool: str, result: CallToolResult) -> dict[str, Any]:
    """Validate a result by its tool's output schema and its text; return its TPSResponse."""
    answer: dict[str, Any] | None = result.structured_content
    assert answer is not None
    require_valid(tool, answer)
    (block,) = result.content
    assert block.type == "text"
    assert orjson.loads(block.text) == answer
    assert result.is_error is not answer["status"]["success"]
    return answer


def require_valid(tool: str, answer: Any) -> None:
    """Validate a TPSResponse by its tool's output schema, which must declare every member."""
    problems = [error.message for error in _validator(tool).iter_errors(answer)]  # pyright: ignore[reportUnknownMemberType]
    assert problems == [], tool


@cache
def _validator(tool: str) -> Draft202012Validator:
    return Draft202012Validator(_closed(output_schema(COMMANDS[tool])))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in cast(list[Any], schema)]
    if not isinstance(schema, dict):
        return schema
    made = {name: _closed(part) for name, part in cast(dict[str, Any], schema).items()}
    return {**made, "additionalProperties": False} if isinstance(made.get("properties"), dict) else made


async def sent(client: Client, message: Any, headers: dict[str, str] | None = None, path: str = "/mcp") -> Answer:
    """Send one message without the official client."""
    data = message if isinstance(message, bytes) else orjson.dumps(message)
    all_headers = {"Content-Type": "application/json", **ACCEPT, **(headers or {})}
    return await client.request("POST", path, data=data, headers=all_headers)


def tool_call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
