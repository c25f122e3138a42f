"""The order in which failed deliveries are queued again: users take turns."""

import asyncio
from pathlib import Path

import pytest

from actors.core import Core
from actors.webhooks import recoveries
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, WEBHOOKS, CreateEndpoint, Wake
from actors.webhooks.outbox import Outbox
from actors.webhooks.recoveries import Recoveries
from persistence import deliveries, delivery_log
from persistence.deliveries import Recovery
from persistence.store import Query, Unit
from tests.support.clock import MovableClock
from tests.support.core import make_user, open_core


async def cancelled(core: Core, count: int) -> str:
    """Make a user with an endpoint whose deliveries were cancelled, and begin to recover these."""
    user_id = (await make_user(core)).id
    await core.directory.ask(WEBHOOKS, user_id, CreateEndpoint("https://127.0.0.1/", ("webhook.test",), True, None))
    for _ in range(count):
        await core.store.commit(Unit(Outbox(core.clock).emit(user_id, "webhook.test", {})))
    (number,) = await core.store.fetch(
        Query("SELECT number FROM endpoints WHERE user_id = ?", (user_id,), lambda row: row[0])
    )
    begin = deliveries.begin_recovery(number, 0, 2**62)
    await core.store.commit(Unit((deliveries.cancel(number, count), begin)))
    return user_id


async def test_nobody_waits_for_the_whole_recovery_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    queued: list[str] = []
    queue_again = Recoveries.queue_again

    def noted(self: Recoveries, recovery: Recovery, positions: list[int]) -> None:
        queued.append(recovery.user_id)
        queue_again(self, recovery, positions)

    monkeypatch.setattr(recoveries, "CHUNK", 2)
    monkeypatch.setattr(Recoveries, "queue_again", noted)
    async with open_core(tmp_path) as core:
        first, second = await cancelled(core, 6), await cancelled(core, 2)
        await core.directory.ask(DISPATCHER, DISPATCHER_KEY, Wake())
        async with asyncio.timeout(30):
            while await core.store.fetch(deliveries.next_recovery()):
                await asyncio.sleep(0.01)
    assert {*queued[:2]} == {first, second}
    assert {*queued[2:4]} == {first, second}
    assert {*queued[4:]} == {first}


async def test_a_recovery_counts_nothing_that_is_queued_by_those_under_way(tmp_path: Path):
    clock = MovableClock()
    async with open_core(tmp_path, clock) as core:  # whose dispatcher nobody wakes
        user_id = await cancelled(core, 5)
        rows = await core.store.fetch(delivery_log.listed_for(user_id, None, None, None, 2**62, 9))
        number, places = rows[0].endpoint, sorted(row.position for row in rows)
        assert await core.store.fetch(deliveries.failed_since(number, 0)) == [(0, 0)]
        (begun,) = await core.store.fetch(deliveries.next_recovery())
        await core.store.commit(Unit((deliveries.end_recovery(begun),)))
        assert await core.store.fetch(deliveries.failed_since(number, 0)) == [(5, places[4])]
        second, later = (deliveries.begin_recovery(number, since, places[1]) for since in (0, clock() + 1))
        await core.store.commit(Unit((second, later)))
        assert await core.store.fetch(deliveries.failed_since(number, 0)) == [(3, places[4])]
        (begun,) = await core.store.fetch(deliveries.next_recovery())
        await core.store.commit(Unit((deliveries.recovered(begun, places[0]),)))  # but for a crash, queued again
        assert await core.store.fetch(deliveries.failed_since(number, 0)) == [(4, places[4])]
