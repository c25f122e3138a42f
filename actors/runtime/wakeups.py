"""Wake-ups of jobs that look into the store: the rows are the truth, a wake-up only shortens the wait."""

import asyncio
from contextlib import suppress
from typing import Protocol


class Wakeup(Protocol):
    """Wakes a job, wherever it runs."""

    def wake(self) -> None:
        """Say that there is something to do."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Wait until somebody says so, or for `timeout_s` seconds; what was said since the last wait counts."""
        ...


class LocalWakeup:
    """A `Wakeup` within this process."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Say that there is something to do."""
        self._woken.set()

    async def wait(self, timeout_s: float) -> None:
        """Wait until somebody says so; see `Wakeup.wait`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout_s)
        self._woken.clear()
