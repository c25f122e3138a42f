"""The messages that session and key actors take, and their replies."""

from dataclasses import dataclass

from actors.errors import InvalidCredential, NotFound
from actors.runtime.mailbox import Ask
from persistence.credentials import SessionRow

KEY = "key"
"""The kind of an API key's actor."""

SESSION = "session"
"""The kind of the actors."""

TOUCH_MS = 60_000
"""Last use is stored at most this often (product 2)."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request, with which credential, and what is selected in that."""

    credential_id: str
    user_id: str
    user_name: str
    agent_id: str | None = None
    domain_id: str | None = None
    zone_id: str | None = None
    kind: str = "session"
    """The kind of the credential's actor: session or key."""


@dataclass(frozen=True, slots=True)
class Authorize(Ask[Caller]):
    """Check that a token is this session's and that the session lives; counts as a use of it."""

    token_hash: bytes


@dataclass(frozen=True, slots=True)
class UseSession(Ask[None]):
    """Count a stream that is open as a use of the session, if that lives."""


@dataclass(frozen=True, slots=True)
class ReadSession(Ask[SessionRow]):
    """Answer the session as it is now; does not count as a use of it."""


@dataclass(frozen=True, slots=True)
class SelectAgent(Ask[None]):
    """Make an agent the session's, or none."""

    agent_id: str | None


@dataclass(frozen=True, slots=True)
class SelectZone(Ask[None]):
    """Make a domain and a zone of it the session's."""

    domain_id: str
    zone_id: str


@dataclass(frozen=True, slots=True)
class EndSession(Ask[None]):
    """Log off: the session's token is worth nothing from then on."""


def gone() -> NotFound:
    """Make the error for what was destroyed in the moment it was selected."""
    return NotFound("This is gone; select another.")


def ended() -> InvalidCredential:
    """Make the error for a token whose session, or key, is gone."""
    return InvalidCredential(
        "This session or API key has ended, was revoked or never was; log on with US_LogOn for a new token."
    )
