"""Erasing: has the store erase censored and destroyed texts a few seconds later."""

import asyncio
import logging
from time import monotonic

from actors.core import Core
from actors.runtime.placement import HOUSEKEEPER
from persistence import censoring
from persistence.store import StoreUnavailable, Unit

ERASE_AFTER_S = 3.0
"""Seconds in which erasures are gathered before the files are cleared of them."""

LOOK_EVERY_S = 15.0
"""Interval of the search for erasures that no wake-up announced."""

TIMES_AS_LONG = 5
"""The pause after an erasure is this many times as long as it took, because it reads the whole file."""

LONGEST_PAUSE_S = 20.0
"""The longest of these pauses, so that everything is gone within a minute."""

log = logging.getLogger("parley.housekeeping")


async def keep_erasing(core: Core) -> None:
    """Have the store erase what was deleted (`Store.erase_deleted`); run it as a task.

    Censorings that a crash left behind are erased at the start. Of several nodes one does so, the owner of HOUSEKEEPER;
    a censoring on another node does not wake it, but is found by its next look.
    """
    while True:
        pause = ERASE_AFTER_S
        try:
            due = await _due(core)
            if not due:
                await core.erasure.wait(LOOK_EVERY_S)
            else:
                began = monotonic()
                if await core.store.erase_deleted():
                    await core.store.commit(Unit((censoring.erased(due),)))
                pause = min(max(pause, TIMES_AS_LONG * (monotonic() - began)), LONGEST_PAUSE_S)
        except StoreUnavailable as error:
            log.warning("censored text is not cleared out of the files yet: %s", error)
        await asyncio.sleep(pause)


async def _due(core: Core) -> int:
    """Return the number of erasures that are due and this node's to do."""
    if not core.placement.mine(HOUSEKEEPER):
        return 0
    (due,) = await core.store.fetch(censoring.ERASURES_DUE)
    return due
