"""The one writer: group commit with a savepoint per unit and incarnation fencing (design 2.4 and 3).

All units that wait become one transaction, run as one call on the connection's thread; then every caller is
answered, in order. The bound is the batch, not a timer: an idle writer commits a lone unit at once.

What it costs under load is not SQL but the interpreter lock: each call into SQLite lets go of it and must wait to
have it back. So a batch is first tried with one statement per kind of write, and taken apart into a savepoint per
unit only where that fails or can't be (docs/decisions.md).
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby

import aiosqlite
import orjson

from persistence.store import FOREIGN_KEY, ROWS, Fenced, Params, Settled, StoreUnavailable, Unit

MAX_BATCH = 512
"""Units in one transaction at most: bounds how long the first of them waits for the last."""

EARLY = 16
"""Units that start a batch in the middle of a loop step, so that the disk works while the rest of the step runs."""

log = logging.getLogger("parley.writer")

Outcome = Exception | None
Submitted = tuple[Unit, Settled]


class _RowsRefused(Exception):
    """A write touched another number of rows than it named."""


class Writer:
    """Commits units in the order of `submit`, many in one transaction.

    `before_commit` runs in the writer's thread just before each COMMIT; what it raises fails the batch. The
    failure tests inject their faults there.
    """

    def __init__(self, connection: aiosqlite.Connection, before_commit: Callable[[], None] | None = None) -> None:
        self._connection = connection
        self._before_commit = before_commit
        self._loop = asyncio.get_running_loop()
        self._queue: deque[Submitted] = deque()
        self._fenced: set[int] = set()
        self._scheduled = False
        self._at_work = False
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.batches = 0
        self.units = 0

    @property
    def depth(self) -> int:
        """Units that wait for a commit."""
        return len(self._queue)

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit; `settled` is called on the event loop when its batch has ended."""
        if self._closing:
            settled(StoreUnavailable("the store is closed"))
            return
        self._queue.append((unit, settled))
        if self._at_work:
            return
        if len(self._queue) >= EARLY:
            self._start_batch()
        elif not self._scheduled:
            self._scheduled = True
            self._idle.clear()
            self._loop.call_soon(self._start_batch)

    def forget(self, incarnation: int) -> None:
        """Drop the fence of an incarnation that can submit no more."""
        self._fenced.discard(incarnation)

    async def close(self) -> None:
        """Commit all that waits and take no more."""
        self._closing = True
        await self._idle.wait()

    def _start_batch(self) -> None:
        """Hand all that waits to the connection's thread, unless a batch is there already."""
        self._scheduled = False
        queue = self._queue
        if self._at_work or not queue:
            return
        self._at_work = True
        self._idle.clear()
        if len(queue) <= MAX_BATCH:
            batch = list(queue)
            queue.clear()
        else:
            batch = [queue.popleft() for _ in range(MAX_BATCH)]
        future = _on_connection_thread(self._connection, partial(self._commit, [unit for unit, _ in batch]), self._loop)
        future.add_done_callback(partial(self._ended, batch))

    def _ended(self, batch: list[Submitted], future: asyncio.Future[list[Outcome]]) -> None:
        """Answer the callers of a batch, once the next one is on its way."""
        error = future.exception()
        units = [unit for unit, _ in batch]
        outcomes = future.result() if error is None else self._all_failed(units, error)
        self.batches += 1
        self.units += len(batch)
        self._at_work = False
        self._start_batch()
        for (_, settled), outcome in zip(batch, outcomes, strict=True):
            try:
                settled(outcome)
            except Exception:
                log.exception("a unit's caller failed on its outcome")
        if not self._at_work and not self._queue:
            self._idle.set()

    # What follows runs in the connection's thread.

    def _commit(self, units: list[Unit]) -> list[Outcome]:
        """Store the units in one transaction and tell each one's outcome."""
        connection = self._connection._conn  # pyright: ignore[reportPrivateUsage]
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes: list[Outcome] = []
            for run in _runs(units):
                if self._apply_together(connection, run):
                    outcomes += [None] * len(run)
                else:
                    outcomes += [self._apply(connection, unit) for unit in run]
            if self._before_commit is not None:
                self._before_commit()
            connection.execute("COMMIT")
        except Exception as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return self._all_failed(units, error)
        return outcomes

    def _apply_together(self, connection: sqlite3.Connection, run: list[Unit]) -> bool:
        """Store a run of units of one shape with one statement per kind of write; False where that can't be.

        Each call into SQLite lets go of the interpreter lock and waits to have it back, which under load costs more
        than the statement. Whatever goes wrong is undone, and the units are then stored one by one.
        """
        if len(run) == 1 or any(not self._fenced.isdisjoint(unit.incarnations) for unit in run):
            return False
        params: dict[str, list[Params]] = {}
        for unit in run:
            for write in unit.writes:
                assert write.many is not None
                params.setdefault(write.many, []).append(write.params)
        connection.execute("SAVEPOINT run")
        try:
            for sql, rows in params.items():
                connection.execute(sql, (orjson.dumps(rows).decode(),))
        except Exception:
            if not connection.in_transaction:
                raise
            connection.execute("ROLLBACK TO run")
            connection.execute("RELEASE run")
            return False
        connection.execute("RELEASE run")
        return True

    def _apply(self, connection: sqlite3.Connection, unit: Unit) -> Outcome:
        if self._fenced and not self._fenced.isdisjoint(unit.incarnations):
            return Fenced("an earlier write of this actor failed")
        # SQLite undoes a failed statement by itself, so only a unit of several needs a savepoint.
        grouped = len(unit.writes) > 1
        if grouped:
            connection.execute("SAVEPOINT unit")
        try:
            for write in unit.writes:
                cursor = connection.execute(write.sql, write.params)
                if write.rows is not None and cursor.rowcount != write.rows:
                    raise _RowsRefused
        except Exception as error:
            if not connection.in_transaction:  # SQLite gave up the whole transaction: so does the batch
                raise
            if grouped:
                connection.execute("ROLLBACK TO unit")
                connection.execute("RELEASE unit")
            return self._refused(unit, error)
        if grouped:
            connection.execute("RELEASE unit")
        return None

    def _refused(self, unit: Unit, error: Exception) -> Outcome:
        make = unit.refusals.get(_refusal_key(error))
        if make is not None:
            return make()
        log.error("a unit failed: %s", error)
        self._fenced.update(unit.incarnations)
        return StoreUnavailable(str(error))

    def _all_failed(self, units: list[Unit], error: BaseException) -> list[Outcome]:
        log.error("a batch of %d units failed: %s", len(units), error)
        for unit in units:
            self._fenced.update(unit.incarnations)
        return [StoreUnavailable(str(error))] * len(units)


def _runs(units: list[Unit]) -> Iterator[list[Unit]]:
    """Split a batch, in order, into runs of units of one shape that can be stored together, and the single others."""
    for shape, run in groupby(units, key=_shape):
        if shape is None:
            yield from ([unit] for unit in run)
        else:
            yield list(run)


def _shape(unit: Unit) -> tuple[str | None, ...] | None:
    """Name what a unit writes, or None where some of it can only be stored alone."""
    shape = tuple(write.many for write in unit.writes)
    return None if None in shape or unit.refusals else shape


def _refusal_key(error: Exception) -> str:
    """Name the constraint that refused: `table.column`, `FOREIGN_KEY`, `ROWS`, or nothing known."""
    if isinstance(error, _RowsRefused):
        return ROWS
    if isinstance(error, sqlite3.IntegrityError):
        text = str(error)
        if text.startswith("UNIQUE constraint failed: "):
            return text.removeprefix("UNIQUE constraint failed: ").split(",", maxsplit=1)[0]
        if text.startswith("FOREIGN KEY"):
            return FOREIGN_KEY
    return ""


def _on_connection_thread(
    connection: aiosqlite.Connection, work: Callable[[], list[Outcome]], loop: asyncio.AbstractEventLoop
) -> asyncio.Future[list[Outcome]]:
    # The only use of aiosqlite's private queue (its version is pinned): a batch as one hop to its thread, begun
    # within this step of the loop, where its coroutine would begin in the next.
    future: asyncio.Future[list[Outcome]] = loop.create_future()
    connection._tx.put_nowait((future, work))  # pyright: ignore
    return future
