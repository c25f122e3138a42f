"""Outcomes: the effects of attempts on deliveries and endpoints, and the storing of results in groups."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from actors.errors import StateConflict
from actors.ids import Clock
from actors.runtime.durable import ConstraintErrors
from actors.runtime.future import AsyncFuture
from actors.runtime.lifecycle import State
from actors.runtime.notices import Notice, Reload
from actors.webhooks.attempts import AttemptEnded
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.event_types import endpoint_data
from actors.webhooks.lanes import Lane, Receiver
from actors.webhooks.messages import CHUNK, WEBHOOKS, Outcome
from actors.webhooks.outbox import Outbox
from actors.webhooks.schedule import GIVE_UP_MS, RetrySchedule, asked_wait_s
from persistence import deliveries, endpoints
from persistence.deliveries import DueRow, ResultRow
from persistence.store import ROWS, Write

RESULTS = 256
"""The largest number of results in one unit."""
ENOUGH = 64
LINGER_S = 0.002
"""Seconds that a result waits for others, unless `ENOUGH` wait; each commit interrupts the loop a few times."""

log = logging.getLogger("parley.webhooks")

StoredResult = tuple[int, ResultRow]
"""The result of an attempt, with the number of its endpoint."""


class OutcomesHost(Protocol):
    """The dispatcher as outcomes use it."""

    life: State

    def commit(self, *writes: Write, applied: Callable[[], None] | None = None) -> AsyncFuture[Any]:
        """Submit a unit that no constraint can refuse."""
        ...

    def commit_or_refuse(
        self,
        *writes: Write,
        constraint_errors: ConstraintErrors | None = None,
        applied: Callable[[], None] | None = None,
        notices: Sequence[Notice] = (),
    ) -> AsyncFuture[Any]:
        """Submit a unit that a constraint may refuse."""
        ...

    def go_on(self, *lanes: Lane) -> None:
        """Begin attempts as far as the limits allow."""
        ...

    def results_stored(self, results: list[StoredResult]) -> None:
        """Continue after results are stored."""
        ...


class Outcomes:
    """Judges attempts, and stores their results; while one unit is being stored, the next one fills up."""

    __slots__ = ("_clock", "_counts", "_host", "_lingering", "_outbox", "_results", "_schedule", "_storing")

    def __init__(
        self, host: OutcomesHost, clock: Clock, outbox: Outbox, schedule: RetrySchedule, counts: DeliveryCounts
    ) -> None:
        self._host = host
        self._clock = clock
        self._outbox = outbox
        self._schedule = schedule
        self._counts = counts
        self._results: deque[StoredResult] = deque()
        self._storing = False
        self._lingering = False

    def __len__(self) -> int:
        return len(self._results)

    @property
    def pending(self) -> bool:
        """Whether a result is not stored yet."""
        return bool(self._results) or self._storing

    def take(self, lane: Lane, ended: AttemptEnded, now: int) -> None:
        """Judge an attempt and queue its result for the store."""
        row, outcome = ended.row, ended.outcome
        self._counts.attempt(outcome)
        state, due = self._judge(lane, ended.receiver, row, outcome, now)
        if due is None:
            self._counts.ended(state)
        result = ResultRow(
            row.position,
            state,
            due,
            row.attempts + 1,
            ended.at,
            outcome.status,
            outcome.latency_ms,
            outcome.error,
            outcome.response,
        )
        self._results.append((lane.number, result))
        self._store_soon()

    def _judge(self, lane: Lane, sent_to: Receiver, row: DueRow, outcome: Outcome, now: int) -> tuple[str, int | None]:
        """Return the state of a delivery after an attempt, and when it is due again; disable a dead endpoint."""
        # The endpoint's row may have changed and not be read yet; its failures are then counted anew.
        receiver = lane.receiver or replace(sent_to, failing_since=None)
        ours = receiver.url == sent_to.url  # else the result says nothing about the present URL
        if outcome.error is None:
            lane.breaker.succeeded()
            if ours and receiver.failing_since is not None:
                receiver.failing_since = None
                self._host.commit(endpoints.set_failing_since(lane.number, receiver.url, None))
            return "succeeded", None
        lane.breaker.failed(now, timed_out=outcome.error == "timeout")
        if ours and receiver.active:
            if receiver.failing_since is None:
                receiver.failing_since = now
                self._host.commit(endpoints.set_failing_since(lane.number, receiver.url, now))
            if outcome.status == 410:
                self._disable(lane, receiver, "The receiver answered 410 (Gone).")
            elif now - receiver.failing_since >= GIVE_UP_MS:
                self._disable(lane, receiver, "Every attempt of the last five days failed.")
        if not receiver.active and lane.receiver is receiver:
            return "cancelled", None
        wait = self._schedule.wait_ms(row.attempts + 1, asked_wait_s(outcome.status, outcome.retry_after, now))
        return ("exhausted", None) if wait is None else ("retrying", now + wait)

    def _disable(self, lane: Lane, receiver: Receiver, reason: str) -> None:
        """Disable an endpoint, emit that event to the user's other endpoints, and cancel waiting deliveries."""
        receiver.active = False
        lane.let_go()
        lane.version += 1
        log.info("endpoint %s is disabled: %s", receiver.id, reason)
        data = endpoint_data(receiver.id, receiver.url, receiver.events, active=False, reason=reason)
        now = self._clock()

        def applied() -> None:
            if lane.receiver is not receiver:  # the read may have been before this
                lane.changed()
            lane.expect(0)
            self._host.go_on(lane)

        self._host.commit_or_refuse(
            endpoints.disable(lane.number, receiver.url, reason, now),
            deliveries.cancel(lane.number, CHUNK),
            *self._outbox.emit(receiver.user_id, "webhook.endpoint.updated", data, at=now),
            applied=applied,
            constraint_errors={ROWS: partial(StateConflict, "The endpoint is no longer active.")},
            notices=(Reload(WEBHOOKS, (receiver.user_id,)), self._outbox.woken(receiver.user_id)),
        )

    def _store_soon(self) -> None:
        """Store the results now if there are many, else in a moment, with those that come until then."""
        if not self._storing and len(self._results) >= ENOUGH:
            self._store()
        elif not self._storing and not self._lingering:
            self._lingering = True
            asyncio.get_running_loop().call_later(LINGER_S, self._store)

    def _store(self) -> None:
        """Store the queued results, unless earlier ones are still being stored."""
        self._lingering = False
        if self._storing or not self._results or self._host.life is State.STOPPED:
            return
        self._storing = True
        batch = [self._results.popleft() for _ in range(min(RESULTS, len(self._results)))]

        def applied() -> None:
            self._storing = False
            if self._results:
                self._store_soon()
            self._host.results_stored(batch)

        self._host.commit(*deliveries.record([result for _, result in batch]), applied=applied)
