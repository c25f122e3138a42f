"""The dispatcher: one actor that delivers events to endpoints, going by the rows of the outbox (product 9).

Rows are the truth: each delivery's row says when it is due. A tell after a commit only wakes the dispatcher; at its
start and after a fault it goes on from the rows. It counts, signs and decides; each attempt is sent in a task of its
own, which tells it the outcome. Outcomes are stored in groups: while one unit is on its way to the disk, the next
fills up.

Its answer to "who is next" is a lane for each endpoint (lanes.py), so that none waits for another.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from actors.errors import StateConflict
from actors.ids import Clock, new_id
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor, not_stored
from actors.runtime.lifecycle import State
from actors.runtime.mailbox import Tell
from actors.runtime.notices import Reload
from actors.sealing import Sealer, WrongMasterKey
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.due import DueDeliveries, DueQuery, find
from actors.webhooks.event_types import endpoint_data
from actors.webhooks.lanes import REFILL_BELOW, Lane, Receiver, WakeupHeap
from actors.webhooks.messages import (
    CHUNK,
    DISPATCHER,
    EndpointChanged,
    EndpointsGone,
    RecoveryBegun,
    StopDelivering,
    Wake,
    Woken,
)
from actors.webhooks.outbox import Outbox
from actors.webhooks.schedule import GIVE_UP_MS, RetrySchedule, retry_after_s
from actors.webhooks.sender import Outcome, Sender
from actors.webhooks.signing import Keys, Signer, seal_purpose, unpack
from actors.wire import iso
from persistence import deliveries, endpoints
from persistence.deliveries import DueRow, Recovery, ResultRow
from persistence.endpoints import EndpointRow
from persistence.store import ROWS, Store, StoreUnavailable, Write

IN_FLIGHT = 512
"""Attempts under way in all; beyond that, each endpoint has one at most."""
LOADED_LANES = 64
"""Endpoints whose deliveries one read loads."""
LANES_AT_REST = 2_000
"""Endpoints that are remembered without anything to deliver, so that their rows need not be read for each event."""
RESULTS = 256
"""Outcomes in one unit."""
ENOUGH = 64
LINGER_S = 0.002
"""How long an outcome waits for others, unless these are enough: each commit interrupts the loop a few times."""
LOOK_AGAIN_MS = 60_000
STOP_S = 3.0
"""How long a stop waits for attempts under way; what is cut off is sent again after the next start."""

log = logging.getLogger("parley.webhooks")


@dataclass(frozen=True, slots=True)
class _BodyRead(Tell):
    """The data of a long event was read; None where it is gone."""

    number: int
    row: DueRow
    data: str | None


@dataclass(frozen=True, slots=True)
class _Ended(Tell):
    """An attempt has ended; `receiver` is what it was sent to, `at` when it began."""

    number: int
    row: DueRow
    receiver: Receiver
    at: int
    outcome: Outcome


class WebhookDispatcher(DurableActor):
    """Delivers what is due; see the module."""

    kind = DISPATCHER
    mailbox_limit = 100_000
    __slots__ = (
        "_alarms",
        "_clock",
        "_counts",
        "_held",
        "_hungry",
        "_in_flight",
        "_lanes",
        "_lanes_limit",
        "_last",
        "_lingering",
        "_look",
        "_make_sender",
        "_outbox",
        "_reading",
        "_recover",
        "_requeueing",
        "_results",
        "_schedule_of_retries",
        "_sealer",
        "_sender",
        "_signer",
        "_stopping",
        "_stored",
        "_storing",
        "_tasks",
        "_timer",
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
        make_sender: Callable[[], Sender],
        counts: DeliveryCounts,
    ) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._outbox = outbox
        self._sealer = sealer
        self._signer = signer
        self._schedule_of_retries = schedule
        self._make_sender = make_sender
        self._counts = counts
        self._sender: Sender | None = None
        self._lanes: dict[int, Lane] = {}
        self._lanes_limit = LANES_AT_REST
        self._alarms = WakeupHeap()
        self._hungry: deque[Lane] = deque()  # whose rows are to be read
        self._held: deque[Lane] = deque()  # which wait for others' attempts to end
        self._in_flight = 0
        self._last = 0  # the greatest place that was looked at
        self._look = False
        self._recover = True
        self._requeueing = False  # what a recovery was found to queue is on its way to the disk
        self._reading = False
        self._results: deque[tuple[int, ResultRow]] = deque()
        self._storing = False
        self._lingering = False
        self._stored: list[tuple[int, ResultRow]] = []  # since the read under way began
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def on_begin(self) -> None:
        """Find out which endpoints have something waiting; their rows are read when they are due.

        Raises:
            StorageUnavailable: the store takes no writes, so what is sent now would be sent again and again.
        """
        if not await self.store.writable():
            raise not_stored()
        self._sender = self._make_sender()
        (self._last,) = await self.store.fetch(deliveries.LAST_PLACE)
        for number, due in await self.store.fetch(deliveries.waiting_endpoints()):
            self._lane(number).expect(due)
        self.tell_self(Woken())

    # what wakes it

    @handles(Wake)
    def _wake(self, _: Wake) -> None:
        self._look = True
        self._go_on()

    @handles(Woken)
    def _woken(self, _: Woken) -> None:
        self._look = True
        self._go_on()

    @handles(EndpointChanged)
    def _endpoint_changed(self, message: EndpointChanged) -> None:
        lane = self._lanes.get(message.number)
        if lane is not None:
            lane.changed()
            lane.breaker = type(lane.breaker)()  # its owner has seen to it
        else:
            self._lane(message.number).expect(0)
        self._go_on(self._lanes[message.number])

    @handles(RecoveryBegun)
    def _recovery_begun(self, _: RecoveryBegun) -> None:
        self._recover = True
        self._go_on()

    @handles(EndpointsGone)
    def _user_gone(self, message: EndpointsGone) -> None:
        for lane in self._lanes.values():
            # one that is being loaded may be its, too
            if lane.queued if lane.receiver is None else lane.receiver.user_id == message.user_id:
                lane.changed()
                lane.breaker = type(lane.breaker)()

    @handles(StopDelivering)
    def _stop_delivering(self, _: StopDelivering) -> None:
        self._stopping = True
        asyncio.get_running_loop().call_later(STOP_S, self._cut_off)

    def _cut_off(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._in_flight = 0

    # who is next

    def _lane(self, number: int) -> Lane:
        lane = self._lanes.get(number)
        if lane is None:
            if len(self._lanes) >= self._lanes_limit:
                self._drop_resting()
            lane = self._lanes[number] = Lane(number)
            self._alarms.set(lane, 0)
        return lane

    def _drop_resting(self) -> None:
        for number in [lane.number for lane in self._lanes.values() if lane.at_rest]:
            del self._lanes[number]
        self._lanes_limit = max(LANES_AT_REST, 2 * len(self._lanes))  # so that this is seldom done

    def _go_on(self, *lanes: Lane) -> None:
        """Begin what may begin, and see to it that the rest is looked at in time."""
        if self._stopping:
            return
        now = self._clock()
        for lane in lanes:
            self._drive(lane, now)
        for lane in self._alarms.due(self._lanes, now):
            self._drive(lane, now)
        if not self._reading and (self._look or self._hungry or (self._recover and not self._requeueing)):
            self._read()
        self._set_timer(now)

    def _set_timer(self, now: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at = min(self._alarms.first or now + LOOK_AGAIN_MS, now + LOOK_AGAIN_MS)
        self._timer = asyncio.get_running_loop().call_later(max(0.0, (at - now) / 1000), self._time_has_come)

    def _time_has_come(self) -> None:
        self._timer = None
        self._go_on()

    def _drive(self, lane: Lane, now: int) -> None:
        """Begin what an endpoint may have under way, and see to it that more is loaded."""
        if self._stopping:
            return
        if lane.breaker.open_until > now and lane.breaker.tripped:
            lane.let_go()
            if lane.next_due is not None:
                self._alarms.set(lane, max(lane.breaker.open_until, lane.next_due))
            return
        room = lane.room(now)
        while room and lane.ready:
            if self._in_flight >= IN_FLIGHT and lane.sending:
                if lane not in self._held:
                    self._held.append(lane)
                return
            room -= 1
            self._begin_attempt(lane, lane.ready.popleft())
        if lane.next_due is None or lane.queued or len(lane.ready) >= REFILL_BELOW:
            return
        if lane.next_due > now:
            self._alarms.set(lane, lane.next_due)
        else:
            lane.queued = True
            self._hungry.append(lane)

    # reading rows

    def _read(self) -> None:
        lanes = [self._hungry.popleft() for _ in range(min(LOADED_LANES, len(self._hungry)))]
        self._reading = True
        asked = DueQuery(
            tuple((lane.number, lane.version) for lane in lanes),
            [lane.number for lane in lanes if lane.receiver is None],
            self._last if self._look else None,
            CHUNK if self._recover and not self._requeueing else 0,
        )
        self._look = False
        self._recover = self._recover and self._requeueing
        self._in_background(self._find(asked))

    async def _find(self, asked: DueQuery) -> None:
        self.tell_self(await find(self.store, asked))

    @handles(DueDeliveries)
    def _found(self, found: DueDeliveries) -> None:
        self._reading = False
        if found.error is not None:  # nobody knows what was not read: start over
            raise found.error
        now = self._clock()
        for number, due, place in found.made:
            self._last = max(self._last, place)
            self._lane(number).expect(due)
        touched = {number: self._lanes[number] for number, _, _ in found.made}
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
            self._queue_again(found.recovery, found.to_recover)
        self._go_on(*touched.values())

    def _take(self, lane: Lane, rows: list[DueRow], endpoint: EndpointRow | None, now: int) -> None:
        """Take in what was read of a lane; the deliveries of an endpoint that is not active are cancelled instead."""
        if lane.receiver is None:
            lane.receiver = self._receiver(endpoint)
        if lane.receiver is None:  # it is gone, or its secrets can't be opened
            lane.next_due = None if endpoint is None else now + LOOK_AGAIN_MS
        elif lane.receiver.active:
            lane.take(rows, now)
        else:
            lane.next_due = None
            if any(row.place not in lane.open for row in rows):
                self._cancel(lane)

    def _receiver(self, endpoint: EndpointRow | None) -> Receiver | None:
        if endpoint is None:
            return None
        keys: tuple[Keys, ...] = ()
        if endpoint.active:
            try:
                secrets = unpack(self._sealer.open(endpoint.secrets, seal_purpose(endpoint.id)))
            except WrongMasterKey:
                log.error("the secrets of endpoint %s can't be opened; nothing is delivered to it", endpoint.id)
                return None
            keys = tuple(map(Keys.of, secrets))
        return Receiver(
            endpoint.id,
            endpoint.user_id,
            endpoint.url,
            endpoint.events,
            endpoint.active,
            keys,
            endpoint.failing_since,
        )

    def _cancel(self, lane: Lane) -> None:
        def applied() -> None:
            lane.expect(0)
            self._go_on(lane)

        self.commit(deliveries.cancel(lane.number, CHUNK), applied=applied)

    def _queue_again(self, recovery: Recovery, places: list[int]) -> None:
        """Queue the next deliveries of a recovery; how far it has come is stored with them."""
        self._requeueing = True
        writes: list[Write] = []
        if places:
            writes.append(deliveries.repeat_all(places, new_id("dlv")[:20], self._clock()))
        if len(places) == CHUNK:
            writes.append(deliveries.recovered(recovery, places[-1]))
        else:
            writes.append(deliveries.end_recovery(recovery))

        def applied() -> None:
            self._requeueing = False
            self._look = self._recover = True
            self._go_on()

        self.commit(*writes, applied=applied)

    # attempts

    def _begin_attempt(self, lane: Lane, row: DueRow) -> None:
        lane.open.add(row.place)
        lane.sending += 1
        self._in_flight = self._counts.in_flight = self._in_flight + 1
        if row.data is None:
            self._in_background(self._read_body(lane.number, row))
        else:
            self._send(lane, row, row.data)

    async def _read_body(self, number: int, row: DueRow) -> None:
        try:
            found = await self.store.fetch(deliveries.event_data(row.event))
        except StoreUnavailable as error:
            self.fail(error)
        else:
            self.tell_self(_BodyRead(number, row, found[0] if found else None))

    @handles(_BodyRead)
    def _body_read(self, message: _BodyRead) -> None:
        lane = self._lanes[message.number]
        if message.data is not None and lane.receiver is not None and not self._stopping:
            self._send(lane, message.row, message.data)
            return
        self._in_flight = self._counts.in_flight = max(0, self._in_flight - 1)
        lane.sending -= 1
        lane.open.discard(message.row.place)
        lane.expect(message.row.due)
        self._go_on(lane)

    def _send(self, lane: Lane, row: DueRow, data: str) -> None:
        receiver = lane.receiver
        assert receiver is not None
        self._tasks.add(asyncio.create_task(self._attempt(lane.number, row, receiver, self._clock(), data)))

    async def _attempt(self, number: int, row: DueRow, receiver: Receiver, at: int, data: str) -> None:
        assert self._sender is not None
        # signed here, for an actor may begin many attempts with long bodies in one step
        body = (
            f'{{"id":"{row.event_id}","type":"{row.type}","created_at":"{iso(row.created_at)}","data":{data}}}'
        ).encode()
        headers = self._signer.headers(receiver.keys, at, row.event_id, row.type, row.id, body)
        outcome = await self._sender.post(receiver.user_id, receiver.url, headers, body)
        self.tell_self(_Ended(number, row, receiver, at, outcome))
        # done here, for a callback would cost one more turn of the loop
        self._tasks.discard(cast(asyncio.Task[None], asyncio.current_task()))

    @handles(_Ended)
    def _ended(self, message: _Ended) -> None:
        lane, row, outcome = self._lanes[message.number], message.row, message.outcome
        now = self._clock()
        lane.sending -= 1
        self._in_flight = self._counts.in_flight = max(0, self._in_flight - 1)
        self._counts.attempt(outcome)
        state, due = self._judge(lane, message.receiver, row, outcome, now)
        if due is None:
            self._counts.ended(state)
        self._results.append(
            (
                lane.number,
                ResultRow(
                    row.place,
                    state,
                    due,
                    row.attempts + 1,
                    message.at,
                    outcome.status,
                    outcome.latency_ms,
                    outcome.error,
                    outcome.response,
                ),
            )
        )
        self._results_came()
        while self._held and self._in_flight < IN_FLIGHT:
            self._drive(self._held.popleft(), now)
        self._drive(lane, now)
        if not self._reading and self._hungry and not self._stopping:
            self._read()

    def _judge(self, lane: Lane, sent_to: Receiver, row: DueRow, outcome: Outcome, now: int) -> tuple[str, int | None]:
        """Decide what becomes of a delivery and of its endpoint after an attempt: a state, and when it is due again."""
        # Its row may have been changed just now and not be read yet: then what is counted of it starts anew.
        receiver = lane.receiver or replace(sent_to, failing_since=None)
        ours = receiver.url == sent_to.url  # else this says nothing of where it is now
        if outcome.error is None:
            lane.breaker.succeeded()
            if ours and receiver.failing_since is not None:
                receiver.failing_since = None
                self.commit(endpoints.set_failing_since(lane.number, receiver.url, None))
            return "succeeded", None
        lane.breaker.failed(now, timed_out=outcome.error == "timeout")
        if ours and receiver.active:
            if receiver.failing_since is None:
                receiver.failing_since = now
                self.commit(endpoints.set_failing_since(lane.number, receiver.url, now))
            if outcome.status == 410:
                self._disable(lane, receiver, "The receiver answered 410 (Gone).")
            elif now - receiver.failing_since >= GIVE_UP_MS:
                self._disable(lane, receiver, "Every attempt of the last five days failed.")
        if not receiver.active and lane.receiver is receiver:
            return "cancelled", None
        asked_s = retry_after_s(outcome.retry_after, now) if outcome.status in (429, 503) else None
        wait = self._schedule_of_retries.wait_ms(row.attempts + 1, asked_s)
        return ("exhausted", None) if wait is None else ("retrying", now + wait)

    def _disable(self, lane: Lane, receiver: Receiver, reason: str) -> None:
        """Disable an endpoint, tell the user's others of it, and cancel what waits for it."""
        receiver.active = False
        lane.let_go()
        lane.version += 1
        log.info("endpoint %s is disabled: %s", receiver.id, reason)
        data = endpoint_data(receiver.id, receiver.url, receiver.events, active=False, reason=reason)
        now = self._clock()

        def applied() -> None:
            self._outbox.stored()
            if lane.receiver is not receiver:  # it may have been read before this
                lane.changed()
            lane.expect(0)
            self._go_on(lane)

        self.commit_or_refuse(
            endpoints.disable(lane.number, receiver.url, reason, now),
            deliveries.cancel(lane.number, CHUNK),
            *self._outbox.emit(receiver.user_id, "webhook.endpoint.updated", data, at=now),
            applied=applied,
            constraint_errors={ROWS: partial(StateConflict, "The endpoint is not active any more.")},
            notices=(Reload("webhooks", (receiver.user_id,)),),
        )

    # storing outcomes

    def _results_came(self) -> None:
        """Store outcomes now where they are many, else in a moment, with those that come until then."""
        if not self._storing and len(self._results) >= ENOUGH:
            self._store_results()
        elif not self._storing and not self._lingering:
            self._lingering = True
            asyncio.get_running_loop().call_later(LINGER_S, self._store_results)

    def _store_results(self) -> None:
        """Store the outcomes that there are, unless some are on their way to the disk."""
        self._lingering = False
        if self._storing or not self._results or self.life is State.STOPPED:
            return
        self._storing = True
        batch = [self._results.popleft() for _ in range(min(RESULTS, len(self._results)))]

        def applied() -> None:
            self._storing = False
            if self._results:
                self._results_came()
            if self._reading:  # what is being read may not have them yet
                self._stored += batch
                return
            for number, result in batch:
                self._settled(number, result)
            self._go_on(*(self._lanes[number] for number in {number for number, _ in batch}))

        self.commit(*deliveries.record([result for _, result in batch]), applied=applied)

    def _settled(self, number: int, result: ResultRow) -> None:
        lane = self._lanes[number]
        lane.open.discard(result.place)
        if result.due is not None:
            lane.expect(result.due)

    # life

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def engaged(self) -> bool:
        """Never idle while the gateway runs; when it stops, until no attempt is under way or unstored."""
        return not self._stopping or bool(self._in_flight or self._results or self._storing)

    async def on_end(self) -> None:
        """Cut off what is under way and close all connections; the rows say what is to be sent again."""
        self._stopping = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._counts.in_flight = 0
        if self._sender is not None:
            await self._sender.close()

    def snapshot(self) -> dict[str, Any]:
        """Show what is under way, by endpoint; never bodies or secrets."""
        return {
            "in_flight": self._in_flight,
            "unstored": len(self._results),
            "last_place": self._last,
            "endpoints": len(self._lanes),
            "lanes": [
                {
                    "endpoint": lane.receiver and lane.receiver.id,
                    "open": len(lane.open),
                    "ready": len(lane.ready),
                    "next_due": None if lane.next_due is None else iso(lane.next_due),
                    "failures_in_row": lane.breaker.failures,
                    "breaker_open_until": iso(lane.breaker.open_until) if lane.breaker.tripped else None,
                }
                for lane in list(self._lanes.values())[:200]
            ],
        }
