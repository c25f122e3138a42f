"""The commands as MCP tools: names, descriptions and input schemas from the one table."""

from functools import cache
from typing import Any

from actors.commands import COMMANDS, Command
from actors.known_members import Members
from actors.request import TPSRequest
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
    top = _object()
    for path in command.uses:
        part, _, member = path.partition(".")
        described = _members()[part]
        if not member:
            top["properties"][part] = described
        else:
            nested = top["properties"].setdefault(part, {**_object(), "description": described["description"]})
            nested["properties"][member] = described["properties"][member]
    for path in command.requires:
        part, _, member = path.partition(".")
        _require(top, part)
        if member:
            _require(top["properties"][part], member)
    return top


@cache
def members_of_tool(service: str) -> Members:
    """Return the members that a tool's input schema has."""
    return Members(TOOLS[service].uses)


def _object() -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _require(schema: Schema, name: str) -> None:
    required: list[str] = schema.setdefault("required", [])
    if name not in required:
        required.append(name)


@cache
def _members() -> dict[str, Schema]:
    """The members of a TPSRequest, without references and without null, which is as good as absent."""
    generated = TPSRequest.model_json_schema()
    parts: dict[str, Schema] = generated["$defs"]
    return {name: _plain(member, parts) for name, member in generated["properties"].items()}


def _plain(schema: Schema, parts: dict[str, Schema]) -> Schema:
    given = [branch for branch in schema.get("anyOf", []) if branch != {"type": "null"}]
    made: Schema = {**(given[0] if given else schema)}
    if "$ref" in made:
        made = {**parts[made["$ref"].rpartition("/")[2]]}
    if "properties" in made:
        made["properties"] = {name: _plain(member, parts) for name, member in made["properties"].items()}
    if "description" in schema:
        made["description"] = schema["description"]
    for unwanted in ("title", "default", "anyOf"):
        made.pop(unwanted, None)
    return made
