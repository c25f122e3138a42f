"""Tool servers (MCP) that users install: how they are reached, and what they offer."""
