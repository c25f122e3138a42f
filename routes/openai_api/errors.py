"""The door of OpenAI's API: errors as answers, and at the end of a stream."""

import orjson

from actors.errors import ServiceError
from actors.wire import json_event
from routes.doors.door import Door, Refusal
from routes.openai_api.refusals import error_object, mended_by_repeat
from routes.openai_api.repeats import forget_earlier
from routes.openapi.schemas import nullable, record, ref, text

ERROR = record(
    "An error in the shape of OpenAI's API.",
    error=record(
        "The error.",
        message=text("What is wrong, and what to do."),
        type=text(enum=["invalid_request_error", "insufficient_quota", "requests", "server_error"]),
        param=nullable(text("The path of the member that is wrong.")),
        code=text("For programs."),
    ),
)


def refusal(error: ServiceError, body: bytes) -> Refusal:
    """Return an error's answer; the client does not repeat a request that stays refused."""
    del body
    headers = {} if mended_by_repeat(error) else {"x-should-retry": "false"}
    return Refusal(error.http_code, written(error), headers)


def stream_error(error: ServiceError, body: bytes = b"") -> bytes:
    """Return an error as the last event of a stream of chunks."""
    del body
    return json_event(written(error))


def written(error: ServiceError) -> bytes:
    """Return an error as JSON."""
    return orjson.dumps({"error": error_object(error)})


GO_ON = "Send the request again; a repeat by the client library goes on with the message if it is stored."


def _headers(status: int) -> tuple[str, ...]:
    return ("x-should-retry",) if status < 500 and status != 408 else ()


DOOR = Door(
    refusal,
    stream_error,
    ref("OpenAIError"),
    GO_ON,
    prefix="/v1",
    refused=forget_earlier,
    error_headers=_headers,
)
