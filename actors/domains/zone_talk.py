"""The messages in the zones of one domain, and the replies of the agents that are mentioned there."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from actors.conversations.archive import NOTHING, ZONE, Archive, Newest
from actors.conversations.conversation import new_message
from actors.conversations.host import ChatHost
from actors.conversations.records import message_record
from actors.conversations.stored import ZONE_QUOTES, columns_of, unless_censored
from actors.domains.members import Members
from actors.domains.messages import DomainViewer, NotInDomain, Said, SayInZone, no_such_zone
from actors.domains.replies_under_way import RepliesUnderWay
from actors.domains.room import Room
from actors.domains.streams import Feed, event
from actors.engines.answering import EngineRunner, Outcome, Unanswered
from actors.engines.message import Utterance
from actors.engines.turn import Engine, Memory, Persona, Reply, Turn
from actors.engines.window import Window
from actors.errors import Overloaded, ServiceError, StateConflict
from actors.idempotency.records import Receipt
from actors.ids import Clock
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell, Progress
from actors.slices import Work
from persistence import zones
from persistence.domains import DomainRow, ZoneRow
from persistence.store import Store, Write

_Line = tuple[Utterance, str | None]
"""A message to store, and the id of the agent that says it."""


class Zone:
    """A zone with its last messages and its archive."""

    __slots__ = ("archive", "row", "window")

    def __init__(self, row: ZoneRow, store: Store, newest: Newest = NOTHING) -> None:
        self.row = row
        self.window = Window(newest.messages, keeps_left=True)
        self.archive = Archive(store, ZONE, row.id, self.window, newest.collection)


class DomainHost(ChatHost, Protocol):
    """The domain's actor as the talk in its zones sees it."""

    @property
    def zones(self) -> Mapping[str, Zone]:
        """The zones by id."""
        ...

    @property
    def memberships(self) -> Members:
        """The memberships of the domain."""
        ...

    def require_member(self, viewer: DomainViewer) -> DomainRow:
        """Return the domain to a user who has a member in it."""
        ...

    def next_number(self) -> int:
        """Return the number of the next event in the domain's sequence."""
        ...


class Replied(OwnTell, frozen=True):
    """A streaming engine has finished for one agent."""

    zone_id: str
    persona: Persona
    memories: tuple[Memory, ...]
    outcome: Outcome
    said: Utterance
    answer: AsyncFuture[Said] | None
    receipt: Receipt | None


class RepliesFound(OwnTell, frozen=True):
    """An instant engine that worked in a task has finished its replies to a message that is not stored yet."""

    message: SayInZone
    outcomes: list[Outcome]
    answer: AsyncFuture[Said]
    receipt: Receipt | None


class ZoneTalk:
    """Stores the messages in a domain's zones and has agents reply to them.

    An instant engine replies in the actor's own step, and all messages are one unit; long work continues in a task,
    and the message gets its seq when the replies are complete. A streaming engine always works in a task:
    the message is stored first, each reply when it is complete. Other messages are handled meanwhile.
    """

    __slots__ = ("_awaited", "_clock", "_engine", "_host", "_room", "_streams", "_under_way")

    def __init__(
        self, host: DomainHost, engine: Engine, clock: Clock, streams: Feed, under_way: RepliesUnderWay
    ) -> None:
        self._host = host
        self._clock = clock
        self._streams = streams
        self._under_way = under_way
        self._engine = EngineRunner(engine, host.actor_urn)
        self._room = Room()
        self._awaited: set[AsyncFuture[Said]] = set()  # answers that wait for an engine

    def say(self, message: SayInZone) -> AsyncFuture[Said]:
        """Store a message, and let the addressed agents reply.

        Raises:
            ServiceError: the user may not speak there, or too many messages wait for engines.
        """
        zone = self._zone_to_say_in(message)
        self._room.require(message.viewer.user_id)
        receipt = self._host.take_receipt()
        if self._engine.streams:
            return self._say_first(zone, message, receipt)
        work = self._engine.reply_to_each(self._turns(zone, zone.window, message))
        if isinstance(work, list):
            return self._conclude(zone, message, work, receipt)
        answer: AsyncFuture[Said] = AsyncFuture()
        self._awaited.add(answer)
        self._room.take(
            message.viewer.user_id, self._engine.in_background(self._finish(work, message, answer, receipt))
        )
        return answer

    def _zone_to_say_in(self, message: SayInZone) -> Zone:
        """Find the zone, if the user may speak in it and the addressed agent may reply there."""
        domain = self._host.require_member(message.viewer)
        zone = self._host.zones.get(message.zone_id)
        if zone is None:
            raise no_such_zone()
        if message.spoken_to:
            persona = message.answering[0]
            if not self._host.memberships.is_member(persona.id):
                raise NotInDomain(f"{persona.name} is not a member of {domain.name}; bring it in with DM_Join first.")
        return zone

    def _turns(self, zone: Zone, before: Window, message: SayInZone) -> Iterator[Turn]:
        """Yield a turn for each agent that replies, each made late, because a membership may end meanwhile."""
        for persona, memories in zip(message.answering, message.memories, strict=True):
            member, speaker_id = self._host.memberships.get(persona.id), message.viewer.user_id
            is_own = message.with_tools and member is not None and member.owner_id == speaker_id
            owner_id = speaker_id if is_own else ""
            archive = None if zone.archive.is_empty and not self._engine.streams else zone.archive
            yield Turn(
                persona,
                zone.row.name,
                memories,
                before,
                message.content,
                message.user_name,
                owner_id,
                archive=archive,
            )

    # instant engines

    async def _finish(
        self,
        work: Work[list[Outcome | Unanswered]],
        message: SayInZone,
        answer: AsyncFuture[Said],
        receipt: Receipt | None,
    ) -> None:
        outcomes = await self._under_way.spoken(message.answering, await self._engine.finish_each(work))
        self._host.tell_self(RepliesFound(message, outcomes, answer, receipt))

    def replies_found(self, found: RepliesFound) -> None:
        """Store a message and its replies, if the user may still speak there."""
        self._awaited.discard(found.answer)
        try:
            zone = self._zone_to_say_in(found.message)
        except ServiceError as error:
            self._host.defer(found.answer, None, error)
            return
        stored = self._conclude(zone, found.message, found.outcomes, found.receipt)
        stored.then(lambda done: found.answer.fail(done.error) if done.error else found.answer.set(done.get()))

    def _conclude(
        self, zone: Zone, message: SayInZone, outcomes: list[Outcome], receipt: Receipt | None
    ) -> AsyncFuture[Said]:
        """Store a message with the replies of an instant engine."""
        said, new = self._said(zone, message)
        replies: list[_Line] = []
        notes: list[Write] = []
        echoing: list[tuple[Utterance, Reply]] = []
        failed: ServiceError | None = None
        for persona, memories, reply in zip(message.answering, message.memories, outcomes, strict=True):
            if isinstance(reply, ServiceError):
                failed = failed or reply
                continue
            if not self._host.memberships.is_member(persona.id):
                continue  # it has left since it was mentioned
            seq = zone.row.last_seq + 1 + len(new) + len(replies)
            line = new_message(self._host.key, "agent", persona.name, reply.text, seq, self._clock(), reply.sources)
            replies.append((line, persona.id))
            if memories:
                notes += ZONE_QUOTES.notes(zone.row.id, line, memories)
            if reply.echoes:
                echoing.append((line, reply))
        unanswered = failed is not None and message.spoken_to
        outcome = None if unanswered else Said(said, replies[0][0] if message.spoken_to else None)
        notes += _of_receipt(receipt, outcome, said)
        for repeating, reply in echoing:
            notes += ZONE_QUOTES.unseen_notes(zone.row.id, repeating, reply, None if outcome is None else receipt)
        stored = self._store(zone, *new, *replies, beside=notes, said=outcome)
        return _once_stored(stored, failed) if failed is not None and unanswered else stored

    # streaming engines

    def _say_first(self, zone: Zone, message: SayInZone, receipt: Receipt | None) -> AsyncFuture[Said]:
        """Store a message, and let a streaming engine reply."""
        said, new = self._said(zone, message)
        answer: AsyncFuture[Said] | None = AsyncFuture() if message.spoken_to else None
        beside = _of_receipt(receipt, None if message.spoken_to else Said(said, None), said)
        turns = self._turns(zone, zone.window.before(said.seq), message)
        stored = self._store(zone, *new, beside=beside, said=Said(said, None))
        if answer is not None:
            self._awaited.add(answer)
        if message.answering:
            progress = self._host.progress
            work = self._engine.in_background(self._stream(turns, zone.row.id, said, answer, progress, receipt))
            self._room.take(message.viewer.user_id, work)
        return answer or stored

    async def _stream(
        self,
        turns: Iterator[Turn],
        zone_id: str,
        said: Utterance,
        answer: AsyncFuture[Said] | None,
        progress: Progress | None,
        receipt: Receipt | None,
    ) -> None:
        """Let the agents reply one after another; pieces of the first reply are passed on if it is the `answer`."""
        for turn in turns:
            member, pass_on = self._host.memberships.get(turn.persona.id), None if answer is None else progress
            owner_id = "" if member is None else member.owner_id
            outcome = await self._under_way.stream(self._engine, turn, owner_id, pass_on)
            outcome = await unless_censored(self._host.store, outcome, turn.memories)
            self._host.tell_self(Replied(zone_id, turn.persona, turn.memories, outcome, said, answer, receipt))
            answer = receipt = None

    def replied(self, message: Replied) -> None:
        """Store the reply of a streaming engine."""
        zone, answer, outcome = self._host.zones.get(message.zone_id), message.answer, message.outcome
        if not self._host.memberships.is_member(message.persona.id) and not isinstance(outcome, ServiceError):
            outcome = StateConflict(f"{message.persona.name} left the domain before it answered; your message is kept.")
        if answer is not None:
            self._awaited.discard(answer)
        if isinstance(outcome, ServiceError) or zone is None:
            if answer is not None:
                self._host.defer(answer, None, outcome if isinstance(outcome, ServiceError) else no_such_zone())
            return
        seq = zone.row.last_seq + 1
        reply = new_message(
            self._host.key, "agent", message.persona.name, outcome.text, seq, self._clock(), outcome.sources
        )
        said = Said(message.said, reply, streamed=True)
        beside = ZONE_QUOTES.notes(zone.row.id, reply, message.memories, whole=True)
        if answer is not None:
            beside += _of_receipt(message.receipt, said, message.said)
        beside += ZONE_QUOTES.unseen_notes(zone.row.id, reply, outcome, message.receipt)
        stored = self._store(zone, (reply, message.persona.id), beside=beside)
        if answer is not None:
            stored.then(lambda done: answer.fail(done.error) if done.error else answer.set(said))

    # storing

    def _said(self, zone: Zone, message: SayInZone) -> tuple[Utterance, tuple[_Line, ...]]:
        """Return the user's message, and the messages to store: none if it is stored already."""
        if message.resumes is not None:
            return message.resumes, ()
        said = new_message(
            self._host.key, "user", message.user_name, message.content, zone.row.last_seq + 1, self._clock()
        )
        return said, ((said, None),)

    def _store(self, zone: Zone, *lines: _Line, beside: Iterable[Write], said: Said | None = None) -> AsyncFuture[Any]:
        """Add messages to the zone in memory and, with their other writes, as one unit in the store.

        The future resolves to `said`.
        """
        host, row = self._host, zone.row
        zone_id, name = row.id, row.name
        if lines:
            zone.row = ZoneRow(zone_id, name, row.created_at, lines[-1][0].seq)
        writes: list[Write] = []
        numbered: list[tuple[int, Utterance]] = []
        for message, agent_id in lines:
            zone.window.append(message)
            number = host.next_number()
            numbered.append((number, message))
            writes.append(zones.append(zone_id, number, *columns_of(message), agent_id))

        def applied() -> None:
            if self._streams.is_read(host.key):
                for number, message in numbered:
                    record = message_record(message, name)
                    self._streams.publish(host.key, event(number, zone_id, "message", record))
            zone.archive.tend()

        return host.commit(*writes, *beside, reply=lambda: said, applied=applied)

    # life

    @property
    def tasks(self) -> int:
        """The number of messages that wait for engines in tasks."""
        return self._engine.tasks

    @property
    def any_under_way(self) -> bool:
        """Whether an engine is at work, or a message waits for a reply."""
        return bool(self._engine.tasks or self._awaited)

    def stop(self, error: ServiceError | None = None) -> None:
        """Stop the engine and refuse the messages that still wait."""
        self._engine.stop()
        reloaded = Overloaded("The domain was reloaded before the reply came; look at ZN_Read, then try again.")
        for answer in self._awaited:
            answer.fail(error or reloaded)
        self._awaited.clear()


def _of_receipt(receipt: Receipt | None, outcome: Said | None, said: Utterance) -> list[Write]:
    """Make the writes of a receipt; without an outcome, the row of a message that waits for its reply."""
    if receipt is None:
        return []
    return receipt.begin(said.id) if outcome is None else receipt.writes(outcome)


def _once_stored(stored: AsyncFuture[None], error: ServiceError) -> AsyncFuture[Said]:
    """Fail an answer when a unit is stored, because the error says that the message is kept."""
    answer: AsyncFuture[Said] = AsyncFuture()
    stored.then(lambda done: answer.fail(done.error or error))
    return answer
