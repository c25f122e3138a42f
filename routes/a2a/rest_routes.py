"""The HTTP+JSON binding: a route per operation below an agent's address (A2A 1.0, section 11)."""

from collections.abc import Callable, Coroutine
from typing import Any, cast

from actors.calls.targets import agent_named
from actors.errors import MalformedBody, WrongMediaType
from routes.a2a.card_routes import TAG
from routes.a2a.doors import A2A_JSON, ERROR, HTTP_JSON, RPC_REFUSAL, answered, event
from routes.a2a.operation_request import STREAMED, OperationRequest
from routes.a2a.operations import OPERATIONS
from routes.a2a.reading import Members
from routes.a2a.requests import DEFAULT_PAGE, MAX_PAGE, STATES, require_version
from routes.a2a.rpc_routes import NEEDS_VERSION, version_of
from routes.doors.door import JSON
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.bodies import json_value
from routes.http.exchange import Received
from routes.openapi.schemas import Schema, array, flag, number, parameter, record, ref, text

TASK: Schema = {
    "type": "object",
    "description": "A task, which is a run.",
    "required": ["id", "contextId", "status"],
    "properties": {
        "id": text("The id of the run."),
        "contextId": text("The client's own id of the conversation, else its `cnv_` id."),
        "status": {
            "type": "object",
            "required": ["state", "timestamp"],
            "properties": {"state": text(), "timestamp": text(format="date-time"), "message": {"type": "object"}},
        },
        "artifacts": array({"type": "object", "description": "The agent's reply."}),
        "history": array({"type": "object", "description": "The user's message."}),
    },
}
CONFIG: Schema = {
    "type": "object",
    "description": "Where the end of a task is told.",
    "required": ["url"],
    "properties": {
        "id": text(),
        "taskId": text(),
        "url": text(format="uri"),
        "token": text("Sent as X-A2A-Notification-Token."),
        "authentication": {
            "type": "object",
            "required": ["scheme"],
            "properties": {"scheme": text(), "credentials": text("Never shown again.")},
        },
    },
}
MESSAGE: Schema = {
    "type": "object",
    "description": "A message to an agent, and how its task is told.",
    "required": ["message"],
    "properties": {
        "message": {
            "type": "object",
            "required": ["messageId", "role", "parts"],
            "properties": {
                "messageId": text("The same one with the same request within 24 hours is the same task.", minLength=1),
                "contextId": text("A `cnv_` id, or your own id, bound at its first use.", maxLength=200),
                "role": text(enum=["ROLE_USER"]),
                "parts": {"type": "array", "minItems": 1, "items": record("A text.", text=text())},
            },
        },
        "configuration": {"type": "object", "description": "SendMessageConfiguration."},
    },
}

SCHEMAS = {
    "A2AError": ERROR,
    "A2ARpcError": RPC_REFUSAL,
    "A2ATask": TASK,
    "A2APushNotificationConfig": CONFIG,
    "A2ASendMessageRequest": MESSAGE,
}


def _parse(received: Received) -> Members:
    """Return the parameters of an operation in the body, or else in the query.

    Raises:
        WrongMediaType: the body is of another type than JSON.
        MalformedBody: it is no JSON object.
        VersionNotSupported: the request is of another version of the protocol.
    """
    require_version(version_of(received))
    if not received.body:
        return dict(received.args)
    media_type = (received.header("content-type") or "").partition(";")[0].strip().lower()
    if media_type not in ("", JSON, A2A_JSON):
        raise WrongMediaType(f"Send the body as Content-Type: {JSON} or {A2A_JSON}.")
    sent = json_value(received.body)
    if not isinstance(sent, dict):
        raise MalformedBody("The body is JSON but not an object; send {...}.")
    return cast(Members, sent)


def _serving(name: str) -> Callable[[RouteCall], Coroutine[Any, Any, RouteReply]]:
    """Return the function that serves an operation."""
    operation = OPERATIONS[name]

    async def serve(request: RouteCall) -> RouteReply:
        agent = (await agent_named(request.call, request.params["agent"])).row
        sent: Members | None = request.body
        if sent is None:
            sent = _parse(request.received)
        ids = {name: value for name, value in request.params.items() if name != "agent"}
        result = await operation.carry_out(OperationRequest(request, agent, {**sent, **ids}, event))
        return RouteReply() if result is STREAMED else answered(request.received, result)

    return serve


def _route(method: str, path: str, name: str, operation_id: str, summary: str, *query: Schema, **more: Any) -> Route:
    mutates = OPERATIONS[name].mutates
    return Route(
        method,
        f"/a2a/{{agent}}{path}",
        operation_id,
        TAG,
        summary,
        _serving(name),
        errors=(400, 403, 404, 409) if mutates else (400, 403, 404),
        mutates=mutates,
        counts=mutates,
        door=HTTP_JSON,
        parse=_parse if method == "POST" else None,
        parameters=(*query, NEEDS_VERSION),
        safe_to_resend=mutates,
        service=OPERATIONS[name].counts_as,
        **more,
    )


def _body(schema: Schema, example: Any) -> Schema:
    media = {"schema": schema, "example": example}
    return {"required": True, "content": {JSON: media, A2A_JSON: media}}


_MESSAGE = _body(
    ref("A2ASendMessageRequest"),
    {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "Hello!"}]}},
)


_TASK = ref("A2ATask")
_CONFIG = ref("A2APushNotificationConfig")
_CONFIGS = "/tasks/{taskId}/pushNotificationConfigs"


def _page_size(least: int) -> Schema:
    described = f"The number of entries on a page, {DEFAULT_PAGE} unless you say otherwise."
    return parameter("pageSize", "query", number(minimum=least, maximum=MAX_PAGE), described)


_PAGE_TOKEN = parameter("pageToken", "query", text(maxLength=256), "`nextPageToken` of the page before.")
_HISTORY = parameter("historyLength", "query", number(minimum=0, maximum=2**31 - 1), "0 leaves out `history`.")

ROUTES = (
    _route(
        "POST",
        "/message:send",
        "SendMessage",
        "sendMessageByA2A",
        "Send a message to an agent; the answer is its task, ended unless `returnImmediately` is set.",
        reply=record("The task.", task=_TASK),
        described_body=_MESSAGE,
    ),
    _route(
        "POST",
        "/message:stream",
        "SendStreamingMessage",
        "streamMessageByA2A",
        "Send a message to an agent, and stream its task.",
        described_body=_MESSAGE,
        streams=True,
    ),
    _route("GET", "/tasks/{id}", "GetTask", "getTaskByA2A", "Read a task.", _HISTORY, reply=_TASK),
    _route(
        "GET",
        "/tasks",
        "ListTasks",
        "listTasksByA2A",
        "List your tasks with an agent, the last changed first.",
        parameter("contextId", "query", text(maxLength=256), "Only tasks of this conversation."),
        parameter("status", "query", text(enum=list(STATES[1:])), "Only tasks in this state."),
        parameter(
            "statusTimestampAfter", "query", text(format="date-time"), "Only tasks changed at this time or later."
        ),
        _page_size(1),
        _PAGE_TOKEN,
        _HISTORY,
        parameter("includeArtifacts", "query", flag(), "True shows the agent's replies, too."),
        reply=record(
            "A page of tasks.", tasks=array(_TASK), nextPageToken=text(), pageSize=number(), totalSize=number()
        ),
    ),
    _route("POST", "/tasks/{id}:cancel", "CancelTask", "cancelTaskByA2A", "Cancel a task.", reply=_TASK),
    _route(
        "GET",
        "/tasks/{id}:subscribe",
        "SubscribeToTask",
        "subscribeToTaskByA2A",
        "Stream a task that is under way.",
        streams=True,
    ),
    _route(
        "POST",
        "/tasks/{id}:subscribe",
        "SubscribeToTask",
        "subscribeToTaskByA2AByPost",
        "Stream a task that is under way.",
        streams=True,
    ),
    _route(
        "POST",
        _CONFIGS,
        "CreateTaskPushNotificationConfig",
        "createPushConfigByA2A",
        "Notify a URL when a task ends.",
        reply=_CONFIG,
        described_body=_body(_CONFIG, {"url": "https://example.com/a2a"}),
    ),
    _route(
        "GET",
        _CONFIGS,
        "ListTaskPushNotificationConfigs",
        "listPushConfigsByA2A",
        "List the push notification configs of a task.",
        _page_size(0),
        _PAGE_TOKEN,
        reply=record("The configs.", configs=array(_CONFIG), nextPageToken=text()),
    ),
    _route(
        "GET",
        f"{_CONFIGS}/{{id}}",
        "GetTaskPushNotificationConfig",
        "getPushConfigByA2A",
        "Read a push notification config of a task.",
        reply=_CONFIG,
    ),
    _route(
        "DELETE",
        f"{_CONFIGS}/{{id}}",
        "DeleteTaskPushNotificationConfig",
        "deletePushConfigByA2A",
        "Remove a push notification config of a task.",
        reply={"type": "object"},
    ),
    _route(
        "GET",
        "/extendedAgentCard",
        "GetExtendedAgentCard",
        "getExtendedAgentCard",
        "Read an agent's card with its profile.",
        reply=ref("AgentCard"),
    ),
)
