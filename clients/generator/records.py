"""The client's records, made from the schemas of the OpenAPI document."""

import textwrap
from typing import Any

Schema = dict[str, Any]

NESTED = {
    "OwnUserQuota": "Quota",
    "OwnUserCounts": "Counts",
    "AccountQuota": "Quota",
    "AccountCounts": "Counts",
    "ResetAccountQuota": "Quota",
    "ResetAccountCounts": "Counts",
    "AgentStandingOffers": "Offer",
    "MessageSources": "Source",
    "WebhookDeliveryAttempts": "Attempt",
    "HeaderContext": "Context",
    "RunReply": "Message",
    "RunError": "Status",
}
"""The class of an object inside a record, by the record's name and the member's."""

OF_SCHEMAS = ("Status", "Header", "Run", "WebhookEndpoint", "NewWebhookEndpoint", "ChangedWebhookEndpoint")
OF_SCHEMAS_TOO = ("WebhookDelivery", "Health", "IngestedDocument", "Account")
OF_ANSWERS = {
    "ApiKey": ("/api/api-keys", "get", "200", "api_keys"),
    "NewApiKey": ("/api/api-keys", "post", "201", None),
    "SandboxKey": ("/api/dev/sandbox-key", "post", "201", None),
    "TestEvent": ("/api/webhooks/test", "post", "202", None),
    "ResetAccount": ("/api/admin/users/{name}/reset-secret", "post", "200", None),
    "OperatorsAgent": ("/api/admin/agents/{name}/stop", "post", "200", None),
    "OperatorsAuditEntry": ("/api/admin/audit", "get", "200", "entries"),
}
"""Records without a name in the document: path, method and status of an answer, and the member that lists them."""

SECRETS = frozenset({"token", "key", "secret"})
"""Members that a repr does not show."""

HEAD = '''# Made by `make client` from the gateway's schemas: don't edit.
"""The records of the gateway's answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
'''


def records_module(document: Schema, names: list[str]) -> str:
    """Return the module with the records of these names, and of the gateway's routes."""
    made = _Records(document["components"]["schemas"])
    for name in (*names, *OF_SCHEMAS, *OF_SCHEMAS_TOO):
        made.add(name, made.schemas[name])
    for name, (path, method, status, member) in OF_ANSWERS.items():
        answer = document["paths"][path][method]["responses"][status]["content"]["application/json"]["schema"]
        made.add(name, answer["properties"][member]["items"] if member else answer)
    return "\n\n".join([HEAD, *made.classes.values()])


class _Records:
    """Classes by name, each after those that it uses."""

    def __init__(self, schemas: dict[str, Schema]) -> None:
        self.schemas = schemas
        self.classes: dict[str, str] = {}

    def add(self, name: str, schema: Schema) -> str:
        if name not in self.classes:
            required = schema.get("required", ())
            given: dict[str, Schema] = schema["properties"]
            members = [self._member(name, member, inner, member in required) for member, inner in given.items()]
            self.classes[name] = "\n".join(
                [
                    "@dataclass(frozen=True, slots=True, kw_only=True)",
                    f"class {name}:",
                    f'    """{schema.get("description") or name}"""',
                    "",
                    *members,
                ]
            )
        return name

    def _member(self, owner: str, name: str, schema: Schema, needed: bool) -> str:
        kind = self._type(owner, name, schema)
        if not needed and "None" not in kind:
            kind += " | None"
        hidden = name in SECRETS
        default = "" if needed else "None"
        if hidden:
            default = f"field({'default=None, ' if default else ''}repr=False)"
        line = f"    {name}: {kind}" + (f" = {default}" if default else "")
        said = schema.get("description", "")
        return f'{line}\n    """{_wrapped(said)}"""' if said else line

    def _type(self, owner: str, member: str, schema: Schema) -> str:
        kind = self._bare(owner, member, schema)
        return f"{kind} | None" if schema.get("nullable") and kind != "Any" else kind

    def _bare(self, owner: str, member: str, schema: Schema) -> str:
        if "allOf" in schema:
            (schema,) = schema["allOf"]
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return self.add(name, self.schemas[name])
        values = [value for value in schema.get("enum", ()) if value is not None]
        match schema.get("type"):
            case "string" if values:
                return f"Literal[{', '.join(map(repr, values))}]"
            case "string":
                return "datetime" if schema.get("format") == "date-time" else "str"
            case "integer":
                return "int"
            case "number":
                return "float"
            case "boolean":
                return "bool"
            case "array":
                return f"tuple[{self._type(owner, member, schema['items'])}, ...]"
            case "object" if "properties" in schema:
                name = f"{owner}{member.capitalize()}"
                return self.add(NESTED.get(name, name), schema)
            case "object":
                return "Mapping[str, Any]"
            case _:
                return "Any"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 110, subsequent_indent="    ", break_long_words=False)
