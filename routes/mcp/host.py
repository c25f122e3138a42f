"""The MCP SDK's server behind /mcp, stateless, with JSON answers: tools, resources and prompts.

One task runs its session manager from the first request on, because importing the SDK takes 0.4 s and 20 MB.
The command bus runs each tool call like a request to the command's alias.
"""

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

import orjson

from actors.commands.table import COMMANDS
from actors.errors import InvalidField
from routes.bus.bus import CommandBus
from routes.http.bodies import next_turn
from routes.mcp.asgi_bridge import SCOPE_KEY, McpMessage
from routes.mcp.groups import is_offered, why_not_offered
from routes.mcp.notifications import session_call
from routes.mcp.prompts import complete, get_prompt, list_prompts
from routes.mcp.refusals import refusing
from routes.mcp.resources import TEMPLATES, list_resources, read_resource
from routes.mcp.sessions import HEADER, McpSessions, SessionGone
from routes.mcp.subscriptions import listen
from routes.mcp.tools import TOOLS, may_call, members_of_tool, tool_definitions

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        CompleteRequestParams,
        CompleteResult,
        EmptyResult,
        GetPromptRequestParams,
        GetPromptResult,
        ListPromptsResult,
        ListResourcesResult,
        ListResourceTemplatesResult,
        ListToolsResult,
        PaginatedRequestParams,
        ReadResourceRequestParams,
        ReadResourceResult,
        SubscribeRequestParams,
        SubscriptionsListenRequestParams,
        SubscriptionsListenResult,
        UnsubscribeRequestParams,
    )

_INSTRUCTIONS = (
    "Parley is a gateway for workspaces of AI agents; every tool is a command. Memory banks and zones that you may "
    "read are resources, your skills are prompts. Tools need a credential in the HTTP "
    "request: `Authorization: Bearer <session token>` or `X-Api-Key`. Tools that take a password are offered only at "
    "/mcp?groups=user: register there with US_Create, log on with US_LogOn, and connect again with the token."
)
_LISTS_ARE_FRESH_MS = 3_600_000
"""How long clients may cache a list, which changes only with the gateway's version."""


class McpHost:
    """Runs the SDK's session manager and the tools."""

    def __init__(self, bus: CommandBus, sessions: McpSessions, max_body_bytes: int, version: str) -> None:
        self._bus = bus
        self._sessions = sessions
        self._max_body_bytes = max_body_bytes
        self._version = version
        self._manager: StreamableHTTPSessionManager | None = None
        self._ready: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    async def manager(self) -> "StreamableHTTPSessionManager":
        """Return the session manager; the first call starts it in a task of its own."""
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._ready), name="mcp server")
        await asyncio.shield(self._ready)
        assert self._manager is not None
        return self._manager

    async def stop(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _run(self, ready: "asyncio.Future[None]") -> None:
        try:
            for module in ("mcp.server.lowlevel.server", "mcp.server.streamable_http_manager"):
                await asyncio.to_thread(importlib.import_module, module)
            from mcp.server.caching import CacheHint  # noqa: PLC0415
            from mcp.server.lowlevel.server import NotificationOptions, Server  # noqa: PLC0415
            from mcp.server.models import InitializationOptions  # noqa: PLC0415
            from mcp.server.streamable_http_manager import StreamableHTTPSessionManager  # noqa: PLC0415
            from mcp_types import ListResourceTemplatesResult, ListToolsResult, ServerCapabilities  # noqa: PLC0415

            tools = ListToolsResult.model_validate({"tools": tool_definitions()}).tools
            schemas = {tool.name: tool.input_schema for tool in tools}
            templates = ListResourceTemplatesResult.model_validate({"resourceTemplates": TEMPLATES})
            fresh, fresh_for_key = (CacheHint(_LISTS_ARE_FRESH_MS, scope) for scope in ("public", "private"))

            async def list_tools(
                context: "ServerRequestContext[Any]", params: "PaginatedRequestParams | None"
            ) -> "ListToolsResult":
                _require_first_page(context, params)
                asked = _message_of(context)
                listed = [tool for tool in tools if is_offered(tool.name, asked.groups)]
                return ListToolsResult(tools=[tool for tool in listed if may_call(asked.call.scopes, tool.name)])

            async def list_templates(
                context: "ServerRequestContext[Any]", params: "PaginatedRequestParams | None"
            ) -> "ListResourceTemplatesResult":
                _require_first_page(context, params)
                return templates

            class ListsThatChange(Server[Any]):
                """Tells clients that they hear of changes of lists, except that of tools, which never changes."""

                def create_initialization_options(self, *_: Any, **__: Any) -> InitializationOptions:
                    told = NotificationOptions(prompts_changed=True, resources_changed=True)
                    return super().create_initialization_options(told)

                def get_capabilities(self, *options: Any, **more: Any) -> ServerCapabilities:
                    found = super().get_capabilities(*options, **more)
                    if found.tools is not None:
                        found.tools.list_changed = False
                    return found

            server = ListsThatChange(
                "parley",
                version=self._version,
                instructions=_INSTRUCTIONS,
                cache_hints={"tools/list": fresh_for_key, "server/discover": fresh, "resources/templates/list": fresh},
                get_tool_input_schema=schemas.get,
                on_list_tools=list_tools,
                on_call_tool=self._call_tool,
                on_list_resources=_list_resources,
                on_list_resource_templates=list_templates,
                on_read_resource=_read_resource,
                on_list_prompts=_list_prompts,
                on_get_prompt=_get_prompt,
                on_completion=_complete,
                on_subscribe_resource=self._subscribe,
                on_unsubscribe_resource=self._unsubscribe,
                on_subscriptions_listen=_listen,
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

    async def _subscribe(self, context: "ServerRequestContext[Any]", params: "SubscribeRequestParams") -> "EmptyResult":
        return await self._of_session(context, "subscribe", params.uri)

    async def _unsubscribe(
        self, context: "ServerRequestContext[Any]", params: "UnsubscribeRequestParams"
    ) -> "EmptyResult":
        return await self._of_session(context, "unsubscribe", params.uri)

    async def _of_session(self, context: "ServerRequestContext[Any]", does: str, uri: str) -> "EmptyResult":
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415
        from mcp_types import INVALID_REQUEST, EmptyResult  # noqa: PLC0415

        asked = _message_of(context)
        session = asked.request.header(HEADER)
        if session is None:
            raise MCPError(INVALID_REQUEST, "Send the Mcp-Session-Id that `initialize` answered, with a credential.")
        with refusing(asked, context.protocol_version, uri):
            try:
                await self._sessions.carry_out(session_call(asked.call, session, does, uri=uri, groups=asked.groups))
            except SessionGone:
                asked.gone = True
                raise
        return EmptyResult()

    async def _call_tool(
        self, context: "ServerRequestContext[Any]", params: "CallToolRequestParams"
    ) -> "CallToolResult":
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415
        from mcp_types import INVALID_PARAMS, CallToolResult, TextContent  # noqa: PLC0415

        asked = _message_of(context)
        command = TOOLS.get(params.name)
        if command is None:
            streams = " (it streams without end: read the zone with ZN_Read)" if params.name in COMMANDS else ""
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}{streams}")
        if not is_offered(command.service, asked.groups):
            raise MCPError(INVALID_PARAMS, why_not_offered(command.service, asked.groups))
        bus_request = asked.request
        await next_turn(asked.body)
        try:
            arguments = params.arguments if asked.arguments is None else asked.arguments
            bus_request.body = orjson.dumps(arguments or {})
        except TypeError:  # a number beyond 64 bits, a text that is not Unicode
            bus_request.body = b"?"
        bus_request.members = members_of_tool(command.service)
        await next_turn(bus_request.body)
        answer = await self._bus.serve(bus_request, command)
        assert answer is not None  # only a stream has no answer
        asked.answer, asked.service = answer, command.service
        if answer.rest:  # too long for the SDK to write; `send_long_answer` inserts it
            return CallToolResult(content=[TextContent(type="text", text="")], structured_content={}, is_error=False)
        text = answer.body.decode()
        value: dict[str, Any] = orjson.loads(answer.body)
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=value,
            is_error=not value["status"]["success"],
        )


async def _list_resources(
    context: "ServerRequestContext[Any]", params: "PaginatedRequestParams | None"
) -> "ListResourcesResult":
    asked = _message_of(context)
    with refusing(asked, context.protocol_version):
        return await list_resources(asked.call, asked.groups, params and params.cursor)


async def _read_resource(
    context: "ServerRequestContext[Any]", params: "ReadResourceRequestParams"
) -> "ReadResourceResult":
    asked = _message_of(context)
    with refusing(asked, context.protocol_version, params.uri):
        return await read_resource(asked.call, asked.groups, params.uri)


async def _list_prompts(
    context: "ServerRequestContext[Any]", params: "PaginatedRequestParams | None"
) -> "ListPromptsResult":
    asked = _message_of(context)
    _require_first_page(context, params)
    with refusing(asked, context.protocol_version):
        return await list_prompts(asked.call)


def _require_first_page(context: "ServerRequestContext[Any]", params: "PaginatedRequestParams | None") -> None:
    """Refuse a cursor for a list that has one page.

    Raises:
        MCPError: there is one.
    """
    with refusing(_message_of(context), context.protocol_version):
        if params is not None and params.cursor:
            raise InvalidField("Invalid value of cursor: this list has one page; leave the cursor out.")


async def _get_prompt(context: "ServerRequestContext[Any]", params: "GetPromptRequestParams") -> "GetPromptResult":
    asked = _message_of(context)
    with refusing(asked, context.protocol_version):
        return await get_prompt(asked.call, params.name, params.arguments)


async def _complete(context: "ServerRequestContext[Any]", params: "CompleteRequestParams") -> "CompleteResult":
    from mcp_types import CompleteResult  # noqa: PLC0415

    asked = _message_of(context)
    with refusing(asked, context.protocol_version):
        return CompleteResult(completion=await complete(asked.call, asked.groups, params))


async def _listen(
    context: "ServerRequestContext[Any]", params: "SubscriptionsListenRequestParams"
) -> "SubscriptionsListenResult":
    asked = _message_of(context)
    with refusing(asked, context.protocol_version):
        return await listen(context, params, asked)


def _message_of(context: "ServerRequestContext[Any]") -> McpMessage:
    request: Any = context.request
    return request.scope[SCOPE_KEY]
