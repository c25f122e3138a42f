"""A2A's errors, and the meaning of every error of the gateway in both bindings (A2A 1.0.1, sections 3.3.2 and 5.4)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from actors.errors import (
    BodyTooLarge,
    EngineFailed,
    InvalidCredential,
    InvalidField,
    MalformedBody,
    MissingField,
    NameTaken,
    NeedsPlan,
    NoCredential,
    NoSuchRoute,
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
    WrongMethod,
    WrongPassword,
)

DOMAIN = "a2a-protocol.org"
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"


class TaskNotFound(NotFound):
    """The caller has no such task, or the task has no such push notification config."""


class TaskNotCancelable(StateConflict):
    """The task has ended."""


class UnsupportedOperation(NotAvailable):
    """The operation makes no sense for this task, or this gateway doesn't offer it."""


class ContentTypeNotSupported(InvalidField):
    """A part is no text, or the caller takes no text."""


class VersionNotSupported(InvalidField):
    """The request is of another version of the protocol."""


class MethodNotFound(UnknownService):
    """JSON-RPC has no such method."""


class InvalidRequest(MalformedBody):
    """The body is JSON but no JSON-RPC request."""


class InvalidParams(InvalidField):
    """A parameter is absent, or has the wrong type or value.

    Args:
        field: its path, in camelCase.
        description: the fault, in words that continue "field ...".
    """

    def __init__(self, field: str, description: str) -> None:
        super().__init__(f"Invalid parameters: {field} {description}.")
        self.field = field
        self.description = description


GO_ON = "Your message is kept; send it again with the same messageId to go on with it."


class Meaning(NamedTuple):
    """An error in the protocol's terms.

    Attributes:
        code: in JSON-RPC.
        status: the HTTP status in HTTP+JSON.
        name: the name of the gRPC status.
        reason: the error's type in `google.rpc.ErrorInfo`.
        outside: whether JSON-RPC answers it with that HTTP status, too, because it is no matter of the method.
    """

    code: int
    status: int
    name: str
    reason: str
    outside: bool = False


GATEWAY = -32000
"""The JSON-RPC code of refusals that A2A has no code for: JSON-RPC leaves it to servers, and A2A begins below it."""

MEANINGS: Mapping[type[ServiceError], Meaning] = {
    TaskNotFound: Meaning(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    TaskNotCancelable: Meaning(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    NotAvailable: Meaning(-32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    ContentTypeNotSupported: Meaning(-32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"),
    WrongMediaType: Meaning(-32005, 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", outside=True),
    VersionNotSupported: Meaning(-32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"),
    MalformedBody: Meaning(-32700, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    InvalidRequest: Meaning(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    BodyTooLarge: Meaning(-32600, 413, "INVALID_ARGUMENT", "INVALID_REQUEST", outside=True),
    UnknownService: Meaning(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    NoSuchRoute: Meaning(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND", outside=True),
    WrongMethod: Meaning(-32601, 405, "NOT_FOUND", "METHOD_NOT_FOUND", outside=True),
    InvalidField: Meaning(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    MissingField: Meaning(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    StateConflict: Meaning(-32004, 409, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    NameTaken: Meaning(-32004, 409, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    NothingSelected: Meaning(-32004, 409, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"),
    NotFound: Meaning(GATEWAY, 404, "NOT_FOUND", "AGENT_NOT_FOUND", outside=True),
    NoCredential: Meaning(GATEWAY, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", outside=True),
    InvalidCredential: Meaning(GATEWAY, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", outside=True),
    WrongPassword: Meaning(GATEWAY, 401, "UNAUTHENTICATED", "UNAUTHENTICATED", outside=True),
    NotPermitted: Meaning(GATEWAY, 403, "PERMISSION_DENIED", "PERMISSION_DENIED", outside=True),
    UserSuspended: Meaning(GATEWAY, 403, "PERMISSION_DENIED", "PERMISSION_DENIED", outside=True),
    NeedsPlan: Meaning(GATEWAY, 403, "PERMISSION_DENIED", "PERMISSION_DENIED", outside=True),
    QuotaExceeded: Meaning(GATEWAY, 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", outside=True),
    TooManyAttempts: Meaning(GATEWAY, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED", outside=True),
    RequestTimeout: Meaning(GATEWAY, 408, "DEADLINE_EXCEEDED", "REQUEST_TIMEOUT", outside=True),
    NotImplementedYet: Meaning(GATEWAY, 501, "UNIMPLEMENTED", "UNIMPLEMENTED", outside=True),
    EngineFailed: Meaning(-32603, 502, "INTERNAL", "INTERNAL_ERROR"),
    StorageUnavailable: Meaning(-32603, 503, "UNAVAILABLE", "UNAVAILABLE", outside=True),
    Overloaded: Meaning(-32603, 503, "UNAVAILABLE", "UNAVAILABLE", outside=True),
    ServiceError: Meaning(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
}
"""The meaning of each class, and of those derived from it that have no row of their own."""


def meaning_of(error: ServiceError) -> Meaning:
    """Return the meaning of an error."""
    return next(MEANINGS[kind] for kind in type(error).__mro__ if kind in MEANINGS)


def details_of(error: ServiceError) -> list[dict[str, Any]]:
    """Return an error's details: its type and the gateway's own code, and the parameter that is wrong."""
    info = {
        "@type": ERROR_INFO,
        "reason": meaning_of(error).reason,
        "domain": DOMAIN,
        "metadata": {"internalCode": str(error.internal_code)},
    }
    if not isinstance(error, InvalidParams):
        return [info]
    violation = {"field": error.field, "description": error.description}
    return [info, {"@type": BAD_REQUEST, "fieldViolations": [violation]}]


def rpc_error(error: ServiceError) -> dict[str, Any]:
    """Return the error object of a JSON-RPC response (section 9.5)."""
    return {"code": meaning_of(error).code, "message": error.note, "data": details_of(error)}


def http_error(error: ServiceError) -> dict[str, Any]:
    """Return an error's body in HTTP+JSON, a google.rpc.Status as JSON (section 11.6)."""
    meaning = meaning_of(error)
    status = {"code": meaning.status, "status": meaning.name, "message": error.note, "details": details_of(error)}
    return {"error": status}
