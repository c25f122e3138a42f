"""How the asynchronous client waits and where its connections belong, under own names for clients/generator."""

import asyncio
import os
from asyncio import sleep as async_sleep
from contextlib import suppress

import httpx2

__all__ = ["AsyncBell", "async_hang_up", "async_home", "async_sleep"]


def async_home() -> object:
    """Return what connections belong to: this process and its running event loop."""
    return os.getpid(), asyncio.get_running_loop()


async def async_hang_up(response: httpx2.Response) -> None:
    """Close the connection of an answer, so that a task that reads it is told at once."""
    await response.aclose()


class AsyncBell:
    """Wakes a task that sleeps."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake it now, and at once whenever it sleeps later."""
        self._event.set()

    async def sleep(self, seconds: float) -> None:
        """Sleep for a time, or until it rings."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
