"""Tasks that survive their client's disconnect, because the steps of a command after its commit must not be lost."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from actors.errors import ServiceError

T = TypeVar("T")

log = logging.getLogger("parley.work")


class BackgroundTasks:
    """Running tasks without a connection; an orderly stop waits for them."""

    def __init__(self) -> None:
        self._under_way: set[object] = set()
        self._waited_for: set[object] = set()

    def __len__(self) -> int:
        return len(self._under_way)

    @property
    def alone(self) -> int:
        """The number of tasks that no request waits for any more."""
        return len(self._under_way) - len(self._waited_for)

    def add(self, work: object) -> None:
        """Make an orderly stop wait for this work until it is discarded; its client has gone."""
        self._under_way.add(work)

    def discard(self, work: object) -> None:
        """Record that this work is done."""
        self._under_way.discard(work)
        self._waited_for.discard(work)

    def leave(self, work: object) -> None:
        """Record that the request no longer waits for this work."""
        self._waited_for.discard(work)

    def abandon(self, task: asyncio.Task[Any]) -> None:
        """Let a task go on without its request; its failure is logged."""
        self.leave(task)
        task.add_done_callback(_tell_fault)

    def go_on(self, task: asyncio.Task[Any]) -> None:
        """Let a task that was part of a request go on alone; its failure is logged."""
        self.add(task)
        task.add_done_callback(self.discard)
        self.abandon(task)

    def begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine in a task of its own; call `leave` if its request ends first."""
        task = asyncio.create_task(work)
        self.add(task)
        self._waited_for.add(task)
        task.add_done_callback(self.discard)
        return task

    async def shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in a task of its own and wait for it; cancelling the wait doesn't cancel the task."""
        task = self.begin(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.abandon(task)
            raise


def _tell_fault(task: asyncio.Task[Any]) -> None:
    """Log a failure if no request waits for it any more."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, ServiceError):
        log.error("a request failed after its client had gone", exc_info=error)
