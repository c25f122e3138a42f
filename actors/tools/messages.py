"""The messages that a tool server's actor takes, and its replies."""

from dataclasses import dataclass
from typing import Any

from actors.errors import NameTaken, NotFound, StateConflict
from actors.runtime.mailbox import Ask
from actors.tools.limits import MAX_SERVERS
from actors.tools.tool import Tool, ToolResult
from persistence.tool_servers import ToolServerRow

TOOL_SERVER = "tool_server"
"""The kind of the actors; debug pages take its old name, `mcp`, as well."""


@dataclass(frozen=True, slots=True)
class ToolServerView:
    """An installed tool server as its user sees it. `state`: idle, connecting, ready or failed; `error` says why."""

    row: ToolServerRow
    state: str
    error: str | None
    offers: list[Tool] | None


@dataclass(frozen=True, slots=True)
class InstallToolServer(Ask[ToolServerView]):
    """Install a tool server under this actor's key."""

    row: ToolServerRow


@dataclass(frozen=True, slots=True)
class ReadToolServer(Ask[ToolServerView]):
    """Answer it as it is now."""


@dataclass(frozen=True, slots=True)
class ListTools(Ask[list[Tool]]):
    """Answer what it offers: what it said last, or once it is connected where it never was."""


@dataclass(frozen=True, slots=True)
class InvokeTool(Ask[ToolResult]):
    """Call a tool of its by the name that it has there."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RemoveToolServer(Ask[None]):
    """Remove it and end its process."""


def no_such_server() -> NotFound:
    """Make the error for a tool server that is not installed."""
    return NotFound("You have no tool server of this name; see GET /api/mcp/tools.")


def no_such_tool() -> NotFound:
    """Make the error for a tool that no installed server offers."""
    return NotFound("You have no tool of this name: it is `server.tool`, as GET /api/mcp/tools lists it.")


def name_taken() -> NameTaken:
    """Make the error for a name that another tool server of the user's has."""
    return NameTaken("You have a tool server of this name; choose another, or remove that one first.")


def too_many_servers() -> StateConflict:
    """Make the error for a user with as many tool servers as it may have."""
    return StateConflict(f"You have {MAX_SERVERS} tool servers, the most that you may; remove one first.")
