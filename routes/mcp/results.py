"""Output schemas of the MCP tools (JSON Schema 2020-12): the TPSResponse of each command."""

from typing import Any, cast

from actors.commands.command import Command
from routes.openapi.schemas import HEADER, RECORDS, STATUS, Schema, array, number, record

_DROPPED = ("example", "nullable")
"""Keywords of OpenAPI 3.0 that JSON Schema lacks."""


def output_schema(command: Command) -> Schema:
    """Return the schema of a command's TPSResponse, without references; an error has empty lists."""
    code = {"internal_code": number("0 on success.")}
    status: Schema = {**STATUS}
    status["properties"] = {**status["properties"], **code}
    answer = record(
        "The command's answer.",
        header=HEADER,
        status=status,
        profile=_records(command.profile),
        content=_records(command.content[0] if command.content else None),
    )
    return json_schema(answer)


def _records(kind: str | None) -> Schema:
    if kind is None:
        return array({"type": "object"}) | {"maxItems": 0}
    return array(RECORDS[kind][1])


def json_schema(described: Schema) -> Schema:
    """Convert an OpenAPI 3.0 schema without references to JSON Schema 2020-12."""
    made = _translated(described)
    if described.get("nullable"):
        made["type"] = [made["type"], "null"]
        if "enum" in made:
            made["enum"] = [*made["enum"], None]
    return made


def _translated(described: Schema) -> Schema:
    made: Schema = {}
    for word, value in described.items():
        if word == "properties":
            members = cast(dict[str, Schema], value)
            made[word] = {name: json_schema(member) for name, member in members.items()}
        elif isinstance(value, dict):
            made[word] = json_schema(cast(dict[str, Any], value))
        elif word not in _DROPPED:
            made[word] = value
    return made
