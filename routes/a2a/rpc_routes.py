"""The JSON-RPC binding: one route, POST to an agent's address (A2A 1.0, section 9)."""

from functools import partial
from typing import Any

from actors.calls.admission import require_service_in_scope
from actors.calls.targets import agent_named
from routes.a2a import jsonrpc
from routes.a2a.card_routes import TAG
from routes.a2a.doors import JSON_RPC, RPC_ERROR, event
from routes.a2a.operation_request import STREAMED, OperationRequest
from routes.a2a.operations import METHODS, OPERATIONS
from routes.a2a.reading import Members
from routes.a2a.requests import VERSION, require_version
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.http.bodies import require_json
from routes.http.exchange import Received
from routes.openapi.schemas import parameter, record, text

_ID: dict[str, Any] = {"oneOf": [{"type": "string"}, {"type": "number"}]}
_REQUEST = record(
    "A JSON-RPC request.",
    jsonrpc=text(enum=["2.0"]),
    id=_ID,
    method=text(enum=sorted(METHODS)),
    params={"type": "object", "description": "The operation's request (a2a.proto 1.0)."},
)
_RESPONSE: dict[str, Any] = {
    "type": "object",
    "description": "A JSON-RPC response, with either a result or an error.",
    "required": ["jsonrpc", "id"],
    "properties": {
        "jsonrpc": text(enum=["2.0"]),
        "id": {"description": "The request's id; null if it could not be read."},
        "result": {"type": "object", "description": "The operation's response (a2a.proto 1.0)."},
        "error": RPC_ERROR,
    },
}
_EXAMPLE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "SendMessage",
    "params": {"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": "How far is the Moon?"}]}},
}

VERSION_PARAMETER = parameter(
    "A2A-Version",
    "header",
    text(enum=[VERSION]),
    "The version of the protocol; it may stand in the query instead.",
    required=True,
)
NEEDS_VERSION = {"$ref": "#/components/parameters/A2AVersion"}


def version_of(received: Received) -> str | None:
    """Return the version of the protocol that a request names, in a header or in its query (section 3.2.6)."""
    sent = received.header("a2a-version")
    return sent or next((value for name, value in received.args.items() if name.lower() == "a2a-version"), None)


def _parse(received: Received) -> tuple[jsonrpc.Request, Members]:
    require_json(received.header("content-type"))
    sent = jsonrpc.request_of(received.body)
    require_version(version_of(received))  # before the method, because other versions have other methods
    return sent, jsonrpc.params_of(sent, METHODS)


async def call_agent(request: RouteCall) -> RouteReply:
    """Carry out one request of JSON-RPC."""
    sent, params = request.body
    operation = OPERATIONS[sent.method]
    request.call.mutates, request.call.counts_as = operation.mutates, operation.counts_as
    require_service_in_scope(request.call)
    if not operation.mutates:
        request.call.waive_receipt(reads=True)
        if request.stream is not None:
            request.stream.goes_on = False
    agent = (await agent_named(request.call, request.params["agent"])).row
    result = await operation.carry_out(OperationRequest(request, agent, params, partial(_event, sent.id)))
    return RouteReply() if result is STREAMED else RouteReply(jsonrpc.result(sent.id, result))


def _event(id: jsonrpc.Id, value: Any) -> bytes:
    return event(jsonrpc.result(id, value))


ROUTES = (
    Route(
        "POST",
        "/a2a/{agent}",
        "callAgentByA2A",
        TAG,
        "Call an agent by JSON-RPC; SendStreamingMessage and SubscribeToTask are answered with events.",
        call_agent,
        reply=_RESPONSE,
        errors=(400, 403, 404),
        mutates=True,
        parse=_parse,
        described_body={
            "required": True,
            "content": {"application/json": {"schema": _REQUEST, "example": _EXAMPLE}},
        },
        parameters=(NEEDS_VERSION,),
        door=JSON_RPC,
        streams=True,
        safe_to_resend=True,
        may_only_read=True,
        hidden_at=("/a2a/agents", {"agent": "agents"}),  # by the catalog's GET
    ),
)
