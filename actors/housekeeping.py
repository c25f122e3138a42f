"""Housekeeping: what has to be tidied now and then, whoever is logged on."""

import asyncio
import logging

from actors.core import Core
from actors.errors import ServiceError
from actors.flows.keys import NO_PASSWORD
from actors.idempotency import KEPT_MS
from actors.plans import DAY_MS
from actors.session import TOUCH_MS
from actors.user import DestroyUser
from persistence import banks, conversations, kept_answers, sessions
from persistence.store import StoreUnavailable, Unit

EVERY_S = 3600.0

SANDBOX_MS = 30 * DAY_MS
"""The user of a sandbox key that was not used for so long is removed."""

ERASE_AFTER_S = 3.0
"""How long censorings are gathered before the files are cleared of them."""

log = logging.getLogger("parley.housekeeping")


async def keep_house(core: Core) -> None:
    """Remove what has expired, at once and then every hour; run it as a task."""
    while True:
        now = core.clock()
        # A live session's last use may be stored up to a minute late; no session that lives is touched.
        expired = sessions.delete_unused_since(now - core.session_ttl_ms - 2 * TOUCH_MS)
        try:
            await core.store.commit(Unit((expired, kept_answers.delete_older(now - KEPT_MS))))
            for user_id in await core.store.fetch(sessions.sandboxes_unused_since(now - SANDBOX_MS)):
                await _throw_away(core, user_id)
        except (StoreUnavailable, ServiceError) as error:
            log.warning("what has expired was not all removed: %s", error)
        await asyncio.sleep(EVERY_S)


async def _throw_away(core: Core, user_id: str) -> None:
    """Remove the user of a sandbox key, with all it made."""
    met = tuple(await core.store.fetch(conversations.agents_met_by(user_id)))
    await core.directory.ask("user", user_id, DestroyUser(NO_PASSWORD, met))


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
