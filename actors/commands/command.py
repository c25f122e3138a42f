"""A command as data, from which route, alias, checks, OpenAPI and dispatch derive."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, NamedTuple

from actors.calls.call import Answer, Call
from actors.domains.streams import Stream
from actors.errors import NotAvailable

Run = Callable[[Call], Coroutine[Any, Any, Answer]]
Follow = Callable[[Call], Awaitable[Stream]]

NAMED = ("vx.description", "vx.name")
AGENT_MEMBERS = ("target.user", "target.agent")
ENTITY = ("vx.name", "vx.description", "vx.profile", "vx.access")
PAGE = ("page.limit", "page.cursor")
ZONE_MEMBERS = ("target.domain", "target.zone")
DOMAIN_MEMBERS = ("target.domain", "target.agent")
BANK_MEMBERS = ("target.bank", "target.agent")
"""Request members that several commands use or require."""


async def not_available(call: Call) -> Answer:
    """Refuse a service that is declared but not built yet."""
    raise NotAvailable(f"The service {call.service} is not available yet.")


class ToolDescription(NamedTuple):
    """The description of a command as an MCP tool, for the models that choose among tools.

    Args:
        title: the name of the tool for people.
        description: its effect, its use, and the selection or names that it needs first.
        destructive: True if it removes or replaces something that no other tool restores.
        idempotent: True if a repeat with the same arguments changes nothing more.
        open_world: True if it asks a chat engine, and so the world outside the gateway.
    """

    title: str
    description: str
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """One service.

    Args:
        service: its name on the bus.
        summary: its purpose, in a line.
        run: its function; absent for one that is declared but not built yet, and for one with `follow`.
        uses: the request members it reads.
        requires: the required ones, in the order of the checks.
        profile: the kind of record in `profile`, one of RECORDS in `routes/openapi/schemas.py`.
        content: the kinds of those in `content`, in order.
        public: True if it needs no credential; such a call counts against no quota.
        mutates: True for a change, to which Idempotency-Key and the audit log apply.
        may_only_read: True for a change that some requests don't ask for; its function checks an API key's scopes
            again, with `Call.mutates` as the request says.
        streams: True if its answer may come as server-sent events.
        follow: starts the stream of a command that answers with server-sent events without end.
        errors: the internal codes beyond those that every command can answer.
        example: a request body that works once its names exist.
        tool: its description as an MCP tool; one without is described by its summary.
    """

    service: str
    summary: str
    run: Run = not_available
    uses: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    profile: str | None = None
    content: tuple[str, ...] = ()
    public: bool = False
    mutates: bool = True
    may_only_read: bool = False
    streams: bool = False
    follow: Follow | None = None
    errors: tuple[int, ...] = ()
    example: dict[str, Any] | None = None
    tool: ToolDescription | None = None

    @property
    def group(self) -> str:
        """The group word: the alias's first segment."""
        return _GROUP_OF_PREFIX[self.service.split("_", maxsplit=1)[0]]

    @property
    def alias(self) -> str:
        """The path under the command bus: group word, then the operation in lower case."""
        return f"/{self.group}/{self.service.split('_', maxsplit=1)[1].lower()}"

    @property
    def only_changes(self) -> bool:
        """Whether each of its requests asks for a change."""
        return self.mutates and not self.may_only_read

    @property
    def available(self) -> bool:
        """Whether it is built."""
        return self.run is not not_available or self.follow is not None


_GROUP_OF_PREFIX = {"US": "user", "AP": "agent", "DM": "domain", "ZN": "zone", "MB": "bank", "CV": "conversation"}
