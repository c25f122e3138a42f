"""The headers of answers in the OpenAPI document, which responses refer to by name."""

from routes.openapi.schemas import Schema, number, text


def _header(description: str, schema: Schema) -> Schema:
    return {"description": description, "schema": schema}


HEADERS: Schema = {
    "RateLimit-Policy": _header(
        'The quota of a day, on a plan that has one: `"day";q=<limit>;w=86400`.', text(example='"day";q=100;w=86400')
    ),
    "RateLimit": _header(
        'What is left of it: `"day";r=<remaining>;t=<seconds until 00:00 UTC>`.', text(example='"day";r=99;t=3600')
    ),
    "Retry-After": _header("Seconds to wait.", number(minimum=1)),
    "WWW-Authenticate": _header("The scheme of the credential that it takes.", text(enum=["Bearer"])),
    "X-Request-Id": _header("The id of the request, by which the operator finds it in the logs.", text()),
    "X-Run-Id": _header("The run of a private chat whose message is stored: see `/api/runs/{id}`.", text()),
    "X-Conversation-Id": _header("The conversation in which the message is stored.", text()),
    "Idempotency-Replayed": _header(
        "Only on the answer to a repeat: nothing was done, and this is the first answer.", text(enum=["true"])
    ),
    "x-should-retry": _header(
        "false where a repeat would be refused again; clients of OpenAI's API then send none.", text(enum=["false"])
    ),
    "ETag": _header("This version of it, for `If-None-Match`.", text()),
    "Cache-Control": _header("How long it may be used without asking again.", text()),
    "Mcp-Session-Id": _header("Of the answer to `initialize`, to clients before 2026-07-28: the session.", text()),
}

RATE_LIMIT = ("RateLimit-Policy", "RateLimit")
"""The headers of answers to counted requests."""
OF_CHATS = ("X-Run-Id", "X-Conversation-Id")
"""The headers of answers to chats by open protocols."""
REQUEST_ID = "X-Request-Id"
REQUEST_ID_PARAMETER: Schema = {
    "name": REQUEST_ID,
    "in": "header",
    "schema": text(),
    "description": "An id of your own for this request: 8 to 64 letters, digits, `_` and `-`. Any other is replaced.",
}


def header_refs(*names: str) -> Schema:
    """Return references to headers of the document."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def with_headers(response: Schema, *names: str) -> Schema:
    """Return a response that also has these headers; a reference to one stays as it is."""
    if "$ref" in response or not names:
        return response
    return {**response, "headers": {**response.get("headers", {}), **header_refs(*names)}}
