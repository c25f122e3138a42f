"""Routes for the tool servers (MCP) of a user, and for their tools."""

from http import HTTPStatus
from typing import Annotated, Any

from pydantic import Field

from actors.calls.request import BlankIsMissing, Body, Reference, RequiredReference
from actors.commands import tools
from actors.tools.catalog import BUILT_IN
from actors.tools.messages import ToolServerView
from actors.wire import iso
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import NAME, TIME, array, flag, ident, nullable, record, ref, text

_NO_NUL = r"^[^\x00]*$"


class InstallTool(Body):
    """Body of an installation: `server` or `url`."""

    name: RequiredReference = Field(
        description="Its name for you: 3 to 64 letters, digits, `_`, `-`; its tools are `name.tool`."
    )
    server: Reference = Field(None, description="An entry of the operator's catalog; needed unless `url` is sent.")
    url: Annotated[Annotated[str, Field(max_length=2048, pattern=_NO_NUL)] | None, BlankIsMissing] = Field(
        None, description="The https address of a streamable-HTTP server; needed unless `server` is sent."
    )
    headers: dict[str, str] | None = Field(
        None, description="Headers to send to that URL, e.g. Authorization; kept sealed and never shown."
    )


class InvokeToolBody(Body):
    """Body of a tool call."""

    tool: RequiredReference = Field(description="The full name of the tool, `server.tool`.")
    arguments: dict[str, Any] | None = Field(None, description="The arguments, as its `input_schema` describes them.")


async def list_tools(request: RouteCall) -> RouteReply:
    """List the caller's tool servers and their tools, and the operator's catalog."""
    core = request.call.core
    servers = await tools.list_servers(core, request.call.user.user_id)
    catalog = core.tool_servers.options.catalog
    return RouteReply(
        {
            "tools": [
                {
                    "name": f"{server.view.row.name}.{tool.name}",
                    "server": server.view.row.name,
                    "description": tool.description,
                    "input_schema": tool.input_schema,
                }
                for server in servers
                for tool in server.tools
            ],
            "servers": [_server_record(server.view) for server in servers],
            "catalog": [
                {"name": BUILT_IN, "description": "Recall in a bank, list agents, read the time; with your rights."},
                *({"name": name, "description": entry.description} for name, entry in catalog.items()),
            ],
        }
    )


async def install(request: RouteCall) -> RouteReply:
    """Install a tool server."""
    body: InstallTool = request.body

    def answer(view: ToolServerView) -> RouteReply:
        return RouteReply(_server_record(view), HTTPStatus.CREATED)

    return await tools.install(request.call, body.name, body.server, body.url, body.headers or {}, answer)


async def invoke(request: RouteCall) -> RouteReply:
    """Call a tool."""
    call, body = request.call, request.body
    result = await tools.invoke(call.core, call.user.user_id, body.tool, body.arguments or {}, call.scopes)
    value = {"content": result.content, "is_error": result.is_error}
    return RouteReply(value, quoted=result.quoted, shows=result.shows)


async def remove(request: RouteCall) -> RouteReply:
    """Remove a tool server."""

    def answer(_: None) -> RouteReply:
        return RouteReply(status=HTTPStatus.NO_CONTENT)

    return await tools.remove(request.call, request.params["name"], answer)


def _server_record(view: ToolServerView) -> dict[str, Any]:
    row = view.row
    return {
        "id": row.id,
        "name": row.name,
        "server": row.entry,
        "url": row.url,
        "state": "ready" if row.entry == BUILT_IN else view.state,
        "error": view.error,
        "created_at": iso(row.created_at),
    }


SERVER = record(
    "An installed tool server.",
    id=ident("mcp"),
    name=NAME,
    server=nullable(text("The entry of the catalog; null if it has a URL.")),
    url=nullable(text("Its address; null if it is from the catalog.")),
    state=text(
        "`idle`: not connected, the next call connects it; `connecting`; `ready`; `failed`: see error.",
        enum=["idle", "connecting", "ready", "failed"],
    ),
    error=nullable(text("The reason why it is missing or can't be connected now.")),
    created_at=TIME,
)
TOOL = record(
    "A tool.",
    name=text("Its full name, `server.tool`."),
    server=text("The tool server's name."),
    description=text(),
    input_schema={"type": "object", "description": "JSON Schema of its arguments."},
)
SCHEMAS = {"ToolServer": SERVER, "Tool": TOOL}
"""Schemas of these routes, by name."""

ROUTES = (
    Route(
        "GET",
        "/api/mcp/tools",
        "listTools",
        "MCP",
        "List your tool servers with their state, their tools, and the operator's catalog.",
        list_tools,
        reply=record(
            "Tools, servers, catalog.",
            tools=array(ref("Tool")),
            servers=array(ref("ToolServer")),
            catalog=array(record("An entry that can be installed.", name=text(), description=text())),
        ),
    ),
    Route(
        "POST",
        "/api/mcp/tools/install",
        "installTool",
        "MCP",
        "Install a tool server: an entry of the operator's catalog, or a streamable-HTTP server by its URL.",
        install,
        reply=ref("ToolServer"),
        status=HTTPStatus.CREATED,
        body=InstallTool,
        errors=(404, 409),
        mutates=True,
        example={"name": "clock", "server": BUILT_IN},
    ),
    Route(
        "POST",
        "/api/mcp/tools/invoke",
        "invokeTool",
        "MCP",
        "Call a tool of an installed tool server.",
        invoke,
        reply=record(
            "What the tool answered.",
            content=array({"type": "object", "description": "A content block of MCP's."}),
            is_error=flag("Whether the tool itself reports a failure."),
        ),
        body=InvokeToolBody,
        errors=(404, 409, 502),
        mutates=True,
        example={"tool": "clock.current_time", "arguments": {"timezone": "Europe/Paris"}},
        redacted={"content": [], "is_error": False},
    ),
    Route(
        "DELETE",
        "/api/mcp/tools/{name}",
        "removeTool",
        "MCP",
        "Remove a tool server.",
        remove,
        status=HTTPStatus.NO_CONTENT,
        errors=(404,),
        mutates=True,
    ),
)
