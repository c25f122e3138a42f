"""The messages that a user's actor takes, and its replies."""

from typing import NamedTuple

from actors.errors import NotFound, WrongPassword
from actors.runtime.mailbox import Ask, Tell
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.credentials import SessionRow
from persistence.domains import DomainRow
from persistence.users import UserRow

USER = "user"
"""The kind of users' actors."""


class ReadUser(Ask[UserRow], frozen=True):
    """Return the user as it is now, with its password's hash; for commands, never for clients."""


class SessionOpened(NamedTuple):
    """A session was started, and the sessions in `ended` made room for it."""

    session: SessionRow
    ended: tuple[str, ...]


class ReadSessions(Ask[tuple[str, ...]], frozen=True):
    """Return the ids of the stored sessions that count, oldest first; some may have expired."""


class OpenSession(Ask[SessionOpened], frozen=True):
    """Start a session, if the password has not changed since it was verified.

    Above the limit, the oldest sessions end. `place` is the digest of the log-on's origin, `gone` are counted sessions
    that have ended; the other members are for the audit log, `target` as JSON.
    """

    verified_hash: str
    token_hash: bytes
    place: bytes
    gone: frozenset[str] = frozenset()
    address: str = ""
    target: str = "{}"
    request_id: str = ""


class SessionsEnded(Tell, frozen=True):
    """Sessions of the user have ended by themselves, as by a log-off."""

    ids: tuple[str, ...]


class UpdateUser(Ask[UserRow], frozen=True):
    """Change the given members; a new password ends every session but the sender's.

    Refused if the credential of `session_id`, the sender's, has ended meanwhile, as with a password that was hashed.
    """

    session_id: str
    description: str | None
    profile: str | None
    secret_hash: str | None


class RevokeSessions(Ask[None], frozen=True):
    """End every session of the user but the sender's, unless that credential has ended meanwhile."""

    kept_id: str


class DestroyUser(Ask[None], frozen=True):
    """Remove the user and all it owns, if the password has not changed since it was verified.

    `met_agents`: the agents it has conversations with, whose message counts change with it. `domain_ids`: the domains
    that its agents are in. `session_id`: the sender's session, which must not have ended meanwhile; empty for none.
    """

    verified_hash: str
    met_agents: tuple[str, ...]
    domain_ids: tuple[str, ...] = ()
    session_id: str = ""


class SetPlan(Ask[UserRow], frozen=True):
    """Put the user on a plan; `limit` is for enterprise only, in requests a day."""

    plan: str
    limit: int | None


class SetRole(Ask[UserRow], frozen=True):
    """Give the user a role."""

    role: str


class SetSuspended(Ask[UserRow], frozen=True):
    """Suspend the user, which ends its sessions and keeps its keys out, or let it in again."""

    suspended: bool


class ResetSecret(Ask[UserRow], frozen=True):
    """Give the user another password, which ends its sessions."""

    secret_hash: str


class CreateKey(Ask[SessionRow], frozen=True):
    """Create an API key of this user, if its plan has them; with `lives_ms` None it never expires.

    `scopes` (JSON) and `day_limit` (requests) are what it may do, as `credentials.SessionRow` has them. `session_id` is
    the sender's session, which must not have ended meanwhile.
    """

    name: str
    prefix: str
    token_hash: bytes
    lives_ms: int | None
    scopes: str | None = None
    day_limit: int | None = None
    session_id: str = ""


class RevokeKey(Ask[None], frozen=True):
    """End one of the user's API keys."""

    key_id: str


class CreateAgent(Ask[AgentRow], frozen=True):
    """Create an agent of this user."""

    name: str
    description: str
    profile: str | None
    access: str


class CreateDomain(Ask[DomainRow], frozen=True):
    """Create a domain founded by one of this user's agents."""

    founder_id: str
    founder: str
    name: str
    description: str
    profile: str | None
    access: str


class CreateBank(Ask[BankRow], frozen=True):
    """Create a bank of this user, with one of its agents as admin."""

    name: str
    description: str | None
    access: str
    agent_id: str


class AddToRoster(Ask[None], frozen=True):
    """Put another user's agent on the roster; one on the roster already stays."""

    agent_id: str


class RemoveFromRoster(Ask[None], frozen=True):
    """Take an agent off the roster and out of the user's selections."""

    agent_id: str


class OnRoster(Ask[bool], frozen=True):
    """Return whether an agent is on the roster."""

    agent_id: str


def no_such_key() -> NotFound:
    """Make the error for an API key that does not exist or is another user's."""
    return NotFound("You have no API key of this id; list yours with GET /api/api-keys.")


def agent_is_gone() -> NotFound:
    """Make the error for an agent that was destroyed just now."""
    return NotFound("This agent is gone; name another as target.agent.")


def wrong_password() -> WrongPassword:
    """Make the error that an unknown user and a wrong password share."""
    return WrongPassword("The user name or the password is wrong; check both.")
