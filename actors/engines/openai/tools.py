"""Tools and skills that an engine may use on behalf of an agent's owner: protocols that other concepts implement."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

MAX_NAME = 64
"""The longest name of a function for a model; it has letters, digits, `_` and `-`."""

_odd = re.compile(r"[^A-Za-z0-9_-]")


class OfferedTool(Protocol):
    """A tool that a user has installed: its name `server.tool`, and the JSON Schema of its arguments."""

    @property
    def name(self) -> str: ...  # noqa: D102 - the class says it
    @property
    def description(self) -> str: ...  # noqa: D102
    @property
    def input_schema(self) -> Mapping[str, Any]: ...  # noqa: D102


class ToolAnswer(NamedTuple):
    """The answer of a tool; `quoted` are the positions of the memories whose texts it contains."""

    text: str
    is_error: bool = False
    quoted: tuple[int, ...] = ()


class Toolbox(Protocol):
    """The tools that users have installed."""

    async def tools(self, user_id: str) -> Sequence[OfferedTool]:
        """List a user's tools."""
        ...

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool] | ToolAnswer:
        """Call a tool; return its text, whether it is an error, and the positions of the memories in it.

        Raises:
            ServiceError: the tool can't be used; the note says why.
        """
        ...


class NoTools:
    """An empty toolbox."""

    async def tools(self, user_id: str) -> list[OfferedTool]:
        """List nothing."""
        return []

    async def invoke(self, user_id: str, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        """Refuse the call, because there is no such tool."""
        return f"There is no tool {name}.", True


@runtime_checkable
class UsesTools(Protocol):
    """An engine that takes a toolbox."""

    toolbox: Toolbox


class Skillbook(Protocol):
    """The skills that users have installed."""

    async def skills(self, user_id: str) -> list[tuple[str, str]]:
        """List names and descriptions of a user's skills."""
        ...

    async def read(self, user_id: str, name: str, path: str | None = None) -> str | None:
        """Read a skill's body, or one of its files, as text; None if there is none."""
        ...


class NoSkills:
    """An empty skillbook."""

    async def skills(self, user_id: str) -> list[tuple[str, str]]:
        """List nothing."""
        return []

    async def read(self, user_id: str, name: str, path: str | None = None) -> str | None:
        """Find nothing."""
        return None


def function_names(tools: Iterable[OfferedTool], taken: Iterable[str] = ()) -> dict[str, OfferedTool]:
    """Map function names to tools: the names have no `.`, and each tool gets its own.

    So no name that a model returns has to be parsed.
    """
    named: dict[str, OfferedTool] = {}
    used = set(taken)
    for tool in tools:
        plain = _odd.sub("_", tool.name.replace(".", "__"))[:MAX_NAME]
        name, number = plain, 1
        while name in used:
            number += 1
            suffix = f"_{number}"
            name = plain[: MAX_NAME - len(suffix)] + suffix
        used.add(name)
        named[name] = tool
    return named
