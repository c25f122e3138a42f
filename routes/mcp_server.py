"""POST /mcp: the gateway as an MCP server, a tool per command (product 8).

The SDK's server is an ASGI application. It stands behind Sanic by a small bridge, stateless and with JSON answers; its
session manager is entered once, in one task, which begins with the first request: the SDK takes 0.4 s and 20 MB.

A call of a tool is carried out by the command bus, as if it had come to the command's alias.
"""

import asyncio
import importlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

import orjson
from sanic import Blueprint, HTTPResponse, Request

from actors.commands import COMMANDS
from actors.core import Core
from actors.errors import MalformedBody, NoCredential, NotPermitted
from routes.addresses import Network, client_address
from routes.answers import BusAnswer, JsonAnswer, credential_of, gateway_error, request_id_of
from routes.bodies import received_body, require_json, require_size, whole_header
from routes.bus import BusRequest, CommandBus
from routes.faults import as_service_error
from routes.logs import AccessLog
from routes.mcp_tools import TOOLS, members_of_tool, tool_definitions
from routes.metrics import RequestMetrics

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

PATH = "/mcp"
NAME = "mcp"
"""What logs and metrics call requests that call no tool; a call of a tool is its command's."""

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
_NOT_PASSED_ON = ("accept", "last-event-id", "content-type")
"""Headers that say how MCP is spoken, not what the command is to do."""
_INSTRUCTIONS = (
    "Parley is a gateway for workspaces of AI agents; every tool is a command. Register with US_Create, log on with "
    "US_LogOn, and connect again with `Authorization: Bearer <its token>`: the other tools need that credential."
)


@dataclass(slots=True)
class _Exchange:
    """One request on its way through the SDK, and what the bus said of it."""

    request: BusRequest
    answer: BusAnswer | None = None
    service: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])


class McpServer:
    """Serves POST /mcp."""

    def __init__(
        self,
        core: Core,
        bus: CommandBus,
        metrics: RequestMetrics,
        access_log: AccessLog,
        trusted_proxies: Sequence[Network],
        max_body_bytes: int,
        hosts: Sequence[str],
        version: str,
    ) -> None:
        self._core = core
        self._bus = bus
        self._metrics = metrics
        self._access_log = access_log
        self._trusted_proxies = trusted_proxies
        self._max_body_bytes = max_body_bytes
        self._hosts = frozenset((*LOCAL_HOSTS, *hosts))
        self._version = version
        self._manager: StreamableHTTPSessionManager | None = None
        self._ready: asyncio.Future[None] | None = None
        self._host: asyncio.Task[None] | None = None

    def blueprint(self) -> Blueprint:
        """Make the route."""
        blueprint = Blueprint("mcp")
        blueprint.add_route(self._respond, PATH, methods=["POST"], name="mcp", ignore_body=True)
        blueprint.listener("after_server_stop")(self._stop)  # pyright: ignore[reportUnknownMemberType]
        return blueprint

    # Sanic's side

    async def _respond(self, request: Request) -> HTTPResponse:
        started = perf_counter()
        connection: Any = request.conn_info
        address = client_address(connection.client_ip, partial(whole_header, request), self._trusted_proxies)
        headers: Any = request.headers
        header = cast(Mapping[str, str], headers)

        def passed_on(name: str) -> str | None:
            return None if name in _NOT_PASSED_ON else header.get(name)

        exchange = _Exchange(BusRequest(passed_on, request_id_of(request), address))
        code, status = 0, 500
        try:
            self._check_origin(header)
            body = await received_body(request)
            response = await self._answered(request, body, exchange)
            status = response.status
            code = 0 if status < 400 else MalformedBody.internal_code
            return response
        except Exception as raised:
            error = as_service_error(raised)
            code, status = error.internal_code, error.http_code
            return gateway_error(request, error)
        finally:
            if exchange.answer is None:  # else the bus has counted and logged it
                seconds = perf_counter() - started
                self._metrics.observe(NAME, code, seconds)
                self._access_log.write(request_id_of(request), NAME, status, code, seconds, None, address)

    def _check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse a browser's page that is not of this gateway's own: its name may be made to lead here (DNS rebinding).

        Raises:
            NotPermitted: the request comes from a page elsewhere.
        """
        origin = headers.get("origin")
        if origin is None:
            return
        with suppress(ValueError):
            parts = urlsplit(origin)
            if parts.hostname in self._hosts and parts.netloc == headers.get("host"):
                return
        raise NotPermitted("This comes from a web page of another origin; MCP clients outside of browsers send none.")

    async def _answered(self, request: Request, body: bytes, exchange: _Exchange) -> HTTPResponse:
        """Check the credential, let the SDK answer, and give the answer the headers that the bus had for it.

        Raises:
            BodyTooLarge, WrongMediaType: the body is not one that the gateway takes.
            NoCredential, InvalidCredential: the tool that is called needs one, or the one that was sent is none.
        """
        require_size(body, self._max_body_bytes)
        require_json(whole_header(request, "content-type"))
        try:
            message: Any = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            return _refused(PARSE_ERROR, f"The body is not JSON in valid Unicode: {error}")
        if not isinstance(message, dict):
            return _refused(INVALID_REQUEST, "Send one message of JSON-RPC, an object; MCP has no batches.")
        number: Any = cast(dict[str, Any], message).get("id", 0)
        if not isinstance(number, str | int) or isinstance(number, bool):  # else the SDK takes it as a notification
            return _refused(INVALID_REQUEST, "The id of a request is a text or a whole number.")
        credential = credential_of(exchange.request.header)
        tool = _tool_called(message)
        if tool is None:
            if credential is not None:
                await self._core.credentials.authenticate(credential)
        elif credential is None and not TOOLS[tool].public:
            raise NoCredential(
                f"{tool} needs a credential: log on with US_LogOn, and connect again with `Authorization: Bearer ...`."
            )
        manager = await self._running()
        response = await _through_asgi(manager, request, body, exchange)
        answer = exchange.answer
        if answer is not None:
            if answer.status == 401 and not TOOLS[exchange.service].public:
                return answer.response()  # MCP wants a wrong credential to be refused by HTTP
            for name, value in answer.headers.items():
                response.headers[name] = value
        response.headers["X-Request-Id"] = request_id_of(request)
        return response

    # the SDK's side

    async def _running(self) -> "StreamableHTTPSessionManager":
        """Return the session manager, which runs in a task of its own from the first request on."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._host = asyncio.create_task(self._run(self._ready), name="mcp server")
        await asyncio.shield(self._ready)
        assert self._manager is not None
        return self._manager

    async def _run(self, ready: "asyncio.Future[None]") -> None:
        try:
            for module in ("mcp.server.lowlevel.server", "mcp.server.streamable_http_manager"):
                await asyncio.to_thread(importlib.import_module, module)
            from mcp.server.lowlevel.server import Server  # noqa: PLC0415
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415
            from mcp_types import ListToolsResult  # noqa: PLC0415

            tools = ListToolsResult.model_validate({"tools": tool_definitions()})
            schemas = {tool.name: tool.input_schema for tool in tools.tools}

            async def list_tools(
                _: "ServerRequestContext[Any]", __: "PaginatedRequestParams | None"
            ) -> "ListToolsResult":
                return tools

            server: Server[Any] = Server(
                "parley",
                version=self._version,
                instructions=_INSTRUCTIONS,
                get_tool_input_schema=schemas.get,
                on_list_tools=list_tools,
                on_call_tool=self._call_tool,
            )
            manager = StreamableHTTPSessionManager(
                server, json_response=True, stateless=True, max_request_body_size=self._max_body_bytes
            )
            async with manager.run():
                self._manager = manager
                ready.set_result(None)
                await asyncio.Event().wait()
        except Exception as error:
            if ready.done():
                raise
            ready.set_exception(error)
        finally:
            self._ready = None  # the next request starts it again

    async def _call_tool(
        self, context: "ServerRequestContext[Any]", params: "CallToolRequestParams"
    ) -> "CallToolResult":
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415
        from mcp_types import INVALID_PARAMS, CallToolResult, TextContent  # noqa: PLC0415

        command = TOOLS.get(params.name)
        if command is None:
            streams = " (it streams without end: read the zone with ZN_Read)" if params.name in COMMANDS else ""
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}{streams}")
        request: Any = context.request
        exchange: _Exchange = request.scope["parley"]
        bus_request = exchange.request
        try:
            bus_request.body = orjson.dumps(params.arguments or {})
        except TypeError:  # a number beyond 64 bits, a text that is no Unicode
            bus_request.body = b"?"
        bus_request.members = members_of_tool(command.service)
        answer = await self._bus.serve(bus_request, command)
        assert answer is not None  # only a stream has none
        exchange.answer, exchange.service = answer, command.service
        text = answer.body.decode()
        value: dict[str, Any] = orjson.loads(answer.body)
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=value,
            is_error=not value["status"]["success"],
        )

    async def _stop(self, *_: Any) -> None:
        if self._host is not None:
            self._host.cancel()
            await asyncio.wait((self._host,))


def _tool_called(message: Any) -> str | None:
    """Name the tool that a message calls, where there is one of that name."""
    match message:
        case {"method": "tools/call", "params": {"name": str(name)}}:
            return name if name in TOOLS else None
        case _:
            return None


def _refused(code: int, what: str) -> HTTPResponse:
    """Answer what is no message, as JSON-RPC has it."""
    error = {"code": code, "message": what}
    return JsonAnswer(orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error}), 400)


async def _through_asgi(
    manager: "StreamableHTTPSessionManager", request: Request, body: bytes, exchange: _Exchange
) -> HTTPResponse:
    """Hand a request to an ASGI application and gather its answer."""
    received = False
    status, headers, pieces = 500, dict[str, str](), list[bytes]()

    async def receive() -> dict[str, Any]:
        nonlocal received
        if received:  # a client that goes away cancels all of this
            await asyncio.Event().wait()
        received = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        nonlocal status, headers
        if event["type"] == "http.response.start":
            status = event["status"]
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event["headers"]}
        else:
            pieces.append(event.get("body", b""))

    sent: Any = request.headers
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": PATH,
        "raw_path": PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [
            *(
                (str(name).lower().encode("latin-1"), str(value).encode("latin-1", "replace"))
                for name, value in sent.items()
                if str(name).lower() != "content-type"
            ),
            (b"content-type", b"application/json"),
        ],
        "client": None,
        "server": None,
        "state": {},
        "parley": exchange,
    }
    await manager.handle_request(scope, receive, send)
    headers.pop("content-length", None)
    media_type = headers.pop("content-type", None)
    return HTTPResponse(b"".join(pieces), status, headers, media_type)
