"""The query parameter `groups` of /mcp, which selects the tools of a connection."""

from collections.abc import Mapping, Sequence

from actors.commands.table import GROUPS
from actors.errors import InvalidField
from routes.mcp.tools import TOOLS

PARAMETER = "groups"
_SECRET = "vx.secret"
_KNOWN = ", ".join(GROUPS)

WITH_PASSWORD = frozenset(service for service, command in TOOLS.items() if _SECRET in command.uses)
"""Services that take a password, offered only with `groups=user`, because models should not handle passwords."""


def groups_of(query: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """Return the groups in the query of a request; an empty set means all.

    Raises:
        InvalidField: it has an unknown group or parameter, because a misspelt one must not widen the list.
    """
    for name in query:
        if name != PARAMETER:
            raise InvalidField(
                f"Unknown query parameter {_shown(name)}: /mcp takes only `groups`, as in ?groups=agent,bank."
            )
    named = [name.strip() for value in query.get(PARAMETER, ()) for name in value.split(",")]
    for name in named:
        if name not in GROUPS:
            raise InvalidField(f"Unknown group {_shown(name)}: the groups are {_KNOWN}; separate several by commas.")
    return frozenset(named)


def is_offered(service: str, groups: frozenset[str]) -> bool:
    """Return whether a tool may be listed and called with these groups."""
    if not groups:
        return service not in WITH_PASSWORD
    return TOOLS[service].group in groups


def offers_group(group: str, groups: frozenset[str]) -> bool:
    """Return whether an address with these groups offers the resources of a group."""
    return not groups or group in groups


def why_not_offered(service: str, groups: frozenset[str]) -> str:
    """Return the note for a tool that these groups don't offer: how to get it."""
    group = TOOLS[service].group
    if service in WITH_PASSWORD:
        return f"{service} takes a password, so it is offered only at /mcp?groups={group}: connect there to call it."
    named = ", ".join(sorted(groups))
    return f"{service} is not in {named}, the groups that this connection asked for: add {group} to ?groups=."


def _shown(name: str) -> str:
    return repr(name[:64])
