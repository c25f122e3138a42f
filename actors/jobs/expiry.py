"""Housekeeping: what has to be tidied now and then, whoever is logged on."""

import asyncio
import logging
from contextlib import suppress

from actors.calls.call import Call
from actors.commands.passwords import KNOWN_MS
from actors.commands.users import remove
from actors.core import Core
from actors.errors import ServiceError
from actors.idempotency.records import KEPT_MS
from actors.plans import DAY_MS
from actors.sessions.messages import TOUCH_MS
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, Wake
from persistence import banks, credentials, deliveries, endpoints, idempotency_records, logon_places, users
from persistence.store import StoreUnavailable, Unit
from persistence.users import NO_PASSWORD

EVERY_S = 3600.0

SANDBOX_MS = 30 * DAY_MS
"""The user of a sandbox key that was not used for so long is removed, and so is that of a revoked one."""

ERASE_AFTER_S = 3.0
"""How long censorings are gathered before the files are cleared of them."""

LOOK_EVERY_S = 15.0
"""How often the store is looked into for censorings that nobody told of."""

WAKE_S = 1.0
"""How long deliveries wait at most where the dispatcher had to be started anew."""

FORGOTTEN_AT_ONCE = 200
"""Events that one unit removes with their deliveries, so that other units wait little for it."""

log = logging.getLogger("parley.housekeeping")


async def keep_house(core: Core) -> None:
    """Remove what has expired, at once and then every hour; run it as a task."""
    while True:
        now = core.clock()
        # A live session's last use may be stored up to a minute late; no session that lives is touched.
        expired = credentials.delete_unused_since(now - core.session_ttl_ms - 2 * TOUCH_MS)
        try:
            forgotten = logon_places.delete_older(now - KNOWN_MS)
            await core.store.commit(Unit((expired, idempotency_records.delete_older(now - KEPT_MS), forgotten)))
            for user_id in await core.store.fetch(users.sandboxes_unused_since(now - SANDBOX_MS)):
                await remove(Call(core, "housekeeping", address=""), user_id, NO_PASSWORD)
        except (StoreUnavailable, ServiceError) as error:
            log.warning("what has expired was not all removed: %s", error)
        await asyncio.sleep(EVERY_S)


async def keep_erasing(core: Core) -> None:
    """Clear censored text out of the store's files, a few seconds after it was erased; run it as a task.

    What a crash left to do is done at the start.
    """
    while True:
        try:
            (due,) = await core.store.fetch(banks.ERASURES_DUE)
            if not due:
                with suppress(TimeoutError):
                    await asyncio.wait_for(core.erasure.wait(), LOOK_EVERY_S)
                core.erasure.clear()
            else:
                await core.store.commit(Unit((banks.MERGE_TERMS,)))
                if await core.store.clear_log():
                    await core.store.commit(Unit((banks.erased(due),)))
        except StoreUnavailable as error:
            log.warning("censored text is not cleared out of the files yet: %s", error)
        await asyncio.sleep(ERASE_AFTER_S)


async def keep_delivering(core: Core) -> None:
    """See that the webhook dispatcher runs, from the start on and after each fault; run it as a task."""
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
    """Remove events older than the log is kept, but those with a delivery that waits or is younger.

    Raises:
        StoreUnavailable: some of them are still there.
    """
    before = core.clock() - core.options.webhooks.log_days * DAY_MS
    last = 0
    while True:
        page = await core.store.fetch(deliveries.old_events(last, FORGOTTEN_AT_ONCE))
        old = [place for place, created_at in page if created_at < before]
        if not old:
            break
        await core.store.commit(Unit((deliveries.forget_events(old, before),)))
        last = old[-1]
    await core.store.commit(Unit((endpoints.drop_deleted(),)))
