"""Errors in the shape of OpenAI's API: `{"error": {"message", "type", "param", "code"}}`."""

from typing import Any

from actors.errors import InvalidField, NotFound, ServiceError

UNSUPPORTED = "unsupported_parameter"
TOO_LONG = "string_above_max_length"
MISSING = "missing_required_parameter"

RETRY_S = 60
"""The longest wait, in seconds, for which a client's repeat is worth while."""

CODES = {
    1000: "invalid_json",
    1001: "unknown_service",
    1002: MISSING,
    1003: "invalid_value",
    1004: "request_too_large",
    1005: "not_available",
    1006: "unknown_url",
    1007: "request_timeout",
    1008: "unsupported_media_type",
    1501: "not_implemented",
    2000: "invalid_api_key",
    2001: "invalid_api_key",
    2002: "invalid_api_key",
    2003: "permission_denied",
    2004: "plan_required",
    2005: "user_suspended",
    3000: "not_found",
    3001: "conflict",
    3002: "conflict",
    3003: "conflict",
    4000: "insufficient_quota",
    4001: "rate_limit_exceeded",
    5000: "internal_error",
    5001: "engine_failed",
    5002: "storage_unavailable",
    5003: "overloaded",
}
"""OpenAI's code for each internal code."""


class BadRequest(InvalidField):
    """A request that this API refuses; `param` is the path of the member, `code` OpenAI's code."""

    def __init__(self, note: str, param: str, code: str = "invalid_value") -> None:
        super().__init__(note)
        self.param = param
        self.code = code


class Unknown(NotFound):
    """A model or response that does not exist, or that the caller may not see."""

    def __init__(self, note: str, param: str, code: str) -> None:
        super().__init__(note)
        self.param = param
        self.code = code


def unsupported(param: str, what: str) -> BadRequest:
    """Make the error for a member that would change the answer's meaning if it were ignored."""
    return BadRequest(f"Unsupported parameter {param}: {what}", param, UNSUPPORTED)


def no_such_model(model: str) -> Unknown:
    """Make the error for a model that is no agent's name."""
    note = f"The model `{model[:80]}` does not exist or you may not use it; GET /v1/models lists yours."
    return Unknown(note, "model", "model_not_found")


def no_such_response(response_id: str, param: str = "response_id") -> Unknown:
    """Make the error for a response that is unknown, deleted or another user's."""
    code = "previous_response_not_found" if param == "previous_response_id" else "not_found"
    return Unknown(f"There is no response `{response_id[:80]}` of yours.", param, code)


def of_another_model(response_id: str) -> Unknown:
    """Make the error for a previous response of the caller's that another agent gave."""
    note = f"The response `{response_id}` is another model's; send that model, or leave previous_response_id out."
    return Unknown(note, "previous_response_id", "previous_response_not_found")


def no_such_item(item_id: str, param: str) -> Unknown:
    """Make the error for an item of a response that is unknown, another user's, or was not stored."""
    note = f"There is no item `{item_id[:80]}` in a stored response of yours; send the message itself."
    return Unknown(note, param, "not_found")


def error_object(error: ServiceError) -> dict[str, Any]:
    """Return the members of an error."""
    param, code = None, CODES[error.internal_code]
    if isinstance(error, BadRequest | Unknown):
        param, code = error.param, error.code
    elif error.http_code == 405:
        code = "method_not_allowed"
    return {"message": error.note, "type": _type_of(error), "param": param, "code": code}


def mended_by_repeat(error: ServiceError) -> bool:
    """Return whether the same request may succeed soon."""
    if error.http_code == 429:
        return (error.retry_after or 0) <= RETRY_S
    return error.http_code == 408 or error.http_code >= 500


def _type_of(error: ServiceError) -> str:
    if error.http_code == 429:
        return "insufficient_quota" if error.internal_code == 4000 else "requests"
    return "server_error" if error.http_code >= 500 else "invalid_request_error"
