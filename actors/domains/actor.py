"""The domain actor: one workspace, its members and its zones (docs/contract.md, "Domains and zones")."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import orjson

from actors.agents.messages import AGENT, LinksGained
from actors.domains.loading import stored_domain
from actors.domains.members import Members, MemberState
from actors.domains.membership import MEMBER, NONE, Membership, moved, refusal
from actors.domains.messages import (
    DOMAIN,
    DOMAIN_GONE,
    ENDED_BY,
    LOBBY,
    MEMBER_GONE,
    CreateZone,
    DestroyDomain,
    DestroyZone,
    DomainView,
    DomainViewer,
    FindZone,
    MoveMember,
    ReadDomain,
    RecordDeparture,
    Said,
    SayInZone,
    StandsIn,
    StreamsEnded,
    UpdateDomain,
    ZonePlace,
    no_member,
    no_such_domain,
    no_such_zone,
)
from actors.domains.permissions import require_may_move, require_owner
from actors.domains.records import domain_record, membership_record
from actors.domains.replies_under_way import Replied, RepliesFound, RepliesUnderWay
from actors.domains.streams import Feed, Whom, event
from actors.domains.zone import Zone, ZoneLoaded
from actors.domains.zone_talk import ZoneTalk
from actors.engines.turn import Engine
from actors.errors import StateConflict
from actors.ids import Clock, new_id
from actors.names import name_taken
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor, in_turn
from actors.runtime.future import AsyncFuture
from actors.runtime.notices import Announced, Notice, Told
from actors.wire import Record
from persistence import censoring, domains, zones
from persistence.domains import DomainRow, ZoneRow
from persistence.store import ROWS, Store, Write
from persistence.users import name_key


class DomainActor(DurableActor):
    """Owns one domain: its memberships, its zones, and the messages in them. Its key is the domain's id."""

    kind = DOMAIN
    works_for_callers = True
    __slots__ = ("_clock", "_domain", "_engine", "_number", "_replies", "_streams", "_talk", "memberships", "zones")

    def __init__(
        self, key: str, store: Store, clock: Clock, engine: Engine, streams: Feed, replies: RepliesUnderWay
    ) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._engine = engine
        self._streams = streams
        self._replies = replies
        self._domain: DomainRow | None = None
        self.memberships = Members()
        self.zones: dict[str, Zone] = {}
        self._number = 0  # of the last event in the domain's sequence
        self._talk: ZoneTalk | None = None  # from the first message on

    async def on_begin(self) -> None:
        """Load the domain, its memberships and zones.

        Raises:
            NotFound: there is no such domain.
        """
        stored = await self.store.read(stored_domain(self.key))
        if stored is None:
            raise no_such_domain()
        self._domain = stored.row
        for row in stored.memberships:
            self.memberships[row.agent_id] = MemberState(row.owner_id, Membership(row.state), row.since)
        self.zones |= {zone.id: Zone(zone, self.store) for zone in stored.zones}
        self._number = stored.last_number

    # permissions

    def _seen_by(self, viewer: DomainViewer) -> DomainRow:
        """Return the domain to a user who sees it; to others it does not exist."""
        domain = self._domain
        if domain is None or not (
            viewer.access_granted
            or domain.owner_id == viewer.user_id
            or domain.access == "public"
            or self.memberships.has_agent_of(viewer.user_id, Membership.INVITED, MEMBER)
        ):
            raise no_such_domain()
        return domain

    def _owned_by(self, viewer: DomainViewer) -> DomainRow:
        domain = self._seen_by(viewer)
        require_owner(domain, viewer.user_id)
        return domain

    @handles(ReadDomain)
    def _read(self, message: ReadDomain) -> DomainView:
        domain = self._seen_by(message.viewer)
        is_member = self.memberships.has_agent_of(message.viewer.user_id, MEMBER)
        return DomainView(domain, message.viewer, is_member, tuple(zone.row for zone in self.zones.values()))

    @handles(FindZone, provisional=True)  # the message that is said there waits for the zone to be stored
    def _find_zone(self, message: FindZone) -> ZonePlace:
        domain, viewer, name, zones = self._seen_by(message.viewer), message.viewer, message.zone, self.zones
        if message.domain is not None and name_key(message.domain) != name_key(domain.name):
            raise no_such_domain()
        if name is None and message.selected_id in zones:
            zone = zones[message.selected_id]
            return ZonePlace(viewer, self.key, zone.row.id, zone.row.name)
        key = LOBBY if name is None else name_key(name)
        for zone in zones.values():
            if name_key(zone.row.name) == key:
                return ZonePlace(viewer, self.key, zone.row.id, zone.row.name)
        raise no_such_zone()

    @handles(UpdateDomain)
    @in_turn
    def _update(self, message: UpdateDomain) -> AsyncFuture[DomainRow]:
        domain = self._owned_by(message.viewer)
        changes, now = message.changes, self._clock()
        given = {member: text for member, text in asdict(changes).items() if text is not None}
        stored = replace(domain, updated_at=now, **given)

        def applied() -> None:
            if self._domain is not None:
                self._domain = stored

        return self.commit_or_refuse(
            domains.update(self.key, changes, now),
            reply=lambda: stored,
            applied=applied,
            constraint_errors={domains.NAME_TAKEN: name_taken, ROWS: no_such_domain},
        )

    @handles(DestroyDomain)
    def _destroy(self, message: DestroyDomain) -> AsyncFuture[None]:
        self._owned_by(message.viewer)
        self._domain = None
        over = Announced(StreamsEnded("domain destroyed", Whom(self.key), self._number))
        return self.commit(domains.delete(self.key), censoring.DUE, applied=self._destroyed, notices=(over,))

    def _destroyed(self) -> None:
        """End this actor, whose domain was destroyed, and the chats that still wait."""
        if self._talk is not None:
            self._talk.stop(no_such_domain())
        self.retire()

    def on_refused(self) -> None:
        """End, because the domain went with its founder."""
        self._destroyed()

    # members

    @handles(StandsIn)
    def _stands_in(self, message: StandsIn) -> bool:
        return message.agent_id in self.memberships

    @handles(MoveMember)
    def _move(self, message: MoveMember) -> AsyncFuture[Record] | Record:
        domain = self._seen_by(message.viewer)
        before = self.memberships.get(message.agent_id)
        state = before.state if before else NONE
        require_may_move(message, domain, self.memberships)
        own = message.agents_owner_id == message.viewer.user_id
        after = moved(state, message.move, own=own, public=domain.access == "public")
        if after is None:
            raise StateConflict(refusal(message.move, state, message.agent, domain.name))
        if after is state:
            return self._membership(message, before)
        if message.agent_id == domain.founder_id and after is not MEMBER:
            raise StateConflict(f"{message.agent} founded {domain.name} and stays in it; DM_Destroy ends the domain.")
        member = MemberState(message.agents_owner_id, after, self._clock())
        record = self._membership(message, member)
        row, applied = self._changed(record)
        if after is NONE:
            del self.memberships[message.agent_id]
            write = domains.delete_membership(self.key, message.agent_id)
            over = self._put_out(message, state)
            return self.commit(write, row, reply=dict, applied=applied, notices=over, constraint_errors=DOMAIN_GONE)
        self.memberships[message.agent_id] = member
        write = domains.put_membership(self.key, message.agent_id, after.value, member.since)
        joined = (Told(AGENT, message.agent_id, LinksGained(has_domains=True)),) if after is MEMBER else ()
        over = (*joined, *self._put_out(message, state))
        stored = self.commit(
            write, row, reply=lambda: record, applied=applied, notices=over, constraint_errors=MEMBER_GONE
        )
        return self.memberships.unless_gone(message.agent_id, stored)

    def _changed(self, record: Record) -> tuple[Write, Callable[[], None]]:
        """Number the change of a membership; return its row, and what passes it to readers once that is stored."""
        number = self.next_number()
        row = zones.membership_changed(self.key, number, orjson.dumps(record).decode())
        return row, partial(self._streams.publish, self.key, event(number, None, "membership", record))

    @handles(RecordDeparture)
    def _record_departure(self, message: RecordDeparture) -> AsyncFuture[None]:
        row, applied = self._changed(membership_record(message.agent, NONE.value, self._clock(), founder=False))
        return self.commit(row, applied=applied, constraint_errors=DOMAIN_GONE)

    def _put_out(self, message: MoveMember, before: Membership) -> tuple[Notice, ...]:
        """Make the notice that ends the streams of a user who has lost its last member, after the event of that."""
        if before is not MEMBER or self.memberships.has_agent_of(message.agents_owner_id, MEMBER):
            return ()
        whom = Whom(self.key, user_id=message.agents_owner_id)
        return (Announced(StreamsEnded(ENDED_BY[message.move], whom, self._number)),)

    def next_number(self) -> int:
        """Return the number of the next event in the domain's sequence."""
        self._number += 1
        return self._number

    def _membership(self, message: MoveMember, member: MemberState | None) -> Record:
        if member is None or self._domain is None:
            return {}
        founder = message.agent_id == self._domain.founder_id
        return membership_record(message.agent, member.state.value, member.since, founder=founder)

    # zones

    def require_member(self, viewer: DomainViewer) -> DomainRow:
        """Return the domain to a user who has a member in it.

        Raises:
            NotFound: the user does not see the domain.
            NotPermitted: the user has no member in it.
        """
        domain = self._seen_by(viewer)
        if not self.memberships.has_agent_of(viewer.user_id, MEMBER):
            raise no_member(domain)
        return domain

    @handles(CreateZone)
    def _create_zone(self, message: CreateZone) -> AsyncFuture[ZoneRow]:
        self.require_member(message.viewer)
        if any(name_key(zone.row.name) == name_key(message.name) for zone in self.zones.values()):
            raise name_taken()
        zone = ZoneRow(new_id("zon", near=self.key), message.name, self._clock())
        self.zones[zone.id] = Zone(zone, self.store)
        return self.commit(domains.insert_zone(self.key, zone), reply=lambda: zone, constraint_errors=DOMAIN_GONE)

    @handles(DestroyZone)
    def _destroy_zone(self, message: DestroyZone) -> AsyncFuture[None]:
        self._owned_by(message.viewer)
        zone = self.zones.get(message.zone_id)
        if zone is None:
            raise no_such_zone()
        if zone.row.name == LOBBY:
            raise StateConflict("The lobby stays as long as its domain; DM_Destroy removes both.")
        del self.zones[message.zone_id]
        over = Announced(StreamsEnded("zone destroyed", Whom(self.key, message.zone_id), self._number))
        destroyed = self.commit(domains.delete_zone(message.zone_id), censoring.DUE, notices=(over,))
        if self._talk is not None:
            self._talk.end_work(zone, no_such_zone())
        return destroyed

    @handles(SayInZone)
    def _say(self, message: SayInZone) -> AsyncFuture[Said]:
        if self._talk is None:
            self._talk = ZoneTalk(self, self._engine, self._clock, self._streams, self._replies)
        return self._talk.say(message)

    @handles(RepliesFound)
    def _replies_found(self, message: RepliesFound) -> None:
        if self._talk is not None:
            self._talk.replies_found(message)

    @handles(Replied)
    def _replied(self, message: Replied) -> None:
        if self._talk is not None:
            self._talk.replied(message)

    @handles(ZoneLoaded)
    def _zone_loaded(self, message: ZoneLoaded) -> None:
        if self._talk is not None:
            self._talk.loaded(message)

    # life

    @property
    def holds_something(self) -> bool:
        """Return whether an engine is to be stopped, or a message waits for a reply."""
        return self._talk is not None and self._talk.any_under_way

    @property
    def engaged(self) -> bool:
        """Return whether an engine is at work."""
        return self._talk is not None and self._talk.tasks > 0

    async def on_end(self) -> None:
        """Stop the engines and fail the messages that still wait."""
        if self._talk is not None:
            self._talk.stop()

    def on_finished(self) -> None:
        """Drop the talk, because a reference cycle would keep both in memory until a rare full collection."""
        super().on_finished()
        self._talk = None

    # for maintainers

    def concerns(self, user_id: str) -> bool:
        """Return whether a user's agent has a membership; the id may also be an agent's."""
        return self.memberships.concern(user_id)

    def goes_on_without(self, id: str) -> bool:
        """Drop the memberships of an agent or user that was destroyed, unless the domain went with it."""
        domain = self._domain
        if domain is None or id in (domain.founder_id, domain.owner_id):
            self._destroyed()
            return False
        self.memberships.forget(id)
        return True

    def reloads_only(self, parts: Sequence[str]) -> bool:
        """Load zones anew, by their ids, if chats are under way."""
        return self._talk is not None and self._talk.reload(parts)

    @property
    def title(self) -> str | None:
        """The domain's name."""
        return self._domain and self._domain.name

    def snapshot(self) -> dict[str, Any]:
        """Show the number of memberships by state, and the zones."""
        if self._domain is None:
            return {"destroyed": True}
        zones = {zone.row.name: zone.row.last_seq for zone in self.zones.values()}
        shown = {"record": domain_record(self._domain), "memberships": self.memberships.by_state(), "zones": zones}
        return shown | {"engines_at_work": 0 if self._talk is None else self._talk.tasks}
