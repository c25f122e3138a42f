"""The user's credentials, counted for their limits (docs/contract.md, "Sessions" and "API keys")."""

from collections.abc import Iterable

from actors.errors import StateConflict
from actors.runtime.directory import Directory
from actors.runtime.notices import Announced, Notice, ReloadConcerning, Told
from actors.sessions.messages import SESSION, CredentialsEnded, ended
from actors.users.messages import USER, SessionsEnded

MAX_SESSIONS = 200
"""The largest number of sessions of one user; one more ends the oldest."""

MAX_KEYS = 100
"""The largest number of API keys of one user; expired ones count until they are revoked."""


def tell_of_ended_sessions(directory: Directory) -> None:
    """Have users' actors told of sessions that ended by themselves, before their end is answered."""

    def tell(over: CredentialsEnded) -> None:
        if over.user_id is not None and over.ids is not None:
            directory.deliver((Told(USER, over.user_id, SessionsEnded(over.ids)),))

    directory.listen(CredentialsEnded, tell)


def other_sessions_end(user_id: str, kept_id: str) -> tuple[Notice, ...]:
    """Make the notices that end the actors and streams of a user's other sessions; those of its keys go on."""
    over = CredentialsEnded("revoked", user_id=user_id, but_id=kept_id, sessions_only=True)
    return ReloadConcerning(user_id, (SESSION,), but=kept_id), Announced(over)


class HeldCredentials:
    """Counts the sessions and keys of one user from the moment of the request.

    So concurrent requests can't exceed a limit, because each counts the earlier ones that are not stored yet. Sessions
    that expired are counted until they are found gone.
    """

    __slots__ = ("_keys", "_sessions")

    def __init__(self) -> None:
        self._sessions: dict[str, bool] = {}  # in order of creation; True once stored
        self._keys: set[str] = set()

    def load(self, stored: Iterable[tuple[str, bool]]) -> None:
        """Load the stored credentials: the id of each, and whether it is a session."""
        for credential_id, is_session in stored:
            if is_session:
                self._sessions[credential_id] = True
            else:
                self._keys.add(credential_id)

    @property
    def stored_sessions(self) -> tuple[str, ...]:
        """The sessions that are stored, the oldest first."""
        return tuple(id for id, is_stored in self._sessions.items() if is_stored)

    def require(self, credential_id: str) -> None:
        """Refuse a request whose credential has ended since it was admitted, as while it waited for the hasher.

        Raises:
            InvalidCredential: it has ended; never if the id is empty, as without a credential.
        """
        if credential_id and credential_id not in self._sessions and credential_id not in self._keys:
            raise ended()

    def begin_session(self, session_id: str, gone: frozenset[str]) -> tuple[str, ...]:
        """Add a new session and remove those of `gone`; return the oldest sessions, which end to make room for it."""
        counted = [id for id in self._sessions if id not in gone]
        oldest = tuple(counted[: max(0, len(counted) + 1 - MAX_SESSIONS)])
        self._sessions = {id: self._sessions[id] for id in counted[len(oldest) :]} | {session_id: False}
        return oldest

    def session_stored(self, session_id: str) -> None:
        """Note that a session is stored, unless it has been ended since."""
        if session_id in self._sessions:
            self._sessions[session_id] = True

    def keep_session(self, kept_id: str) -> None:
        """Remove all sessions but this one."""
        self._sessions = {id: is_stored for id, is_stored in self._sessions.items() if id == kept_id}

    def end_sessions(self, session_ids: Iterable[str]) -> None:
        """Remove sessions that have ended."""
        for session_id in session_ids:
            self._sessions.pop(session_id, None)

    def begin_key(self, key_id: str) -> None:
        """Add a new API key.

        Raises:
            StateConflict: the user has the largest number of keys.
        """
        if len(self._keys) >= MAX_KEYS:
            raise StateConflict(f"You have {MAX_KEYS} API keys, the limit for each user; revoke one first.")
        self._keys.add(key_id)

    def key_revoked(self, key_id: str) -> None:
        """Remove an API key."""
        self._keys.discard(key_id)
