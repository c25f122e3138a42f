"""The one writer: group commit with a savepoint per unit, and fencing of incarnations.

All waiting units become one transaction, run as one call on the connection's thread; then every caller is
answered, in order. The bound is the batch, not a timer, so an idle writer commits a lone unit at once.

Its cost under load is not SQL but the interpreter lock, which each call into SQLite releases and must wait to take
again. So a batch is first tried with one statement per kind of write, prepared on the event loop's thread, and split
into a savepoint per unit only if that fails or is impossible (docs/decisions, "writer few calls into SQLite").
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from time import monotonic
from typing import TypeVar

import aiosqlite

from persistence.batches import (
    MAX_BATCH,
    Outcome,
    Rows,
    RowsRefused,
    Step,
    answer,
    in_rows,
    one_by_one,
    planned,
    refusal,
)
from persistence.dialect import SQLITE, many_in_sqlite
from persistence.histogram import SIZES, Histogram
from persistence.sqlite.connection_thread import on_thread_of
from persistence.sqlite.own_files import OwnFiles
from persistence.store import (
    FOREIGN_KEY,
    ROWS,
    Fenced,
    InDoubt,
    Params,
    Settled,
    StoreUnavailable,
    Unit,
    Write,
    not_null,
)

MAX_ROWS = 128
"""The most rows that one statement stores; SQLite prepares, and keeps, one for each number of rows."""

EARLY = 24
"""Number of waiting units that starts a batch within a loop step, so that the disk works while the step goes on."""

FILES_LOST = "a file of the database was deleted, moved or replaced"

log = logging.getLogger("parley.writer")

T = TypeVar("T")

Waiting = tuple[Unit, Settled, float]
"""A unit that waits, with who is told of its outcome, and the time of its submission (`monotonic`)."""


class _TakeApart(Exception):
    """A statement for many units failed, so each must be stored by itself."""


class Writer:
    """Commits units in the order of `submit`, many in one transaction.

    `before_commit` runs in the writer's thread just before each COMMIT; an exception from it fails the batch. Tests of
    failures inject their faults there.

    Attributes:
        over: why this gateway may store no more, or None.
    """

    def __init__(
        self, connection: aiosqlite.Connection, own_files: OwnFiles, before_commit: Callable[[], None] | None = None
    ) -> None:
        self._connection = connection
        self._own_files = own_files
        self._before_commit = before_commit
        self._queue: deque[Waiting] = deque()
        self._fenced: set[int] = set()
        self._at_work = False
        self._scheduled = False
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.over: str | None = None
        self.batches = 0
        self.units = 0
        self.commit_s = Histogram()
        self.batch_units = Histogram(SIZES)

    @property
    def depth(self) -> int:
        """The number of units that wait for a commit."""
        return len(self._queue)

    @property
    def oldest_s(self) -> float:
        """The seconds that the oldest unit has waited; 0 if none waits."""
        return monotonic() - self._queue[0][2] if self._queue else 0.0

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit; `settled` is called on the event loop when its batch has ended."""
        if self._closing or self.over is not None:
            settled(StoreUnavailable(self.over or "the store is closed"))
            return
        self._queue.append((unit, settled, monotonic()))
        if not self._at_work:
            self._wake()

    def forget(self, incarnation: int) -> None:
        """Drop the fence of an incarnation that can submit no more."""
        self._fenced.discard(incarnation)

    def run(self, work: Callable[[sqlite3.Connection], T]) -> "asyncio.Future[T]":
        """Run work in the connection's thread, between two batches; it leaves no transaction open."""
        return on_thread_of(self._connection, work)

    async def close(self) -> None:
        """Commit all waiting units and take no more."""
        self._closing = True
        await self._idle.wait()

    def _wake(self) -> None:
        """Start a batch now if enough units wait, else at the end of this loop step, when more may wait."""
        if len(self._queue) >= EARLY:
            self._start_batch()
        elif not self._scheduled:
            self._scheduled = True
            self._idle.clear()
            asyncio.get_running_loop().call_soon(self._step_ended)

    def _step_ended(self) -> None:
        self._scheduled = False
        if self._queue and not self._at_work:
            self._start_batch()

    def _start_batch(self) -> None:
        """Send the waiting units to the connection's thread."""
        self._at_work = True
        self._idle.clear()
        queue = self._queue
        batch = [queue.popleft() for _ in range(min(len(queue), MAX_BATCH))]
        units = [unit for unit, _, _ in batch]
        steps = one_by_one(units) if self._fenced else planned(units, in_rows)
        future = on_thread_of(self._connection, partial(self._commit, steps=steps))
        future.add_done_callback(partial(self._ended, batch, monotonic()))

    def _ended(self, batch: list[Waiting], began: float, future: "asyncio.Future[list[Outcome]]") -> None:
        """Answer the callers of a batch, after starting the next one."""
        outcomes = future.result()
        lost = self._own_files.lost()  # after the commit: one that was answered is in the files that a restart finds
        if lost is not None:
            batch, outcomes = self._end(lost, batch, outcomes)
        self.batches += 1
        self.units += len(batch)
        self.commit_s.observe(monotonic() - began)
        self.batch_units.observe(len(batch))
        self._at_work = False
        if self._queue:
            self._wake()
        answer([settled for _, settled, _ in batch], outcomes)
        if not self._at_work and not self._queue:
            self._idle.set()

    def _end(self, lost: str, batch: list[Waiting], outcomes: list[Outcome]) -> tuple[list[Waiting], list[Outcome]]:
        """Refuse everything from now on; return all who wait, and what they are told."""
        log.critical(
            "%s is not the file that this gateway has opened: it was deleted, moved or replaced. This gateway stores"
            ' nothing any more: docs/operations.md, "Data", tells how to save what it has, and how to go on',
            lost,
        )
        self.over = FILES_LOST
        later, self._queue = list(self._queue), deque[Waiting]()
        in_doubt = [InDoubt(FILES_LOST) if outcome is None else outcome for outcome in outcomes]
        return batch + later, in_doubt + [StoreUnavailable(FILES_LOST)] * len(later)

    # The methods below run in the connection's thread.

    def _commit(self, connection: sqlite3.Connection, steps: list[Step[Rows]]) -> list[Outcome]:
        """Store a batch in one transaction, and return each unit's outcome."""
        units = [unit for step in steps for unit in step.units]
        try:
            try:
                return self._transact(connection, steps)
            except _TakeApart:
                return self._transact(connection, one_by_one(units))
        except Exception as error:
            log.error("a batch of %d units failed: %s", len(units), error)
            for unit in units:
                self._fenced.update(unit.incarnations)
            return [StoreUnavailable(str(error))] * len(units)

    def _transact(self, connection: sqlite3.Connection, steps: list[Step[Rows]]) -> list[Outcome]:
        units, statements = steps[0]
        if len(steps) == 1 and len(statements) == 1 and len(statements[0][1]) <= MAX_ROWS:
            if self._before_commit is not None:
                self._before_commit()
            _run_for_many(connection, *statements[0])  # a transaction by itself
            return [None] * len(units)
        alone = len(steps) == len(units) == 1
        if alone and not self._fenced and self._before_commit is None and _is_one_statement(units[0]):
            return [self._run_alone(connection, units[0])]
        outcomes: list[Outcome] = []
        connection.execute("BEGIN IMMEDIATE")
        try:
            for units, statements in steps:
                if self._fenced or not statements:  # an earlier step may have failed for the same incarnation
                    outcomes += [self._apply(connection, unit) for unit in units]
                    continue
                for statement in statements:
                    _run_for_many(connection, *statement)
                outcomes += [None] * len(units)
            if self._before_commit is not None:
                self._before_commit()
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return outcomes

    def _run_alone(self, connection: sqlite3.Connection, unit: Unit) -> Outcome:
        """Store a lone unit of one statement, which is a transaction by itself: one call instead of three."""
        (write,) = unit.writes
        try:
            connection.execute(SQLITE.text(write.sql), write.params)
        except sqlite3.IntegrityError as error:
            return self._refused(unit, error)
        return None

    def _apply(self, connection: sqlite3.Connection, unit: Unit) -> Outcome:
        if self._fenced and not self._fenced.isdisjoint(unit.incarnations):
            self._fenced.update(unit.incarnations)  # its other incarnations also have state that is not stored
            return Fenced("an earlier write of this actor failed")
        # SQLite undoes a failed statement by itself, so only a unit of several needs a savepoint.
        grouped = len(unit.writes) > 1 or unit.then is not None
        if grouped:
            connection.execute("SAVEPOINT unit")
        try:
            touched = _run_all(connection, unit.writes)
            if unit.then is not None:
                _run_all(connection, unit.then(touched))
        except Exception as error:
            if not connection.in_transaction:  # SQLite rolled back the whole transaction, so the batch fails
                raise
            if grouped:
                connection.execute("ROLLBACK TO unit")
                connection.execute("RELEASE unit")
            return self._refused(unit, error)
        if grouped:
            connection.execute("RELEASE unit")
        return None

    def _refused(self, unit: Unit, error: Exception) -> Outcome:
        expected = refusal(unit, _refusal_key(error))
        if expected is not None:
            return expected
        log.error("a unit failed: %s", error)
        self._fenced.update(unit.incarnations)
        return StoreUnavailable(str(error))


def _is_one_statement(unit: Unit) -> bool:
    """Return whether a unit is stored by one statement whose effect need not be looked at before the commit."""
    return len(unit.writes) == 1 and unit.writes[0].rows is None and unit.then is None


def _run_all(connection: sqlite3.Connection, writes: Sequence[Write]) -> int:
    """Run writes one after another; return the number of rows that the last one touched.

    Raises:
        RowsRefused: one touched another number of rows than it named.
    """
    touched = 0
    for write in writes:
        touched = connection.execute(SQLITE.text(write.sql), write.params).rowcount
        if write.rows is not None and touched != write.rows:
            raise RowsRefused(write, touched)
    return touched


def _run_for_many(connection: sqlite3.Connection, sql: str, rows: list[Params]) -> None:
    """Run a statement for many writes, up to MAX_ROWS at once.

    Raises:
        _TakeApart: a row was refused.
    """
    try:
        for start in range(0, len(rows), MAX_ROWS):
            some = rows[start : start + MAX_ROWS]
            # unlike execute, it doesn't wait once more for a row id
            connection.executemany(many_in_sqlite(sql, len(some)), [tuple(chain.from_iterable(some))])
    except Exception as error:
        raise _TakeApart from error


def _refusal_key(error: Exception) -> str:
    """Name the constraint that refused, or "" if unknown.

    That is `table.column` of a unique index, `not_null` of a column, `FOREIGN_KEY` or `ROWS`.
    """
    if isinstance(error, RowsRefused):
        return ROWS
    if isinstance(error, sqlite3.IntegrityError):
        text = str(error)
        if text.startswith("UNIQUE constraint failed: "):
            return text.removeprefix("UNIQUE constraint failed: ").split(",", maxsplit=1)[0]
        if text.startswith("NOT NULL constraint failed: "):
            return not_null(text.removeprefix("NOT NULL constraint failed: "))
        if text.startswith("FOREIGN KEY"):
            return FOREIGN_KEY
    return ""
