"""The commands as MCP tools: names, descriptions and input schemas from the one table."""

from functools import cache
from typing import Any

from actors.commands import COMMANDS, Command
from actors.known_members import Members
from routes.request_schemas import request_schema
from routes.schemas import Schema

TOOLS = {service: command for service, command in COMMANDS.items() if command.follow is None}
"""The commands that are tools: all but those that answer without end, which a tool call can't."""


def tool_definitions() -> list[dict[str, Any]]:
    """Describe every tool, as MCP's tools/list does."""
    return [
        {
            "name": service,
            "description": command.summary + _errors(command),
            "inputSchema": input_schema(command),
            "annotations": {"readOnlyHint": not command.mutates, "openWorldHint": False},
        }
        for service, command in TOOLS.items()
    ]


def _errors(command: Command) -> str:
    codes = ", ".join(str(code) for code in command.errors)
    return f" Internal codes of its own errors: {codes}." if codes else ""


def input_schema(command: Command) -> Schema:
    """Describe the members of a TPSRequest that a command looks at; `required` are those that its checks demand."""
    return request_schema(command)


@cache
def members_of_tool(service: str) -> Members:
    """Return the members that a tool's input schema has."""
    return Members(TOOLS[service].uses)
