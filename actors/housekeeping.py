"""Housekeeping: what has to be tidied now and then, whoever is logged on."""

import asyncio
import logging

from actors.core import Core
from actors.session import TOUCH_MS
from persistence import banks, sessions
from persistence.store import StoreUnavailable, Unit

EVERY_S = 3600.0

ERASE_AFTER_S = 3.0
"""How long censorings are gathered before the files are cleared of them."""

log = logging.getLogger("parley.housekeeping")


async def keep_house(core: Core) -> None:
    """Remove expired sessions, at once and then every hour; run it as a task."""
    while True:
        # A live session's last use may be stored up to a minute late; no session that lives is touched.
        before = core.clock() - core.session_ttl_ms - 2 * TOUCH_MS
        try:
            await core.store.commit(Unit((sessions.delete_unused_since(before),)))
        except StoreUnavailable as error:
            log.warning("expired sessions were not removed: %s", error)
        await asyncio.sleep(EVERY_S)


async def keep_erasing(core: Core) -> None:
    """Clear censored text out of the store's files, a few seconds after it was erased; run it as a task.

    What a crash left to do is done at the start.
    """
    while True:
        try:
            (due,) = await core.store.fetch(banks.ERASURES_DUE)
            if not due:
                await core.erasure.wait()
                core.erasure.clear()
            else:
                await core.store.commit(Unit((banks.MERGE_TERMS,)))
                if await core.store.clear_log():
                    await core.store.commit(Unit((banks.erased(due),)))
        except StoreUnavailable as error:
            log.warning("censored text is not cleared out of the files yet: %s", error)
        await asyncio.sleep(ERASE_AFTER_S)
