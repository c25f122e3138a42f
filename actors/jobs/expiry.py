"""Expiry: removes sessions, idempotency records, log-on places and sandbox users that have expired."""

import asyncio
import logging

from actors.calls.call import Call
from actors.commands.passwords import KNOWN_MS
from actors.commands.talk import KEY_MS
from actors.commands.users import remove
from actors.core import Core
from actors.errors import ServiceError
from actors.idempotency.records import KEPT_MS
from actors.plans import DAY_MS
from actors.runtime.placement import HOUSEKEEPER
from actors.sessions.messages import TOUCH_MS
from persistence import conversation_copies, credentials, idempotency_records, logon_places, run_keys, users
from persistence.store import StoreUnavailable, Unit
from persistence.users import NO_PASSWORD

EVERY_S = 3600.0

SANDBOX_MS = 30 * DAY_MS
"""Age of a sandbox key's last use at which its user is removed; so is the user of a revoked one."""

COPYING_MS = 3_600_000
"""Age of the copy of a conversation from which on nobody is at work on it any more: a crash has left it."""

log = logging.getLogger("parley.housekeeping")


async def keep_house(core: Core) -> None:
    """Remove all that has expired, at once and then every hour; run it as a task.

    Of several nodes one does so, the owner of HOUSEKEEPER; sandbox users are removed by their own nodes.
    """
    while True:
        try:
            await remove_expired(core)
        except StoreUnavailable as error:
            log.warning("what has expired was not all removed: %s", error)
        await asyncio.sleep(EVERY_S)


async def remove_expired(core: Core) -> None:
    """Remove what has expired and is this node's to remove.

    Raises:
        StoreUnavailable: some of it is still there.
    """
    now = core.clock()
    if core.placement.mine(HOUSEKEEPER):
        # The last use of a live session may be stored up to a minute late; live sessions stay.
        expired = credentials.delete_unused_since(now - core.session_ttl_ms - 2 * TOUCH_MS)
        forgotten = logon_places.delete_older(now - KNOWN_MS)
        keys = run_keys.delete_older(now - KEY_MS)
        answers = idempotency_records.delete_older(now - KEPT_MS)
        await core.store.commit(Unit((expired, answers, keys, forgotten)))
        for number in await core.store.fetch(conversation_copies.left_before((now - COPYING_MS) << 22)):
            await core.store.commit(Unit(conversation_copies.drop(number)))
    for user_id in await core.store.fetch(users.sandboxes_unused_since(now - SANDBOX_MS)):
        if core.placement.mine(user_id):
            try:
                await remove(Call(core, "housekeeping", address=""), user_id, NO_PASSWORD)
            except ServiceError as error:  # others must not wait for this one
                log.warning("the expired user %s was not removed: %s", user_id, error)
