"""The ticker of GET /debug/stream: one sample a second of every node, as long as somebody reads."""

import asyncio
import logging
import resource
from pathlib import Path
from time import monotonic
from typing import Any

import orjson

from actors.core import Core
from actors.runtime.cluster.places import name_of
from actors.wire import iso, json_event
from routes.gateway.all_nodes import Asked, of_all
from routes.gateway.figures import FULLEST, Sample, figures, sample
from routes.http.loop_lag import LoopLag
from routes.http.metrics import RequestMetrics

QUESTION = "sample"
EVERY_S = 1.0

_STATM = Path("/proc/self/statm")
"""Memory of this process in pages, the resident ones second (proc(5))."""

log = logging.getLogger("parley.debug")


class LiveReader:
    """A reader of the stream; it gets the newest event only, however slow it is."""

    def __init__(self, user_id: str, credential_id: str) -> None:
        self.user_id = user_id
        self.credential_id = credential_id
        self.reason = ""
        """Why the stream has ended."""
        self._newest: bytes | None = None
        self._woken = asyncio.Event()

    def put(self, event: bytes) -> None:
        """Replace the event that waits."""
        self._newest = event
        self._woken.set()

    def end(self, reason: str) -> None:
        """End the stream soon; the first reason counts."""
        self.reason = self.reason or reason
        self._woken.set()

    async def next(self) -> bytes | None:
        """Wait for the newest event; None after the end."""
        await self._woken.wait()
        self._woken.clear()
        return None if self.reason else self._newest


class Live:
    """The readers of the stream, and the task that works for them while there are any."""

    def __init__(self, core: Core, requests: RequestMetrics, lag: LoopLag) -> None:
        self._core = core
        self._requests = requests
        self._lag = lag
        self._readers: set[LiveReader] = set()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Return the number of readers."""
        return len(self._readers)

    def add(self, reader: LiveReader) -> None:
        """Add a reader; the first one starts the work."""
        self._readers.add(reader)
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    def discard(self, reader: LiveReader) -> None:
        """Remove a reader; the last one ends the work."""
        self._readers.discard(reader)
        if not self._readers and self._task is not None:
            self._task.cancel()
            self._task = None

    async def here(self, core: Core, _: Asked) -> Sample:
        """Answer the question of another node for a sample of this one."""
        fullest = await core.directory.fullest(FULLEST)
        return sample(core, self._requests, self._lag.look(), memory_bytes(), monotonic(), fullest)

    async def _run(self) -> None:
        try:
            was = await self._samples()
            due = monotonic() + EVERY_S
            while True:
                await asyncio.sleep(due - monotonic())
                now = await self._samples()
                due = max(due + EVERY_S, monotonic())
                event = json_event(orjson.dumps(self._event(was, now)))
                for reader in self._readers:
                    reader.put(event)
                was = now
        except Exception:
            log.exception("the stream of figures failed")
            self._task = None
            for reader in self._readers:
                reader.end("failed")

    async def _samples(self) -> dict[str, Sample | None]:
        """Take a sample of every node, by its id; None for a node that doesn't answer."""
        core = self._core
        if core.cluster is None:
            return {"": await self.here(core, {})}
        return await of_all(core, core.cluster, QUESTION, self.here, {})

    def _event(self, was: dict[str, Sample | None], now: dict[str, Sample | None]) -> dict[str, Any]:
        """Return the figures of all nodes together; of several nodes also those of each."""
        at = iso(self._core.clock())
        if self._core.cluster is None:
            return figures(at, [(old, new) for old, new in [(was[""], now[""])] if old and new])
        named = {
            node: (before, _with_node(node, after))
            for node, after in now.items()
            if after is not None and (before := was.get(node)) is not None
        }
        return figures(at, list(named.values())) | {
            "nodes": [{"node": node, "name": name_of(node), **figures(at, [two])} for node, two in named.items()],
            "unreachable": [node for node, after in now.items() if after is None],
        }


def _with_node(node: str, taken: Sample) -> Sample:
    return {**taken, "mailboxes": [{"node": node, **mailbox} for mailbox in taken["mailboxes"]]}


def memory_bytes() -> int:
    """Return the resident memory of this process, as process_resident_memory_bytes of the metrics."""
    try:
        return int(_STATM.read_bytes().split()[1]) * resource.getpagesize()
    except OSError:  # not Linux: the most so far, in KiB
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
