"""Runs the chat engine of an actor, for private chats and zones alike."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from time import perf_counter
from typing import Any, NamedTuple

from msgspec import structs

from actors.engines import dialogue_acts, relevance
from actors.engines.halting import Halt
from actors.engines.message import FoundUtterance, Source
from actors.engines.options import ClientToolCall, Usage
from actors.engines.times import times_of
from actors.engines.turn import (
    Archive,
    Echo,
    Engine,
    Finish,
    LookUp,
    Piece,
    Recalled,
    Reply,
    StreamingEngine,
    Turn,
)
from actors.errors import MessageKept, ServiceError
from actors.slices import Steps, Work, sliced

Outcome = Reply | ServiceError
"""The result of a turn; a failure is a value, because it may have to wait until the message is stored."""

LOOKED_UP = 8
"""The number of older messages that an instant engine gets for a question."""

SHOWN = 24
"""The number of messages from the whole conversation that a streaming engine gets beside the newest."""

log = logging.getLogger("parley.engine")


class Unanswered(NamedTuple):
    """A turn whose answer needs older messages."""

    turn: Turn
    wanted: LookUp
    began: float


class Unfinished(NamedTuple):
    """A turn with the engine's work on it, which needs more slices or older messages."""

    turn: Turn
    work: Work[Reply | LookUp]
    began: float


class EngineRunner:
    """Runs one actor's engine, and the actor's tasks, which `stop` cancels.

    An instant engine answers in the actor's own step; work beyond the first slice is returned and finished in a
    task. A streaming engine is awaited in a task.
    """

    __slots__ = ("_instant", "_streaming", "_tasks", "_times", "_who", "streams")

    def __init__(self, engine: Engine, who: str) -> None:
        """Make a runner of an engine; `who` names the actor in the log."""
        self._instant = None if isinstance(engine, StreamingEngine) else engine
        self._streaming = engine if isinstance(engine, StreamingEngine) else None
        self._who = who
        self._times = times_of(engine)
        self._tasks: set[asyncio.Task[None]] = set()
        self.streams = self._streaming is not None
        """Whether the engine streams; if so only `stream` may be called, else only the other methods."""

    def reply(self, turn: Turn) -> Outcome | Unfinished:
        """Answer a turn with an instant engine; what one slice is not enough for is returned unfinished."""
        assert self._instant is not None
        began = perf_counter()
        work = Work(self._instant.replying(turn))
        try:
            if work.slice() and isinstance(work.result, Reply):
                self._times.observe(perf_counter() - began)
                return work.result
        except Exception as raised:
            self._took(began)
            return engine_error(raised, self._who)
        return Unfinished(turn, work, began)

    def _took(self, began: float) -> None:
        self._times.observe(perf_counter() - began)

    async def finish(self, unfinished: Unfinished) -> Outcome:
        """Do the rest of what `reply` returned, with a search in the archive where the engine needs one."""
        try:
            found = await unfinished.work.rest()
            return found if isinstance(found, Reply) else await self._look_up(unfinished.turn, found)
        except Exception as raised:
            return engine_error(raised, self._who)
        finally:
            self._took(unfinished.began)

    def reply_to_each(self, turns: Iterable[Turn]) -> list[Outcome] | Work[list[Outcome | Unanswered]]:
        """Answer several turns, which share the slices, with an instant engine; return unfinished work as `reply`."""
        work = Work(self._replying_to_each(turns))
        if work.slice():
            outcomes = [outcome for outcome in work.result if not isinstance(outcome, Unanswered)]
            if len(outcomes) == len(work.result):
                return outcomes
        return work

    def _replying_to_each(self, turns: Iterable[Turn]) -> Steps[list[Outcome | Unanswered]]:
        assert self._instant is not None
        outcomes: list[Outcome | Unanswered] = []
        for turn in turns:
            began = perf_counter()
            try:
                reply = yield from self._instant.replying(turn)
                if not isinstance(reply, Reply):
                    outcomes.append(Unanswered(turn, reply, began))
                    continue
                outcomes.append(reply)
            except Exception as raised:
                outcomes.append(engine_error(raised, self._who))
            self._took(began)
        return outcomes

    async def finish_each(self, work: Work[list[Outcome | Unanswered]]) -> list[Outcome]:
        """Do the rest of what `reply_to_each` returned; never fails."""
        outcomes: list[Outcome] = []
        for outcome in await work.rest():
            if isinstance(outcome, Unanswered):
                try:
                    outcomes.append(await self._look_up(outcome.turn, outcome.wanted))
                except Exception as raised:
                    outcomes.append(engine_error(raised, self._who))
                finally:
                    self._took(outcome.began)
            else:
                outcomes.append(outcome)
        return outcomes

    async def _look_up(self, turn: Turn, wanted: LookUp) -> Reply:
        """Answer a turn with the older messages that the engine wants."""
        assert self._instant is not None
        assert turn.archive is not None
        older = await turn.archive.answers(wanted.question, LOOKED_UP)
        seen = {hit.utterance.seq for hit in wanted.found}
        found = [*wanted.found, *(hit for hit in older if hit.utterance.seq not in seen)]
        reply = await sliced(self._instant.replying(structs.replace(turn, archive=None, older=found)))
        assert isinstance(reply, Reply)
        return reply

    async def stream(
        self, turn: Turn, progress: Callable[[str], None] | None, recalled: Callable[[int], None] | None = None
    ) -> Outcome:
        """Answer a turn with a streaming engine, passing the pieces of its text on as they come.

        `recalled` is called with the positions of memories from tools, also for a turn that fails.

        The messages of the whole conversation that match best are looked up first. A turn that is halted has what the
        engine has said so far as its reply.
        """
        assert self._streaming is not None
        began = perf_counter()
        try:
            if turn.archive is not None:
                turn = structs.replace(turn, archive=None, older=await self._best(turn, turn.archive))
            return await collect(self._streaming.stream(turn), progress, turn.halt, recalled)
        except Exception as raised:
            return engine_error(raised, self._who)
        finally:
            self._took(began)

    async def _best(self, turn: Turn, archive: Archive) -> list[FoundUtterance]:
        """Find the messages that match the turn's best; none match a mere courtesy."""
        message = await sliced(dialogue_acts.analysing(turn.message))
        if message.courtesy is not None:
            return []
        question = await sliced(relevance.question_in(message))
        return await archive.best(question, turn.window.last_seq + 1, SHOWN)

    def in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the actor's work in a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def tasks(self) -> int:
        """The number of tasks that are running."""
        return len(self._tasks)

    def stop(self) -> None:
        """Cancel the tasks."""
        for task in self._tasks:
            task.cancel()


async def collect(
    pieces: AsyncIterator[Piece],
    progress: Callable[[str], None] | None,
    halt: Halt | None = None,
    recalled: Callable[[int], None] | None = None,
) -> Reply:
    """Join a streamed reply, passing its texts on as they come, until it ends or is halted."""
    texts: list[str] = []
    sources: list[Source] = []
    echoes: list[int] = []
    positions: list[int] = []
    calls: list[ClientToolCall] = []
    usage: Usage | None = None
    finish: Finish = "stop"
    async for piece in pieces if halt is None else halt.until(pieces):
        if isinstance(piece, str):
            texts.append(piece)
            if progress is not None:
                progress(piece)
        elif isinstance(piece, Echo):
            echoes.append(piece.seq)
        elif isinstance(piece, Recalled):
            positions.append(piece.position)
            if recalled is not None:
                recalled(piece.position)
        elif isinstance(piece, Source):
            sources.append(piece)
        elif isinstance(piece, Usage):
            usage = piece
        elif isinstance(piece, ClientToolCall):
            calls.append(piece)
        else:
            finish = piece.reason
            if halt is not None:
                halt.late = not halt.called
    halted = halt is not None and halt.called
    quoted = tuple(dict.fromkeys(positions))
    return Reply("".join(texts), tuple(sources), tuple(echoes), quoted, usage, tuple(calls), finish, halted)


def engine_error(raised: Exception, who: str) -> ServiceError:
    """Return the error that a client gets when an engine raised; anything but a `ServiceError` is logged."""
    if isinstance(raised, ServiceError):
        return raised
    log.error("the chat engine failed for %s", who, exc_info=raised)
    return MessageKept("The chat engine failed on this message.")
