"""The dispatcher: an actor that delivers the events of the outbox to endpoints.

A gateway that is alone has one. Of several nodes each has one for each of its shards, for the endpoints of the shard's
users; they share the node's sender, and its bound of attempts under way.

The rows decide: each delivery's row has its due time. A notice after a commit only names the user whose endpoints to
look at; at its start and after a fault the dispatcher continues from the rows. Each endpoint has a lane (lanes.py), so
that none waits for another. `attempts` sends, `outcomes` judges and stores.
"""

import asyncio
from collections import deque
from itertools import islice
from typing import Any

from actors.ids import Clock
from actors.runtime.actor import handles
from actors.runtime.changes import Changes
from actors.runtime.durable import DurableActor, not_stored
from actors.sealing import Sealer
from actors.webhooks.attempts import AttemptEnded, Attempts, BodyRead, SharedSender
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.due import DueDeliveries, DueQuery, find, waiting
from actors.webhooks.lanes import REFILL_BELOW, Lane, Lanes, receiver_of
from actors.webhooks.messages import (
    CHUNK,
    DISPATCHER,
    DISPATCHER_KEY,
    EndpointChanged,
    EndpointsGone,
    RecoveryBegun,
    Wake,
    Woken,
    events_hint,
)
from actors.webhooks.outbox import Outbox
from actors.webhooks.outcomes import Outcomes, StoredResult
from actors.webhooks.recoveries import Recoveries
from actors.webhooks.schedule import LONGEST_OPEN_MS, RetrySchedule
from actors.webhooks.signing import Signer
from persistence import deliveries
from persistence.deliveries import DueRow, ResultRow
from persistence.endpoints import EndpointRow
from persistence.store import Store

LOADED_LANES = 64
"""The number of endpoints whose deliveries one read loads, and of users whose endpoints it looks at."""
LOOK_AGAIN_MS = 60_000
STOP_S = 3.0
"""Seconds that a stop waits for attempts under way; those cut off are sent again after the next start."""


class WebhookDispatcher(DurableActor):
    """Delivers due deliveries; see the module."""

    kind = DISPATCHER
    mailbox_limit = 100_000
    __slots__ = (
        "_attempts",
        "_changes",
        "_clock",
        "_crowded",
        "_hungry",
        "_lanes",
        "_look",
        "_looked_to",
        "_outcomes",
        "_reading",
        "_recovery",
        "_sealer",
        "_sender",
        "_shard",
        "_stopping",
        "_stored",
        "_timer",
        "_woken",
    )

    def __init__(
        self,
        key: str,
        store: Store,
        clock: Clock,
        outbox: Outbox,
        sealer: Sealer,
        signer: Signer,
        schedule: RetrySchedule,
        sender: SharedSender,
        counts: DeliveryCounts,
        changes: Changes,
    ) -> None:
        super().__init__(key, store)
        self._clock, self._changes = clock, changes
        self._sealer = sealer
        self._sender = sender
        self._shard = None if key == DISPATCHER_KEY else key
        self._attempts = Attempts(self, clock, signer, sender, counts)
        self._outcomes = Outcomes(self, clock, outbox, schedule, counts)
        self._lanes = Lanes()
        self._hungry: deque[Lane] = deque()  # whose rows are to be read
        self._crowded: deque[Lane] = deque()  # lanes that wait for other lanes' attempts to end
        self._woken: dict[str, None] = {}  # users with new deliveries, in order
        self._looked_to = 0  # the number of the last endpoint of the page that was looked at
        self._recovery = Recoveries(self, clock)
        self._stored: list[StoredResult] = []  # since the current read began
        self._look = self._reading = self._stopping = False
        self._timer: asyncio.TimerHandle | None = None

    async def on_begin(self) -> None:
        """Find the endpoints with waiting deliveries, whose rows are read when they are due.

        Raises:
            StorageUnavailable: the store takes no writes, so deliveries would be sent again and again.
        """
        if not await self.store.writable():
            raise not_stored()
        async for number, due in waiting(self.store, self._shard):
            self._lanes.of(number).expect(due)
        self.tell_self(RecoveryBegun())  # one may be under way
        self._sender.join(self._stop_delivering)

    # wake-ups

    @handles(Wake)
    def _wake(self, message: Wake) -> None:
        self._look = self._shard is None
        for number, due in message.due:
            self._lanes.of(number).expect(due)
        self.go_on(*(self._lanes[number] for number, _ in message.due))

    @handles(Woken)
    def _user_woken(self, message: Woken) -> None:
        self._changes.changed(events_hint(message.user_id))
        self._woken[message.user_id] = None
        self.go_on()

    @handles(EndpointChanged)
    def _endpoint_changed(self, message: EndpointChanged) -> None:
        lane = self._lanes.of(message.number)
        lane.changed()
        lane.breaker = type(lane.breaker)()  # its owner changed it: failures count anew
        self.go_on(lane)

    @handles(RecoveryBegun)
    def _recovery_begun(self, _: RecoveryBegun) -> None:
        self._recovery.begun()
        self.go_on()

    @handles(EndpointsGone)
    def _user_gone(self, message: EndpointsGone) -> None:
        for lane in self._lanes.values():
            # a lane that is loading, or waits because its user is suspended, may also be the user's
            if lane.receiver is None or lane.receiver.user_id == message.user_id:
                lane.changed()
                lane.breaker = type(lane.breaker)()

    def _stop_delivering(self) -> None:
        self._stopping = True
        asyncio.get_running_loop().call_later(STOP_S, self._attempts.cut_off)

    # the order of lanes

    def look_at(self, number: int) -> None:
        """Load the due deliveries of an endpoint."""
        lane = self._lanes.of(number)
        lane.expect(0)
        self.go_on(lane)

    def go_on(self, *lanes: Lane) -> None:
        """Begin attempts as far as the limits allow, and schedule the rest."""
        if self._stopping:
            return
        now = self._clock()
        for lane in lanes:
            self._drive(lane, now)
        for lane in self._lanes.due(now):
            self._drive(lane, now)
        if not self._reading and (self._woken or self._look or self._hungry or self._recovery.wanted):
            self._read()
        self._set_timer(now)

    def _set_timer(self, now: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at = min(self._lanes.wakeups.first or now + LOOK_AGAIN_MS, now + LOOK_AGAIN_MS)
        self._timer = asyncio.get_running_loop().call_later(max(0.0, (at - now) / 1000), self._time_has_come)

    def _time_has_come(self) -> None:
        self._timer = None
        self.go_on()

    def _drive(self, lane: Lane, now: int) -> None:
        """Begin as many attempts of an endpoint as it may have, and schedule the loading of more."""
        if self._stopping:
            return
        if lane.breaker.is_open(now):
            lane.let_go()
            if lane.next_due is not None:
                self._lanes.wakeups.set(lane, max(lane.breaker.open_until, lane.next_due))
            return
        room = lane.room(now)
        while room and lane.ready:
            if self._attempts.full and lane.sending:
                if lane not in self._crowded:
                    self._crowded.append(lane)
                return
            room -= 1
            self._attempts.begin(lane, lane.ready.popleft())
        if lane.next_due is None or lane.queued or len(lane.ready) >= REFILL_BELOW:
            return
        if lane.next_due > now:
            self._lanes.wakeups.set(lane, lane.next_due)
        else:
            lane.queued = True
            self._hungry.append(lane)

    # reading rows

    def _read(self) -> None:
        lanes = [self._hungry.popleft() for _ in range(min(LOADED_LANES, len(self._hungry)))]
        woken = list(islice(self._woken, LOADED_LANES))
        for user_id in woken:
            del self._woken[user_id]
        self._reading = True
        asked = DueQuery(
            tuple((lane.number, lane.version) for lane in lanes),
            [lane.number for lane in lanes if lane.receiver is None],
            woken,
            self._looked_to if self._look else None,
            self._recovery.ask(),
            self._shard,
        )
        self._look = False
        self._attempts.in_background(self._find(asked))

    async def _find(self, asked: DueQuery) -> None:
        self.tell_self(await find(self.store, asked))

    @handles(DueDeliveries)
    def _found(self, found: DueDeliveries) -> None:
        self._reading = False
        if found.error is not None:  # deliveries may have been missed: start over
            self.fail(found.error)
            return
        now = self._clock()
        if found.looked_to is not None:
            self._looked_to = found.looked_to
        for number, due in found.waiting:
            self._lanes.of(number).expect(due)
        touched = {number: self._lanes[number] for number, _ in found.waiting}
        for number, version in found.lanes:
            lane = self._lanes.get(number)
            if lane is None:
                continue
            touched[number] = lane
            lane.queued = False
            if lane.version == version:
                self._take(lane, found.rows.get(number, []), found.receivers.get(number), now)
        for number, result in self._stored:
            self._settled(number, result)
            touched[number] = self._lanes[number]
        self._stored.clear()
        if found.recovery is not None:
            self._recovery.queue_again(found.recovery, found.to_recover)
        self.go_on(*touched.values())

    def _take(self, lane: Lane, rows: list[DueRow], endpoint: EndpointRow | None, now: int) -> None:
        """Take in the rows that were read for a lane; cancel the deliveries of an endpoint that is not active."""
        if lane.receiver is None:
            lane.receiver = receiver_of(endpoint, self._sealer)
        if lane.receiver is None and endpoint is None:
            lane.next_due = None
        elif lane.receiver is None:  # its secrets can't be opened, or its user is suspended
            lane.breaker.open_until = now + LONGEST_OPEN_MS
        elif lane.receiver.active:
            lane.take(rows, now)
        else:
            lane.next_due = None
            if any(row.position not in lane.open for row in rows):
                self.commit(deliveries.cancel(lane.number, CHUNK), applied=lambda: self.look_at(lane.number))

    # attempts and their outcomes

    @handles(BodyRead)
    def _body_read(self, message: BodyRead) -> None:
        lane = self._lanes[message.number]
        if message.data is not None and lane.receiver is not None and not self._stopping:
            self._attempts.send(lane, message.row, message.data)
            return
        self._attempts.given_up(lane, message.row)
        self.go_on(lane)

    @handles(AttemptEnded)
    def _ended(self, message: AttemptEnded) -> None:
        lane, now = self._lanes[message.number], self._clock()
        self._attempts.ended(lane)
        self._outcomes.take(lane, message, now)
        while self._crowded and not self._attempts.full:
            self._drive(self._crowded.popleft(), now)
        self._drive(lane, now)
        if not self._reading and self._hungry and not self._stopping:
            self._read()

    def results_stored(self, results: list[StoredResult]) -> None:
        """Continue after results are stored."""
        if self._reading:  # the current read may not see them yet
            self._stored += results
            return
        for number, result in results:
            self._settled(number, result)
        self.go_on(*(self._lanes[number] for number in {number for number, _ in results}))

    def _settled(self, number: int, result: ResultRow) -> None:
        lane = self._lanes[number]
        lane.open.discard(result.position)
        if result.due is not None:
            lane.expect(result.due)

    # life

    def on_leaving(self) -> None:
        """Begin no more attempts; the shard's next owner begins the others."""
        self._stopping = True

    @property
    def engaged(self) -> bool:
        """Whether it must stay: with attempts under way or unstored; that of a shard also while anything waits."""
        if self._attempts.in_flight or self._outcomes.pending:
            return True
        if self._shard is None or self._stopping:
            return not self._stopping
        return bool(self._reading or self._woken or self._recovery.wanted) or not self._lanes.at_rest

    async def on_end(self) -> None:
        """Cut off attempts under way; their rows make them due again."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        await self._attempts.close()
        await self._sender.leave(self._stop_delivering)

    def snapshot(self) -> dict[str, Any]:
        """Show the deliveries under way, by endpoint; never bodies or secrets."""
        return {
            "in_flight": self._attempts.in_flight,
            "unstored": len(self._outcomes),
            "users_woken": len(self._woken),
            "endpoints": len(self._lanes),
            "lanes": [lane.snapshot() for lane in list(self._lanes.values())[:200]],
        }
