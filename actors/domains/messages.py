"""The messages that a domain's actor takes, and its replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from actors.domains.membership import Move
from actors.engines.message import Utterance
from actors.engines.turn import Memory, Persona
from actors.errors import (
    NotFound,
    NotPermitted,
    StateConflict,
)
from actors.runtime.mailbox import Ask
from actors.wire import Record
from persistence.domains import DomainChanges, DomainRow, ZoneRow


class NotInDomain(StateConflict):
    """The agent that is spoken to in a zone is not a member of its domain."""


LOBBY = "lobby"
"""The name of the zone that each domain is made with, and that can't be destroyed."""


class DomainViewer(NamedTuple):
    """Who asks; `access_granted` where it sees the domain because it shares one with the founder."""

    user_id: str
    access_granted: bool = False


class DomainView(NamedTuple):
    """A domain as one who sees it sees it; `is_member` where an agent of the viewer's is a member."""

    row: DomainRow
    viewer: DomainViewer
    is_member: bool
    zones: tuple[ZoneRow, ...]

    @property
    def lobby(self) -> ZoneRow:
        """The zone that it was made with, whose name no other can take."""
        return next(zone for zone in self.zones if zone.name == LOBBY)


class Said(NamedTuple):
    """What was said in a zone, and the reply of the agent that was spoken to, where one was wanted.

    `streamed` where its pieces have been passed on already.
    """

    message: Utterance
    reply: Utterance | None
    streamed: bool = False


@dataclass(frozen=True, slots=True)
class ReadDomain(Ask[DomainView]):
    """Answer the domain, to a user who sees it."""

    viewer: DomainViewer


@dataclass(frozen=True, slots=True)
class UpdateDomain(Ask[DomainRow]):
    """Change the domain, for its owner."""

    viewer: DomainViewer
    changes: DomainChanges


@dataclass(frozen=True, slots=True)
class DestroyDomain(Ask[None]):
    """Remove the domain, for its owner."""

    viewer: DomainViewer


@dataclass(frozen=True, slots=True)
class StandsIn(Ask[bool]):
    """Tell whether an agent is invited, a member or banned."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class MoveMember(Ask[Record]):
    """Make a move with an agent's membership; answers the membership's record, {} for one that is gone."""

    viewer: DomainViewer
    move: Move
    agent_id: str
    agent: str
    agents_owner_id: str


@dataclass(frozen=True, slots=True)
class CreateZone(Ask[ZoneRow]):
    """Add a zone, for one who has a member."""

    viewer: DomainViewer
    name: str


@dataclass(frozen=True, slots=True)
class DestroyZone(Ask[None]):
    """Remove a zone, for the domain's owner."""

    viewer: DomainViewer
    zone_id: str


@dataclass(frozen=True, slots=True)
class SayInZone(Ask[Said]):
    """Say something in a zone, for one who has a member.

    `answering` are the agents that reply, in order; where `spoken_to`, the first is who the message is for, and the ask
    is answered with its reply, else as soon as the message is stored. `memories` has what each of them recalls.
    """

    viewer: DomainViewer
    zone_id: str
    user_name: str
    content: str
    answering: tuple[Persona, ...] = ()
    memories: tuple[tuple[Memory, ...], ...] = ()
    spoken_to: bool = False
    resumes: Utterance | None = None
    """This message, where it is stored already and waits for its reply still."""


def no_such_zone() -> NotFound:
    """Make the error for a zone that is not there."""
    return NotFound("There is no such zone in this domain; check the name with ZN_List.")


def no_member(domain: DomainRow) -> NotPermitted:
    """Make the error for one who sees a domain and has no member of it."""
    return NotPermitted(f"None of your agents is a member of {domain.name}; join it with DM_Join first.")


def no_such_domain() -> NotFound:
    """Make the error for a domain that is not there, or not for this user."""
    return NotFound("There is no such domain that you may see; check the name with DM_List.")
