"""Tool servers (MCP) of users: list, install, invoke, uninstall; and the toolbox that chat engines use (product 8)."""

from typing import Any

from actors.core import Core
from actors.tools.offers import ToolOffer, ToolResult


async def tools_of(core: Core, user_id: str) -> list[ToolOffer]:
    """List what a user's tool servers offer, as `server.tool`; servers that fail are left out."""
    raise NotImplementedError


async def invoke(core: Core, user_id: str, tool: str, arguments: dict[str, Any]) -> ToolResult:
    """Call a tool of a user's by its whole name, `server.tool`.

    Raises:
        NotFound: there is no such tool (3000).
        EngineFailed: its server failed or did not answer in time (5001).
        Overloaded, StateConflict: too many servers or calls are under way.
    """
    raise NotImplementedError


class Toolbox:
    """The tools of users, as chat engines use them."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def tools(self, user_id: str) -> list[ToolOffer]:
        """List what a user's tool servers offer; never fails, servers that fail are left out."""
        return await tools_of(self._core, user_id)

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Call a tool; answer its text, and whether the tool says that it failed.

        Raises:
            ServiceError: there is no such tool, or its server failed.
        """
        result = await invoke(self._core, user_id, name, arguments)
        return result.text, result.is_error
