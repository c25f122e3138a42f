"""Delivering: keeps the webhook dispatcher running, and removes old entries of the delivery log."""

import asyncio
import logging

from actors.core import Core
from actors.errors import ServiceError
from actors.plans import DAY_MS
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, Wake
from persistence import delivery_log, endpoints
from persistence.store import StoreUnavailable, Unit

EVERY_S = 3600.0

WAKE_S = 1.0
"""The longest time that deliveries wait for a restart of the dispatcher, in seconds."""

FORGOTTEN_AT_ONCE = 200
"""The number of events that one unit removes with their deliveries; few, so that other units wait little."""

log = logging.getLogger("parley.housekeeping")


async def keep_delivering(core: Core) -> None:
    """Keep the webhook dispatcher running, from the start on and after each fault; run it as a task."""
    while True:
        try:
            await core.directory.ask(DISPATCHER, DISPATCHER_KEY, Wake())
        except ServiceError as error:
            log.warning("the webhook dispatcher could not be reached: %s", error)
        await asyncio.sleep(WAKE_S)


async def keep_delivery_log(core: Core) -> None:
    """Remove events with their deliveries and attempts once they are older than the log is kept; run it as a task."""
    while True:
        try:
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
