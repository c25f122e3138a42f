"""The OpenAPI operations of the console's page and session."""

from routes.console.session import LogOn
from routes.http.console_cookie import COOKIE
from routes.openapi.errors import route_refusals
from routes.openapi.operations import OPEN_TO_ALL, json_body, model_schemas, operation, reply
from routes.openapi.schemas import TIME, Schema, record, ref, text

TAG = "Console"
COOKIE_SCHEME: Schema = {
    "type": "apiKey",
    "in": "cookie",
    "name": COOKIE,
    "description": "The session of the console's page, from `POST /console/session`. The bus, the aliases, `/api` and "
    "`/debug` take it, too, if no credential is in a header. All but GET and HEAD need `X-CSRF-Token` beside it.",
}
_SESSION: list[Schema] = [{"consoleCookie": []}, {"bearer": []}]
_CSRF: Schema = {
    "name": "X-CSRF-Token",
    "in": "header",
    "schema": text(),
    "description": "The `csrf` of the session; needed beside the cookie.",
}

_RECORD = record(
    "The session of the console's page.",
    user=text("The user's name."),
    role=text(enum=["user", "auditor", "operator"]),
    csrf=text("Goes into `X-CSRF-Token` beside the cookie."),
    expires_at=TIME,
    version=text("Of the gateway."),
    bus=text("The path of the command bus."),
)


def console_schemas() -> Schema:
    """Return the schemas of the console's session, by name."""
    return {"ConsoleSession": _RECORD} | model_schemas(LogOn)


def console_paths() -> Schema:
    """Return the operations of the console; PARLEY_CONSOLE_ENABLED=false takes them away."""
    session = ref("ConsoleSession")
    page = reply("The page.", text(), "text/html; charset=utf-8")
    opened = operation(
        TAG,
        "openConsoleSession",
        "Log on to the console.",
        f"{OPEN_TO_ALL} The answer sets the cookie. Other programs use US_LogOn.",
        {"200": reply("The session.", session)}
        | route_refusals((400, 401, 403, 408, 413, 415, 429, 503), counted=False),
    ) | {"requestBody": json_body(ref(LogOn.__name__), {"name": "lovelace", "password": "correct horse battery"})}
    read = operation(
        TAG,
        "readConsoleSession",
        "Read the console's session.",
        "It is not counted, and is no use of the session.",
        {"200": reply("The session.", session)} | route_refusals((400, 401, 403, 503), counted=False),
        _SESSION,
    )
    ended = operation(
        TAG,
        "endConsoleSession",
        "Log off from the console.",
        "It is not counted. The answer takes the cookie away.",
        {"204": {"description": "Done; there is nothing to show."}}
        | route_refusals((400, 401, 403, 503), counted=False),
        _SESSION,
    ) | {"parameters": [_CSRF]}
    show = operation(
        TAG,
        "getConsole",
        "The console, as a page.",
        OPEN_TO_ALL,
        {"200": page} | route_refusals((400,), counted=False),
    )
    return {"/console": {"get": show}, "/console/session": {"post": opened, "get": read, "delete": ended}}
