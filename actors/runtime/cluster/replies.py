"""Both ends of a request between nodes, whatever carries it: the reply as its sender reads it, and carrying it out."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from time import monotonic

from actors.runtime.cluster.parts import Joining
from actors.runtime.cluster.post import Handler, Lost, NotReached, NotServed

log = logging.getLogger("parley.cluster")

LATE = "the other node did not answer in time"
SILENT = "nothing comes from the other node"


class ReplyFrames(AsyncIterator[bytes]):
    """The frames that answer one request, to be read by one reader, in a task or outside of any."""

    __slots__ = ("_ended", "_error", "_frames", "_waiter", "deadline", "joining", "node", "number", "timeout_s")

    def __init__(self, node: str, number: int, timeout_s: float) -> None:
        self.node = node
        self.number = number
        self.timeout_s = timeout_s
        self.deadline = monotonic() + timeout_s
        self.joining: Joining | None = None
        """Joins the messages of its frames, where these are split."""
        self._frames: deque[bytes] = deque()
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    def put(self, frame: bytes) -> None:
        """Add the next frame."""
        if not self._ended:
            self._frames.append(frame)
            self._wake()

    def end(self, error: Exception | None = None) -> None:
        """End it, with an error if there is one; the first end counts, and frames before it are still read."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    async def __anext__(self) -> bytes:
        while not self._frames:
            if self._ended:
                raise self._error or StopAsyncIteration
            self.deadline = monotonic() + self.timeout_s
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._frames.popleft()

    async def only(self) -> bytes:
        """Return the one frame.

        Raises:
            NotReached: the request never began.
            Lost: it may have been carried out; also if the answer has several frames or none.
        """
        frames = [frame async for frame in self]
        if len(frames) != 1:
            raise Lost(f"the answer has {len(frames)} frames, not one")
        return frames[0]


class Replies:
    """The open requests of one node, with one timer for all their deadlines.

    Args:
        probe: sends a node a request that it answers at once, where the post does not notice by itself that nothing
            arrives from a node any more. One that answers nothing for long is silent until it is heard again.
    """

    TICK_S = 0.25
    PROBED_AFTER, SILENT_AFTER = 8, 32
    """Ticks without a sign of a node for which something waits. A pause of this process is one tick, and no silence."""

    def __init__(self, probe: Callable[[str], None] | None = None) -> None:
        self._open: dict[int, ReplyFrames] = {}
        self._last_number = 0
        self._ticking = False
        self._probe = probe
        self._unheard: dict[str, int] = {}  # ticks since a sign of each node for which something waits
        self._silent: set[str] = set()

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, node: str, timeout_s: float) -> ReplyFrames:
        """Note a request to a node, and return its reply, which fails with Lost when a frame is late."""
        self._last_number += 1
        reply = self._open[self._last_number] = ReplyFrames(node, self._last_number, timeout_s)
        if not self._ticking:
            self._ticking = True
            asyncio.get_running_loop().call_later(min(timeout_s, self.TICK_S), self._tick)
        return reply

    def is_silent(self, node: str) -> bool:
        """Return whether a node has not been heard for long; if so it is probed."""
        if node not in self._silent:
            return False
        if self._probe is not None and node not in self._unheard:
            self._unheard[node] = 0
            self._probe(node)
        return True

    def heard(self, node: str) -> None:
        """Note a sign of a node."""
        self._silent.discard(node)
        self._unheard.pop(node, None)

    def get(self, number: int) -> ReplyFrames | None:
        """Return the reply of an open request; None if it has ended."""
        return self._open.get(number)

    def end(self, reply: ReplyFrames, error: Exception | None = None) -> None:
        """End a reply and forget it."""
        self._open.pop(reply.number, None)
        reply.end(error)

    def lose(self, note: str, node: str | None = None) -> None:
        """Fail all that waits for a node with Lost, or all that waits at all; a new request to it is tried."""
        for silent in list(self._silent if node is None else (node,)):
            self.heard(silent)
        self._lose(note, node)

    def _lose(self, note: str, node: str | None) -> None:
        for reply in [reply for reply in self._open.values() if node in (None, reply.node)]:
            self.end(reply, Lost(note))

    def _tick(self) -> None:
        now = monotonic()
        for reply in [reply for reply in self._open.values() if now >= reply.deadline]:
            self.end(reply, Lost(LATE))
        if self._probe is not None:
            self._look_for_silence(self._probe)
        self._ticking = bool(self._open)
        if self._ticking:
            asyncio.get_running_loop().call_later(self.TICK_S, self._tick)

    def _look_for_silence(self, probe: Callable[[str], None]) -> None:
        waited_for = {reply.node for reply in self._open.values()}
        self._unheard = {node: self._unheard.get(node, 0) + 1 for node in waited_for}
        for node, ticks in list(self._unheard.items()):
            if ticks >= self.SILENT_AFTER:
                del self._unheard[node]
                self._silent.add(node)
                self._lose(SILENT, node)
            elif ticks % self.PROBED_AFTER == 0:
                probe(node)


async def carry_out(
    handler: Handler, body: bytes, send: Callable[[bytes], None], end: Callable[[Exception | None], None]
) -> None:
    """Carry out one request: `send` each frame of its answer, then `end` it, with Lost or NotReached if it fails."""
    begun = False
    error: Exception | None = Lost("the other node stopped meanwhile")
    try:
        async for frame in handler(body):
            begun = True
            send(frame)
        error = None
    except NotReached as refused:
        error = Lost(str(refused)) if begun else NotServed(str(refused))
    except Exception:
        log.exception("a request from another node failed")
        error = Lost("the other node failed to answer; the fault is in its log")
    finally:
        end(error)
