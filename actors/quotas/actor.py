"""The quota actor: an exact count of a user's requests of the UTC day (docs/contract.md, "The daily quota")."""

import asyncio
from typing import Any

from actors.errors import InvalidCredential
from actors.ids import Clock
from actors.plans import DAY_MS, daily_limit
from actors.quotas.messages import QUOTA, CountRequest, PlanChanged, QuotaStatus, ReadQuota, ReturnRequest
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import OwnTell
from actors.webhooks.outbox import Outbox
from actors.wire import iso
from persistence import quotas
from persistence.quotas import QuotaRow
from persistence.store import Query, Store, Unit, Write

MAX_BLOCK = 64
"""The largest number of requests reserved ahead; one percent of the limit if that is less."""

SOON_AT = 4
"""When at most this part of a block (a quarter) is left, the next is reserved soon, with those of other users."""

NOW_AT = 8
"""When at most this part of a block (an eighth) is left, the next is reserved at once."""

TICK_S = 0.02
"""The interval of reservations that can wait: all actors make them at the same time, in one commit."""

THRESHOLDS = (80, 100)
"""The percentages of the limit that events report, each once a day."""

REJECTED_EVERY_MS = 60_000
"""The interval of events about refused requests, after the first."""


class _Reserve(OwnTell, frozen=True):
    """It is time to reserve the next block."""


class _ReportRefusals(OwnTell, frozen=True):
    """It is time for the next event about refused requests."""


class QuotaActor(DurableActor):
    """Counts the requests of one user, sessions and keys together; its key is the user's id.

    Check and count are one step in memory. The store has a bound that is never below the count: before the count gets
    there, the bound moves up to a block ahead, so after a crash the count is at most a block too high. An answer whose
    count lies above the stored bound waits until a new bound is stored.
    """

    kind = QUOTA
    __slots__ = (
        "_clock",
        "_count",
        "_day",
        "_due_soon",
        "_ends_at",
        "_limit",
        "_outbox",
        "_plan",
        "_quiet_until",
        "_refused",
        "_refused_told_at",
        "_reported",
        "_reserved",
        "_reserving",
        "_stored",
        "_thresholds",
        "_window",
    )

    def __init__(self, key: str, store: Store, clock: Clock, outbox: Outbox) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._outbox = outbox
        self._thresholds = THRESHOLDS
        self._plan = ""
        self._limit: int | None = None
        self._day = 0
        self._ends_at = 0
        self._count = 0
        self._quiet_until = 0
        self._reserved = 0  # the submitted bound and the stored one
        self._stored = 0
        self._window = 0  # the number of the window of bounds that only rise: a new day or a lower limit begins another
        self._reserving: AsyncFuture[Any] | None = None
        self._due_soon = False
        self._reported = 0
        self._refused = 0
        self._refused_told_at = 0

    async def on_begin(self) -> None:
        """Load plan and window.

        Raises:
            InvalidCredential: the user is gone, and its credentials with it.
        """
        found = await self.store.fetch(self._stored_window())
        if not found:
            raise InvalidCredential("The user of this credential is gone; register or log on anew.")
        row = found[0]
        self._plan, self._limit = row.plan, daily_limit(row.plan, row.plan_limit)
        self._day, self._ends_at, self._reported = row.day, (row.day + 1) * DAY_MS, row.told
        self._count = self._reserved = self._stored = row.reserved

    def _stored_window(self) -> Query[QuotaRow]:
        return quotas.of_user(self.key)

    def _reservation(self, day: int, bound: int) -> Write:
        return quotas.reserve(self.key, day, bound, self._reported)

    # counting

    @handles(CountRequest)
    def _count_request(self, _: CountRequest) -> QuotaStatus:
        now = self._clock()
        count = self._count
        if count < self._quiet_until and now < self._ends_at:
            self._count = count = count + 1
            stored = None if count <= self._stored else self._reserving
            return QuotaStatus(self._plan, self._limit, count, self._ends_at, True, stored)
        return self._count_with_care(now)

    def _count_with_care(self, now: int) -> QuotaStatus:
        """Count a request that needs more than counting: a new day, a bound, a threshold, or a refusal."""
        if self._is_over(now):
            self._begin_day(now)
        if self._limit is not None and self._count >= self._limit:
            self._refuse(now)
            return self._status(admitted=False)
        self._count += 1
        crossed = self._crossed()
        if crossed != self._reported:
            return self._report(crossed, now)
        left, block = self._reserved - self._count, self._block
        if left <= block // NOW_AT:
            self._reserve_ahead()
        elif left <= block // SOON_AT and not self._due_soon:
            self._reserve_soon()
        self._look_ahead()
        return self._status(stored=None if self._count <= self._stored else self._reserving)

    @handles(ReturnRequest)
    def _return_request(self, message: ReturnRequest) -> None:
        if self._count > 0 and message.resets_at == self._ends_at:
            self._count -= 1

    def _look_ahead(self) -> None:
        """Set the count up to which requests need only counting."""
        bounds = [self._reserved - self._block // (NOW_AT if self._due_soon else SOON_AT) - 1]
        if self._limit is not None:
            bounds += [
                self._limit,
                *(-(-percent * self._limit // 100) - 1 for percent in self._thresholds if percent > self._reported),
            ]
        self._quiet_until = min(bounds)

    @property
    def _block(self) -> int:
        return MAX_BLOCK if self._limit is None else min(max(self._limit // 100, 1), MAX_BLOCK)

    def _is_over(self, now: int) -> bool:
        """Return whether another day is to be counted.

        A clock that is set back gives no second helping, unless by more than a day: then the window is of a wrong
        clock, and would refuse requests for as long as that was ahead.
        """
        return not self._ends_at - 2 * DAY_MS <= now < self._ends_at

    def _begin_day(self, now: int) -> None:
        """Begin a new day, with nothing counted or reserved yet."""
        self._flush_refusals(now)
        day = now // DAY_MS
        self._window += 1
        self._day, self._count, self._reserved, self._stored, self._reported = day, 0, 0, 0, 0
        self._ends_at, self._quiet_until = (day + 1) * DAY_MS, 0
        self._refused_told_at = 0

    def _ahead(self) -> int:
        """The bound to reserve: a block ahead of the count, and never above the limit."""
        bound = self._count + self._block
        return bound if self._limit is None else max(min(bound, self._limit), self._count)

    def _reserve_soon(self) -> None:
        self._due_soon = True
        loop = asyncio.get_running_loop()
        loop.call_at((loop.time() // TICK_S + 1) * TICK_S, self.tell_self, _Reserve())

    @handles(_Reserve)
    def _reserve(self, _: _Reserve) -> None:
        self._due_soon = False
        if self._reserved - self._count <= self._block // SOON_AT:
            self._reserve_ahead()
        self._look_ahead()

    def _reserve_ahead(self) -> None:
        bound = self._ahead()
        if bound > self._reserved:
            self._reserving = self._store_window(bound)

    def _store_window(self, bound: int, *events: Write) -> AsyncFuture[Any]:
        """Submit the window; only answers whose count lies above the stored bound wait for it."""
        window, self._reserved = self._window, bound

        def applied() -> None:
            if window == self._window:
                self._stored = max(self._stored, bound)

        return self.commit(
            self._reservation(self._day, bound),
            *events,
            applied=applied,
            awaited=False,
            notices=(self._outbox.woken(self.key),) if events else (),
        )

    def _status(self, *, admitted: bool = True, stored: AsyncFuture[Any] | None = None) -> QuotaStatus:
        return QuotaStatus(self._plan, self._limit, self._count, self._ends_at, admitted, stored)

    @handles(ReadQuota)
    def _read(self, _: ReadQuota) -> QuotaStatus:
        now = self._clock()
        if self._is_over(now):
            return QuotaStatus(self._plan, self._limit, 0, (now // DAY_MS + 1) * DAY_MS)
        return self._status()

    # events

    def _crossed(self) -> int:
        """The highest threshold that is reached, or was reported today."""
        limit = self._limit
        if limit is None:
            return self._reported
        return max([self._reported, *(percent for percent in self._thresholds if self._count * 100 >= percent * limit)])

    def _report(self, crossed: int, at: int) -> QuotaStatus:
        """Store an event for each threshold crossed; the answer to the request that crossed it waits for the commit."""
        events = [
            write
            for percent in self._thresholds
            if self._reported < percent <= crossed
            for write in self._event("quota.threshold.reached", at, threshold=percent)
        ]
        self._reported = crossed
        self._reserving = self._store_window(max(self._ahead(), self._reserved), *events)
        return self._status(stored=self._reserving)

    def _event(self, kind: str, at: int | None, **more: int) -> tuple[Write, ...]:
        data = {
            "scope": "daily",
            "limit": self._limit,
            "count": self._count,
            "plan": self._plan,
            "window": iso(self._day * DAY_MS)[:10],
        }
        return self._outbox.emit(self.key, kind, data | more, at=at)

    def _refuse(self, now: int) -> None:
        """Note a refusal; the first is reported at once, later ones together."""
        crossed = self._crossed()
        if crossed != self._reported:  # no count reached it, because a crash used up its block
            self._report(crossed, now)
        self._refused += 1
        if self._refused == 1 or now - self._refused_told_at >= REJECTED_EVERY_MS:
            self._report_when_due(now)

    @handles(_ReportRefusals)
    def _report_refusals(self, _: _ReportRefusals) -> None:
        if self._refused:
            self._report_when_due(self._clock())

    def _report_when_due(self, now: int) -> None:
        """Report refusals, or schedule their report for a minute after the last one."""
        since = now - self._refused_told_at
        if since >= REJECTED_EVERY_MS:
            self._refused_told_at = now
            self._flush_refusals(now)
        else:  # no longer than that, even if the clock went back
            wait_s = min(REJECTED_EVERY_MS - since, REJECTED_EVERY_MS) / 1000
            asyncio.get_running_loop().call_later(wait_s, self.tell_self, _ReportRefusals())

    def _flush_refusals(self, at: int) -> None:
        events = self._refusals_event(at)
        if events:  # nobody waits for it
            self.commit(*events, awaited=False, notices=(self._outbox.woken(self.key),))

    def _refusals_event(self, at: int | None = None) -> tuple[Write, ...]:
        refused, self._refused = self._refused, 0
        return self._event("quota.request.rejected", at, rejected=refused) if refused else ()

    @handles(PlanChanged)
    def _change_plan(self, message: PlanChanged) -> None:
        self._plan, self._limit = message.plan, daily_limit(message.plan, message.plan_limit)
        self._quiet_until = 0
        now = self._clock()
        if self._is_over(now):
            return
        bound = self._ahead()
        if bound < self._reserved:  # by a block of the former limit, which a crash would count as used
            self._window += 1
            self._stored = min(self._stored, bound)
            self._reserving = self._store_window(bound)
        crossed = self._crossed()
        if crossed != self._reported:
            self._report(crossed, now)

    # life

    @property
    def holds_something(self) -> bool:
        """Whether the stored bound is not the exact count, or refusals are not reported yet."""
        return self._reserved != self._count or self._refused > 0

    async def on_end(self) -> None:
        """Store the exact count, and report the last refusals."""
        writes = (self._reservation(self._day, self._count), *self._refusals_event())
        await self.store.commit(Unit(writes, (self.incarnation,)))

    def concerns(self, user_id: str) -> bool:
        """Return whether it counts this user's requests."""
        return self.key == user_id

    def snapshot(self) -> dict[str, Any]:
        """Show the day's count, the bounds and the plan."""
        return {
            "plan": self._plan,
            "limit": self._limit,
            "window": iso(self._day * DAY_MS)[:10],
            "count": self._count,
            "reserved": self._reserved,
            "stored": self._stored,
            "told": self._reported,
            "refused": self._refused,
        }
