"""Runs the gateway's background jobs, so that a fault that nobody foresaw ends none of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

AGAIN_S = 60.0
"""Seconds from an unforeseen fault of a job to its new beginning."""

log = logging.getLogger("parley.jobs")


async def unending(name: str, job: Callable[[], Awaitable[None]], again_s: float = AGAIN_S) -> None:
    """Run a job until it ends by itself; log an exception that it did not expect, and begin it again after a pause."""
    while True:
        try:
            await job()
        except Exception:
            log.exception("the job %r failed; it begins again in %g seconds", name, again_s)
        else:
            return
        await asyncio.sleep(again_s)
