"""The domain actor: one workspace, who belongs to it, and its zones (product 4)."""

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from actors.durable import DurableActor
from actors.errors import NotFound, NotPermitted, StateConflict
from actors.ids import Clock
from actors.membership import BY_AGENTS_OWNER, MEMBER, NONE, Membership, Move, moved
from actors.records import Record, domain_record, membership_record
from actors.runtime import Ask, AsyncFuture, handles
from actors.user import name_taken
from persistence import domains
from persistence.domains import DomainChanges, DomainRow, ZoneRow
from persistence.store import ROWS, Store


class Viewer(NamedTuple):
    """Who asks; `sharing` where it sees the domain because it shares one with the founder."""

    user_id: str
    sharing: bool = False


class DomainView(NamedTuple):
    """A domain as one who sees it sees it; `is_member` where an agent of the viewer's is a member."""

    row: DomainRow
    viewer: Viewer
    is_member: bool
    zones: tuple[ZoneRow, ...]

    @property
    def lobby(self) -> ZoneRow:
        """The zone that it was made with."""
        return self.zones[0]


class Standing(NamedTuple):
    """An agent's membership: whose agent, the state, and since when."""

    owner_id: str
    state: Membership
    since: int


@dataclass(frozen=True, slots=True)
class ReadDomain(Ask[DomainView]):
    """Answer the domain, to a user who sees it."""

    viewer: Viewer


@dataclass(frozen=True, slots=True)
class UpdateDomain(Ask[DomainRow]):
    """Change the domain, for its owner."""

    viewer: Viewer
    changes: DomainChanges


@dataclass(frozen=True, slots=True)
class DestroyDomain(Ask[None]):
    """Remove the domain, for its owner."""

    viewer: Viewer


@dataclass(frozen=True, slots=True)
class StandsIn(Ask[bool]):
    """Tell whether an agent is invited, a member or banned."""

    agent_id: str


@dataclass(frozen=True, slots=True)
class MoveMember(Ask[Record]):
    """Make a move with an agent's membership; answers the membership's record, {} for one that is gone."""

    viewer: Viewer
    move: Move
    agent_id: str
    agent: str
    agents_owner_id: str


class DomainActor(DurableActor):
    """Owns one domain; its key is the domain's id."""

    kind = "domain"
    __slots__ = ("_clock", "_domain", "_standings", "_zones")

    def __init__(self, key: str, store: Store, clock: Clock) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._domain: DomainRow | None = None
        self._standings: dict[str, Standing] = {}
        self._zones: tuple[ZoneRow, ...] = ()

    async def on_begin(self) -> None:
        """Load the domain, its memberships and zones.

        Raises:
            NotFound: there is no such domain.
        """
        found = await self.store.fetch(domains.by_id(self.key))
        if not found:
            raise no_such_domain()
        self._domain = found[0]
        for row in await self.store.fetch(domains.memberships(self.key)):
            self._standings[row.agent_id] = Standing(row.owner_id, Membership(row.state), row.since)
        self._zones = tuple(await self.store.fetch(domains.zones(self.key)))

    # who sees it, and who may do what

    def _seen_by(self, viewer: Viewer) -> DomainRow:
        """The domain, for one who sees it; for others it is not there."""
        domain = self._domain
        if domain is None or not (
            viewer.sharing
            or domain.owner_id == viewer.user_id
            or domain.access == "public"
            or self._has_agent_in(viewer.user_id, Membership.INVITED, MEMBER)
        ):
            raise no_such_domain()
        return domain

    def _owned_by(self, viewer: Viewer) -> DomainRow:
        domain = self._seen_by(viewer)
        if domain.owner_id != viewer.user_id:
            raise NotPermitted(f"Only the owner of the founder of {domain.name} may do this; ask {domain.owner}.")
        return domain

    def _has_agent_in(self, user_id: str, *states: Membership) -> bool:
        return any(standing.owner_id == user_id and standing.state in states for standing in self._standings.values())

    @handles(ReadDomain)
    def _read(self, message: ReadDomain) -> DomainView:
        domain = self._seen_by(message.viewer)
        return DomainView(domain, message.viewer, self._has_agent_in(message.viewer.user_id, MEMBER), self._zones)

    @handles(UpdateDomain)
    def _update(self, message: UpdateDomain) -> AsyncFuture[DomainRow]:
        self._owned_by(message.viewer)
        changes, now = message.changes, self._clock()

        def applied() -> None:
            if self._domain is not None:
                given = {member: text for member, text in asdict(changes).items() if text is not None}
                self._domain = replace(self._domain, updated_at=now, **given)

        return self.commit(
            domains.update(self.key, changes, now),
            reply=lambda: self._domain,
            applied=applied,
            refusals={"domains.name_key": name_taken, ROWS: no_such_domain},
        )

    @handles(DestroyDomain)
    def _destroy(self, message: DestroyDomain) -> AsyncFuture[None]:
        self._owned_by(message.viewer)
        self._domain = None
        return self.commit(domains.delete(self.key), applied=self.retire)

    # members

    @handles(StandsIn)
    def _stands_in(self, message: StandsIn) -> bool:
        return message.agent_id in self._standings

    @handles(MoveMember)
    def _move(self, message: MoveMember) -> AsyncFuture[Record] | Record:
        domain = self._seen_by(message.viewer)
        before = self._standings.get(message.agent_id)
        state = before.state if before else NONE
        self._require_may(message, domain)
        after = moved(
            state,
            message.move,
            own=message.agents_owner_id == message.viewer.user_id,
            public=domain.access == "public",
        )
        if after is None:
            raise StateConflict(_refusal(message, state, domain))
        if after is state:
            return self._membership(message, before)
        if message.agent_id == domain.founder_id and after is not MEMBER:
            raise StateConflict(f"{message.agent} founded {domain.name} and stays in it; DM_Destroy ends the domain.")
        if after is NONE:
            del self._standings[message.agent_id]
            return self.commit(domains.delete_membership(self.key, message.agent_id), reply=dict)
        self._standings[message.agent_id] = standing = Standing(message.agents_owner_id, after, self._clock())
        return self.commit(
            domains.put_membership(self.key, message.agent_id, after.value, standing.since),
            reply=lambda: self._membership(message, standing),
        )

    def _require_may(self, message: MoveMember, domain: DomainRow) -> None:
        """Refuse a move to one who may not make it.

        Raises:
            NotPermitted: it is another's to make.
        """
        viewer = message.viewer
        if message.move in BY_AGENTS_OWNER:
            if message.agents_owner_id != viewer.user_id:
                raise NotPermitted(f"Only the owner of {message.agent} may do this.")
        elif message.move is Move.INVITE and domain.access != "agent":
            if domain.owner_id != viewer.user_id and not self._has_agent_in(viewer.user_id, MEMBER):
                raise NotPermitted(f"Only who has a member of {domain.name} may invite into it.")
        else:
            self._owned_by(viewer)

    def _membership(self, message: MoveMember, standing: Standing | None) -> Record:
        if standing is None or self._domain is None:
            return {}
        founder = message.agent_id == self._domain.founder_id
        return membership_record(message.agent, standing.state.value, standing.since, founder=founder)

    # for maintainers

    def concerns(self, user_id: str) -> bool:
        """Tell whether an agent of this user's stands in the domain."""
        return any(standing.owner_id == user_id for standing in self._standings.values())

    @property
    def title(self) -> str | None:
        """The domain's name."""
        return self._domain and self._domain.name

    def snapshot(self) -> dict[str, Any]:
        """Show who belongs to it, counted by state, and its zones."""
        domain = self._domain
        if domain is None:
            return {"destroyed": True}
        states = [standing.state.value for standing in self._standings.values()]
        return {
            "record": domain_record(domain),
            "memberships": {state: states.count(state) for state in sorted(set(states))},
            "zones": [zone.name for zone in self._zones],
        }


_REFUSED = {
    Membership.NONE: "{agent} is neither invited to {domain} nor a member of it",
    Membership.INVITED: "{agent} is only invited to {domain}",
    Membership.MEMBER: "{agent} is a member of {domain} already",
    Membership.BANNED: "{agent} is banned from {domain}; its owner lifts that with DM_Unban",
}


def _refusal(message: MoveMember, state: Membership, domain: DomainRow) -> str:
    reason = _REFUSED[state].format(agent=message.agent, domain=domain.name)
    return f"{reason}, so {message.move.value} can't be done."


def no_such_domain() -> NotFound:
    """Make the error for a domain that is not there, or not for this user."""
    return NotFound("There is no such domain that you may see; check the name with DM_List.")
