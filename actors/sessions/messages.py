"""The messages that session and key actors take, and their replies."""

from dataclasses import dataclass

from actors.errors import InvalidCredential, NotFound, UserSuspended
from actors.runtime.mailbox import Ask, Tell
from actors.sessions.scopes import Scopes
from persistence.credentials import SessionRow
from persistence.users import name_key

KEY = "key"
"""The kind of an API key's actor."""

SESSION = "session"
"""The kind of sessions' actors."""

SESSION_PREFIX = "ses_"
"""The beginning of sessions' ids."""

TOUCH_MS = 60_000
"""The shortest time between two writes of a session's last use (docs/contract.md, "Sessions")."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request, its credential, and the credential's selection."""

    credential_id: str
    user_id: str
    user_name: str
    agent_id: str | None = None
    domain_id: str | None = None
    zone_id: str | None = None
    kind: str = "session"
    """The kind of the credential's actor: session or key."""
    role: str = "user"
    """The user's role: user, auditor or operator."""
    scopes: Scopes | None = None
    """The scopes of an API key; None for a session, and for a key without restrictions."""


class Authorize(Ask[Caller], frozen=True):
    """Check that a token belongs to this session and that the session lives; counts as a use."""

    token_hash: bytes


class UseSession(Ask[None], frozen=True):
    """Count an open stream as a use of the session, if the session lives."""


class ReadSession(Ask[SessionRow], frozen=True):
    """Return the session as it is now; does not count as a use."""


class SelectAgent(Ask[None], frozen=True):
    """Select an agent for the session, or none."""

    agent_id: str | None


class SelectZone(Ask[None], frozen=True):
    """Select a domain and one of its zones for the session."""

    domain_id: str
    zone_id: str


class EndSession(Ask[None], frozen=True):
    """End the session, and so its token; `reason` is what its streams are told."""

    reason: str = "revoked"


class CredentialsEnded(Tell, frozen=True):
    """Announced when credentials have ended: those of `ids`, or else a user's, except `but_id`."""

    reason: str
    ids: tuple[str, ...] | None = None
    user_id: str | None = None
    but_id: str | None = None
    sessions_only: bool = False

    def ends(self, user_id: str, credential_id: str) -> bool:
        """Return whether a user's credential is one of them."""
        return (
            (self.ids is None or credential_id in self.ids)
            and self.user_id in (None, user_id)
            and credential_id != self.but_id
            and (not self.sessions_only or credential_id.startswith(SESSION_PREFIX))
        )


def role_of(name: str, stored: str, operators: frozenset[str]) -> str:
    """Return the role of a user; `operators` are the keys of the names in PARLEY_OPERATORS."""
    return "operator" if name_key(name) in operators else stored


def suspended() -> UserSuspended:
    """Make the error for a user whom an operator has suspended."""
    return UserSuspended("An operator has suspended this user; ask the operator of this gateway.")


def gone() -> NotFound:
    """Make the error for an entity that was destroyed just before it was selected."""
    return NotFound("This is gone; select another.")


def ended() -> InvalidCredential:
    """Make the error for a token whose session, or key, is gone."""
    return InvalidCredential(
        "This session or API key has ended, was revoked, or never existed; log on with US_LogOn for a new token."
    )
