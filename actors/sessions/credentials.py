"""The look-up of a request's token: its session or API key."""

import hmac
from collections import OrderedDict

from actors.errors import InvalidCredential, NoCredential, NotPermitted
from actors.runtime.directory import Directory
from actors.sessions.messages import KEY, SESSION, Authorize, Caller, ReadSession, ended
from actors.sessions.tokens import SESSION_TOKEN, UNCONFIRMED, token_hash, token_kind
from persistence import credentials
from persistence.credentials import SessionRow
from persistence.store import Store

REMEMBERED = 100_000
"""The number of cached tokens, 200 bytes each."""

_SHARD = slice(-2, None)
"""The digits of an id that name its shard (`actors/ids.py`)."""


class Credentials:
    """Finds the credential of a token; the credential's actor decides whether it still lives.

    A token belongs to one session or key for ever, so a cached entry is never wrong, only useless once the session or
    key has ended.
    """

    def __init__(self, directory: Directory, store: Store) -> None:
        self._directory = directory
        self._store = store
        self._known: OrderedDict[bytes, tuple[str, str, str]] = OrderedDict()
        self.lookups = 0
        """The number of tokens that were looked up in the store."""

    async def authenticate(self, token: str | None) -> Caller:
        """Return the caller who sends a token.

        Raises:
            NoCredential: there is no token.
            InvalidCredential: it is mistyped, expired, revoked or unknown.
            NotPermitted: it is `UNCONFIRMED`.
        """
        if not token:
            raise _no_credential()
        digest = token_hash(token)
        kind, credential_id, _ = self._known.get(digest) or await self._look_up(token, digest)
        caller = self._directory.ask_inline(kind, credential_id, Authorize(digest))
        return await self._directory.ask(kind, credential_id, Authorize(digest)) if caller is None else caller

    async def owner_of(self, token: str) -> Caller | None:
        """Return the user and the credential that a token names, whether it is accepted or not; None if it names none.

        Raises:
            StoreUnavailable: the store can't be read.
        """
        found = await self._store.fetch(credentials.by_token_hash(token_hash(token)))
        return Caller(found[0].id, found[0].user_id, found[0].user_name) if found else None

    async def read_session(self, token: str | None) -> SessionRow:
        """Return the session of a token as it is now, without counting this as a use of it.

        Raises:
            NoCredential, InvalidCredential, NotPermitted: as by `authenticate`; an API key is not permitted.
        """
        if not token:
            raise _no_credential()
        digest = token_hash(token)
        kind, session_id, _ = self._known.get(digest) or await self._look_up(token, digest)
        if kind != SESSION:
            raise NotPermitted("This is a session's; an API key has none.")
        session = await self._directory.ask(SESSION, session_id, ReadSession())
        if not hmac.compare_digest(session.token_hash, digest):
            raise ended()
        return session

    async def home_of(self, token: str | None) -> str:
        """Return the key whose shard serves the requests with a token: its user's shard, where they are counted.

        Raises:
            NoCredential: there is no token.
            InvalidCredential: it is mistyped or unknown; one that has ended since is refused at its home.
            NotPermitted: it is `UNCONFIRMED`.
        """
        if not token:
            raise _no_credential()
        digest = token_hash(token)
        return (self._known.get(digest) or await self._look_up(token, digest))[2]

    async def _look_up(self, token: str, digest: bytes) -> tuple[str, str, str]:
        """Find the actor of a token: its kind, the credential's id, and the key of its home."""
        if token == UNCONFIRMED:
            raise NotPermitted(
                "The console's cookie came without its X-CSRF-Token; send the `csrf` of GET /console/session there, or "
                "a credential in a header."
            )
        kind = token_kind(token)
        if kind is None:
            raise InvalidCredential("This is not a Parley token: a character is wrong or missing; copy it again.")
        self.lookups += 1
        found = await self._store.fetch(credentials.ids_by_token_hash(digest))
        if not found:
            raise ended()
        credential_id, user_id = found[0]
        # only credentials from before they were made near their user are in another shard
        home = credential_id if credential_id[_SHARD] == user_id[_SHARD] else user_id
        known = self._known[digest] = SESSION if kind == SESSION_TOKEN else KEY, credential_id, home
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known


def _no_credential() -> NoCredential:
    return NoCredential(
        "This needs a credential: send a session token from US_LogOn as `Authorization: Bearer ...`, or an "
        "API key as `X-Api-Key`."
    )
