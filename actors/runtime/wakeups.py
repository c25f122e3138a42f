"""Wake-ups of jobs that poll the store; the rows decide, and a wake-up only shortens the wait."""

import asyncio
from contextlib import suppress
from typing import Protocol


class Wakeup(Protocol):
    """Wakes a job, wherever it runs."""

    def wake(self) -> None:
        """Announce that there is work."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Wait for a wake-up since the last wait, or for up to `timeout_s` seconds."""
        ...


class LocalWakeup:
    """A `Wakeup` within this process."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Announce that there is work."""
        self._woken.set()

    async def wait(self, timeout_s: float) -> None:
        """Wait for a wake-up; see `Wakeup.wait`."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), timeout_s)
        self._woken.clear()
