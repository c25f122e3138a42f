"""COMMANDS: every service of the command bus, in the order of the documentation."""

from actors.commands import agents, banks, chat, conversations, domains, memberships, memories, roster, users, zones
from actors.commands.command import Command

GROUPS = {
    "user": "01 - User",
    "agent": "02 - Agent",
    "domain": "03 - Domain",
    "zone": "04 - Zone",
    "bank": "05 - Bank",
    "conversation": "06 - Conversation",
}
"""The first segments of the aliases, each with its tag in the OpenAPI document."""


def _order(command: Command) -> tuple[int, str]:
    return list(GROUPS).index(command.group), command.service


_BY_NAME = (
    *agents.COMMANDS,
    *roster.COMMANDS,
    *chat.COMMANDS,
    *domains.COMMANDS,
    *memberships.COMMANDS,
    *zones.COMMANDS,
    *banks.COMMANDS,
    *memories.COMMANDS,
    *conversations.COMMANDS,
)

COMMANDS: dict[str, Command] = {
    command.service: command for command in (*users.COMMANDS, *sorted(_BY_NAME, key=_order))
}
"""Every routed service by name: those of users in the order of a user's life, all others in alphabetical order."""

UNROUTED: dict[str, Command] = {
    name: Command(name, "A legacy constant that is not routed.") for name in ("COMMAND", "DEFAULT")
}
"""Services that exist but are not routed; they answer 1005 after the checks of the request."""
