"""The `Store` on SQLite: one file, one writer and a few readers."""

import asyncio
import fcntl
import itertools
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any, Self, TypeVar

import aiosqlite

from persistence.batches import committed
from persistence.dialect import SQLITE
from persistence.sqlite.beside import beside
from persistence.sqlite.connection_thread import on_thread_of
from persistence.sqlite.migrate import is_another_programs, migrate
from persistence.sqlite.own_files import OwnFiles
from persistence.sqlite.unusable import ANOTHER, unusable_database, unusable_file
from persistence.sqlite.unused_space import UnusedSpace
from persistence.sqlite.writer import Writer
from persistence.store import (
    Params,
    Query,
    Reads,
    Settled,
    StoreError,
    StoreLocked,
    StoreStats,
    StoreUnavailable,
    Unit,
    Write,
)

T = TypeVar("T")

READERS = 2
CHECK = "UPDATE health SET checks = checks + 1"
"""A harmless change, to test whether a commit succeeds."""

CHECKED: Query[Params] = Query("SELECT checks, (SELECT count(*) FROM sqlite_schema) FROM health", (), tuple)
"""Reads the change, which is in the log, and the schema, which is in the file unless a start has just made it."""

FORGET_DELETED_TERMS = Write(
    "INSERT INTO memory_terms (memory_terms) SELECT 'optimize'"
    " WHERE EXISTS (SELECT 1 FROM memory_terms_data WHERE id > 10)",
    (),
)
"""Rewrites the full-text index of 0.2.0, which keeps the terms of deleted rows until then; 1 and 10 are no terms."""

_PAGES_AT_ONCE = 200

log = logging.getLogger("parley.store")


class SqliteStore:
    """A `Store` in one SQLite file, in WAL mode with `synchronous=FULL`: a commit that returned is on disk.

    Use `await SqliteStore.open(path)`; it creates the file and its folder if absent.
    """

    def __init__(self, path: Path, lock: IO[bytes], writer: Writer, connections: list[aiosqlite.Connection]) -> None:
        self._path = path
        self._lock = lock
        self._writer = writer
        self._unused_space = UnusedSpace(path)
        self._connections = connections  # the writer's first, then the readers
        self._readers: Iterator[aiosqlite.Connection] = itertools.cycle(connections[1:])

    @classmethod
    async def open(cls, path: Path, *, before_commit: Callable[[], None] | None = None) -> Self:
        """Open the database, bring its schema up to date and start the writer.

        Raises:
            StoreLocked: another process has it open.
            StoreTooNew: a newer version of the code wrote it.
            StoreError: it is another program's, or its files can't be used; the message has reason and remedy.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(unusable_file(path.parent, error)) from error
        lock = lock_file(path)
        connections: list[aiosqlite.Connection] = []
        try:
            # aiosqlite's thread outlives the loop if connecting fails, so connecting is tried first
            await asyncio.to_thread(lambda: sqlite3.connect(path).close())
            for _ in range(1 + READERS):
                connection = aiosqlite.connect(path, isolation_level=None, cached_statements=512)
                connections.append(await connection)
                if len(connections) == 1 and await on_thread_of(connection, is_another_programs):
                    raise StoreError(f"{path} is another program's database: {ANOTHER}.")
                await _set_up(connection)
                if len(connections) == 1:
                    await migrate(connection)
                    await connection.execute(CHECK)  # SQLite opens a read-only file without an error
                else:
                    await connection.execute("PRAGMA query_only = ON")
        except BaseException as error:
            # aiosqlite's threads keep the process alive until they are closed
            for connection in connections:
                await connection.close()
            lock.close()
            if isinstance(error, sqlite3.Error):
                raise StoreError(unusable_database(path, error)) from error
            raise
        own_files = OwnFiles(beside(path, ending) for ending in ("", "-wal", ".lock"))
        return cls(path, lock, Writer(connections[0], own_files, before_commit), connections)

    @property
    def description(self) -> str:
        """Name the file and its mode."""
        return f"sqlite {self._path}"

    @property
    def has_index_of_0_2_0(self) -> bool:
        """Always: the file may be from that time."""
        return True

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit for the next commit; see `Store.submit`."""
        self._writer.submit(unit, settled)

    async def commit(self, unit: Unit) -> None:
        """Submit a unit and wait until it is durable; see `Store.commit`."""
        await committed(self._writer.submit, unit)

    async def fetch(self, query: Query[T]) -> list[T]:
        """Run a read on one of the readers; see `Store.fetch`."""
        try:
            rows = await next(self._readers).execute_fetchall(SQLITE.text(query.sql), query.params)
        except (sqlite3.Error, ValueError) as error:
            log.error("a read failed: %s", error)
            raise StoreUnavailable(str(error)) from error
        return [query.build(tuple(row)) for row in rows]

    async def read(self, reads: Reads[T]) -> T:
        """Run reads in one transaction, as one trip to one of the readers; see `Store.read`."""
        try:
            running = on_thread_of(next(self._readers), partial(_read, reads=reads))
        except ValueError as error:
            raise StoreUnavailable(str(error)) from error
        try:
            return await running
        except StoreUnavailable as error:
            log.error("a read failed: %s", error)
            raise

    def forget(self, incarnation: int) -> None:
        """Drop the fence of a stopped incarnation; see `Store.forget`."""
        self._writer.forget(incarnation)

    def stats(self) -> StoreStats:
        """Report the counts of the writer; see `Store.stats`."""
        writer = self._writer
        return StoreStats(
            writer.depth, writer.units, writer.batches, writer.oldest_s, writer.commit_s, writer.batch_units
        )

    @property
    def trouble(self) -> str | None:
        """Why no change is stored any more, or None; of what may pass each change finds out by itself."""
        return self._writer.over

    async def writable(self) -> bool:
        """Commit a row for this purpose, and return whether that succeeded and a reader finds it."""
        try:
            await self.commit(Unit((Write(CHECK, ()),)))
            await self.fetch(CHECKED)  # the writer may have all that it needs in memory
        except StoreUnavailable:
            return False
        return True

    async def erase_deleted(self) -> bool:
        """Fold the WAL into the file and cut it to nothing, and clear the unused space of pages; see `Store`.

        Return False while a reader uses the WAL. Each delete overwrites the row in its own page.
        """
        await self.commit(Unit((FORGET_DELETED_TERMS,)))
        clear = self._unused_space.clear
        try:
            if not await self._writer.run(partial(clear, pages=())):  # so that all deletions are in the file
                return False
            found = await asyncio.to_thread(self._unused_space.find)
            for start in range(0, len(found), _PAGES_AT_ONCE):
                if not await self._writer.run(partial(clear, pages=found[start : start + _PAGES_AT_ONCE])):
                    return False
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(str(error)) from error
        return True

    async def close(self) -> None:
        """Commit the waiting units and close every connection; the last one folds the WAL into the file."""
        await self._writer.close()
        for connection in reversed(self._connections):
            await connection.close()
        self._unused_space.close()
        self._lock.close()


def _read(connection: sqlite3.Connection, reads: Reads[T]) -> T:
    """Run reads in one transaction, in the thread of a reader."""
    try:
        _execute(connection, "BEGIN")
        query = next(reads)
        while True:
            rows = _execute(connection, query.sql, query.params)
            query = reads.send([query.build(row) for row in rows])
    except StopIteration as end:
        return end.value
    finally:
        reads.close()
        if connection.in_transaction:
            connection.execute("COMMIT")


def _execute(connection: sqlite3.Connection, sql: str, params: Params | Mapping[str, Any] = ()) -> list[Any]:
    try:
        return connection.execute(SQLITE.text(sql), params).fetchall()
    except (sqlite3.Error, ValueError) as error:
        raise StoreUnavailable(str(error)) from error


async def _set_up(connection: aiosqlite.Connection) -> None:
    for pragma in (
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
        "busy_timeout = 5000",
        "cache_size = -32000",
        "temp_store = MEMORY",
        "secure_delete = ON",  # deleted content is overwritten with zeros
    ):
        await connection.execute(f"PRAGMA {pragma}")


def lock_file(path: Path) -> IO[bytes]:
    """Lock a database for this process, because two processes would run two actors of one key.

    Raises:
        StoreLocked: another process has it.
        StoreError: the file of the lock can't be used.
    """
    place = beside(path, ".lock")
    try:
        lock = open(place, "ab")  # noqa: SIM115 - held until close
    except OSError as error:
        raise StoreError(unusable_file(place, error)) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StoreLocked(f"{path} is in use by another process; stop that one, or {ANOTHER}") from None
    except OSError as error:
        lock.close()
        raise StoreError(unusable_file(place, error)) from error
    return lock
