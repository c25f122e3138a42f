"""The messages that a user's actor takes, and its replies."""

from dataclasses import dataclass
from typing import NamedTuple

from actors.errors import NotFound, WrongPassword
from actors.runtime.mailbox import Ask
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.credentials import SessionRow
from persistence.domains import DomainRow
from persistence.users import UserRow

USER = "user"
"""The kind of the actors."""


@dataclass(frozen=True, slots=True)
class ReadUser(Ask[UserRow]):
    """Answer the user as it is now, its password's hash included: for flows, never for clients."""


class SessionOpened(NamedTuple):
    """A session was started, and those of `ended` ended for it."""

    session: SessionRow
    ended: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadSessions(Ask[tuple[str, ...]]):
    """Answer the ids of the stored sessions that count, the oldest first; some may have ended unseen."""


@dataclass(frozen=True, slots=True)
class OpenSession(Ask[SessionOpened]):
    """Start a session, if the password is still the one that was verified.

    Above the cap the oldest end with it. `place` is the digest of where the log-on comes from, `gone` are sessions
    that were counted and have ended.
    """

    verified_hash: str
    token_hash: bytes
    place: bytes
    gone: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class UpdateUser(Ask[UserRow]):
    """Change the members given; a new password ends every session but the one that sent this."""

    session_id: str
    description: str | None
    profile: str | None
    secret_hash: str | None


@dataclass(frozen=True, slots=True)
class RevokeSessions(Ask[None]):
    """End every session of the user but one."""

    kept_id: str


@dataclass(frozen=True, slots=True)
class DestroyUser(Ask[None]):
    """Remove the user and all it owns, if the password is still the one that was verified.

    `met_agents`: the agents it has conversations with, whose message counts change with it.
    """

    verified_hash: str
    met_agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetPlan(Ask[UserRow]):
    """Put the user on a plan; `limit` is for enterprise only, in requests a day."""

    plan: str
    limit: int | None


@dataclass(frozen=True, slots=True)
class CreateKey(Ask[SessionRow]):
    """Make an API key of this user's, if its plan has them; `lives_ms` None is for ever."""

    name: str
    prefix: str
    token_hash: bytes
    lives_ms: int | None


@dataclass(frozen=True, slots=True)
class RevokeKey(Ask[None]):
    """End one of the user's API keys."""

    key_id: str


@dataclass(frozen=True, slots=True)
class CreateAgent(Ask[AgentRow]):
    """Make an agent that this user owns."""

    name: str
    description: str
    profile: str | None
    access: str


@dataclass(frozen=True, slots=True)
class CreateDomain(Ask[DomainRow]):
    """Make a domain that an agent of this user's founds."""

    founder_id: str
    founder: str
    name: str
    description: str
    profile: str | None
    access: str


@dataclass(frozen=True, slots=True)
class CreateBank(Ask[BankRow]):
    """Make a bank that this user owns, with one of its agents as admin."""

    name: str
    description: str | None
    access: str
    agent_id: str


@dataclass(frozen=True, slots=True)
class AddToRoster(Ask[None]):
    """Put another's agent on the roster; one that is there already stays."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class RemoveFromRoster(Ask[None]):
    """Take an agent off the roster and out of the user's selections."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class OnRoster(Ask[bool]):
    """Return whether an agent is on the roster."""

    agent_id: str


def no_such_key() -> NotFound:
    """Make the error for an API key that is not there, or another user's."""
    return NotFound("You have no API key of this id; list yours with GET /api/api-keys.")


def agent_is_gone() -> NotFound:
    """Make the error for an agent that was destroyed just now."""
    return NotFound("This agent is gone; name another as target.agent.")


def wrong_password() -> WrongPassword:
    """Make the error that an unknown user and a wrong password share."""
    return WrongPassword("The user name or the password is wrong; check both.")
