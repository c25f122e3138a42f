"""Ingestion: splits queued documents into parts, one after another (docs/contract.md, "Gateway routes").

Users take turns, so that nobody waits for all documents of another.
The rows are the queue, so documents that a crash left are split at the next start. Of several nodes each takes those of
its own shards; where two take one, because the shard moved, the unit that comes second is refused.
"""

import asyncio
import logging

from actors.core import Core
from actors.text.documents import split, text_of
from persistence import documents
from persistence.documents import Waiting
from persistence.store import ROWS, StoreUnavailable, Unit

RETRY_AFTER_S = 3.0
"""The pause while the store takes no writes, in seconds."""

LOOK_EVERY_S = 15.0
"""Interval of the search for documents that no wake-up announced."""

log = logging.getLogger("parley.ingestion")


class _Replaced(Exception):
    """A newer document of this name replaced the current one, or its user is gone."""


async def keep_ingesting(core: Core) -> None:
    """Split documents as they arrive; run it as a task."""
    last_user = ""
    while True:
        try:
            shards = None if core.placement.alone else core.placement.shards()
            waiting = await core.store.fetch(documents.next_waiting(shards, last_user))
            if waiting:
                last_user = waiting[0].user_id
                await _ingest(core, waiting[0])
            else:
                await core.ingestion.wait(LOOK_EVERY_S)
        except StoreUnavailable as error:
            log.warning("documents wait because the store takes no writes: %s", error)
            await asyncio.sleep(RETRY_AFTER_S)
        except Exception:  # other documents must not wait for this one forever
            log.exception("the ingestion failed")
            await asyncio.sleep(RETRY_AFTER_S)


async def _ingest(core: Core, document: Waiting) -> None:
    store = core.store
    await store.commit(Unit((documents.begin(document.id, core.clock()),)))
    try:
        parts = await asyncio.to_thread(_parts_of, document)
    except Exception as fault:  # its message may contain the text
        log.error("the document %s can't be taken apart (%s)", document.id, type(fault).__name__)
        parts = None
    if not parts:
        await _fail(core, document, "the gateway failed on it" if parts is None else "there is no text in it")
        return
    try:
        await store.commit(
            Unit(documents.finish(document.id, parts, core.clock()), constraint_errors={ROWS: _Replaced})
        )
    except _Replaced:
        log.info("the document %s is not there any more", document.id)
    except StoreUnavailable:
        if not await store.writable():
            raise
        log.error("the parts of the document %s can't be stored", document.id)
        await _fail(core, document, "the gateway failed on it")


async def _fail(core: Core, document: Waiting, why: str) -> None:
    await core.store.commit(Unit((documents.fail(document.id, why, core.clock()),)))


def _parts_of(document: Waiting) -> list[str]:
    return split(text_of(document.media_type, document.content))
