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
    """An installed tool server as its user sees it.

    `state` is idle, connecting, ready or failed; `error` is the reason. `connecting_s` is for how many seconds it has
    been connecting.
    """

    row: ToolServerRow
    state: str
    error: str | None
    tools: list[Tool] | None
    connecting_s: float = 0.0


class InstallToolServer(Ask[ToolServerView], frozen=True):
    """Install a tool server under this actor's key."""

    row: ToolServerRow


class ReadToolServer(Ask[ToolServerView], frozen=True):
    """Return the tool server as it is now."""


class ListTools(Ask[list[Tool]], frozen=True):
    """Return its tools: the last known list, or a new one if it was never connected; none if that failed."""


class InvokeTool(Ask[ToolResult], frozen=True):
    """Call one of its tools by the server's own name for it."""

    tool: str
    arguments: dict[str, Any]


class RemoveToolServer(Ask[None], frozen=True):
    """Remove the tool server and end its process."""


def no_such_server() -> NotFound:
    """Make the error for a tool server that is not installed."""
    return NotFound("You have no tool server of this name; see GET /api/mcp/tools.")


def no_such_tool() -> NotFound:
    """Make the error for a tool that no installed server has."""
    return NotFound("You have no tool of this name: it is `server.tool`, as GET /api/mcp/tools lists it.")


def name_taken() -> NameTaken:
    """Make the error for a name that another of the user's tool servers has."""
    return NameTaken("You have a tool server of this name; choose another, or remove that one first.")


def too_many_servers() -> StateConflict:
    """Make the error for a user with the largest number of tool servers."""
    return StateConflict(f"You have {MAX_SERVERS} tool servers, the limit for each user; remove one first.")
