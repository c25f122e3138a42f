"""Housekeeping: what has to be tidied now and then, whoever is logged on."""

import asyncio
import logging

from actors.core import Core
from actors.session import TOUCH_MS
from persistence import sessions
from persistence.store import StoreUnavailable, Unit

EVERY_S = 3600.0

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
