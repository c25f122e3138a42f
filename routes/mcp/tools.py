"""The commands as MCP tools: names, descriptions and schemas from COMMANDS."""

from functools import cache
from typing import Any

from actors.calls.known_members import Members
from actors.commands.command import Command, ToolDescription
from actors.commands.table import COMMANDS
from actors.sessions.scopes import Scopes
from routes.mcp.results import output_schema
from routes.openapi.request_schemas import request_schema
from routes.openapi.schemas import Schema

TOOLS = {service: command for service, command in COMMANDS.items() if command.follow is None}
"""The commands that are tools: all except endless streams, which a tool call can't answer."""


def tool_definitions() -> list[dict[str, Any]]:
    """Return the definitions of all tools, as in MCP's tools/list."""
    return [_definition(command) for command in TOOLS.values()]


def _definition(command: Command) -> dict[str, Any]:
    described = command.tool or ToolDescription(command.service, command.summary)
    hints: dict[str, Any] = {"title": described.title, "readOnlyHint": not command.mutates}
    if command.mutates:  # only meaningful for changes
        hints |= {"destructiveHint": described.destructive, "idempotentHint": described.idempotent}
    return {
        "name": command.service,
        "title": described.title,
        "description": described.description,
        "inputSchema": input_schema(command),
        "outputSchema": output_schema(command),
        "annotations": hints | {"openWorldHint": described.open_world},
    }


def input_schema(command: Command) -> Schema:
    """Return the schema of the TPSRequest members that a command uses; `required` are those that its checks demand."""
    return request_schema(command)


def may_call(scopes: Scopes | None, service: str) -> bool:
    """Return whether an API key with these scopes may call a tool, as far as the tool's service decides that."""
    command = TOOLS[service]
    if scopes is None or command.public:
        return True
    return scopes.allow_service(service) and not (scopes.read_only and command.only_changes)


@cache
def members_of_tool(service: str) -> Members:
    """Return the members in a tool's input schema."""
    return Members(TOOLS[service].uses)
