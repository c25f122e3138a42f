"""The built-in tool server `parley`: recall, agents and the time, with the rights of the calling user."""

import zoneinfo
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

import orjson

from actors.calls.call import Answer, Call
from actors.calls.request import parse
from actors.commands import agents, memories
from actors.errors import InvalidField, ServiceError
from actors.tools.tool import Tool, ToolResult, text_result

Run = Callable[[Call, dict[str, Any]], Awaitable[tuple[Any, Answer]]]
"""Returns the value of a tool's answer, and the answer of the command behind it."""


async def _recall(call: Call, arguments: dict[str, Any]) -> tuple[Any, Answer]:
    page = {"limit": arguments["limit"]} if "limit" in arguments else None
    bank, query = _text(arguments, "bank"), _text(arguments, "query")
    call.service = "MB_Recall"
    call.says(parse({"target": {"bank": bank}, "content": query, "page": page}))
    answer = await memories.recall_memories(call)
    return answer.content, answer


async def _list_agents(call: Call, arguments: dict[str, Any]) -> tuple[Any, Answer]:
    prefix = _text(arguments, "prefix") if "prefix" in arguments else None
    call.service = "AP_List"
    call.says(parse({"target": {"agent": prefix}, "page": {"limit": 200}}))
    answer = await agents.list_agents(call)
    return answer.profile, answer


async def _current_time(call: Call, arguments: dict[str, Any]) -> tuple[Any, Answer]:
    name = _text(arguments, "timezone") if "timezone" in arguments else "UTC"
    try:
        zone = zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise InvalidField(f"Invalid value of timezone: there is no IANA time zone {name!r}.") from None
    now = datetime.fromtimestamp(call.core.clock() / 1000, zone)
    return {"time": now.isoformat(timespec="milliseconds"), "timezone": name}, Answer()


def _text(arguments: dict[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InvalidField(f"Invalid value of {name}: send a text.")
    return value


def _object(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


_TOOLS: dict[str, tuple[Tool, Run]] = {
    tool.name: (tool, run)
    for tool, run in (
        (
            Tool(
                "recall",
                "Find the memories of a bank that match a text best, best first.",
                _object(
                    ["bank", "query"],
                    bank={"type": "string", "description": "The bank's name."},
                    query={"type": "string", "description": "What to find."},
                    limit={"type": "integer", "minimum": 1, "maximum": 200, "description": "5 when absent."},
                ),
            ),
            _recall,
        ),
        (
            Tool(
                "list_agents",
                "List the user's agents and those on its roster, by name.",
                _object([], prefix={"type": "string", "description": "Only names with this prefix."}),
            ),
            _list_agents,
        ),
        (
            Tool(
                "current_time",
                "Return the current time.",
                _object([], timezone={"type": "string", "description": "An IANA name, e.g. Europe/Paris; else UTC."}),
            ),
            _current_time,
        ),
    )
}

TOOLS = [tool for tool, _ in _TOOLS.values()]


async def run(call: Call, tool: str, arguments: dict[str, Any]) -> ToolResult | None:
    """Run a tool for the call's user; None if there is no tool of that name.

    A refusal is returned as an error of the tool, so that a model can read the reason and try something else.
    """
    if tool not in _TOOLS:
        return None
    try:
        value, answer = await _TOOLS[tool][1](call, arguments)
    except ServiceError as error:
        if error.http_code >= 500:
            raise
        return text_result(error.note, is_error=True)
    text = orjson.dumps(value).decode()
    return ToolResult([{"type": "text", "text": text}], quoted=answer.quoted, shows=answer.shows)
