"""The order in which failed deliveries are queued again: users take turns."""

import asyncio
from pathlib import Path

import pytest

from actors.core import Core
from actors.webhooks import recoveries
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, WEBHOOKS, CreateEndpoint, Wake
from actors.webhooks.outbox import Outbox
from actors.webhooks.recoveries import Recoveries
from persistence import deliveries
from persistence.deliveries import Recovery
from persistence.store import Query, Unit
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
