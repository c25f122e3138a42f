"""Delivering: keeps the webhook dispatcher running, and removes old entries of the delivery log."""

import asyncio
import logging
from typing import Never

from actors.core import Core
from actors.errors import ServiceError
from actors.plans import DAY_MS
from actors.runtime.placement import HOUSEKEEPER
from actors.webhooks.due import PAGE
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, Wake, dispatcher_of_shard
from persistence import deliveries, delivery_log, endpoints
from persistence.store import StoreUnavailable, Unit

EVERY_S = 3600.0

WAKE_S = 1.0
"""The longest time that deliveries wait for a restart of the dispatcher, in seconds."""

FORGOTTEN_AT_ONCE = 200
"""The number of events that one unit removes with their deliveries; few, so that other units wait little."""

log = logging.getLogger("parley.housekeeping")


async def keep_delivering(core: Core) -> None:
    """Keep the webhook dispatcher running, from the start on and after each fault; run it as a task.

    Of several nodes, each wakes the dispatchers of its own shards as far as they have something due.
    """
    if not core.placement.alone:
        return await _keep_shards_delivering(core)
    while True:
        await _wake(core, DISPATCHER_KEY, Wake())
        await asyncio.sleep(WAKE_S)


async def _wake(core: Core, key: str, message: Wake) -> None:
    try:
        await core.directory.ask(DISPATCHER, key, message)
    except ServiceError as error:
        log.warning("the webhook dispatcher could not be reached: %s", error)


async def _keep_shards_delivering(core: Core) -> Never:
    look = ShardsDue(core)
    while True:
        try:
            found = await look.next()
        except StoreUnavailable as error:
            log.warning("due webhook deliveries could not be looked for: %s", error)
        else:
            await asyncio.gather(*(_wake(core, key, Wake(tuple(due))) for key, due in found.items()))
        await asyncio.sleep(WAKE_S)


class ShardsDue:
    """Finds which of the node's shards have deliveries that are due, or a recovery under way."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._looked_to = 0
        self._owned: frozenset[int] = frozenset()

    async def next(self) -> dict[str, list[tuple[int, int]]]:
        """Return the keys of these shards' dispatchers, with endpoints and the due times of their first deliveries.

        It looks at one page of all waiting endpoints, going round, as a single gateway's dispatcher does; after shards
        were taken over at every page.

        Raises:
            StoreUnavailable: the store can't be read.
        """
        core, owned = self._core, frozenset(self._core.placement.shards())
        found: dict[str, list[tuple[int, int]]] = {}
        everything = not owned <= self._owned
        if everything:
            self._looked_to = 0
        while True:
            (page,) = await core.store.fetch(deliveries.waiting_with_users(self._looked_to, PAGE))
            now = core.clock()
            for endpoint, due, user_id in page:
                if due <= now and core.placement.mine(user_id):
                    found.setdefault(dispatcher_of_shard(user_id), []).append((endpoint, due))
            self._looked_to = page[-1][0] if len(page) == PAGE else 0
            if not everything or not self._looked_to:
                break
        for user_id in await core.store.fetch(deliveries.RECOVERING):
            if core.placement.mine(user_id):
                found.setdefault(dispatcher_of_shard(user_id), [])
        self._owned = owned
        return found


async def keep_delivery_log(core: Core) -> None:
    """Remove events with their deliveries and attempts once they are older than the log is kept; run it as a task."""
    while True:
        try:
            if core.placement.mine(HOUSEKEEPER):
                await forget_old_events(core)
        except StoreUnavailable as error:
            log.warning("old events were not removed: %s", error)
        await asyncio.sleep(EVERY_S)


async def forget_old_events(core: Core) -> None:
    """Remove events older than the log is kept, except those with a delivery that waits or is younger.

    Raises:
        StoreUnavailable: some of them are still there.
    """
    before = core.clock() - core.options.webhooks.log_days * DAY_MS
    last = 0
    while True:
        page = await core.store.fetch(delivery_log.old_events(last, FORGOTTEN_AT_ONCE))
        old = [position for position, created_at in page if created_at < before]
        if not old:
            break
        await core.store.commit(Unit((delivery_log.forget_events(old, before),)))
        last = old[-1]
    await core.store.commit(Unit((endpoints.drop_deleted(),)))
