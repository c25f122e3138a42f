"""The commands of users' tool servers (MCP), and the toolbox that chat engines use."""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from actors.calls.call import A, Call
from actors.calls.request import NAME_PATTERN
from actors.commands import built_in_tools
from actors.core import Core
from actors.engines.openai.tools import ToolAnswer
from actors.errors import InvalidField, MissingField, NotFound, ServiceError
from actors.ids import new_id
from actors.sessions.messages import Caller
from actors.sessions.scopes import Scopes
from actors.tools.catalog import BUILT_IN
from actors.tools.http import require_headers
from actors.tools.messages import (
    TOOL_SERVER,
    InstallToolServer,
    InvokeTool,
    ListTools,
    ReadToolServer,
    RemoveToolServer,
    ToolServerView,
    no_such_server,
    no_such_tool,
)
from actors.tools.tool import Tool, ToolResult
from actors.users.messages import USER, ReadUser
from persistence import tool_servers
from persistence.tool_servers import ToolServerRow

FIRST_LIST_S = 5.0
"""Seconds from its start for which an engine waits for the tools of a server that was never connected."""
MARGIN_S = 5.0
"""Seconds that an ask may take beyond the tool server's own time-outs."""


@dataclass(frozen=True, slots=True)
class ListedServer:
    """An installed tool server with its known tools."""

    view: ToolServerView
    tools: list[Tool]


# for users


async def install(
    call: Call,
    name: str,
    entry: str | None,
    url: str | None,
    headers: Mapping[str, str],
    answer: Callable[[ToolServerView], A],
) -> A:
    """Install a tool server: an entry of the operator's catalog, or a URL with headers to send to it.

    `answer` makes the reply to the caller.

    Raises:
        MissingField: neither an entry nor a URL is given.
        InvalidField: the name, the URL or a header can't be used, or both an entry and a URL are given.
        NotFound: the catalog has no such entry.
        NameTaken, StateConflict: the user has one of this name, or as many as a user may have.
    """
    if not re.fullmatch(NAME_PATTERN, name) or "." in name:
        raise InvalidField(
            "Invalid value of name: a tool server's name has 3 to 64 ASCII letters, digits, `_` or `-`, "
            "and begins and ends with a letter or digit."
        )
    if entry is None and url is None:
        raise MissingField("missing server field: send `server`, an entry of the catalog, or `url`.")
    if entry is not None and url is not None:
        raise InvalidField("Invalid value of server: send `server`, an entry of the catalog, or `url`, not both.")
    core = call.core
    options = core.tool_servers.options
    server_id = new_id("mcp", near=call.user.user_id)
    sealed = None
    if url is not None:
        refusal = await core.tool_servers.outbound.refusal(call.user.user_id, url)
        if refusal is not None:
            raise InvalidField(f"Invalid value of url: {refusal}.")
        sealed = core.tool_servers.seal(server_id, require_headers(headers))
    elif headers:
        raise InvalidField("Invalid value of headers: only a server of a `url` takes them.")
    elif entry != BUILT_IN and entry not in options.catalog:
        raise NotFound("The gateway's catalog has no such server; GET /api/mcp/tools lists what it has.")
    row = ToolServerRow(server_id, call.user.user_id, name, entry, url, sealed, None, core.clock())
    return await call.carry_out(TOOL_SERVER, row.id, InstallToolServer(row), answer)


async def remove(call: Call, name: str, answer: Callable[[None], A]) -> A:
    """Remove a tool server; `answer` makes the reply to the caller.

    Raises:
        NotFound: the user has none of this name.
    """
    server_id = await _find(call.core, call.user.user_id, name)
    return await call.carry_out(TOOL_SERVER, server_id, RemoveToolServer(), answer)


async def list_servers(core: Core, user_id: str) -> list[ListedServer]:
    """List a user's tool servers, first connecting new ones, which may take up to their time-out.

    A server that failed is tried again too, but not waited for.
    """
    ids = await core.store.fetch(tool_servers.ids_of(user_id))
    listed = await asyncio.gather(*(_listed(core, server_id) for server_id in ids))
    return [server for server in listed if server is not None]


async def _listed(core: Core, server_id: str) -> ListedServer | None:
    """Return one tool server; None if it was removed meanwhile."""
    ask = core.directory.ask
    try:
        view = await ask(TOOL_SERVER, server_id, ReadToolServer())
        if view.row.entry == BUILT_IN:
            return ListedServer(view, built_in_tools.TOOLS)
        refusal = None
        try:
            timeout = core.tool_servers.limits.connect_timeout_s + MARGIN_S
            tools = await ask(TOOL_SERVER, server_id, ListTools(), timeout=timeout)
        except ServiceError as error:
            tools, refusal = view.tools or [], error.note
        view = await ask(TOOL_SERVER, server_id, ReadToolServer())
    except NotFound:
        return None
    if refusal and view.error is None:  # not the server's fault: no process may start for it now
        view = ToolServerView(view.row, view.state, refusal, view.tools)
    return ListedServer(view, tools)


# for users and chat engines


async def tools_of(core: Core, user_id: str) -> list[Tool]:
    """List the tools of a user's tool servers, as `server.tool`.

    A server's last known list is good enough here. A server that was never connected gets a moment to connect; it is
    left out if it takes longer or has failed, and then tried again in the background.
    """
    ids = await core.store.fetch(tool_servers.ids_of(user_id))
    return [tool for tools in await asyncio.gather(*(_known(core, server_id) for server_id in ids)) for tool in tools]


async def _known(core: Core, server_id: str) -> list[Tool]:
    try:
        view = await core.directory.ask(TOOL_SERVER, server_id, ReadToolServer())
        if view.row.entry == BUILT_IN:
            tools = built_in_tools.TOOLS
        elif view.tools is not None:
            tools = view.tools
        else:
            patience = FIRST_LIST_S - view.connecting_s
            if patience <= 0:
                return []
            tools = await core.directory.ask(TOOL_SERVER, server_id, ListTools(), timeout=patience)
    except ServiceError:
        return []
    return [Tool(f"{view.row.name}.{tool.name}", tool.description, tool.input_schema) for tool in tools]


async def invoke(
    core: Core, user_id: str, tool: str, arguments: dict[str, Any], scopes: Scopes | None = None
) -> ToolResult:
    """Call one of a user's tools by its full name, `server.tool`; `scopes` bound what the gateway's own tools show.

    Raises:
        NotFound: there is no such tool (3000).
        EngineFailed: its server failed or did not answer in time (5001).
        Overloaded, StateConflict: too many servers or calls are under way.
    """
    server, _, name = tool.partition(".")
    try:
        server_id = await _find(core, user_id, server)
        view = await core.directory.ask(TOOL_SERVER, server_id, ReadToolServer())
    except NotFound:
        raise no_such_tool() from None
    if view.row.entry != BUILT_IN:
        limits = core.tool_servers.limits
        timeout = limits.connect_timeout_s + limits.call_timeout_s + MARGIN_S
        return await core.directory.ask(TOOL_SERVER, server_id, InvokeTool(name, arguments), timeout=timeout)
    user = await core.directory.ask(USER, user_id, ReadUser())
    call = Call(core, request_id="", address="")
    call.sent_by(Caller("", user_id, user.name, scopes=scopes))
    result = await built_in_tools.run(call, name, arguments)
    if result is None:
        raise no_such_tool()
    return result


async def _find(core: Core, user_id: str, name: str) -> str:
    found = await core.store.fetch(tool_servers.id_by_name(user_id, name))
    if not found:
        raise no_such_server()
    return found[0]


class UserToolbox:
    """The tools of users, as chat engines use them."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def tools(self, user_id: str) -> list[Tool]:
        """List the tools of a user's tool servers; never fails, because servers that fail are left out."""
        return await tools_of(self._core, user_id)

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        """Call a tool; return its text, and whether the tool reports a failure.

        Raises:
            ServiceError: there is no such tool, or its server failed.
        """
        result = await invoke(self._core, user_id, name, arguments)
        return ToolAnswer(result.text, result.is_error, result.quoted)
