"""Tool servers (MCP) that users install: their connections, tools and limits."""
