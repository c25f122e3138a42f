"""The messages in the zones of one domain, and the replies of the agents that are mentioned there."""

from __future__ import annotations  # nested functions would build theirs at each call

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from copy import copy
from typing import Any

from actors.conversations.conversation import new_message
from actors.conversations.stored import (
    ZONE_QUOTES,
    CensoredMeanwhile,
    censored_meanwhile,
    may_be_refused,
    unless_censored,
)
from actors.domains.answers import of_receipt, once_stored
from actors.domains.host import DomainHost
from actors.domains.membership import MEMBER, NONE
from actors.domains.messages import Said, SayInZone, no_such_zone, not_in_domain
from actors.domains.replies_under_way import Replied, RepliesFound, RepliesUnderWay
from actors.domains.streams import Feed
from actors.domains.waiting_room import WaitingRoom
from actors.domains.zone import Zone, ZoneLoaded, load
from actors.domains.zone_storing import Line, ZoneStoring
from actors.engines.answering import EngineRunner, Outcome, Unanswered
from actors.engines.message import Utterance
from actors.engines.turn import Engine, Reply, Turn
from actors.engines.window import Window
from actors.errors import Overloaded, ServiceError, StateConflict
from actors.idempotency.records import Receipt
from actors.ids import Clock
from actors.runtime.future import AsyncFuture, forward
from actors.runtime.mailbox import Progress
from actors.slices import Work
from persistence.store import Write


class ZoneTalk:
    """Stores the messages in a domain's zones and has agents reply to them.

    An instant engine replies in the actor's own step, and all messages are one unit; long work continues in a task,
    and the message gets its seq when the replies are complete. A streaming engine always works in a task:
    the message is stored first, each reply when it is complete. Other messages are handled meanwhile.
    """

    __slots__ = ("_at_work", "_awaited", "_clock", "_engine", "_host", "_storing", "_under_way", "_waiting_room")

    def __init__(
        self, host: DomainHost, engine: Engine, clock: Clock, streams: Feed, under_way: RepliesUnderWay
    ) -> None:
        self._host = host
        self._clock = clock
        self._storing = ZoneStoring(host, streams)
        self._under_way = under_way
        self._engine = EngineRunner(engine, host.actor_urn)
        self._waiting_room = WaitingRoom()
        self._awaited: dict[AsyncFuture[Said], Zone | None] = {}  # that wait for an engine, or for a zone: None
        self._at_work: dict[asyncio.Task[None], Zone] = {}

    def say(self, message: SayInZone) -> AsyncFuture[Said]:
        """Store a message, and let the addressed agents reply.

        Raises:
            ServiceError: the user may not speak there, or too many messages wait for engines.
        """
        zone = self._zone_to_say_in(message)
        receipt, progress = self._host.take_receipt(), self._host.progress
        if not zone.loaded or zone.storing:
            return self._wait(zone, message, receipt, progress)
        return self._say(zone, message, receipt, progress)

    def _say(
        self, zone: Zone, message: SayInZone, receipt: Receipt | None, progress: Progress | None
    ) -> AsyncFuture[Said]:
        self._waiting_room.require(message.viewer.user_id)
        if self._engine.streams:
            return self._say_first(zone, message, receipt, progress)
        work = self._engine.reply_to_each(self._turns(zone, zone.window, message))
        if isinstance(work, list):
            return self._conclude(zone, message, work, receipt)
        answer: AsyncFuture[Said] = AsyncFuture()
        self._awaited[answer] = zone
        self._begin_work(zone, message, self._finish(work, message, answer, receipt))
        return answer

    def _begin_work(self, zone: Zone, message: SayInZone, work: Coroutine[Any, Any, None]) -> None:
        task = self._engine.in_background(work)
        self._waiting_room.take(message.viewer.user_id, task)
        self._at_work[task] = zone
        task.add_done_callback(self._at_work.__delitem__)

    def _zone_to_say_in(self, message: SayInZone) -> Zone:
        """Find the zone, if the user may speak in it and the addressed agent may reply there."""
        domain = self._host.require_member(message.viewer)
        zone = self._host.zones.get(message.zone_id)
        if zone is None:
            raise no_such_zone()
        if message.spoken_to:
            persona = message.answering[0]
            member = self._host.memberships.get(persona.id)
            state = NONE if member is None else member.state
            if state is not MEMBER:
                raise not_in_domain(persona.name, state, domain, message.viewer.user_id)
        return zone

    def _turns(self, zone: Zone, before: Window, message: SayInZone) -> Iterator[Turn]:
        """Yield a turn for each agent that replies, each made late, because a membership may end meanwhile."""
        for persona, memories in zip(message.answering, message.memories, strict=True):
            member, speaker_id = self._host.memberships.get(persona.id), message.viewer.user_id
            is_own = message.with_tools and member is not None and member.owner_id == speaker_id
            owner_id = speaker_id if is_own else ""
            archive = None if zone.archive.is_empty and not self._engine.streams else zone.archive
            yield Turn(
                persona, zone.row.name, memories, before, message.content, message.user_name, owner_id, archive=archive
            )

    # loading

    def _wait(
        self, zone: Zone, message: SayInZone, receipt: Receipt | None, progress: Progress | None
    ) -> AsyncFuture[Said]:
        """Say something once the zone is loaded, and what is being stored there is."""
        answer: AsyncFuture[Said] = AsyncFuture()

        def go_on(error: ServiceError | None) -> None:
            del self._awaited[answer]
            try:
                if error is not None:
                    raise error
                said = self._say(self._zone_to_say_in(message), message, receipt, progress)
            except ServiceError as refused:
                self._host.defer(answer, None, refused)
            else:
                said.then(lambda done: forward(done, answer))

        zone.wait(go_on)
        self._awaited[answer] = None
        if not zone.storing and len(zone.waiting) == 1:
            self._load(zone)
        return answer

    def _load(self, zone: Zone) -> None:
        stored: AsyncFuture[None] = AsyncFuture()
        self._host.defer(stored, None)
        self._engine.in_background(load(self._host, zone, stored))

    def loaded(self, message: ZoneLoaded) -> None:
        """Go on with what was said in a zone while it was loaded, or while messages there were stored."""
        zone = message.zone
        if self._host.zones.get(zone.row.id, zone) is not zone:
            return  # it is loaded once more
        if isinstance(message.error, CensoredMeanwhile) and zone.row.id in self._host.zones:
            self._load_anew(zone)
            return
        if message.newest is not None:
            zone.take(self._host.store, message.newest)
        zone.storing = False
        zone.go_on(None if isinstance(message.error, CensoredMeanwhile) else message.error)

    def reload(self, zone_ids: Iterable[str]) -> bool:
        """Load redacted zones anew, and fail the chats at work there; return False if no chat is under way."""
        zones = self._host.zones
        if not self.any_under_way:
            return False
        for old in [zones[id] for id in zone_ids if id in zones]:
            self._load_anew(old)
        return True

    def _load_anew(self, old: Zone) -> None:
        """Load a zone anew, and fail the chats at work there; those that wait for it go on."""
        self._host.zones[old.row.id] = new = Zone(old.row, self._host.store)
        new.waiting = old.waiting
        self.end_work(old, censored_meanwhile())
        if new.loaded:
            new.go_on(None)
        elif new.waiting:
            self._load(new)

    def end_work(self, zone: Zone, error: ServiceError) -> None:
        """Stop the engines at work in a zone, and fail the chats that wait for them."""
        for task in [task for task, at in self._at_work.items() if at is zone]:
            task.cancel()
        for answer in [answer for answer, at in self._awaited.items() if at is zone]:
            del self._awaited[answer]
            self._host.defer(answer, None, copy(error))

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
        if self._awaited.pop(found.answer, None) is None:
            return  # the zone is loaded anew
        try:
            zone = self._zone_to_say_in(found.message)
        except ServiceError as error:
            self._host.defer(found.answer, None, error)
            return
        if zone.storing:
            self._awaited[found.answer] = zone
            zone.waiting.append(lambda _: self.replies_found(found))
            return
        stored = self._conclude(zone, found.message, found.outcomes, found.receipt)
        stored.then(lambda done: found.answer.fail(done.error) if done.error else found.answer.set(done.get()))

    def _conclude(
        self, zone: Zone, message: SayInZone, outcomes: list[Outcome], receipt: Receipt | None
    ) -> AsyncFuture[Said]:
        """Store a message with the replies of an instant engine."""
        said, new = self._said(zone, message)
        replies: list[Line] = []
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
        draws_on_memories = bool(notes or echoing)
        unanswered = failed is not None and message.spoken_to
        outcome = None if unanswered else Said(said, replies[0][0] if message.spoken_to else None)
        notes += of_receipt(receipt, outcome, said)
        for repeating, reply in echoing:
            notes += ZONE_QUOTES.unseen_notes(zone.row.id, repeating, reply, None if outcome is None else receipt)
        stored = self._storing.store(zone, *new, *replies, beside=notes, said=outcome, may_be_refused=draws_on_memories)
        return once_stored(stored, failed) if failed is not None and unanswered else stored

    # streaming engines

    def _say_first(
        self, zone: Zone, message: SayInZone, receipt: Receipt | None, progress: Progress | None
    ) -> AsyncFuture[Said]:
        """Store a message, and let a streaming engine reply."""
        said, new = self._said(zone, message)
        answer: AsyncFuture[Said] | None = AsyncFuture() if message.spoken_to else None
        beside = of_receipt(receipt, None if message.spoken_to else Said(said, None), said)
        turns = self._turns(zone, zone.window.before(said.seq), message)
        stored = self._storing.store(zone, *new, beside=beside, said=Said(said, None))
        if answer is not None:
            self._awaited[answer] = zone
        if message.answering:
            self._begin_work(zone, message, self._stream(turns, zone, said, answer, progress, receipt))
        return answer or stored

    async def _stream(
        self,
        turns: Iterator[Turn],
        zone: Zone,
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
            self._host.tell_self(Replied(zone, turn.persona, turn.memories, outcome, said, answer, receipt))
            answer = receipt = None

    def replied(self, message: Replied) -> None:
        """Store the reply of a streaming engine."""
        zone, answer, outcome = self._host.zones.get(message.zone.row.id), message.answer, message.outcome
        if zone is not None and zone is not message.zone:
            return  # it is loaded anew
        if zone is not None and zone.storing:
            zone.waiting.append(lambda _: self.replied(message))
            return
        if not self._host.memberships.is_member(message.persona.id) and not isinstance(outcome, ServiceError):
            outcome = StateConflict(f"{message.persona.name} left the domain before it answered; your message is kept.")
        if answer is not None:
            self._awaited.pop(answer, None)
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
            beside += of_receipt(message.receipt, said, message.said)
        beside += ZONE_QUOTES.unseen_notes(zone.row.id, reply, outcome, message.receipt)
        stored = self._storing.store(
            zone,
            (reply, message.persona.id),
            beside=beside,
            may_be_refused=may_be_refused(reply, outcome, message.memories),
        )
        if answer is not None:
            stored.then(lambda done: answer.fail(done.error) if done.error else answer.set(said))

    # storing

    def _said(self, zone: Zone, message: SayInZone) -> tuple[Utterance, tuple[Line, ...]]:
        """Return the user's message, and the messages to store: none if it is stored already."""
        if message.resumes is not None:
            return message.resumes, ()
        said = new_message(
            self._host.key, "user", message.user_name, message.content, zone.row.last_seq + 1, self._clock()
        )
        return said, ((said, None),)

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
