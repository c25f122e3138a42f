"""The user actor: the state that a user's sessions share (password, roster, plan), and the creation of its entities."""

from dataclasses import replace
from typing import Any

from actors.agents.events import deployment_event
from actors.agents.messages import AGENT, AgentsSilenced, LinksGained, UserGone, membership_notices, no_such_agent
from actors.domains.messages import LOBBY
from actors.errors import StateConflict
from actors.ids import Clock, new_id
from actors.names import name_taken, no_such_user
from actors.quotas.messages import QUOTA, PlanChanged
from actors.runtime.actor import handles
from actors.runtime.changes import Changes
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.notices import Announced, Notice, Reload, ReloadConcerning, Told
from actors.sessions.messages import KEY, SESSION, CredentialsEnded, suspended
from actors.text import tokenizer
from actors.users.created import new_agent, new_bank, new_domain, new_key, session_writes
from actors.users.events import plan_event
from actors.users.held_credentials import HeldCredentials, other_sessions_end
from actors.users.messages import (
    USER,
    AddToRoster,
    CreateAgent,
    CreateBank,
    CreateDomain,
    CreateKey,
    DestroyUser,
    OnRoster,
    OpenSession,
    ReadSessions,
    ReadUser,
    RemoveFromRoster,
    ResetSecret,
    RevokeKey,
    RevokeSessions,
    SessionOpened,
    SessionsEnded,
    SetPlan,
    SetRole,
    SetSuspended,
    UpdateUser,
    agent_is_gone,
    no_such_key,
    wrong_password,
)
from actors.webhooks.messages import EndpointsGone
from actors.webhooks.outbox import Outbox
from persistence import (
    agents,
    banks,
    censoring,
    credentials,
    domains,
    endpoints,
    idempotency_records,
    logon_places,
    users,
)
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.credentials import SessionRow
from persistence.domains import DomainRow, ZoneRow
from persistence.store import FOREIGN_KEY, ROWS, Store
from persistence.users import NO_PASSWORD, UserRow


class UserActor(DurableActor):
    """Owns one user; its key is the user's id."""

    kind = USER
    __slots__ = ("_changes", "_clock", "_held", "_outbox", "_roster", "_user")

    def __init__(self, key: str, store: Store, clock: Clock, outbox: Outbox, changes: Changes) -> None:
        super().__init__(key, store)
        self._changes = changes
        self._clock = clock
        self._outbox = outbox
        self._user: UserRow | None = None
        self._roster: set[str] = set()
        self._held = HeldCredentials()

    def on_stored(self) -> None:
        """Tell those who watch what the user has."""
        self._changes.changed(self.key)

    async def on_begin(self) -> None:
        """Load the user, its roster, and the ids of its credentials.

        Raises:
            NotFound: there is no such user.
        """
        found = await self.store.fetch(users.by_id(self.key))
        if not found:
            raise no_such_user()
        self._user = found[0]
        self._roster = set(await self.store.fetch(users.roster(self.key)))
        self._held.load(await self.store.fetch(credentials.ids_of_user(self.key)))

    @property
    def _live(self) -> UserRow:
        """The user, while it is not destroyed."""
        if self._user is None:
            raise no_such_user()
        return self._user

    @handles(ReadUser)
    def _read(self, _: ReadUser) -> UserRow:
        return self._live

    @handles(OpenSession)
    def _open_session(self, message: OpenSession) -> AsyncFuture[SessionOpened]:
        user = self._live
        if user.secret_hash != message.verified_hash:
            raise wrong_password()
        if user.suspended_at is not None:
            raise suspended()
        now = self._clock()
        session = SessionRow(new_id("ses", near=user.id), user.id, user.name, message.token_hash, now, now)
        ended = self._held.begin_session(
            session.id, message.gone
        )  # a refusal means that the user is gone, and its count with it

        return self.commit_or_refuse(
            *session_writes(session, message, user.plan),
            *((credentials.delete_several(ended),) if ended else ()),
            *logon_places.put(user.id, message.place, now),
            reply=lambda: SessionOpened(session, ended),
            applied=lambda: self._held.session_stored(session.id),
            constraint_errors={FOREIGN_KEY: wrong_password},
            notices=(Reload(SESSION, ended), Announced(CredentialsEnded("revoked", ended))) if ended else (),
        )

    @handles(ReadSessions)
    def _read_sessions(self, _: ReadSessions) -> tuple[str, ...]:
        return self._held.stored_sessions

    @handles(SessionsEnded)
    def _sessions_ended(self, message: SessionsEnded) -> None:
        self._held.end_sessions(message.ids)

    @handles(UpdateUser)
    def _update(self, message: UpdateUser) -> AsyncFuture[UserRow]:
        user = self._live
        self._held.require(message.session_id)
        self._user = user = replace(
            user,
            description=message.description or user.description,
            profile=message.profile or user.profile,
            secret_hash=message.secret_hash or user.secret_hash,
        )
        writes = [users.update(user)]
        if message.secret_hash is None:
            return self.commit(*writes, reply=lambda: user)
        writes.append(credentials.delete_others(user.id, message.session_id))
        self._held.keep_session(message.session_id)
        return self.commit(*writes, reply=lambda: user, notices=other_sessions_end(user.id, message.session_id))

    @handles(RevokeSessions)
    def _revoke(self, message: RevokeSessions) -> AsyncFuture[None]:
        user = self._live
        self._held.require(message.kept_id)
        self._held.keep_session(message.kept_id)
        return self.commit(
            credentials.delete_others(user.id, message.kept_id),
            notices=other_sessions_end(user.id, message.kept_id),
        )

    @handles(DestroyUser)
    def _destroy(self, message: DestroyUser) -> AsyncFuture[None]:
        user = self._live
        self._held.require(message.session_id)
        if user.secret_hash != message.verified_hash:
            raise wrong_password()
        self._user = None
        return self.commit(
            *domains.leave_all_of(user.id),
            *agents.destroy_all_of(user.id, self._clock()),
            users.delete(user.id),
            idempotency_records.delete_of_user(user.id),
            censoring.DUE,
            applied=self.retire,
            notices=(
                ReloadConcerning(user.id),
                *(Told(AGENT, agent_id, UserGone(user.id)) for agent_id in message.met_agents),
                self._outbox.told(user.id, EndpointsGone(user.id)),
                Announced(CredentialsEnded("revoked", user_id=user.id)),
                *membership_notices(user.id, message.domain_ids),
            ),
        )

    @handles(SetPlan)
    def _set_plan(self, message: SetPlan) -> AsyncFuture[UserRow]:
        before = self._live
        self._user = user = replace(before, plan=message.plan, plan_limit=message.limit, development_plan=False)
        if (user.plan, user.plan_limit) == (before.plan, before.plan_limit):
            return self.commit(users.update(user), reply=lambda: user)
        event = self._outbox.emit(user.id, *plan_event(before, user))
        return self.commit(
            users.update(user),
            *event,
            reply=lambda: user,
            notices=(Told(QUOTA, user.id, PlanChanged(user.plan, user.plan_limit)), self._outbox.woken(user.id)),
        )

    @handles(SetRole)
    def _set_role(self, message: SetRole) -> AsyncFuture[UserRow]:
        self._user = user = replace(self._live, role=message.role)
        return self.commit(users.update(user), reply=lambda: user, notices=(ReloadConcerning(user.id, (SESSION, KEY)),))

    @handles(SetSuspended)
    def _set_suspended(self, message: SetSuspended) -> AsyncFuture[UserRow] | UserRow:
        before = self._live
        if (before.suspended_at is not None) == message.suspended:
            return before
        self._user = user = replace(before, suspended_at=self._clock() if message.suspended else None)
        writes = [users.update(user)]
        ends: tuple[Notice, ...] = ()
        if message.suspended:
            writes.append(credentials.delete_sessions(user.id))
            self._held.keep_session("")
            ends = (Announced(CredentialsEnded("suspended", user_id=user.id)), Announced(AgentsSilenced(user.id)))
        else:
            writes.append(endpoints.forget_failures(user.id))
        return self.commit(
            *writes,
            reply=lambda: user,
            notices=(
                ReloadConcerning(user.id, (SESSION, KEY, AGENT)),
                self._outbox.told(user.id, EndpointsGone(user.id)),
                self._outbox.woken(user.id),
                *ends,
            ),
        )

    @handles(ResetSecret)
    def _reset_secret(self, message: ResetSecret) -> AsyncFuture[UserRow]:
        before = self._live
        if before.secret_hash == NO_PASSWORD:
            raise StateConflict("The user of a sandbox key has no password.")
        self._user = user = replace(before, secret_hash=message.secret_hash)
        self._held.keep_session("")
        return self.commit(
            users.update(user),
            credentials.delete_sessions(user.id),
            reply=lambda: user,
            notices=other_sessions_end(user.id, ""),
        )

    @handles(CreateKey)
    def _create_key(self, message: CreateKey) -> AsyncFuture[SessionRow]:
        user = self._live
        self._held.require(message.session_id)
        key = new_key(user, message, self._clock())
        self._held.begin_key(key.id)  # a refusal means that the user is gone, and its count with it
        return self.commit_or_refuse(
            credentials.insert(key), reply=lambda: key, constraint_errors={FOREIGN_KEY: no_such_user}
        )

    @handles(RevokeKey)
    def _revoke_key(self, message: RevokeKey) -> AsyncFuture[None]:
        return self.commit_or_refuse(
            credentials.delete_key(message.key_id, self._live.id),
            applied=lambda: self._held.key_revoked(message.key_id),
            constraint_errors={ROWS: no_such_key},
            notices=(Reload(KEY, (message.key_id,)), Announced(CredentialsEnded("revoked", (message.key_id,)))),
        )

    @handles(CreateAgent)
    def _create_agent(self, message: CreateAgent) -> AsyncFuture[AgentRow]:
        user = self._live
        now = self._clock()
        agent = new_agent(user, message, now)
        return self.commit_or_refuse(
            agents.insert(agent),
            *self._outbox.emit(user.id, *deployment_event("created", agent), at=now),
            reply=lambda: agent,
            notices=(self._outbox.woken(user.id),),
            constraint_errors={agents.NAME_TAKEN: name_taken, FOREIGN_KEY: no_such_user},
        )

    @handles(CreateDomain)
    def _create_domain(self, message: CreateDomain) -> AsyncFuture[DomainRow]:
        user = self._live
        now = self._clock()
        domain = new_domain(user, message, now)
        return self.commit_or_refuse(
            domains.insert(domain),
            domains.put_membership(domain.id, domain.founder_id, "member", now),
            domains.insert_zone(domain.id, ZoneRow(new_id("zon", near=user.id), LOBBY, now)),
            reply=lambda: domain,
            constraint_errors={domains.NAME_TAKEN: name_taken, ROWS: agent_is_gone},
            notices=(Told(AGENT, message.founder_id, LinksGained(has_domains=True)),),
        )

    @handles(CreateBank)
    def _create_bank(self, message: CreateBank) -> AsyncFuture[BankRow]:
        user = self._live
        now = self._clock()
        bank = new_bank(user, message, now)
        return self.commit_or_refuse(
            *banks.insert(bank, tokenizer.VERSION),
            banks.attach(bank.id, message.agent_id, "admin", now),
            reply=lambda: bank,
            notices=(Told(AGENT, message.agent_id, LinksGained(has_banks=True)),),
            constraint_errors={banks.NAME_TAKEN: name_taken, FOREIGN_KEY: no_such_user, ROWS: agent_is_gone},
        )

    @handles(AddToRoster)
    def _add_to_roster(self, message: AddToRoster) -> AsyncFuture[None] | None:
        user = self._live
        if message.agent_id in self._roster:
            return None
        return self.commit_or_refuse(
            users.add_to_roster(user.id, message.agent_id, self._clock()),
            applied=lambda: self._roster.add(message.agent_id),
            constraint_errors={FOREIGN_KEY: no_such_user, ROWS: no_such_agent},
        )

    @handles(RemoveFromRoster)
    def _remove_from_roster(self, message: RemoveFromRoster) -> AsyncFuture[None]:
        user = self._live
        if message.agent_id not in self._roster:
            raise StateConflict("This agent is not on your roster, so there is nothing to take off.")
        self._roster.remove(message.agent_id)
        return self.commit(
            users.remove_from_roster(user.id, message.agent_id),
            credentials.unselect_agent(message.agent_id, user.id),
            notices=(ReloadConcerning(self.key, (SESSION, KEY)),),
        )

    @handles(OnRoster)
    def _on_roster(self, message: OnRoster) -> bool:
        return message.agent_id in self._roster

    @property
    def title(self) -> str | None:
        """The user's name."""
        return self._user and self._user.name

    def snapshot(self) -> dict[str, Any]:
        """Show plan and roster; never the password's hash."""
        user = self._user
        if user is None:
            return {"destroyed": True}
        return {"name": user.name, "plan": user.plan, "plan_limit": user.plan_limit, "roster": len(self._roster)}
