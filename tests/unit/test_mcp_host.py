"""The task of the MCP server's SDK."""

import asyncio
from typing import Any

from routes.mcp.host import McpHost


async def test_a_host_that_ended_is_started_again_by_the_next_request():
    nothing: Any = None  # no request is served here
    host = McpHost(nothing, nothing, 1_000, version="0")
    first = await host.manager()
    assert await host.manager() is first
    task = host._task  # pyright: ignore[reportPrivateUsage]
    assert task is not None
    task.cancel()
    await asyncio.wait((task,))
    assert await host.manager() is not first
    await host.stop()
