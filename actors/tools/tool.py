"""Tools and their results, as plain values."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a user may call; `input_schema` is JSON Schema. `name` is the server's own or `server.tool`."""

    name: str
    description: str
    input_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool: MCP content blocks as JSON, and whether the tool reports a failure."""

    content: list[dict[str, Any]]
    is_error: bool = False
    quoted: tuple[int, ...] = ()
    """The positions of memories whose texts it contains (see `actors/idempotency/records.py`)."""
    shows: tuple[str, ...] = ()
    """The ids of the agents and banks whose texts it contains."""

    @property
    def text(self) -> str:
        """The texts of the result, for a model; other blocks are named in brackets."""
        return "\n".join(_text_of(block) for block in self.content)


def text_result(text: str, *, is_error: bool = False) -> ToolResult:
    """Make a result with one text."""
    return ToolResult([{"type": "text", "text": text}], is_error)


def _text_of(block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    resource: dict[str, Any] = block.get("resource") or {}
    if kind == "resource" and "text" in resource:
        return str(resource["text"])
    return f"[{kind} {block.get('mimeType') or block.get('uri') or ''}]".replace(" ]", "]")
