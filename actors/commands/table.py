"""COMMANDS: the one table of services. Route, alias, checks, OpenAPI and dispatch derive from it (design 4)."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from actors.calls.call import Answer, Call
from actors.commands import agents, banks, domains, users, zones
from actors.domains.streams import Stream
from actors.errors import NotAvailable

TokenBucket = Callable[[Call], Awaitable[Answer]]
Follow = Callable[[Call], Awaitable[Stream]]

GROUPS = {
    "user": "01 - User",
    "agent": "02 - Agent",
    "domain": "03 - Domain",
    "zone": "04 - Zone",
    "bank": "05 - Bank",
}
"""Group words of the aliases, each with its tag (spec 1)."""


@dataclass(frozen=True, slots=True)
class Command:
    """One service.

    Args:
        service: its name on the bus.
        summary: what it does, in a line.
        run: its flow; `not_available` for one that is declared but not built yet.
        uses: the request members it looks at.
        requires: those that the wrapper demands, in the order of its checks (spec 4.2).
        profile: the record kind in `profile`; `content`: those in `content`, in order.
        public: True where no credential is needed; such a call is not counted either.
        mutates: True where it changes something: what Idempotency-Key and the audit log hold on to.
        streams: True where an answer may come as server-sent events.
        follow: for a command that answers as server-sent events without end: makes the reader, and what it missed.
        errors: the internal codes of the core beyond those that every command can answer.
        example: a request body that works once its names exist.
    """

    service: str
    summary: str
    run: TokenBucket
    uses: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    profile: str | None = None
    content: tuple[str, ...] = ()
    public: bool = False
    mutates: bool = True
    streams: bool = False
    follow: Follow | None = None
    errors: tuple[int, ...] = ()
    example: dict[str, Any] | None = None

    @property
    def group(self) -> str:
        """The group word: the alias's first segment."""
        return _GROUP_OF_PREFIX[self.service.split("_", maxsplit=1)[0]]

    @property
    def alias(self) -> str:
        """The path under the command bus: group word, then the operation in lower case."""
        return f"/{self.group}/{self.service.split('_', maxsplit=1)[1].lower()}"

    @property
    def available(self) -> bool:
        """Tell whether it is built."""
        return self.run is not not_available


_GROUP_OF_PREFIX = {"US": "user", "AP": "agent", "DM": "domain", "ZN": "zone", "MB": "bank"}


async def not_available(call: Call) -> Answer:
    """Refuse a service that is declared but not built yet."""
    raise NotAvailable(f"The service {call.service} is not available yet.")


_NAMED = ("vx.description", "vx.name")
_AGENT = ("target.user", "target.agent")
_ENTITY = ("vx.name", "vx.description", "vx.profile", "vx.access")
_PAGE = ("page.limit", "page.cursor")
_ZONE = ("target.domain", "target.zone")
_DOMAIN = ("target.domain", "target.agent")
_BANK = ("target.bank", "target.agent")

_TABLE = (
    # 01 - User
    Command(
        "US_Create",
        "Register a user. Needs no credential.",
        users.create,
        uses=("vx.name", "vx.secret", "vx.description", "vx.profile"),
        requires=("vx.name", "vx.secret"),
        profile="own_user",
        public=True,
        errors=(2003, 2004, 3001, 4001),
        example={"vx": {"name": "lovelace", "secret": "correct horse battery"}},
    ),
    Command(
        "US_LogOn",
        "Log on with name and password for a session token. Needs no credential.",
        users.log_on,
        uses=("target.user", "vx.secret"),
        requires=("target.user", "vx.secret"),
        profile="session",
        content=("token",),
        public=True,
        errors=(2002, 4001),
        example={"target": {"user": "lovelace"}, "vx": {"secret": "correct horse battery"}},
    ),
    Command("US_LogOff", "End this session.", users.log_off, errors=(2003,), example={}),
    Command(
        "US_Sessions",
        "List the user's sessions.",
        users.list_sessions,
        uses=_PAGE,
        profile="session",
        mutates=False,
        example={},
    ),
    Command(
        "US_Revoke",
        "End one session by its id, or `all` others.",
        users.revoke,
        uses=("vx.name",),
        requires=("vx.name",),
        errors=(3000,),
        example={"vx": {"name": "all"}},
    ),
    Command(
        "US_Read",
        "Read the user's own record, with quota and counts.",
        users.read,
        profile="own_user",
        mutates=False,
        example={},
    ),
    Command(
        "US_Update",
        "Change description, profile or password; a new password needs a session and ends the others.",
        users.update,
        uses=("vx.description", "vx.profile", "vx.secret"),
        profile="own_user",
        errors=(2003, 4001),
        example={"vx": {"description": "Mathematician"}},
    ),
    Command(
        "US_Destroy",
        "Remove the user and all it owns; needs a session and the password.",
        users.destroy,
        uses=("vx.secret",),
        requires=("vx.secret",),
        errors=(2002, 2003, 4001),
        example={"vx": {"secret": "correct horse battery"}},
    ),
    # 02 - Agent
    Command(
        "AP_Add",
        "Put another owner's agent on the roster.",
        agents.add,
        uses=_AGENT,
        requires=("target.agent",),
        profile="agent",
        errors=(3000,),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_Chat",
        "Say something to an agent and have its reply; both are durable before the answer is sent.",
        agents.chat,
        uses=("target.agent", "target.domain", "target.zone", "content"),
        requires=("content",),
        content=("message", "message"),
        streams=True,
        errors=(2003, 3000, 3002, 3003, 5001),
        example={"content": "Hello! What do you know?"},
    ),
    Command(
        "AP_Create",
        "Make an agent.",
        agents.create,
        uses=("target.user", *_ENTITY),
        requires=_NAMED,
        profile="agent",
        errors=(2003, 2004, 3001),
        example={"vx": {"name": "scout", "description": "Finds things out", "access": "public"}},
    ),
    Command(
        "AP_Destroy",
        "Remove an own agent for all.",
        agents.destroy,
        uses=_AGENT,
        errors=(2003, 3000, 3003),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_History",
        "Read the private conversation with an agent, newest last.",
        agents.history,
        uses=(*_AGENT, *_PAGE),
        profile="agent",
        content=("message",),
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_List",
        "List own agents and the roster, or another user's agents that one may see.",
        agents.list_agents,
        uses=(*_AGENT, *_PAGE),
        profile="agent",
        mutates=False,
        errors=(3000,),
        example={"target": {"agent": "sc"}},
    ),
    Command(
        "AP_LogOff",
        "Take an own agent offline.",
        agents.log_off,
        uses=("target.agent",),
        profile="agent",
        errors=(2003, 3000, 3003),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_LogOn",
        "Bring an own agent online.",
        agents.log_on,
        uses=("target.agent",),
        profile="agent",
        errors=(2003, 3000, 3003),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_Modify",
        "Change just the members given of an own agent.",
        agents.modify,
        uses=(*_AGENT, *_ENTITY),
        profile="agent",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"agent": "scout"}, "vx": {"access": "public"}},
    ),
    Command(
        "AP_Read",
        "Read one agent and what it is part of.",
        agents.read,
        uses=_AGENT,
        profile="agent",
        content=("standing",),
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_Remove",
        "Take an agent off the roster.",
        agents.remove,
        uses=_AGENT,
        requires=("target.agent",),
        errors=(3000, 3002),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_Select",
        "Make an agent, own or on the roster, the session's.",
        agents.select,
        uses=_AGENT,
        requires=("target.agent",),
        profile="agent",
        errors=(2003, 3000),
        example={"target": {"agent": "scout"}},
    ),
    Command(
        "AP_Update",
        "Replace name, description, profile and access of an own agent.",
        agents.update,
        uses=(*_AGENT, *_ENTITY),
        requires=_NAMED,
        profile="agent",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={
            "target": {"agent": "scout"},
            "vx": {"name": "scout", "description": "Finds everything out"},
        },
    ),
    # 03 - Domain
    Command(
        "DM_Ban",
        "Put an agent out of a domain and keep it out.",
        domains.ban,
        uses=_DOMAIN,
        requires=("target.agent",),
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
    ),
    Command(
        "DM_Create",
        "Make a domain, with its lobby; target.agent, else the selected agent, founds it.",
        domains.create,
        uses=(*_AGENT, *_ENTITY),
        requires=_NAMED,
        profile="domain",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"agent": "scout"}, "vx": {"name": "observatory", "description": "Where we look up"}},
    ),
    Command(
        "DM_Destroy",
        "Remove a domain and its zones for all.",
        domains.destroy,
        uses=_DOMAIN,
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
    Command(
        "DM_Invite",
        "Invite an agent into a domain; one's own becomes a member.",
        domains.invite,
        uses=_DOMAIN,
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
    ),
    Command(
        "DM_Join",
        "Make an own agent a member of a domain that is public or that it is invited to.",
        domains.join,
        uses=_DOMAIN,
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
    ),
    Command(
        "DM_Kick",
        "Put an agent out of a domain, or take its invitation back.",
        domains.kick,
        uses=_DOMAIN,
        requires=("target.agent",),
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
    ),
    Command(
        "DM_Leave",
        "Take an own agent out of a domain, or decline its invitation.",
        domains.leave,
        uses=_DOMAIN,
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
    ),
    Command(
        "DM_List",
        "List the domains that one may see; target.domain is a name prefix.",
        domains.list_domains,
        uses=("target.domain", *_PAGE),
        profile="domain",
        mutates=False,
        example={"target": {"domain": "obs"}},
    ),
    Command(
        "DM_Read",
        "Read a domain and its memberships, by the agents' names.",
        domains.read,
        uses=("target.domain", *_PAGE),
        profile="domain",
        content=("membership",),
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
    Command(
        "DM_Select",
        "Make a domain and its lobby the session's.",
        domains.select,
        uses=("target.domain",),
        profile="domain",
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
    Command(
        "DM_Unban",
        "Lift an agent's ban.",
        domains.unban,
        uses=_DOMAIN,
        requires=("target.agent",),
        profile="membership",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "agent": "scout"}},
    ),
    Command(
        "DM_Update",
        "Replace a domain's name and description; its profile and access where they are given.",
        domains.update,
        uses=("target.domain", *_ENTITY),
        requires=_NAMED,
        profile="domain",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={
            "target": {"domain": "observatory"},
            "vx": {"name": "observatory", "description": "Where we look further up"},
        },
    ),
    # 04 - Zone
    Command(
        "ZN_Create",
        "Add a zone to a domain, for one who has a member of it.",
        zones.create,
        uses=("target.domain", "vx.name"),
        requires=("vx.name",),
        profile="zone",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"domain": "observatory"}, "vx": {"name": "nightly"}},
    ),
    Command(
        "ZN_Destroy",
        "Remove a zone and what was said in it; the lobby stays.",
        zones.destroy,
        uses=_ZONE,
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"domain": "observatory", "zone": "nightly"}},
    ),
    Command(
        "ZN_List",
        "List a domain's zones; target.zone is a name prefix.",
        zones.list_zones,
        uses=(*_ZONE, *_PAGE),
        profile="zone",
        mutates=False,
        errors=(3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
    Command(
        "ZN_Post",
        "Say something in a zone; online members that it names with @ reply there.",
        zones.post,
        uses=(*_ZONE, "content"),
        requires=("content",),
        content=("message",),
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}, "content": "Clear skies tonight."},
    ),
    Command(
        "ZN_Read",
        "Read what was said in a zone, newest last: its newest messages, or those after the seq `page.after`.",
        zones.read,
        uses=(*_ZONE, *_PAGE, "page.after"),
        profile="zone",
        content=("message",),
        mutates=False,
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
    Command(
        "ZN_Select",
        "Make a zone and its domain the session's.",
        zones.select,
        uses=_ZONE,
        profile="zone",
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory", "zone": "lobby"}},
    ),
    Command(
        "ZN_Stream",
        "Follow a zone: messages and membership changes as server-sent events.",
        zones.stream,
        uses=_ZONE,
        mutates=False,
        follow=zones.follow,
        errors=(2003, 3000, 3003),
        example={"target": {"domain": "observatory"}},
    ),
    # 05 - Bank
    Command(
        "MB_Accept",
        "Attach an own agent to a bank as it is offered there; until then the offer gives nobody anything.",
        banks.accept,
        uses=_BANK,
        requires=("target.bank",),
        profile="bank",
        content=("attachment",),
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"bank": "field-notes", "agent": "scout"}},
    ),
    Command(
        "MB_AgentList",
        "List the agents that are attached to a bank or offered it, and what each may do there.",
        banks.list_agents,
        uses=(*_BANK, *_PAGE),
        requires=("target.bank",),
        profile="bank",
        content=("attachment",),
        mutates=False,
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}},
    ),
    Command(
        "MB_Censor",
        "Redact memories for good: that of a name (`*`: all), all by target.agent, or those that fit both.",
        banks.censor,
        uses=(*_BANK, "vx.name"),
        requires=("target.bank",),
        profile="bank",
        content=("removed",),
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}, "vx": {"name": "The Moon's distance"}},
    ),
    Command(
        "MB_Create",
        "Make a bank, with an own agent as its admin.",
        banks.create,
        uses=("target.user", *_BANK, "vx.name", "vx.description", "vx.access"),
        profile="bank",
        errors=(2003, 2004, 3000, 3001, 3003),
        example={"target": {"agent": "scout"}, "vx": {"name": "field-notes", "description": "What scout found"}},
    ),
    Command(
        "MB_Delete",
        "Remove memories and keep the bank: that of a name (`*`: all), all by target.agent, or those that fit both.",
        banks.delete,
        uses=(*_BANK, "vx.name"),
        requires=("target.bank",),
        profile="bank",
        content=("removed",),
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}, "vx": {"name": "The Moon's distance"}},
    ),
    Command(
        "MB_Destroy",
        "Remove an own bank with all its memories.",
        banks.destroy,
        uses=("target.bank",),
        requires=("target.bank",),
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}},
    ),
    Command(
        "MB_List",
        "List own banks and those of own agents, or another user's banks that one may see.",
        banks.list_banks,
        uses=("target.user", "target.bank", *_PAGE),
        profile="bank",
        mutates=False,
        errors=(3000,),
        example={"target": {"bank": "field"}},
    ),
    Command(
        "MB_Load",
        "Put a memory in a bank, or replace the one of its name; attaches the own agent that does it.",
        banks.load,
        uses=("target.user", *_BANK, "vx.name", "vx.description", "content"),
        requires=("vx.name", "target.bank"),
        profile="bank",
        content=("memory",),
        errors=(2003, 3000, 3002, 3003),
        example={
            "target": {"bank": "field-notes", "agent": "scout"},
            "vx": {"name": "The Moon's distance"},
            "content": "The Moon is 384,400 km away on average.",
        },
    ),
    Command(
        "MB_Permissions",
        "Read or set who sees a bank and what an agent may do in it; more is an offer unless the agent is one's own.",
        banks.permissions,
        uses=(*_BANK, "vx.access", "vx.permission", *_PAGE),
        requires=("target.bank",),
        profile="bank",
        content=("attachment",),
        errors=(2003, 3000, 3003),
        example={"target": {"bank": "field-notes", "agent": "scout"}, "vx": {"permission": "write"}},
    ),
    Command(
        "MB_Read",
        "Read a bank's memories, oldest first, or those that a name means.",
        banks.read,
        uses=("target.bank", "vx.name", *_PAGE),
        requires=("target.bank",),
        profile="bank",
        content=("memory",),
        mutates=False,
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}},
    ),
    Command(
        "MB_Recall",
        "Find the memories of a bank that say most about a text, best first; 5 unless page.limit says otherwise.",
        banks.recall_memories,
        uses=("target.bank", "content", "page.limit"),
        requires=("target.bank", "content"),
        profile="bank",
        content=("recalled",),
        mutates=False,
        errors=(2003, 3000),
        example={"target": {"bank": "field-notes"}, "content": "How far is the Moon?"},
    ),
    Command(
        "MB_Unload",
        "Detach an agent from a bank, or decline what it is offered there.",
        banks.unload,
        uses=_BANK,
        requires=("target.bank",),
        profile="bank",
        errors=(2003, 3000, 3002, 3003),
        example={"target": {"bank": "field-notes", "agent": "scout"}},
    ),
    Command(
        "MB_Update",
        "Replace a bank's name and description, and its access where that is given.",
        banks.update,
        uses=("target.bank", "vx.name", "vx.description", "vx.access"),
        requires=(*_NAMED, "target.bank"),
        profile="bank",
        errors=(2003, 2004, 3000, 3001),
        example={
            "target": {"bank": "field-notes"},
            "vx": {"name": "field-notes", "description": "All that scout found"},
        },
    ),
)

COMMANDS: dict[str, Command] = {command.service: command for command in _TABLE}
"""Every service that is routed, by name."""

UNROUTED: dict[str, Command] = {
    name: Command(name, "A legacy constant that is not routed (spec 4.1).", not_available)
    for name in ("COMMAND", "DEFAULT")
}
"""Names that exist but are not routed; they answer 1005 after the wrapper's checks."""
