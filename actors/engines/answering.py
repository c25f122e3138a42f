"""Runs the chat engine of an actor, for private chats and zones alike."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any

from actors.engines.message import Source
from actors.engines.turn import Echo, Engine, Piece, Recalled, Reply, StreamingEngine, Turn
from actors.errors import EngineFailed, ServiceError
from actors.slices import Steps, Work

Outcome = Reply | ServiceError
"""The result of a turn; a failure is a value, because it may have to wait until the message is stored."""

log = logging.getLogger("parley.engine")


class EngineRunner:
    """Runs one actor's engine, and the actor's tasks, which `stop` cancels.

    An instant engine answers in the actor's own step; work beyond the first slice is returned and finished in a
    task. A streaming engine is awaited in a task.
    """

    __slots__ = ("_instant", "_streaming", "_tasks", "_who", "streams")

    def __init__(self, engine: Engine, who: str) -> None:
        """Make a runner of an engine; `who` names the actor in the log."""
        self._instant = None if isinstance(engine, StreamingEngine) else engine
        self._streaming = engine if isinstance(engine, StreamingEngine) else None
        self._who = who
        self._tasks: set[asyncio.Task[None]] = set()
        self.streams = self._streaming is not None
        """Whether the engine streams; if so only `stream` may be called, else only the other methods."""

    def reply(self, turn: Turn) -> Outcome | Work[Reply]:
        """Answer a turn with an instant engine; return unfinished work if one slice is not enough."""
        assert self._instant is not None
        work = Work(self._instant.replying(turn))
        try:
            return work.result if work.slice() else work
        except Exception as raised:
            return engine_error(raised, self._who)

    async def finish(self, work: Work[Reply]) -> Outcome:
        """Do the rest of the work that `reply` returned."""
        try:
            return await work.rest()
        except Exception as raised:
            return engine_error(raised, self._who)

    def reply_to_each(self, turns: Iterable[Turn]) -> Work[list[Outcome]]:
        """Prepare the answers of an instant engine to several turns, which share the slices; the work never fails."""
        return Work(self._replying_to_each(turns))

    def _replying_to_each(self, turns: Iterable[Turn]) -> Steps[list[Outcome]]:
        assert self._instant is not None
        outcomes: list[Outcome] = []
        for turn in turns:
            try:
                outcomes.append((yield from self._instant.replying(turn)))
            except Exception as raised:
                outcomes.append(engine_error(raised, self._who))
        return outcomes

    async def stream(self, turn: Turn, progress: Callable[[str], None] | None) -> Outcome:
        """Answer a turn with a streaming engine, passing the pieces of its text on as they come."""
        assert self._streaming is not None
        try:
            return await collect(self._streaming.stream(turn), progress)
        except Exception as raised:
            return engine_error(raised, self._who)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the actor's work in a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def tasks(self) -> int:
        """The number of tasks that are running."""
        return len(self._tasks)

    def stop(self) -> None:
        """Cancel the tasks."""
        for task in self._tasks:
            task.cancel()


async def collect(pieces: AsyncIterator[Piece], progress: Callable[[str], None] | None) -> Reply:
    """Join a streamed reply, passing its texts on as they come."""
    texts: list[str] = []
    sources: list[Source] = []
    echoes: list[int] = []
    positions: list[int] = []
    async for piece in pieces:
        if isinstance(piece, str):
            texts.append(piece)
            if progress is not None:
                progress(piece)
        elif isinstance(piece, Echo):
            echoes.append(piece.seq)
        elif isinstance(piece, Recalled):
            positions.append(piece.position)
        else:
            sources.append(piece)
    return Reply("".join(texts), tuple(sources), tuple(echoes), tuple(dict.fromkeys(positions)))


def engine_error(raised: Exception, who: str) -> ServiceError:
    """Return the error that a client gets when an engine raised; anything but a `ServiceError` is logged."""
    if isinstance(raised, ServiceError):
        return raised
    log.error("the chat engine failed for %s", who, exc_info=raised)
    return EngineFailed(
        "The chat engine failed on this message, which is kept; send it again with its Idempotency-Key to go on."
    )
