"""Flat request schemas, one per command, with only its own members and their descriptions for it."""

from functools import cache
from typing import Any

from actors.calls.member_descriptions import member_description
from actors.calls.request import TPSRequest
from actors.commands.command import Command
from routes.openapi.schemas import Schema, nullable


def request_schema(command: Command, *, takes_null: bool = False) -> Schema:
    """Return the schema of the TPSRequest members that a command uses; `required` are those that its checks demand.

    Without references, unions or inheritance, so that every generator of clients understands it.
    `takes_null` allows null for optional members, as the gateway does.
    """
    top: dict[str, Any] = _object()
    for path in command.uses:
        part, _, member = path.partition(".")
        if member:
            described = {**_object(), "description": member_description(command.service, part)}
            within = top["properties"].setdefault(part, described)
        else:
            within = top
        within["properties"][member or part] = {
            **_types()[path],
            "description": member_description(command.service, path),
        }
    for path in command.requires:
        part, _, member = path.partition(".")
        _require(top, part)
        if member:
            _require(top["properties"][part], member)
    return _with_null(top) if takes_null else top


def _object() -> Schema:
    return {"type": "object", "properties": {}, "additionalProperties": False}


def _require(schema: Schema, name: str) -> None:
    required: list[str] = schema.setdefault("required", [])
    if name not in required:
        required.append(name)


def _with_null(schema: Schema) -> Schema:
    """Allow null for every optional member, in OpenAPI 3.0's form.

    Objects and enumerations get a title, because generators would make numbered types of nullable ones.
    """
    made: Schema = {}
    for name, member in schema["properties"].items():
        inner = _with_null(member) if "properties" in member else member
        if "properties" in inner or "enum" in inner:
            inner = {"title": name.capitalize(), **inner}
        made[name] = inner if name in schema.get("required", ()) else _or_null(inner)
    return {**schema, "properties": made}


def _or_null(schema: Schema) -> Schema:
    return nullable({**schema, "enum": [*schema["enum"], None]} if "enum" in schema else schema)


@cache
def _types() -> dict[str, Schema]:
    """The types of a TPSRequest's members by path, without null, which counts as absent."""
    generated = TPSRequest.model_json_schema()
    types: dict[str, Schema] = {}
    for name, schema in generated["properties"].items():
        (given,) = [branch for branch in schema["anyOf"] if branch != {"type": "null"}]
        if "$ref" not in given:
            types[name] = given
            continue
        part = generated["$defs"][given["$ref"].rpartition("/")[2]]
        for member, described in part["properties"].items():
            (types[f"{name}.{member}"],) = [branch for branch in described["anyOf"] if branch != {"type": "null"}]
    return types
