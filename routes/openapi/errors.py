"""Errors in the OpenAPI document: a response per HTTP status, with real errors as examples."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import orjson

from actors.errors import (
    BodyTooLarge,
    EngineFailed,
    InternalError,
    InvalidCredential,
    InvalidField,
    MalformedBody,
    MissingField,
    NameTaken,
    NeedsPlan,
    NoCredential,
    NotAvailable,
    NotFound,
    NothingSelected,
    NotImplementedYet,
    NotPermitted,
    Overloaded,
    QuotaExceeded,
    RequestTimeout,
    ServiceError,
    StateConflict,
    StorageUnavailable,
    TooManyAttempts,
    UnknownService,
    UserSuspended,
    WrongMediaType,
    WrongPassword,
)
from routes.doors.door import JSON, Door
from routes.http.answers import bus_status, status_of, tps_body
from routes.openapi.headers import OF_CHATS, RATE_LIMIT, with_headers
from routes.openapi.schemas import Schema, record, ref

ERROR: Schema = record("An error of a route beside the command bus.", status=ref("Status"))

_OF_ANY = (
    MalformedBody("The body is JSON but not an object; send {...}."),
    MissingField("missing name field: send a text as `name`."),
    InvalidField("Unknown member nmae (the nearest known one is name). Correct it or leave it out; nothing was done."),
    BodyTooLarge("The body is larger than the 1,048,576 bytes that this gateway takes; send less."),
    RequestTimeout("The request did not arrive in time; send it whole, at once."),
    WrongMediaType("Send the body as Content-Type: application/json."),
    NoCredential("Send a session token as `Authorization: Bearer ...` or an API key as `X-Api-Key`."),
    InvalidCredential("This session has ended; log on again with US_LogOn."),
    NotPermitted("You may see this but not do that; ask its owner."),
    NeedsPlan("Your plan does not include this; change to a higher one."),
    UserSuspended("An operator has suspended this user; ask the operator of this gateway."),
    NotFound("There is none of this name that you may see; list the existing ones."),
    NameTaken("This name is taken; choose another."),
    StateConflict("This Idempotency-Key was used for another body; use a new one."),
    QuotaExceeded("The 100 requests a day of the plan free are used up until 00:00 UTC; wait, or change the plan."),
    TooManyAttempts("Too many tries from this address; wait a few minutes, then try again."),
    InternalError("The gateway failed to do this; try again, and tell its operator the request id."),
    EngineFailed("The tool server failed; try again, or look at its log."),
    StorageUnavailable("The storage is unavailable; try again."),
    Overloaded("Too much waits already; try again."),
)
_OF_COMMANDS = (
    UnknownService("There is no service AP_Caht; see /docs for all of them."),
    MissingField("missing description field: send a text as `vx.description`."),
    InvalidField(
        "Unknown member vx.nmae (the nearest known one is vx.name). Correct it or leave it out; nothing was done."
    ),
    NotAvailable("The service DEFAULT exists but is not available; see /docs."),
    WrongPassword("Wrong user name or password."),
    NotPermitted("Only the owner of scout may do this with it; ask lovelace."),
    NotFound("There is no agent of this name that you may see; list yours with AP_List."),
    StateConflict("scout is offline; its owner logs it on with AP_LogOn."),
    NothingSelected("No agent is selected: name one as target.agent, or select one with AP_Select."),
    EngineFailed("The chat engine failed; try again."),
)
_OF_ROUTES = (NotImplementedYet("Rules are not implemented yet."),)


def _examples(*errors: ServiceError) -> list[ServiceError]:
    """Return one error per class, the later of two."""
    by_class = {type(error): error for error in errors}
    return sorted(by_class.values(), key=lambda error: error.internal_code)


COMMAND_ERRORS = _examples(*_OF_ANY, *_OF_COMMANDS)
ROUTE_ERRORS = _examples(*_OF_ANY, *_OF_ROUTES)

_COMMAND_RESPONSES = {
    400: ("Refused", "The request is wrong, or the command was refused; `status` says why."),
    401: ("Unauthorized", "No credential, or not a valid one."),
    408: ("Late", "The request did not arrive in time."),
    415: ("NotJson", "The media type is not application/json, or the body is compressed."),
    429: ("TooMany", "Too many requests; `Retry-After` says when to try again."),
    500: ("Failed", "The gateway failed to carry it out."),
}
"""Errors of commands by HTTP status: the name of the response in the document, and its description."""

ROUTE_RESPONSES = {
    400: "The request is wrong.",
    401: "No credential, or not a valid one.",
    403: "Not permitted, or not on this plan.",
    404: "It does not exist, or you may not see it.",
    408: "The request did not arrive in time.",
    409: "Its state does not allow it, or the name or Idempotency-Key is taken.",
    413: "The body is too large.",
    415: "This route does not take this media type.",
    429: "Too many requests; `Retry-After` says when to try again.",
    501: "Not implemented yet.",
    502: "The tool server failed.",
    503: "The gateway can't do this now; `Retry-After` says when to try again.",
}
"""Errors of routes outside the command bus, by HTTP status."""


_OF_KEPT_MESSAGES = (404, 409, 502, 503)
"""The statuses of a chat's errors behind which its message may be stored; on the command bus they are 400 and 500."""


def command_refusals(*, chats: bool = False) -> Schema:
    """Return references to the error responses of a command, by status; `chats` if it may be AP_Chat."""
    return {str(status): _response_ref(_command_response(status, chats)) for status in _COMMAND_RESPONSES}


def route_refusals(statuses: Iterable[int], *, counted: bool, door: Door | None = None, chats: bool = False) -> Schema:
    """Return references to the responses of these statuses.

    `counted` if requests count against the quota, `chats` if they send messages to agents by an open protocol.
    """
    names = {status: _route_response(status, counted, door, chats) for status in sorted(statuses)}
    return {str(status): _response_ref(name) for status, name in names.items()}


def refusal_responses(doors: Iterable[Door]) -> Schema:
    """Return all error responses, by the name that operations refer to."""
    responses: Schema = {}
    for status, (_, description) in _COMMAND_RESPONSES.items():
        examples = {type(error).__name__: _of_command(error) for error in COMMAND_ERRORS if bus_status(error) == status}
        content = {JSON: {"schema": ref("TPSResponse"), "examples": _shown(examples)}}
        headers = (*_headers(status, counted=True), *(("Retry-After",) if status == 500 else ()))
        plain: Schema = {"description": description, "content": content}
        responses[_command_response(status, chats=True)] = with_headers(plain, *headers, "X-Run-Id")
        responses[_command_response(status, chats=False)] = with_headers(plain, *headers)  # of most, it is the same one
    for status, description in ROUTE_RESPONSES.items():
        errors = (error for error in ROUTE_ERRORS if error.http_code == status)
        examples = _shown({type(error).__name__: {"status": status_of(error)} for error in errors})
        for door, counted, chats in product((None, *doors), (True, False), (True, False)):
            headers = (*_headers(status, counted=counted), *(OF_CHATS if chats and status in _OF_KEPT_MESSAGES else ()))
            if door is None or door.error_schema == ref("Error"):
                content = {JSON: {"schema": ref("Error"), "examples": examples}}
            else:
                content = {media_type: {"schema": door.error_schema} for media_type in door.media_types}
                headers = (*headers, *door.error_headers(status))
            response: Schema = {"description": description, "content": content}
            responses[_route_response(status, counted, door, chats)] = with_headers(response, *headers)
    return responses


def _response_ref(name: str) -> Schema:
    return {"$ref": f"#/components/responses/{name}"}


def _command_response(status: int, chats: bool) -> str:
    name, _ = _COMMAND_RESPONSES[status]
    return f"{name}OfChat" if chats and status in (400, 500) else name


def _route_response(status: int, counted: bool, door: Door | None, chats: bool) -> str:
    schema = "Error" if door is None else door.error_schema["$ref"].rpartition("/")[2]
    name = f"{schema}{status}" if counted and status != 401 else f"{schema}{status}Uncounted"
    return f"{name}OfChat" if chats and status in _OF_KEPT_MESSAGES else name


def _headers(status: int, *, counted: bool) -> tuple[str, ...]:
    if status == 401:
        return ("WWW-Authenticate",)
    waits = ("Retry-After",) if status in (429, 503) else ()
    return (*waits, *RATE_LIMIT) if counted else waits


def _shown(examples: dict[str, Any]) -> Schema:
    return {name: {"summary": _summary(value), "value": value} for name, value in examples.items()}


def _summary(value: dict[str, Any]) -> str:
    status: dict[str, Any] = value["status"]
    return f"{status['internal_code']} ({status['http_code']})"


def _of_command(error: ServiceError) -> Any:
    body = tps_body("AP_Chat", "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9", _CONTEXT, status=status_of(error))
    answer = orjson.loads(body)
    answer["header"]["time"] = "2026-11-20T10:00:00.000Z"
    return answer


_CONTEXT: dict[str, str | None] = {"user": "lovelace", "agent": "scout", "domain": None, "zone": None}
