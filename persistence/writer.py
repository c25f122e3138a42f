"""The one writer: group commit with a savepoint per unit and incarnation fencing (design 2.4 and 3).

All units that wait become one transaction, run as one call on the connection's thread; then every caller is
answered, in order. The bound is the batch, not a timer: an idle writer commits a lone unit at once.
"""

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable

import aiosqlite

from persistence.store import FOREIGN_KEY, ROWS, Fenced, Settled, StoreUnavailable, Unit

MAX_BATCH = 512
"""Units in one transaction at most: bounds how long the first of them waits for the last."""

log = logging.getLogger("parley.writer")

Outcome = Exception | None


class _RowsRefused(Exception):
    """A write touched another number of rows than it named."""


class Writer:
    """Commits units in the order of `submit`, many in one transaction.

    `before_commit` runs in the writer's thread just before each COMMIT; what it raises fails the batch. The
    failure tests inject their faults there.
    """

    def __init__(
        self, connection: aiosqlite.Connection, before_commit: Callable[[], None] | None = None
    ) -> None:
        self._connection = connection
        self._before_commit = before_commit
        self._queue: deque[tuple[Unit, Settled]] = deque()
        self._fenced: set[int] = set()
        self._wake = asyncio.Event()
        self._closing = False
        self._task = asyncio.create_task(self._run(), name="store-writer")
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
        self._wake.set()

    def forget(self, incarnation: int) -> None:
        """Drop the fence of an incarnation that can submit no more."""
        self._fenced.discard(incarnation)

    async def close(self) -> None:
        """Commit all that waits and end the writer's task."""
        self._closing = True
        self._wake.set()
        await self._task

    async def _run(self) -> None:
        queue = self._queue
        while queue or not self._closing:
            if not queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch = [queue.popleft() for _ in range(min(len(queue), MAX_BATCH))]
            try:
                outcomes = await _on_connection_thread(
                    self._connection, self._commit, [unit for unit, _ in batch]
                )
            except Exception as error:  # the connection itself is gone
                outcomes = self._all_failed([unit for unit, _ in batch], error)
            self.batches += 1
            self.units += len(batch)
            for (_, settled), outcome in zip(batch, outcomes, strict=True):
                try:
                    settled(outcome)
                except Exception:
                    log.exception("a unit's caller failed on its outcome")

    # What follows runs in the connection's thread.

    def _commit(self, units: list[Unit]) -> list[Outcome]:
        """Store the units in one transaction and tell each one's outcome."""
        connection = self._connection._conn  # pyright: ignore[reportPrivateUsage]
        try:
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._apply(connection, unit) for unit in units]
            if self._before_commit is not None:
                self._before_commit()
            connection.execute("COMMIT")
        except Exception as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return self._all_failed(units, error)
        return outcomes

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

    def _all_failed(self, units: list[Unit], error: Exception) -> list[Outcome]:
        log.error("a batch of %d units failed: %s", len(units), error)
        for unit in units:
            self._fenced.update(unit.incarnations)
        return [StoreUnavailable(str(error))] * len(units)


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


async def _on_connection_thread(
    connection: aiosqlite.Connection, work: Callable[[list[Unit]], list[Outcome]], units: list[Unit]
) -> list[Outcome]:
    # The only use of aiosqlite's private call (its version is pinned): a batch as one hop to its thread.
    return await connection._execute(work, units)  # pyright: ignore
