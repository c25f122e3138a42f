"""The task that the MCP server's SDK runs in."""

import asyncio
from typing import Any

from routes.mcp_server import McpServer


async def test_a_host_that_ended_is_started_again_by_the_next_request():
    nothing: Any = None  # no request is served here
    server = McpServer(nothing, nothing, nothing, nothing, (), 1_000, hosts=(), version="0")
    first = await server._running()  # pyright: ignore[reportPrivateUsage]
    assert await server._running() is first  # pyright: ignore[reportPrivateUsage]
    host = server._host  # pyright: ignore[reportPrivateUsage]
    assert host is not None
    host.cancel()
    await asyncio.wait((host,))
    assert await server._running() is not first  # pyright: ignore[reportPrivateUsage]
    await server._stop()  # pyright: ignore[reportPrivateUsage]
