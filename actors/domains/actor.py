"""The domain actor: one workspace, who belongs to it, and its zones (product 4)."""

from __future__ import annotations  # nested functions would build theirs at each call

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple

import orjson

from actors.agents.actor import Engine
from actors.conversations.records import message_record
from actors.conversations.stored import columns_of, from_row, quote_notes, with_answers_notes
from actors.domains.membership import BY_AGENTS_OWNER, MEMBER, NONE, Membership, Move, moved
from actors.domains.messages import (
    LOBBY,
    CreateZone,
    DestroyDomain,
    DestroyZone,
    DomainView,
    DomainViewer,
    MoveMember,
    NotInDomain,
    ReadDomain,
    Said,
    SayInZone,
    StandsIn,
    UpdateDomain,
    no_member,
    no_such_domain,
    no_such_zone,
)
from actors.domains.records import domain_record, membership_record
from actors.domains.streams import Streams, Whom, event
from actors.engines.answering import engine_error
from actors.engines.message import Source, Utterance
from actors.engines.turn import InstantEngine, Memory, Persona, Reply, StreamingEngine, Turn, collect
from actors.engines.window import CAPACITY, Window
from actors.errors import NotPermitted, Overloaded, ServiceError, StateConflict
from actors.idempotency.records import Receipt
from actors.ids import Clock, new_id
from actors.names import name_taken
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Progress, Tell
from actors.slices import Steps, Work
from actors.wire import Record
from persistence import domains, quotes, zones
from persistence.domains import DomainRow, ZoneRow
from persistence.store import ROWS, Store, Write
from persistence.users import name_key

ENDED_BY = {Move.LEAVE: "left", Move.KICK: "kicked", Move.BAN: "banned"}
"""Why a stream ends with a move of the reader's last member."""

MAX_ENGINES = 32
"""Messages of one domain that may wait for slow engines; one more is refused at once."""


class MemberState(NamedTuple):
    """An agent's membership: whose agent, the state, and since when."""

    owner_id: str
    state: Membership
    since: int


@dataclass(frozen=True, slots=True)
class _Replied(Tell):
    """A slow engine is done for one agent: with a reply, or an error."""

    zone_id: str
    persona: Persona
    memories: tuple[Memory, ...]
    outcome: Reply | ServiceError
    said: Utterance
    answer: AsyncFuture[Said] | None
    receipt: Receipt | None


Outcomes = list[Reply | ServiceError]
"""What each of the agents that were to reply replied."""


@dataclass(frozen=True, slots=True)
class _RepliesFound(Tell):
    """An instant engine that had much to read is done with a message, of which nothing is stored yet."""

    message: SayInZone
    outcomes: Outcomes
    answer: AsyncFuture[Said]
    receipt: Receipt | None


@dataclass(slots=True)
class _Zone:
    """A zone with the last of what was said in it."""

    row: ZoneRow
    window: Window = field(default_factory=Window)


class DomainActor(DurableActor):
    """Owns one domain, with all that is said in it; its key is the domain's id.

    An instant engine replies in the actor's own step, and all is one unit; where that takes long, it goes on in a task,
    in slices, and the message takes its place in the zone once the replies are there. A streaming engine works in a
    task: the message is stored first, each reply when it is there. Others speak meanwhile.
    """

    kind = "domain"
    __slots__ = (
        "_awaited",
        "_clock",
        "_domain",
        "_instant",
        "_number",
        "_standings",
        "_streaming",
        "_streams",
        "_tasks",
        "_zones",
    )

    def __init__(self, key: str, store: Store, clock: Clock, engine: Engine, streams: Streams) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._streams = streams
        self._instant = None if isinstance(engine, StreamingEngine) else engine
        self._streaming = engine if isinstance(engine, StreamingEngine) else None
        self._domain: DomainRow | None = None
        self._standings: dict[str, MemberState] = {}
        self._zones: dict[str, _Zone] = {}
        self._number = 0  # of the last event in the domain's sequence
        self._tasks: set[asyncio.Task[None]] = set()
        self._awaited: set[AsyncFuture[Said]] = set()  # replies that engines are still to give

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
            self._standings[row.agent_id] = MemberState(row.owner_id, Membership(row.state), row.since)
        for zone in await self.store.fetch(domains.zones(self.key)):
            rows = await self.store.fetch(zones.page_before(zone.id, zone.last_seq + 1, CAPACITY))
            self._zones[zone.id] = _Zone(zone, Window(from_row(row) for row in reversed(rows)))
        (self._number,) = await self.store.fetch(zones.last_number(self.key))

    # who sees it, and who may do what

    def _seen_by(self, viewer: DomainViewer) -> DomainRow:
        """The domain, for one who sees it; for others it is not there."""
        domain = self._domain
        if domain is None or not (
            viewer.access_granted
            or domain.owner_id == viewer.user_id
            or domain.access == "public"
            or self._has_agent_in(viewer.user_id, Membership.INVITED, MEMBER)
        ):
            raise no_such_domain()
        return domain

    def _owned_by(self, viewer: DomainViewer) -> DomainRow:
        domain = self._seen_by(viewer)
        if domain.owner_id != viewer.user_id:
            raise NotPermitted(f"Only the owner of the founder of {domain.name} may do this; ask {domain.owner}.")
        return domain

    def _has_agent_in(self, user_id: str, *states: Membership) -> bool:
        return any(standing.owner_id == user_id and standing.state in states for standing in self._standings.values())

    @handles(ReadDomain)
    def _read(self, message: ReadDomain) -> DomainView:
        domain = self._seen_by(message.viewer)
        is_member = self._has_agent_in(message.viewer.user_id, MEMBER)
        return DomainView(domain, message.viewer, is_member, tuple(zone.row for zone in self._zones.values()))

    @handles(UpdateDomain)
    def _update(self, message: UpdateDomain) -> AsyncFuture[DomainRow]:
        domain = self._owned_by(message.viewer)
        changes, now = message.changes, self._clock()
        given = {member: text for member, text in asdict(changes).items() if text is not None}

        def applied() -> None:
            if self._domain is not None:
                self._domain = replace(self._domain, updated_at=now, **given)

        return self.commit_or_refuse(
            domains.update(self.key, changes, now),
            reply=lambda: self._domain,
            preview=lambda: replace(domain, updated_at=now, **given),
            applied=applied,
            constraint_errors={"domains.name_key": name_taken, ROWS: no_such_domain},
        )

    @handles(DestroyDomain)
    def _destroy(self, message: DestroyDomain) -> AsyncFuture[None]:
        self._owned_by(message.viewer)
        self._domain = None

        def applied() -> None:
            self._streams.end("domain destroyed", Whom(domain_id=self.key))
            self.retire()

        return self.commit(domains.delete(self.key), applied=applied)

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
        standing = MemberState(message.agents_owner_id, after, self._clock())
        record = self._membership(message, standing)
        number = self._next_number()
        kept = zones.membership_changed(self.key, number, orjson.dumps(record).decode())

        def applied() -> None:
            self._streams.publish(self.key, event(number, None, "membership", record))
            if state is MEMBER and not self._has_agent_in(message.agents_owner_id, MEMBER):
                self._streams.end(ENDED_BY[message.move], Whom(domain_id=self.key, user_id=message.agents_owner_id))

        if after is NONE:
            del self._standings[message.agent_id]
            write = domains.delete_membership(self.key, message.agent_id)
            return self.commit(write, kept, reply=dict, applied=applied)
        self._standings[message.agent_id] = standing
        write = domains.put_membership(self.key, message.agent_id, after.value, standing.since)
        return self.commit(write, kept, reply=lambda: record, applied=applied)

    def _next_number(self) -> int:
        self._number += 1
        return self._number

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

    def _membership(self, message: MoveMember, standing: MemberState | None) -> Record:
        if standing is None or self._domain is None:
            return {}
        founder = message.agent_id == self._domain.founder_id
        return membership_record(message.agent, standing.state.value, standing.since, founder=founder)

    # zones

    def _zone_of(self, zone_id: str) -> _Zone:
        zone = self._zones.get(zone_id)
        if zone is None:
            raise no_such_zone()
        return zone

    def _require_member(self, viewer: DomainViewer) -> DomainRow:
        domain = self._seen_by(viewer)
        if not self._has_agent_in(viewer.user_id, MEMBER):
            raise no_member(domain)
        return domain

    @handles(CreateZone)
    def _create_zone(self, message: CreateZone) -> AsyncFuture[ZoneRow]:
        self._require_member(message.viewer)
        if any(name_key(zone.row.name) == name_key(message.name) for zone in self._zones.values()):
            raise name_taken()
        zone = ZoneRow(new_id("zon"), message.name, self._clock())
        self._zones[zone.id] = _Zone(zone)
        return self.commit(domains.insert_zone(self.key, zone), reply=lambda: zone)

    @handles(DestroyZone)
    def _destroy_zone(self, message: DestroyZone) -> AsyncFuture[None]:
        self._owned_by(message.viewer)
        zone = self._zone_of(message.zone_id)
        if zone.row.name == LOBBY:
            raise StateConflict("The lobby stays as long as its domain; DM_Destroy removes both.")
        del self._zones[message.zone_id]
        return self.commit(
            domains.delete_zone(message.zone_id),
            applied=lambda: self._streams.end("zone destroyed", Whom(domain_id=self.key, zone_id=message.zone_id)),
        )

    @handles(SayInZone)
    def _say(self, message: SayInZone) -> AsyncFuture[Said]:
        zone = self._zone_to_say_in(message)
        if len(self._tasks) >= MAX_ENGINES:
            raise Overloaded("Too many messages wait for replies in this domain already; try again in a second.")
        receipt: Receipt | None = self.take_receipt()
        if self._instant is None:
            return self._say_first(zone, message, receipt)
        work = Work(self._replying(self._instant, zone, message))
        if work.slice():
            return self._conclude(zone, message, work.result, receipt)
        found: AsyncFuture[Said] = AsyncFuture()
        self._awaited.add(found)
        self._in_background(self._read_on(work, message, found, receipt))
        return found

    def _zone_to_say_in(self, message: SayInZone) -> _Zone:
        """Find the zone, for one who may speak in it, to an agent that may reply there."""
        domain = self._require_member(message.viewer)
        zone = self._zone_of(message.zone_id)
        if message.spoken_to:
            self._require_may_reply(message.answering[0], domain)
        return zone

    def _say_first(self, zone: _Zone, message: SayInZone, receipt: Receipt | None) -> AsyncFuture[Said]:
        """Store what is said, and have a streaming engine reply."""
        said = message.resumes or self._utterance(zone, "user", message.user_name, message.content)
        answer: AsyncFuture[Said] | None = AsyncFuture() if message.spoken_to else None
        beside = _beside(receipt, None if message.spoken_to else Said(said, None), said)
        before = Window(utterance for utterance in zone.window if utterance.seq < said.seq)
        stored = self._store_said(zone, *self._new(said, message), beside=beside)
        if answer is not None:
            self._awaited.add(answer)
        if message.answering:
            asked = self._run_engine(zone, before, message, said, answer, self.progress, receipt)
            self._in_background(asked)
        return answer or self._once_stored(stored, Said(said, None))

    def _replying(self, engine: InstantEngine, zone: _Zone, message: SayInZone) -> Steps[Outcomes]:
        """Let an instant engine reply for each agent."""
        outcomes: Outcomes = []
        for persona, memories in zip(message.answering, message.memories, strict=True):
            try:
                turn = self._turn(persona, memories, zone, zone.window, message)
                outcomes.append((yield from engine.replying(turn)))
            except Exception as raised:
                outcomes.append(engine_error(raised, self.actor_urn))
        return outcomes

    async def _read_on(
        self, work: Work[Outcomes], message: SayInZone, answer: AsyncFuture[Said], receipt: Receipt | None
    ) -> None:
        self.tell_self(_RepliesFound(message, await work.rest(), answer, receipt))

    @handles(_RepliesFound)
    def _replies_found(self, found: _RepliesFound) -> None:
        self._awaited.discard(found.answer)
        try:
            zone = self._zone_to_say_in(found.message)
        except ServiceError as error:
            self.defer(found.answer, None, error)
            return
        stored = self._conclude(zone, found.message, found.outcomes, found.receipt)
        stored.then(lambda done: found.answer.fail(done.error) if done.error else found.answer.set(done.get()))

    def _conclude(
        self, zone: _Zone, message: SayInZone, outcomes: Outcomes, receipt: Receipt | None
    ) -> AsyncFuture[Said]:
        """Store what was said in a zone with what an instant engine replied."""
        said = message.resumes or self._utterance(zone, "user", message.user_name, message.content)
        replies: list[Utterance] = []
        noted: list[Write] = []
        failed: ServiceError | None = None
        for persona, memories, reply in zip(message.answering, message.memories, outcomes, strict=True):
            if isinstance(reply, ServiceError):
                failed = failed or reply
                continue
            after = len(self._new(said, message)) + len(replies)
            replies.append(self._utterance(zone, "agent", persona.name, reply.text, after=after, sources=reply.sources))
            if memories:
                noted += quote_notes(replies[-1], memories, self._noting(zone))
        unanswered = failed is not None and message.spoken_to
        outcome = None if unanswered else Said(said, replies[0] if message.spoken_to else None)
        beside = [*noted, *_beside(receipt, outcome, said)]
        stored = self._store_said(zone, *self._new(said, message), *replies, beside=beside)
        return self._once_stored(stored, outcome, failed if unanswered else None)

    @staticmethod
    def _new(said: Utterance, message: SayInZone) -> tuple[Utterance, ...]:
        """The user's message, unless it is stored already."""
        return () if message.resumes is not None else (said,)

    def _require_may_reply(self, persona: Persona, domain: DomainRow) -> None:
        standing = self._standings.get(persona.id)
        if standing is None or standing.state is not MEMBER:
            raise NotInDomain(f"{persona.name} is not a member of {domain.name}; bring it in with DM_Join first.")

    def _turn(
        self, persona: Persona, memories: tuple[Memory, ...], zone: _Zone, before: Window, message: SayInZone
    ) -> Turn:
        standing, speaker_id = self._standings.get(persona.id), message.viewer.user_id
        owner_id = speaker_id if standing is not None and standing.owner_id == speaker_id else ""
        return Turn(persona, zone.row.name, memories, before, message.content, message.user_name, owner_id)

    def _noting(self, zone: _Zone, *, whole: bool = False) -> Callable[[int, int, int], Write]:
        zone_id = zone.row.id
        return lambda position, seq, source: quotes.quote_in_zone(position, zone_id, seq, source, whole=whole)

    async def _run_engine(
        self,
        zone: _Zone,
        before: Window,
        message: SayInZone,
        said: Utterance,
        answer: AsyncFuture[Said] | None,
        progress: Progress | None,
        receipt: Receipt | None,
    ) -> None:
        """Let each agent reply, one after another; the pieces of the first reply that is waited for are passed on."""
        assert self._streaming is not None
        for persona, memories in zip(message.answering, message.memories, strict=True):
            outcome: Reply | ServiceError
            try:
                turn = self._turn(persona, memories, zone, before, message)
                outcome = await collect(self._streaming.stream(turn), progress if answer is not None else None)
            except Exception as raised:
                outcome = engine_error(raised, self.actor_urn)
            self.tell_self(_Replied(zone.row.id, persona, memories, outcome, said, answer, receipt))
            answer = receipt = None

    @handles(_Replied)
    def _replied(self, message: _Replied) -> None:
        zone, answer = self._zones.get(message.zone_id), message.answer
        if answer is not None:
            self._awaited.discard(answer)
        if isinstance(message.outcome, ServiceError) or zone is None:
            error = message.outcome if isinstance(message.outcome, ServiceError) else no_such_zone()
            if answer is not None:
                self.defer(answer, None, error)
            return
        outcome = message.outcome
        reply = self._utterance(zone, "agent", message.persona.name, outcome.text, sources=outcome.sources)
        beside = quote_notes(reply, message.memories, self._noting(zone, whole=True))
        said = Said(message.said, reply, streamed=True)
        if answer is not None:
            beside += _beside(message.receipt, said, message.said)
        note = self._noting(zone, whole=True)
        notes = [note(position, reply.seq, quotes.UNSEEN) for position in outcome.positions]
        if outcome.echoes:
            notes.append(quotes.echo_in_zone(zone.row.id, outcome.echoes, reply.seq))
        beside += with_answers_notes(notes, "zone_quotes", zone.row.id, reply.seq, message.receipt)
        stored = self._store_said(zone, reply, beside=beside)
        if answer is not None:
            stored.then(lambda done: answer.fail(done.error) if done.error else answer.set(said))

    def _utterance(
        self,
        zone: _Zone,
        role: Literal["user", "agent"],
        name: str,
        content: str,
        *,
        after: int = 0,
        sources: tuple[Source, ...] = (),
    ) -> Utterance:
        seq = zone.row.last_seq + 1 + after
        return Utterance(new_id("msg"), role, name, content, seq, self._clock(), sources)

    def _store_said(self, zone: _Zone, *said: Utterance, beside: Iterable[Write] = ()) -> AsyncFuture[None]:
        """Add messages to the zone, in memory and as one unit, with what they quote and leave `beside` them."""
        if said:
            zone.row = replace(zone.row, last_seq=said[-1].seq)
        for utterance in said:
            zone.window.append(utterance)
        numbered = [(self._next_number(), utterance) for utterance in said]

        def applied() -> None:
            for number, utterance in numbered:
                record = message_record(utterance, zone.row.name)
                self._streams.publish(self.key, event(number, zone.row.id, "message", record))

        writes = [zones.append(zone.row.id, number, *columns_of(utterance)) for number, utterance in numbered]
        return self.commit(*writes, *beside, applied=applied)

    def _once_stored(
        self, stored: AsyncFuture[None], said: Said | None = None, error: ServiceError | None = None
    ) -> AsyncFuture[Said]:
        answer: AsyncFuture[Said] = AsyncFuture()

        def done(stored: AsyncFuture[None]) -> None:
            failed = stored.error or error
            if failed is not None:
                answer.fail(failed)
            else:
                answer.set(said)

        stored.then(done)
        return answer

    # life

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def holds_something(self) -> bool:
        """Tell whether an engine is to be stopped, or a chat waits for what one said."""
        return bool(self._tasks or self._awaited)

    @property
    def engaged(self) -> bool:
        """Tell whether an engine is at work."""
        return bool(self._tasks)

    async def on_end(self) -> None:
        """Stop the engines and answer the chats that still wait."""
        for task in self._tasks:
            task.cancel()
        reloaded = Overloaded("The domain was reloaded before the reply came; look at ZN_Read, then try again.")
        for answer in self._awaited:
            answer.fail(reloaded)

    # for maintainers

    def concerns(self, user_id: str) -> bool:
        """Tell whether an agent of this user's stands in the domain; an agent's id is asked for likewise."""
        return user_id in self._standings or any(standing.owner_id == user_id for standing in self._standings.values())

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
            "zones": {zone.row.name: zone.row.last_seq for zone in self._zones.values()},
            "engines_at_work": len(self._tasks),
        }


def _beside(receipt: Receipt | None, outcome: Said | None, said: Utterance) -> list[Write]:
    """Make what a message with a receipt leaves beside it; without an outcome yet, that it waits for its reply."""
    if receipt is None:
        return []
    return receipt.begin(said.id) if outcome is None else receipt.writes(outcome)


_REFUSED = {
    Membership.NONE: "{agent} is neither invited to {domain} nor a member of it",
    Membership.MEMBER: "{agent} is a member of {domain} already",
    Membership.BANNED: "{agent} is banned from {domain}; its owner lifts that with DM_Unban",
}


def _refusal(message: MoveMember, state: Membership, domain: DomainRow) -> str:
    if message.move is Move.UNBAN:
        return f"{message.agent} is not banned from {domain.name}: there is no ban to lift; DM_Read lists the bans."
    reason = _REFUSED[state].format(agent=message.agent, domain=domain.name)
    advice = ""
    if state is NONE:
        advice = "; have it invited" if message.move is Move.JOIN else "; DM_Read lists who is"
    return f"{reason}, so {message.move.value} can't be done{advice}."
