"""Ingestion: takes queued documents apart, one after another (product 8).

The queue is the rows: what a crash left to do is done at the next start.
"""

import asyncio
import logging

from actors.core import Core
from actors.document_text import split, text_of
from persistence import documents
from persistence.documents import Waiting
from persistence.store import ROWS, StoreUnavailable, Unit

RETRY_AFTER_S = 3.0
"""How long it waits while the store takes no writes."""

log = logging.getLogger("parley.ingestion")


class _Replaced(Exception):
    """A newer document of its name took the place of the one at hand, or its user is gone."""


async def keep_ingesting(core: Core) -> None:
    """Take documents apart as they come; run it as a task."""
    while True:
        try:
            core.ingestion.clear()  # before the look, so that none that comes after it is missed
            waiting = await core.store.fetch(documents.NEXT)
            if waiting:
                await _ingest(core, waiting[0])
            else:
                await core.ingestion.wait()
        except StoreUnavailable as error:
            log.warning("documents wait, for the store takes no writes: %s", error)
            await asyncio.sleep(RETRY_AFTER_S)


async def _ingest(core: Core, document: Waiting) -> None:
    store = core.store
    await store.commit(Unit((documents.begin(document.id, core.clock()),)))
    try:
        parts = await asyncio.to_thread(_parts_of, document)
    except Exception:
        log.exception("the document %s can't be taken apart", document.id)
        parts = None
    if parts:
        unit = Unit(documents.finish(document.id, parts, core.clock()), refusals={ROWS: _Replaced})
    else:
        why = "the gateway failed on it" if parts is None else "there is no text in it"
        unit = Unit((documents.fail(document.id, why, core.clock()),))
    try:
        await store.commit(unit)
    except _Replaced:
        log.info("the document %s is not there any more", document.id)


def _parts_of(document: Waiting) -> list[str]:
    return split(text_of(document.media_type, document.content))
