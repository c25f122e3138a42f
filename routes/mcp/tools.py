"""The commands as MCP tools: names and schemas from the one table, words from `mcp_words`."""

from functools import cache
from typing import Any

from actors.calls.known_members import Members
from actors.commands.command import Command
from actors.commands.table import COMMANDS
from routes.mcp.descriptions import WORDS
from routes.mcp.results import output_schema
from routes.openapi.request_schemas import request_schema
from routes.openapi.schemas import Schema

TOOLS = {service: command for service, command in COMMANDS.items() if command.follow is None}
"""The commands that are tools: all but those that answer without end, which a tool call can't."""


def tool_definitions() -> list[dict[str, Any]]:
    """Describe every tool, as MCP's tools/list does."""
    return [_definition(command) for command in TOOLS.values()]


def _definition(command: Command) -> dict[str, Any]:
    words = WORDS[command.service]
    hints: dict[str, Any] = {"title": words.title, "readOnlyHint": not command.mutates}
    if command.mutates:  # these two mean something only there
        hints |= {"destructiveHint": words.destructive, "idempotentHint": words.idempotent}
    return {
        "name": command.service,
        "title": words.title,
        "description": words.description,
        "inputSchema": input_schema(command),
        "outputSchema": output_schema(command),
        "annotations": hints | {"openWorldHint": words.open_world},
    }


def input_schema(command: Command) -> Schema:
    """Describe the members of a TPSRequest that a command looks at; `required` are those that its checks demand."""
    return request_schema(command)


@cache
def members_of_tool(service: str) -> Members:
    """Return the members that a tool's input schema has."""
    return Members(TOOLS[service].uses)
