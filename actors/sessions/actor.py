"""The session actor: one log-on of a user, and the context that is selected in it."""

import hmac
from dataclasses import replace
from typing import Any

from actors.errors import InvalidCredential
from actors.ids import Clock
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.notices import Announced
from actors.sessions.messages import (
    KEY,
    SESSION,
    TOUCH_MS,
    Authorize,
    Caller,
    CredentialsEnded,
    EndSession,
    ReadSession,
    SelectAgent,
    SelectZone,
    UseSession,
    ended,
    gone,
    role_of,
    suspended,
)
from actors.sessions.scopes import scopes_of
from persistence import credentials
from persistence.credentials import SessionRow
from persistence.store import FOREIGN_KEY, ROWS, Store, Unit, Write


class SessionActor(DurableActor):
    """Owns one session; its key is the session's id."""

    kind = SESSION
    __slots__ = ("_caller", "_clock", "_last_used", "_operators", "_session", "_stored_use", "_touch_ms", "_ttl_ms")

    def __init__(
        self, key: str, store: Store, clock: Clock, ttl_ms: int, operators: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(key, store)
        self._operators = operators
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._touch_ms = min(TOUCH_MS, ttl_ms // 10)  # the stored last use must not make a short session expire early
        self._session: SessionRow | None = None
        self._caller: Caller | None = None
        self._last_used = 0
        self._stored_use = 0

    async def on_begin(self) -> None:
        """Load the session.

        Raises:
            InvalidCredential: it has ended.
            UserSuspended: its user is suspended.
        """
        found = await self.store.fetch(credentials.by_id(self.key))
        if not found:
            raise ended()
        if found[0].suspended:
            raise suspended()
        self._hold_session(found[0])
        self._last_used = self._stored_use = found[0].last_used_at

    def _hold_session(self, session: SessionRow) -> None:
        self._session = session
        self._caller = Caller(
            session.id,
            session.user_id,
            session.user_name,
            session.agent_id,
            session.domain_id,
            session.zone_id,
            self.kind,
            role_of(session.user_name, session.role, self._operators),
            scopes_of(session.scopes, session.day_limit),
        )

    @handles(Authorize)
    def _authorize(self, message: Authorize) -> Caller:
        session, caller = self._session, self._caller
        if session is None or caller is None or not hmac.compare_digest(session.token_hash, message.token_hash):
            raise ended()
        self._count_use(session)
        return caller

    @handles(UseSession)
    def _use(self, _: UseSession) -> None:
        if self._session is None:
            raise ended()
        self._count_use(self._session)

    def _count_use(self, session: SessionRow) -> None:
        now = self._clock()
        if now >= self._expires_at(session):
            raise self._expired()
        self._last_used = now
        if not 0 <= now - self._stored_use < self._touch_ms:  # below 0 the clock was set back
            self._stored_use = now
            # Nobody waits for the commit, because the contract allows a crash to lose the last minute's use.
            self.commit(credentials.touch(self.key, now), awaited=False)

    def _expires_at(self, session: SessionRow) -> int:
        """The time of its end if it is not used before, in ms since the epoch."""
        return self._last_used + self._ttl_ms

    def _expired(self) -> InvalidCredential:
        return InvalidCredential("This session has expired; log on again with US_LogOn.")

    @handles(ReadSession)
    def _read(self, _: ReadSession) -> SessionRow:
        session = self._session
        if session is None or self._clock() >= self._expires_at(session):
            raise ended()
        return replace(session, last_used_at=self._last_used)

    @handles(SelectAgent)
    def _select_agent(self, message: SelectAgent) -> AsyncFuture[None]:
        return self._select(credentials.select_agent(self.key, message.agent_id), agent_id=message.agent_id)

    @handles(SelectZone)
    def _select_zone(self, message: SelectZone) -> AsyncFuture[None]:
        domain_id, zone_id = message.domain_id, message.zone_id
        return self._select(credentials.select_zone(self.key, domain_id, zone_id), domain_id=domain_id, zone_id=zone_id)

    def _select(self, write: Write, **selected: str | None) -> AsyncFuture[None]:
        if self._session is None:
            raise ended()

        def applied() -> None:
            if self._session is not None:
                self._hold_session(replace(self._session, **selected))

        return self.commit_or_refuse(write, applied=applied, constraint_errors={FOREIGN_KEY: gone, ROWS: ended})

    @handles(EndSession)
    def _end_session(self, message: EndSession) -> AsyncFuture[None]:
        user_id = None if self._session is None else self._session.user_id
        self._session = None
        over = Announced(CredentialsEnded(message.reason, (self.key,), user_id))
        return self.commit(credentials.delete(self.key), applied=self.retire, notices=(over,))

    @property
    def holds_something(self) -> bool:
        """Whether a use of the session is not stored yet."""
        return self._session is not None and self._last_used != self._stored_use

    async def on_end(self) -> None:
        """Store the last use."""
        await self.store.commit(Unit((credentials.touch(self.key, self._last_used),)))

    def concerns(self, user_id: str) -> bool:
        """Return whether the session belongs to this user."""
        return self._session is not None and self._session.user_id == user_id

    def snapshot(self) -> dict[str, Any]:
        """Show the user and the selection; never the token's hash."""
        session = self._session
        if session is None:
            return {"ended": True}
        return {
            "user": session.user_name,
            "agent_id": session.agent_id,
            "domain_id": session.domain_id,
            "zone_id": session.zone_id,
            "created_at": session.created_at,
            "last_used_at": self._last_used,
        }


class KeyActor(SessionActor):
    """Owns one API key or sandbox key: like a session, but it ends at a fixed time or never."""

    kind = KEY
    __slots__ = ()

    def _expires_at(self, session: SessionRow) -> int:
        return NEVER if session.expires_at is None else session.expires_at

    def _expired(self) -> InvalidCredential:
        return InvalidCredential("This API key has expired; make a new one with POST /api/api-keys.")


NEVER = 2**63
"""Later than any time."""
