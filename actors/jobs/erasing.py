"""Erasing: removes censored and destroyed texts from the store's files a few seconds later."""

import asyncio
import logging

from actors.core import Core
from persistence import censoring
from persistence.store import StoreUnavailable, Unit

ERASE_AFTER_S = 3.0
"""Seconds in which erasures are gathered before the files are cleared of them."""

LOOK_EVERY_S = 15.0
"""Interval of the search for erasures that no wake-up announced."""

log = logging.getLogger("parley.housekeeping")


async def keep_erasing(core: Core) -> None:
    """Remove censored text from the files of the store; run it as a task.

    Censorings that a crash left behind are erased at the start.
    """
    while True:
        try:
            (due,) = await core.store.fetch(censoring.ERASURES_DUE)
            if not due:
                await core.erasure.wait(LOOK_EVERY_S)
            elif await core.store.erase_deleted():
                await core.store.commit(Unit((censoring.erased(due),)))
        except StoreUnavailable as error:
            log.warning("censored text is not cleared out of the files yet: %s", error)
        await asyncio.sleep(ERASE_AFTER_S)
