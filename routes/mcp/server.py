"""POST /mcp: the gateway as an MCP server (docs/contract.md, "Gateway routes").

This file holds Sanic's side and the checks. `McpHost` holds the SDK and the tools.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, cast
from urllib.parse import urlsplit

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.calls.admission import authenticate, count_stored
from actors.calls.call import Call
from actors.errors import InvalidField, MalformedBody, NoCredential, NotPermitted, ServiceError, WrongMethod
from routes.bus.bus import CommandBus
from routes.bus.request import BusRequest
from routes.http.accept import weight_of
from routes.http.answers import (
    HttpAnswer,
    JsonAnswer,
    credential_of,
    error_answer,
    identify,
    quota_headers,
    status_of,
)
from routes.http.bodies import LONG_BODY_BYTES, next_turn, received_body, require_json, require_size, whole_header
from routes.http.exchange import Exchange
from routes.http.server_sent_events import EVENT_STREAM
from routes.mcp.asgi_bridge import PATH, STREAM, McpMessage, through_asgi
from routes.mcp.groups import groups_of, is_offered
from routes.mcp.host import McpHost
from routes.mcp.long_answers import send_long_answer, without_arguments
from routes.mcp.notifications import send_changes, session_call
from routes.mcp.refusals import INTERNAL_ERROR
from routes.mcp.sessions import HEADER, McpSessions, no_session
from routes.mcp.tools import TOOLS

NAME = "mcp"
"""The service, in logs and metrics, of requests that call no tool; a tool call has its command's."""

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
_NOT_PASSED_ON = ("accept", "last-event-id", "content-type")
"""Headers of the MCP protocol, which have no meaning for the command."""


class McpServer:
    """Serves POST /mcp."""

    def __init__(
        self, exchange: Exchange, bus: CommandBus, hosts: Sequence[str], version: str, public_url: str | None
    ) -> None:
        self._exchange = exchange
        self._hosts = frozenset((*LOCAL_HOSTS, *hosts))
        self._public_origin = None if public_url is None else "/".join(public_url.split("/", 3)[:3]).lower()
        self.sessions = McpSessions(exchange.core)
        self._host = McpHost(bus, self.sessions, exchange.max_body_bytes, version)

    def blueprint(self) -> Blueprint:
        """Return the routes."""
        blueprint = Blueprint("mcp")
        blueprint.add_route(self._respond_about_session, PATH, methods=["GET", "DELETE"], name="session")
        blueprint.add_route(self._respond, PATH, methods=["POST"], name="mcp", ignore_body=True)
        blueprint.listener("after_server_stop")(self._stop)  # pyright: ignore[reportUnknownMemberType]
        return blueprint

    async def _stop(self, *_: Any) -> None:
        await self._host.stop()

    async def _respond(self, request: Request) -> HTTPResponse | None:
        started = perf_counter()
        headers: Any = request.headers
        header = cast(Mapping[str, str], headers)

        def passed_on(name: str) -> str | None:
            return None if name in _NOT_PASSED_ON else header.get(name)

        call = self._exchange.call_of(request, NAME)
        call.counts_as = None  # tools count as their services, and resources say theirs
        asked = McpMessage(BusRequest(passed_on, call.request_id, call.address), call)
        serving = self._served(request, header, asked)
        return await self._exchange.run(call, started, serving, _refused_by_http, lambda: asked.answer is not None)

    async def _served(
        self, request: Request, headers: Mapping[str, str], asked: McpMessage
    ) -> tuple[int, HTTPResponse | None]:
        self._check_origin(headers)
        body = asked.body = await received_body(request)
        response = await self._answered(request, body, asked)
        if response is None:
            return asked.code, None
        identify(request, response)
        await count_stored(asked.call)
        failed = response.status >= 400
        if asked.answer is not None and asked.answer.rest and not failed:
            await send_long_answer(request, response, asked.answer)
            return 0, None
        return asked.code or (MalformedBody.internal_code if failed else 0), response

    async def _respond_about_session(self, request: Request) -> HTTPResponse | None:
        """Serve the stream of a session, or end the session; neither counts, because clients do both by themselves."""
        call = self._exchange.call_of(request, NAME)
        call.counts_as = None  # tools count as their services, and resources say theirs
        return await self._exchange.run(call, perf_counter(), self._of_session(request, call), _refused_by_http)

    async def _of_session(self, request: Request, call: Call) -> tuple[int, HTTPResponse | None]:
        headers: Any = request.headers
        header = cast(Mapping[str, str], headers)
        self._check_origin(header)
        session = header.get(HEADER)
        if session is None or request.method == "HEAD":  # without a session there is no stream
            raise WrongMethod("Only a session, named by Mcp-Session-Id, has a stream (GET) and an end (DELETE).")
        accepted = header.get("accept") or "*/*"
        if request.method == "GET" and not weight_of(accepted, EVENT_STREAM, "text/*", "*/*"):
            return MalformedBody.internal_code, HTTPResponse(status=406, headers={"X-Request-Id": call.request_id})
        await authenticate(call, credential_of(header.get))
        if request.method == "GET":
            call.service = STREAM
            await send_changes(request, call, self.sessions, session)
            return 0, None
        await self.sessions.carry_out(session_call(call, session, "end"))
        return 0, HTTPResponse(status=204, headers={"X-Request-Id": call.request_id})

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse requests from web pages of other origins, as a defence against DNS rebinding.

        Raises:
            NotPermitted: the request comes from a page of another origin.
        """
        origin = headers.get("origin")
        if origin is None or origin == self._public_origin:
            return
        with suppress(ValueError):
            parts = urlsplit(origin)
            if parts.hostname in self._hosts and parts.netloc == headers.get("host"):
                return
        raise NotPermitted("This comes from a web page of another origin; MCP clients outside of browsers send none.")

    async def _answered(self, request: Request, body: bytes, asked: McpMessage) -> HTTPResponse | None:
        """Authenticate and count a request, let the SDK answer, and add the headers of the bus or the quota.

        Returns None if the answer was an event stream, which is sent.

        Raises:
            BodyTooLarge, WrongMediaType: the gateway does not accept the body.
            NoCredential, InvalidCredential: the called tool needs one, or the one sent is invalid.
            QuotaExceeded: the user has no request left today, and the message calls no tool that could report it.
        """
        require_size(body, self._exchange.max_body_bytes)
        require_json(whole_header(request, "content-type"))
        try:
            message: Any = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return _refused(asked, MalformedBody(f"The body is not JSON in valid Unicode: {error}"), code=PARSE_ERROR)
        if not isinstance(message, dict):
            return _refused(asked, MalformedBody("Send one message of JSON-RPC, an object; MCP has no batches."))
        number: Any = cast(dict[str, Any], message).get("id", 0)
        if not isinstance(number, str | int) or isinstance(
            number, bool
        ):  # otherwise the SDK takes it for a notification
            return _refused(asked, MalformedBody("The id of a request is a text or a whole number."))
        if not _is_message(cast(dict[str, Any], message)):  # the SDK would answer with a page of schema errors
            return _refused(
                asked,
                MalformedBody(
                    'Send a message of JSON-RPC: {"jsonrpc": "2.0", "id": 1, "method": "...", "params": {}}.'
                ),
            )
        query: Any = request.get_args(keep_blank_values=True)
        try:
            asked.groups = groups_of(dict(query))
        except InvalidField as error:
            return _refused(asked, error, cast(dict[str, Any], message).get("id"))
        if self.sessions.has_ended(asked.request.header(HEADER)):
            raise no_session()
        credential = credential_of(asked.request.header)
        tool = _tool_called(message, asked.groups)
        if tool is None:
            if credential is not None or _needs_credential(message):
                await self._exchange.admit(asked.call, credential)
        elif credential is None and not TOOLS[tool].public:
            raise NoCredential(
                f"{tool} needs a credential: log on with US_LogOn (at /mcp?groups=user), and connect again with "
                "`Authorization: Bearer ...`."
            )
        if len(body) > LONG_BODY_BYTES:
            await next_turn(body)
            body = without_arguments(cast(dict[str, Any], message), asked)
            if len(body) > LONG_BODY_BYTES:
                return _refused(
                    asked,
                    MalformedBody("The message is too long; only the arguments of a tool may be long."),
                    cast(dict[str, Any], message).get("id"),
                )
        manager = await self._host.manager()
        response = await through_asgi(manager.handle_request, request, body, asked)
        if response is None:
            return None
        if asked.gone:
            raise no_session()
        answer = asked.answer
        if answer is not None and answer.status == 401 and not TOOLS[asked.service].public:
            return _refusal(answer)  # as MCP requires
        for name, value in (answer.headers if answer is not None else quota_headers(asked.call)).items():
            response.headers[name] = value
        if credential is not None and _begins_session(cast(dict[str, Any], message), response):
            response.headers["Mcp-Session-Id"] = self.sessions.new_id()
        return response


async def _refused_by_http(call: Call, error: ServiceError) -> HTTPResponse:
    allowed = {"Allow": "POST"} if isinstance(error, WrongMethod) else {}
    return _refusal(error_answer(call.request_id, error, quota_headers(call) | allowed))


def _refusal(answer: HttpAnswer) -> HTTPResponse:
    """Return an answer of other routes as the JSON-RPC error that MCP clients show, beside its status object."""
    status = orjson.loads(answer.body)["status"]
    code = INVALID_REQUEST if status["http_code"] < 500 else INTERNAL_ERROR
    return JsonAnswer(_error_body(status, code), answer.status, answer.headers)


def _begins_session(message: dict[str, Any], response: HTTPResponse) -> bool:
    return message.get("method") == "initialize" and "result" in orjson.loads(response.body or b"{}")


def _is_message(message: dict[str, Any]) -> bool:
    """Return whether the outermost members make an object a request, a notification or a response."""
    if message.get("jsonrpc") != "2.0":
        return False
    if "result" in message or "error" in message:
        return True
    return isinstance(message.get("method"), str) and isinstance(message.get("params", {}), dict | None)


def _tool_called(message: Any, groups: frozenset[str]) -> str | None:
    """Return the tool that a message calls, if it exists and is offered."""
    match message:
        case {"method": "tools/call", "params": {"name": str(name)}}:
            return name if name in TOOLS and is_offered(name, groups) else None
        case _:
            return None


def _needs_credential(message: Any) -> bool:
    """Return whether a message asks for what a user has: all of resources and prompts but the forms of URIs."""
    match message:
        case {"method": "resources/templates/list"}:
            return False
        case {"method": str(method)}:
            return method.startswith(("resources/", "prompts/", "completion/", "subscriptions/"))
        case _:
            return False


def _refused(
    asked: McpMessage, error: ServiceError, number: str | int | None = None, code: int = INVALID_REQUEST
) -> HTTPResponse:
    """Return the JSON-RPC error for a body that is no message, or none for this address."""
    asked.code = error.internal_code
    return JsonAnswer(_error_body(status_of(error), code, number), error.http_code)


def _error_body(status: dict[str, Any], code: int, number: str | int | None = None) -> bytes:
    error = {"code": code, "message": status["note"]}
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "error": error, "status": status})
