"""The quota actor: exact counts below a bound stored ahead, midnight, plans and events."""

import asyncio
import logging
import random
from collections import Counter
from contextlib import suppress
from typing import Any, cast

import orjson
import pytest

from actors.core import Core
from actors.errors import InvalidCredential, StorageUnavailable
from actors.plans import PLANS
from actors.quotas.actor import _ReportRefusals
from actors.quotas.messages import CountRequest, QuotaStatus, ReadQuota, ReturnRequest
from actors.runtime.local_directory import LocalDirectory
from actors.runtime.notices import Reload, Told
from actors.users.messages import DestroyUser, SetPlan
from actors.wire import iso
from persistence import quotas
from persistence.store import Unit
from persistence.users import UserRow
from tests.support.clock import DAY_MS, MINUTE_MS, MovableClock
from tests.support.core import make_user
from tests.support.disk import Disk, rows, spin


class Quota:
    """The quota actor of a user in a core."""

    def __init__(self, core: Core, user: UserRow) -> None:
        self.core = core
        self.id = user.id

    async def count(self) -> QuotaStatus:
        """Count one request and wait until it may be answered."""
        standing = await self.core.directory.ask("quota", self.id, CountRequest())
        if standing.stored is not None:
            await standing.stored
        return standing

    async def counts(self, times: int) -> list[QuotaStatus]:
        """Count concurrent requests; return the number admitted."""
        standings = await asyncio.gather(*(self.count() for _ in range(times)))
        return [standing for standing in standings if standing.admitted]

    async def standing(self) -> QuotaStatus:
        return await self.core.directory.ask("quota", self.id, ReadQuota())

    async def on_plan(self, plan: str, limit: int | None = None) -> None:
        await self.core.directory.ask("user", self.id, SetPlan(plan, limit))

    async def end(self) -> None:
        """Wait until the actor is passivated."""
        self.core.directory.deliver([Reload("quota", (self.id,))])
        while self.core.directory.inspect("quota", self.id) or any(cast(LocalDirectory, self.core.directory)._leaving):
            await asyncio.sleep(0)

    async def stored(self) -> tuple[int, int, int]:
        """Return day, bound and reported threshold, as stored."""
        ((day, reserved, told),) = await rows(
            self.core.store, "SELECT day, reserved, told FROM quota_windows WHERE user_id = ?", self.id
        )
        return day, reserved, told

    async def events(self, kind: str) -> list[dict[str, Any]]:
        found = await rows(
            self.core.store, "SELECT data FROM events WHERE user_id = ? AND type = ? ORDER BY place", self.id, kind
        )
        return [orjson.loads(data) for (data,) in found]


async def make(core: Core, plan: str = "free", limit: int | None = None) -> Quota:
    return Quota(core, await make_user(core, plan=plan, limit=limit))


@pytest.fixture
async def free(core: Core) -> Quota:
    """A user of 100 requests a day."""
    return await make(core)


# counting


async def test_of_many_requests_at_once_exactly_those_that_are_left_are_admitted(free: Quota):
    await free.counts(63)
    admitted = await free.counts(500)
    assert sorted(standing.used for standing in admitted) == list(range(64, 101))
    assert (await free.standing()).used == 100
    assert (await free.standing()).remaining == 0


async def test_reading_counts_nothing(free: Quota):
    for _ in range(3):
        assert (await free.standing()).used == 0
    assert await rows(free.core.store, "SELECT * FROM quota_windows") == []


async def test_without_a_limit_all_is_admitted_and_counted(core: Core):
    boundless = await make(core, "enterprise")
    assert len(await boundless.counts(700)) == 700
    standing = await boundless.standing()
    assert (standing.limit, standing.remaining, standing.used) == (None, None, 700)


@pytest.mark.parametrize(
    ("plan", "limit", "block"),
    [
        ("free", None, 1),
        ("enterprise", 1, 1),
        ("enterprise", 7, 1),
        ("enterprise", 250, 2),
        ("enterprise", 1_000, 10),
        ("builder", None, 64),
        ("scale", None, 64),
        ("enterprise", None, 64),
    ],
)
async def test_the_stored_bound_is_never_below_the_count_and_at_most_a_block_above(
    core: Core, plan: str, limit: int | None, block: int
):
    rng, quota, acknowledged = random.Random(1), await make(core, plan, limit), 0
    most = PLANS[plan].limit if limit is None else limit
    for _ in range(60):
        acknowledged += len(await quota.counts(rng.choice([1, 1, 2, 5, 30])))
        _, reserved, _ = await quota.stored()
        assert acknowledged <= reserved <= acknowledged + block
        assert most is None or reserved <= most
    await quota.end()
    assert (await quota.stored())[1] == acknowledged


async def test_an_answer_beyond_the_stored_bound_waits_until_the_bound_is_stored(core: Core, disk: Disk):
    quota = await make(core, "enterprise", 1_000)
    await quota.count()  # reserved: 11
    disk.hold()
    asked = [asyncio.create_task(quota.count()) for _ in range(30)]
    await spin()
    done = [task.result().used for task in asked if task.done()]
    assert done == list(range(2, 12))
    disk.let_go()
    assert [standing.used for standing in await asyncio.gather(*asked)] == list(range(2, 32))


async def test_an_orderly_end_stores_the_exact_count_and_the_next_one_goes_on_from_it(free: Quota):
    await free.counts(41)
    await free.end()
    assert (await free.stored())[1] == 41
    assert (await free.count()).used == 42


async def test_a_request_that_could_not_be_counted_durably_is_not_admitted(core: Core, disk: Disk):
    quota = await make(core, "enterprise", 1_000)
    await quota.count()
    disk.hold()
    asked = [asyncio.create_task(quota.count()) for _ in range(30)]
    await disk.reached()
    disk.let_go(failing=True)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(outcome, StorageUnavailable) for outcome in outcomes) == 20
    assert (await quota.count()).used == 12  # one and ten were acknowledged


# midnight


async def test_the_day_s_turn_begins_at_nought_without_a_restart(free: Quota, clock: MovableClock):
    assert len(await free.counts(150)) == 100
    clock.to_midnight()
    assert await free.counts(3) == []
    clock.now += 1
    assert (await free.standing()).used == 0
    assert len(await free.counts(150)) == 100
    assert await free.stored() == (clock.day, 100, 100)
    standing = await free.standing()
    assert standing.resets_at == (clock.day + 1) * DAY_MS


async def test_a_reservation_in_flight_at_midnight_harms_neither_day(core: Core, disk: Disk, clock: MovableClock):
    quota = await make(core, "enterprise", 1_000)
    clock.to_midnight()
    disk.hold()
    evening = [asyncio.create_task(quota.count()) for _ in range(40)]
    await disk.reached()
    clock.now += 1
    morning = [asyncio.create_task(quota.count()) for _ in range(25)]
    await spin()
    assert not any(task.done() for task in evening + morning)
    disk.let_go()
    assert sorted(standing.used for standing in await asyncio.gather(*evening)) == list(range(1, 41))
    assert sorted(standing.used for standing in await asyncio.gather(*morning)) == list(range(1, 26))
    day, reserved, _ = await quota.stored()
    assert day == clock.day
    assert 25 <= reserved <= 35


async def test_a_request_that_is_returned_after_midnight_is_not_taken_off_the_new_day(free: Quota, clock: MovableClock):
    async def returned(counted: QuotaStatus) -> int:
        free.core.directory.deliver((Told("quota", free.id, ReturnRequest(counted.resets_at)),))
        return (await free.standing()).used

    evening = [await free.count(), await free.count()]
    assert await returned(evening[0]) == 1
    clock.to_midnight(0)
    morning = await free.count()
    assert await returned(evening[1]) == 1
    assert await returned(morning) == 0


async def test_a_clock_that_goes_back_gives_no_second_helping(free: Quota, clock: MovableClock):
    clock.to_midnight()
    await free.counts(100)
    clock.now += 1
    await free.counts(90)
    clock.now -= 2
    assert len(await free.counts(50)) == 10
    await free.end()
    assert await free.counts(5) == []
    clock.now += 2
    assert await free.counts(5) == []


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_clock_that_was_wrong_by_days_refuses_nothing_once_it_is_right(
    free: Quota, clock: MovableClock, restarted: bool
):
    right = clock.now
    clock.now += 400 * DAY_MS
    await free.counts(100)
    clock.now = right
    if restarted:
        await free.end()
    assert (await free.standing()).used == 0
    assert len(await free.counts(150)) == 100
    assert (await free.standing()).resets_at == (clock.day + 1) * DAY_MS


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(6, 20))])
async def test_whatever_happens_each_day_admits_no_more_than_its_limit_and_forgets_nothing(
    core: Core, disk: Disk, clock: MovableClock, seed: int
):
    rng = random.Random(seed)
    quota = await make(core, "enterprise", rng.choice([3, 90, 350, 2_000]))
    largest, admitted = Counter[int](), Counter[int]()
    limit = (await quota.standing()).limit
    assert limit is not None

    async def count() -> None:
        await spin(rng.randrange(6))
        with suppress(StorageUnavailable):
            standing = await quota.count()
            admitted[standing.resets_at // DAY_MS - 1] += standing.admitted

    for _ in range(40):
        largest[clock.day] = max(largest[clock.day], limit)
        counting = [asyncio.create_task(count()) for _ in range(rng.choice([1, 5, 60]))]
        await spin(rng.randrange(8))
        match rng.randrange(6):
            case 0:
                quota.core.directory.deliver([Reload("quota", (quota.id,))])
            case 1:
                clock.now += rng.choice([1, MINUTE_MS, DAY_MS // 3])
            case 2:
                disk.fail_next()
            case 3:
                limit = rng.choice([3, 90, 350, 2_000])
                largest[clock.day] = max(largest[clock.day], limit)
                with suppress(StorageUnavailable):
                    await quota.on_plan("enterprise", limit)
            case _:
                pass
        await asyncio.gather(*counting)
        disk.fails = lambda: False
        await quota.on_plan("enterprise", limit)
        standing = await quota.standing()
        window = standing.resets_at // DAY_MS - 1
        largest[window] = max(largest[window], limit)
        assert standing.used >= admitted[window]
    assert all(admitted[day] <= largest[day] for day in admitted)
    told = Counter((event["window"], event["threshold"]) for event in await quota.events("quota.threshold.reached"))
    assert set(told.values()) <= {1}


# plans


async def test_a_change_of_plan_holds_from_the_next_request_on_and_keeps_the_count(free: Quota):
    await free.counts(100)
    await free.on_plan("enterprise", 120)
    assert len(await free.counts(50)) == 20
    await free.on_plan("free")
    assert await free.counts(5) == []
    assert (await free.standing()).remaining == 0
    await free.on_plan("enterprise")
    assert (await free.count()).used == 121


async def test_after_a_lower_plan_a_crash_costs_no_more_than_a_block_of_that(core: Core, disk: Disk):
    quota = await make(core, "enterprise")
    await quota.counts(4)
    await quota.on_plan("free")
    async with asyncio.timeout(30):
        while (await quota.stored())[1] != 5:
            await spin()
    disk.hold()
    asked = [asyncio.create_task(quota.count()) for _ in range(3)]
    await spin()
    assert [task.done() for task in asked] == [True, False, False]
    disk.let_go()
    assert [standing.used for standing in await asyncio.gather(*asked)] == [5, 6, 7]


async def test_a_change_of_plan_while_the_actor_starts_is_not_missed(free: Quota):
    await free.counts(100)
    for plan, admitted in (("builder", 5), ("free", 0)):
        await free.end()
        changing = asyncio.create_task(free.on_plan(plan))
        counting = []
        for _ in range(6):
            counting.append(asyncio.create_task(free.counts(1)))
            await spin(1)
        await asyncio.gather(changing, *counting)
        assert len(await free.counts(5)) == admitted


async def test_a_user_that_is_destroyed_takes_its_count_along_and_leaves_no_error_in_the_log(
    free: Quota, caplog: pytest.LogCaptureFixture
):
    await free.counts(120)
    with caplog.at_level(logging.WARNING):
        await free.core.directory.ask("user", free.id, DestroyUser("hash", ()))
        with pytest.raises(InvalidCredential):
            await free.count()
        await spin(200)
        assert await rows(free.core.store, "SELECT * FROM quota_windows") == []
    assert caplog.records == []


# events


def threshold(percent: int, count: int, clock: MovableClock, limit: int = 100, plan: str = "free") -> dict[str, Any]:
    window = iso(clock.now)[:10]
    told = {"scope": "daily", "limit": limit, "count": count, "plan": plan, "window": window}
    return told | {"threshold": percent}


async def test_the_thresholds_are_told_of_once_a_day_each(free: Quota, clock: MovableClock):
    for _ in range(2):
        assert len(await free.counts(79)) == 79
        before = len(await free.events("quota.threshold.reached"))
        await free.counts(60)
        await free.end()
        await free.counts(3)
        told = (await free.events("quota.threshold.reached"))[before:]
        assert told == [threshold(80, 80, clock), threshold(100, 100, clock)]
        clock.now += DAY_MS


@pytest.mark.parametrize(("limit", "first"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 4), (99, 80), (101, 81)])
async def test_a_threshold_is_reached_by_the_first_count_that_is_not_below_it(
    core: Core, clock: MovableClock, limit: int, first: int
):
    quota = await make(core, "enterprise", limit)
    await quota.counts(limit)
    told = [(event["threshold"], event["count"]) for event in await quota.events("quota.threshold.reached")]
    assert told == [(80, first), (100, limit)]


async def test_a_threshold_that_a_crash_jumped_over_is_told_of_by_the_next_request(
    core: Core, free: Quota, clock: MovableClock
):
    """A begun block counts as used after a crash, and its end may be the limit itself."""
    await core.store.commit(Unit((quotas.reserve(free.id, clock.day, 100, 80),)))
    assert await free.counts(3) == []
    await free.end()
    assert await free.events("quota.threshold.reached") == [threshold(100, 100, clock)]
    assert await free.stored() == (clock.day, 100, 100)


async def test_a_lower_limit_that_the_count_has_passed_is_told_of(core: Core, clock: MovableClock):
    quota = await make(core, "enterprise", 1_000)
    await quota.counts(85)
    await quota.on_plan("free")
    await quota.end()
    assert await quota.events("quota.threshold.reached") == [threshold(80, 85, clock)]


async def test_the_first_refusal_is_told_of_at_once_and_later_ones_together_once_a_minute(
    free: Quota, clock: MovableClock
):
    await free.counts(100)
    numbers = []

    async def refused(times: int) -> list[int]:
        assert await free.counts(times) == []
        await free.core.store.commit(Unit((quotas.reserve(free.id, clock.day, 100, 100),)))  # behind the events
        numbers[:] = [event["rejected"] for event in await free.events("quota.request.rejected")]
        return numbers

    assert await refused(7) == [1]
    clock.now += MINUTE_MS - 1
    assert await refused(5) == [1]
    clock.now += 1
    assert await refused(1) == [1, 12]
    (event, _) = await free.events("quota.request.rejected")
    expected = {"scope": "daily", "limit": 100, "count": 100, "plan": "free", "rejected": 1}
    assert event == expected | {"window": iso(clock.now)[:10]}
    assert await refused(4) == [1, 12]
    await free.end()
    assert [event["rejected"] for event in await free.events("quota.request.rejected")] == [1, 12, 4]


async def test_a_late_reminder_does_not_tell_of_refusals_twice_in_a_minute(free: Quota, clock: MovableClock):
    await free.counts(101)
    clock.now += 10_000
    await free.counts(1)  # has itself reminded 50 s later
    clock.now += 50_000
    await free.counts(1)  # reported with that one
    clock.now += 5_000
    await free.counts(1)
    free.core.directory.tell("quota", free.id, _ReportRefusals())
    await spin()
    await free.core.store.commit(Unit((quotas.reserve(free.id, clock.day, 100, 100),)))
    assert [event["rejected"] for event in await free.events("quota.request.rejected")] == [1, 2]
    clock.now += 55_000
    free.core.directory.tell("quota", free.id, _ReportRefusals())
    await spin()
    await free.core.store.commit(Unit((quotas.reserve(free.id, clock.day, 100, 100),)))
    assert [event["rejected"] for event in await free.events("quota.request.rejected")] == [1, 2, 1]


async def test_refusals_of_the_evening_are_told_of_as_the_evening_s(free: Quota, clock: MovableClock):
    clock.to_midnight(MINUTE_MS)
    evening = iso(clock.now)[:10]
    await free.counts(105)
    clock.now += MINUTE_MS
    await free.counts(1)
    await free.end()
    told = [(event["rejected"], event["window"]) for event in await free.events("quota.request.rejected")]
    assert told == [(1, evening), (4, evening)]
