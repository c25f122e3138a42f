"""Futures of the event loop, and waits with deadlines."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

import pykka

from actors.errors import InternalError, Overloaded

T = TypeVar("T")

log = logging.getLogger("parley.actors")


class AsyncFuture(pykka.Future[T]):
    """A pykka future of the event loop: `await` it, or add a callback with `then`.

    Resolving it wakes the first task that awaits it, then calls the callbacks at once and in order, in the resolver's
    own step. Where one raises, the others are called all the same, and then the resolver gets the error.
    """

    _get_hook = None  # pykka's lazy hook is not used
    # Class attributes until they are set, because a command makes several futures and most have one caller.
    _done = False
    _value: Any = None
    _error: BaseException | None = None
    _callbacks: "list[Callable[[AsyncFuture[T]], None]] | None" = None
    _waiter: "asyncio.Future[None] | None" = None

    def __init__(self) -> None:
        pass

    def done(self) -> bool:
        """Return whether it has a value or an error."""
        return self._done

    @property
    def error(self) -> BaseException | None:
        """The error it was resolved with, if any."""
        return self._error

    def get(self, *, timeout: float | None = None) -> T:
        """Return the value or raise the error, without waiting.

        Raises:
            pykka.Timeout: it is not resolved; `await` it instead.
        """
        if not self._done:
            raise pykka.Timeout("not resolved yet; await it")
        if self._error is not None:
            raise self._error
        return self._value

    def set(self, value: T | None = None) -> None:
        """Resolve it with a value; a second resolution is ignored, because the first may have been used."""
        if not self._done:
            self._value = value
            self._resolve()

    def fail(self, error: BaseException) -> None:
        """Resolve it with an error."""
        if not self._done:
            self._error = error
            self._resolve()

    def set_exception(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        exc_info: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None]
        | None = None,
    ) -> None:
        """Resolve it with an error, given as pykka gives it."""
        error = (exc_info or sys.exc_info())[1]
        self.fail(error or InternalError("The actor failed; try again."))

    def then(self, callback: "Callable[[AsyncFuture[T]], None]") -> None:
        """Call back when it is resolved, or now if it is."""
        if self._done:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def _resolve(self) -> None:
        self._done = True
        waiter, callbacks = self._waiter, self._callbacks
        if waiter is not None:
            self._waiter = None
            _wake(waiter, self)
        if callbacks is not None:
            self._callbacks = None
            fault: Exception | None = None
            for callback in callbacks:
                try:
                    callback(self)
                except Exception as error:
                    log.exception("a callback failed on the outcome it waited for")
                    fault = fault or error
            if fault is not None:
                raise fault

    def waiter(self) -> "asyncio.Future[None]":
        """Return an asyncio future to await. It is resolved with this one, and may be resolved earlier."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._waiter is None and not self._done:
            self._waiter = waiter
        else:
            self.then(partial(_wake, waiter))
        return waiter

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            yield from self.waiter()
        return self.get()


def _wake(waiter: "asyncio.Future[None]", _: object) -> None:
    if not waiter.done():
        waiter.set_result(None)


LATE = "The gateway did not answer in time; the command may still be carried out, so look before you send it again."


class Deadlines:
    """Waits for futures, each up to a deadline, with one timer for all of them.

    A timer per ask would cost more than the ask. This one checks every `TICK_S` seconds while anything is awaited.
    """

    TICK_S = 0.25

    def __init__(self) -> None:
        self._waiters: dict[asyncio.Future[None], float] = {}
        self._ticking = False

    async def wait(self, future: AsyncFuture[T], deadline: float) -> T:
        """Await a future until `deadline` (of `time.monotonic`), or a tick longer.

        Raises:
            Overloaded: the time is up. The command may still be carried out.
        """
        waiter = future.waiter()
        self._waiters[waiter] = deadline
        self._watch(deadline)
        try:
            await waiter
        finally:
            del self._waiters[waiter]
        if not future.done():
            raise Overloaded(LATE)
        return future.get()

    def _watch(self, deadline: float) -> None:
        if not self._ticking:
            self._ticking = True
            delay = min(max(deadline - monotonic(), 0.0), self.TICK_S)
            asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        now = monotonic()
        for waiter, deadline in self._waiters.items():
            if now >= deadline and not waiter.done():
                waiter.set_result(None)
        self._ticking = bool(self._waiters)
        if self._ticking:
            asyncio.get_running_loop().call_later(self.TICK_S, self._tick)


def forward(done: AsyncFuture[Any], reply_to: AsyncFuture[Any]) -> None:
    """Resolve `reply_to` as `done` was resolved."""
    settle(reply_to, None if done.error else done.get(), done.error)


def settle(reply_to: AsyncFuture[Any], answer: Any, error: BaseException | None) -> None:
    """Resolve `reply_to` with an answer, or with an error where there is one."""
    if error is None:
        reply_to.set(answer)
    else:
        reply_to.fail(error)


_tasks: set[asyncio.Task[None]] = set()


def once_all_done(work: Iterable[Awaitable[None]]) -> AsyncFuture[None]:
    """Run work in a task; the future resolves when all of it has ended, also where some failed, which is logged."""
    future: AsyncFuture[None] = AsyncFuture()
    task = asyncio.get_running_loop().create_task(_all_done(list(work), future))
    _tasks.add(task)  # the loop itself keeps no reference
    task.add_done_callback(_tasks.discard)
    return future


async def _all_done(work: list[Awaitable[None]], future: AsyncFuture[None]) -> None:
    try:
        for ended in await asyncio.gather(*work, return_exceptions=True):
            if ended is not None:
                log.error("work that others waited for failed", exc_info=ended)
    finally:
        future.set(None)
