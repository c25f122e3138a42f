"""A gateway that measures each step of its loop, in processor time of the loop's thread.

It runs on asyncio's own loop, where every step (a callback, a task's step, a timer) is one `Handle._run`. Other
threads' work and preemption don't count; garbage collections are counted separately, because any allocation may start
one. A connection to the Unix socket STEPS_SOCKET is answered with the longest steps since the last one, as JSON:
`steps` (milliseconds and what ran, longest first), `collection`, and `pace`: the milliseconds of a fixed piece of work
at this time, or 0 if no step exceeded the limit. A thread's own processor time grows beside busy neighbours, which
share its caches and its core; the fixed work then grows by the same factor.
"""

import asyncio
import gc
import os
import signal
from asyncio.events import Handle
from heapq import nlargest
from time import thread_time
from typing import Any

import orjson

from config.settings import load_settings
from config.tuning import allow_many_connections, tune
from server import Gateway, greet, set_up_logging
from tests.gateways.parts import parts
from tests.support.pace import MARK_MS, pace

SHOWN = 5


class Steps:
    """The longest steps since the last report."""

    def __init__(self) -> None:
        self._longest: list[tuple[float, str]] = []
        self._collection = 0.0
        self._collecting = 0.0  # within the current step
        self._since = 0.0
        self._own = False  # the current step is the measurement itself

    def install(self) -> None:
        """Measure all steps of asyncio's loop from now on."""
        handles: Any = Handle
        run = handles._run

        def measured(handle: Handle) -> None:
            what = handle
            self._collecting = 0.0
            started = thread_time()
            run(handle)
            if self._own:
                self._own = False
            else:
                self._note(thread_time() - started - self._collecting, what)

        handles._run = measured
        gc.callbacks.append(self._collected)

    def _note(self, seconds: float, handle: Handle) -> None:
        if len(self._longest) < SHOWN or seconds > self._longest[-1][0]:
            callback: Any = handle._callback
            task = getattr(callback, "__self__", None)
            what = repr(task if isinstance(task, asyncio.Task) else callback)
            self._longest = nlargest(SHOWN, [*self._longest, (seconds, what)])

    def _collected(self, phase: str, _: object) -> None:
        if phase == "start":
            self._since = thread_time()
            return
        seconds = thread_time() - self._since
        self._collecting += seconds
        self._collection = max(self._collection, seconds)

    def taken(self) -> bytes:
        """Return the longest steps and reset them; the asking step is not included."""
        self._own = True
        steps = [[round(seconds * 1000, 2), what[:300]] for seconds, what in self._longest]
        collection = round(self._collection * 1000, 2)
        self._longest, self._collection = [], 0.0
        exceeded = any(milliseconds > MARK_MS for milliseconds, _ in steps)
        return orjson.dumps({"steps": steps, "collection": collection, "pace": pace() if exceeded else 0.0})


async def main() -> None:
    steps = Steps()

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(steps.taken())
        writer.close()

    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    settings = load_settings(os.environ)
    set_up_logging(settings)
    gateway = Gateway(settings, parts=parts())
    await gateway.start()
    server = await asyncio.start_unix_server(answer, os.environ["STEPS_SOCKET"])
    steps.install()
    print(greet(gateway), flush=True)  # noqa: T201
    await stopping.wait()
    server.close()
    await gateway.stop()


if __name__ == "__main__":
    tune()
    allow_many_connections()
    asyncio.run(main())
