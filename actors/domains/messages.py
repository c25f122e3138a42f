"""The messages of a domain's actor, and its replies."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from actors.agents.messages import no_such_agent
from actors.domains.membership import BANNED, INVITED, Membership, Move
from actors.domains.streams import Whom
from actors.engines.message import Utterance
from actors.engines.turn import Memory, Persona
from actors.errors import Gone, NotFound, NotPermitted, StateConflict
from actors.runtime.mailbox import Ask, Tell
from actors.wire import Record
from persistence.domains import DomainChanges, DomainRow, ZoneRow
from persistence.store import FOREIGN_KEY, ROWS

DOMAIN = "domain"
"""The kind of domains' actors."""


class NotInDomain(StateConflict):
    """The agent that a message in a zone is addressed to is not a member of the domain."""


LOBBY = "lobby"
"""The name of the zone that each domain is created with, and that can't be destroyed."""


class DomainViewer(NamedTuple):
    """The user who asks; `access_granted` if the store found that the domain's access opens it to this user."""

    user_id: str
    access_granted: bool = False


class DomainView(NamedTuple):
    """A domain as a viewer sees it; `is_member` if an agent of the viewer is a member."""

    row: DomainRow
    viewer: DomainViewer
    is_member: bool
    zones: tuple[ZoneRow, ...]

    @property
    def lobby(self) -> ZoneRow:
        """The zone that the domain was created with, whose name no other can take."""
        return next(zone for zone in self.zones if zone.name == LOBBY)


class Said(NamedTuple):
    """A message in a zone, and the reply of the agent that it was addressed to, if any.

    `streamed`: the reply has been passed on in pieces already.
    """

    message: Utterance
    reply: Utterance | None
    streamed: bool = False


class ReadDomain(Ask[DomainView], frozen=True):
    """Return the domain to a user who sees it."""

    viewer: DomainViewer


class ZonePlace(NamedTuple):
    """A zone that a message is for: the viewer as its domain knows it, the ids of both, and the zone's name."""

    viewer: DomainViewer
    domain_id: str
    zone_id: str
    zone: str


class FindZone(Ask[ZonePlace], frozen=True):
    """Find the zone that a message is for, for a user who sees the domain; the zone may not be stored yet.

    It is the zone named, else the selected one if it is in this domain, else the lobby. `domain` is the name by which
    the caller knows the domain: if it has another name now, the caller's knowledge is out of date.
    """

    viewer: DomainViewer
    domain: str | None
    zone: str | None
    selected_id: str | None


class UpdateDomain(Ask[DomainRow], frozen=True):
    """Change the domain, for its owner."""

    viewer: DomainViewer
    changes: DomainChanges


class DestroyDomain(Ask[None], frozen=True):
    """Remove the domain, for its owner."""

    viewer: DomainViewer


ENDED_BY = {Move.LEAVE: "left", Move.KICK: "kicked", Move.BAN: "banned"}
"""The reason for ending a stream, by the move that ended its reader's last membership."""


class StreamsEnded(Tell, frozen=True):
    """Announced when streams of a domain end: the readers in `whom` get the events up to the number `after`."""

    reason: str
    whom: Whom
    after: int


class StandsIn(Ask[bool], frozen=True):
    """Return whether an agent has a membership, be it invited, member or banned."""

    agent_id: str


class MoveMember(Ask[Record], frozen=True):
    """Move an agent's membership; return its record, {} if it has ended."""

    viewer: DomainViewer
    move: Move
    agent_id: str
    agent: str
    agents_owner_id: str


class RecordDeparture(Ask[None], frozen=True):
    """Add to the domain's sequence that a membership has ended, because the agent of this name was destroyed."""

    agent: str


class CreateZone(Ask[ZoneRow], frozen=True):
    """Add a zone, for a user who has a member in the domain."""

    viewer: DomainViewer
    name: str


class DestroyZone(Ask[None], frozen=True):
    """Remove a zone, for the domain's owner."""

    viewer: DomainViewer
    zone_id: str


class SayInZone(Ask[Said], frozen=True):
    """Store a message in a zone, for a user who has a member in the domain.

    `answering` are the agents that reply, in order, each with its `memories`. If `spoken_to`, the message is addressed
    to the first of them, and the ask is answered with its reply, else as soon as the message is stored.
    """

    local: ClassVar[str] = "Its receipt and the pieces of its reply travel beside it: the whole command moves instead."

    viewer: DomainViewer
    zone_id: str
    user_name: str
    content: str
    answering: tuple[Persona, ...] = ()
    memories: tuple[tuple[Memory, ...], ...] = ()
    spoken_to: bool = False
    resumes: Utterance | None = None
    """The message itself, if it is stored already and has no reply yet."""
    with_tools: bool = True
    """Whether engines may use the user's tools and skills; not for an API key that may do less than its user."""


def no_such_zone() -> NotFound:
    """Make the error for a zone that does not exist."""
    return NotFound("There is no such zone in this domain; check the name with ZN_List.")


def no_member(domain: DomainRow) -> NotPermitted:
    """Make the error for a user who sees a domain but has no member in it."""
    return NotPermitted(f"None of your agents is a member of {domain.name}; {how_to_join(domain)}.")


def not_in_domain(agent: str, state: Membership, domain: DomainRow, user_id: str) -> NotInDomain:
    """Make the error for a member's message to an agent that is not in the domain."""
    if state is BANNED:
        return NotInDomain(f"{agent} is banned from {domain.name}; {domain.owner} lifts that with DM_Unban.")
    if state is INVITED:
        return NotInDomain(f"{agent} is invited to {domain.name}, but no member yet; its owner accepts with DM_Join.")
    may_invite = domain.access != "agent" or domain.owner_id == user_id
    remedy = "invite it with DM_Invite" if may_invite else f"ask {domain.owner} to invite it"
    return NotInDomain(f"{agent} is not a member of {domain.name}; {remedy} first.")


def how_to_join(domain: DomainRow) -> str:
    """Say how a user without a member in a domain gets one, for notes."""
    if domain.access == "public":
        return "join it with DM_Join first"
    return f"join it with DM_Join first, and ask {domain.owner} for an invitation if none of your agents has one"


def no_such_domain() -> NotFound:
    """Make the error for a domain that does not exist or that the user does not see."""
    return NotFound("There is no such domain that you may see; check the name with DM_List.")


DOMAIN_GONE = {FOREIGN_KEY: lambda: Gone(no_such_domain().note)}
"""The refusal of a unit of a domain that is gone. Its other units have the same fate, so none needs a fence."""


class AgentGone(Gone):
    """The agent was destroyed before its membership was stored."""

    undone = True


MEMBER_GONE = {**DOMAIN_GONE, ROWS: lambda: AgentGone(no_such_agent().note)}
"""The constraint errors of a unit with a membership."""
