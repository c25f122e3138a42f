"""Waiting for the next change of the map of owners, in place of trying again at fixed times."""

import asyncio
from collections.abc import Callable
from typing import Any


class MapChanges:
    """The changes of a map whose owner calls the functions in `on_change` with each new one."""

    def __init__(self, on_change: list[Callable[[Any], None]]) -> None:
        self._waiting: set[asyncio.Future[None]] = set()
        on_change.append(self._changed)

    async def next(self, timeout_s: float) -> None:
        """Wait for the next change, for up to `timeout_s` seconds; it needs no task."""
        loop = asyncio.get_running_loop()
        changed: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(timeout_s, _wake, changed)
        self._waiting.add(changed)
        try:
            await changed
        finally:
            timer.cancel()
            self._waiting.discard(changed)

    def _changed(self, _: object) -> None:
        for waiting in self._waiting:
            _wake(waiting)


def _wake(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)
