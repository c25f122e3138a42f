"""The OpenAPI operations of the command bus and of an alias per command, with flat schemas."""

from typing import Any

from actors.calls.request import TPSRequest
from actors.commands.command import Command
from actors.commands.table import COMMANDS, GROUPS
from actors.errors import ServiceError
from routes.openapi.errors import command_refusals
from routes.openapi.headers import RATE_LIMIT, with_headers
from routes.openapi.operations import CREDENTIALS, IDEMPOTENCY_KEY, json_body, model_schemas
from routes.openapi.request_schemas import request_schema
from routes.openapi.schemas import RECORDS, TPS_RESPONSE, Schema, command_response, ref, text

LAST_EVENT_ID_PARAMETER: Schema = {
    "name": "Last-Event-ID",
    "in": "header",
    "schema": text(pattern="^[0-9]{1,18}$", example="7"),
    "description": "Go on after the event with this id, with nothing missed and nothing twice; 0 is from the first.",
}
_LAST_EVENT_ID: Schema = {"$ref": "#/components/parameters/LastEventId"}

_LINKS = {"AP_Create": ("AP_Read", "AP_LogOn", "AP_Select", "AP_History", "AP_LogOff", "AP_Destroy")}
"""Commands that take the agent of an earlier command's answer, for OpenAPI links."""


def command_paths(bus: str) -> Schema:
    """Return the operations of the command bus at this path and of its aliases."""
    paths: Schema = {bus: {"post": _bus_operation()}}
    for command in COMMANDS.values():
        paths[bus + command.alias] = {"post": _alias_operation(command)}
    return paths


def command_schemas() -> Schema:
    """Return the schemas of requests and answers: TPSRequest and TPSResponse, and a pair for each command."""
    schemas = model_schemas(TPSRequest)
    whole = schemas["TPSRequest"]
    schemas["TPSRequest"] = {
        **whole,
        "description": "A command for the bus. Each command has a schema of its own, which shows what it uses of this; "
        "it ignores the rest. Other members are refused. Null and blank count as missing.",
        "required": ["service"],
        "properties": {"service": text("The command.", enum=list(COMMANDS)), **whole["properties"]},
    }
    schemas["TPSResponse"] = TPS_RESPONSE
    for service, command in COMMANDS.items():
        described = f"What {service} uses of a request: other members of TPSRequest are ignored, unknown ones refused."
        schemas[_request(service)] = {"description": described, **request_schema(command, takes_null=True)}
        if command.follow is None:
            schemas[_response(service)] = _answer(command)
    return schemas


def _request(service: str) -> str:
    return f"{service}Request"


def _response(service: str) -> str:
    return f"{service}Response"


def _answer(command: Command) -> Schema:
    profile = ref(RECORDS[command.profile][0]) if command.profile else None
    content = ref(RECORDS[command.content[0]][0]) if command.content else None
    return command_response(f"The answer of {command.service}.", profile, content)


def _bus_operation() -> Schema:
    example = {"service": "AP_Chat", "content": "Hello!"}
    answers = json_body(ref("TPSResponse"))
    events = text("The events of AP_Chat or ZN_Stream, as on their own paths.")
    answers["content"]["text/event-stream"] = {"schema": events}
    return {
        "tags": ["Gateway"],
        "operationId": "commandBus",
        "summary": "Carry out the command that `service` names.",
        "description": "The one path of all commands. The same request without `service` may go to the command's own "
        "path instead; both do the same.",
        "security": [*CREDENTIALS, {}],
        "parameters": [IDEMPOTENCY_KEY, _LAST_EVENT_ID],
        "requestBody": json_body(ref("TPSRequest"), example),
        "responses": _responses(answers, "Idempotency-Replayed", chats=True),
    }


def _alias_operation(command: Command) -> Schema:
    takes_key = command.mutates and not command.public
    headers = ("Idempotency-Replayed",) if takes_key else ()
    described: Schema = {
        "tags": [GROUPS[command.group]],
        "operationId": command.service,
        "summary": command.summary,
        "description": _description(command),
        "security": [] if command.public else CREDENTIALS,
        "requestBody": json_body(ref(_request(command.service)), command.example),
        "responses": _responses(_answers(command), *headers, counted=not command.public, chats=command.streams),
    }
    if takes_key:
        described["parameters"] = [IDEMPOTENCY_KEY]
    if command.follow:
        described["parameters"] = [_LAST_EVENT_ID]
    links = _LINKS.get(command.service)
    if links:
        described["responses"]["200"]["links"] = {
            target: {
                "operationId": target,
                "requestBody": {"target": {"agent": "$response.body#/profile/0/name"}},
                "description": "The agent's name is the target.",
            }
            for target in links
        }
    return described


def _description(command: Command) -> str:
    open_to_all = "Needs no credential and is not counted."
    said = [f"On the bus: `service` is `{command.service}`.{f' {open_to_all}' if command.public else ''}"]
    if not command.available:
        said.append("Not available yet: answers 1005.")
    if command.errors:
        lines = "\n".join(f"- {code}: {_meaning(code)}" for code in command.errors)
        said.append(f"Errors of its own, by `internal_code`:\n\n{lines}")
    return "\n\n".join(said)


def _meaning(code: int) -> str:
    (error,) = [error for error in ServiceError.__subclasses__() if error.internal_code == code]
    return (error.__doc__ or "").strip()


def _answers(command: Command) -> dict[str, Any]:
    if command.follow:
        events = text(
            "Events whose data is `{type: message, message}` or `{type: membership, membership}`; the last "
            "is `event: end` with a `reason`. Send an event's id as Last-Event-ID to go on after it."
        )
        return {"content": {"text/event-stream": {"schema": events}}}
    answers = json_body(ref(_response(command.service)))
    if command.streams:
        pieces = text("Events `delta` with `{text}`, then `response` with the whole answer, or `error`.")
        answers["content"]["text/event-stream"] = {"schema": pieces}
    return answers


def _responses(answer: Schema, *headers: str, counted: bool = True, chats: bool = False) -> Schema:
    named = (*(("X-Run-Id",) if chats else ()), *headers, *(RATE_LIMIT if counted else ()))
    ok = with_headers({"description": "The command's answer.", **answer}, *named)
    return {"200": ok, **command_refusals(chats=chats)}
