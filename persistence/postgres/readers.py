"""The connections for reads: a few, each served by a task, because a caller may run outside of any task."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, NamedTuple, TypeVar

import asyncpg

from persistence.dialect import POSTGRES
from persistence.postgres.connecting import connect, is_statements_own, reason
from persistence.postgres.session import RETRY_S
from persistence.postgres.watching import Watch
from persistence.store import Reads, StoreUnavailable

T = TypeVar("T")

COUNT = 4
PATIENCE_S = 5.0
"""How long a read waits for a lost connection, in seconds."""

AWAY_S = 0.5
"""The same, once a read has waited in vain and none has succeeded since."""

LEAST_S = 1.0
"""The least time for a new connection, however long the read has waited, in seconds."""

log = logging.getLogger("parley.store")


class _Read(NamedTuple):
    """A read that waits: what runs it on a connection, its future result, and the time until which it is tried."""

    run: Callable[[asyncpg.Connection], Awaitable[Any]]
    found: "asyncio.Future[Any]"
    until: float


class _OfTheReads(Exception):
    """Reads that depend on each other raised an error of their own."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Dependent(Generic[T]):
    """Reads in one transaction, of which later ones depend on earlier ones; they can't be run twice."""

    def __init__(self, reads: Reads[T]) -> None:
        self._reads = reads
        self._begun = False

    async def run(self, connection: asyncpg.Connection) -> T:
        """Run them to their end; errors are the driver's, or `_OfTheReads`."""
        if self._begun:
            raise _OfTheReads(StoreUnavailable("the connection was lost between dependent reads"))
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        self._begun = True
        try:
            return await self._run(connection)
        finally:
            self._reads.close()
            with suppress(Exception):  # a lost connection is told by the error that ended it
                await connection.execute("ROLLBACK")

    async def _run(self, connection: asyncpg.Connection) -> T:
        rows: list[Any] | None = None
        while True:
            try:
                query = next(self._reads) if rows is None else self._reads.send(rows)
                statement = POSTGRES.statement(query.sql)
            except StopIteration as end:
                return end.value
            except Exception as error:
                raise _OfTheReads(error) from error
            found = await connection.fetch(statement.sql, *statement.ordered(query.params))
            rows = [query.build(tuple(row)) for row in found]


class Readers:
    """Runs reads on `COUNT` connections; the others wait. A read that a lost connection ended is repeated.

    `certain`: while it is not set, a read waits, because a commit is in doubt. `over` returns why this gateway may use
    the database no more, or None; then every read fails at once, because nobody may be told what it finds.
    """

    def __init__(self, url: str, certain: asyncio.Event, over: Callable[[], str | None]) -> None:
        self._url = url
        self._certain = certain
        self._over = over
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Read] = deque()
        self._idle: deque[asyncio.Future[_Read]] = deque()
        self._connections: list[asyncpg.Connection | None] = [None] * COUNT
        self._tasks = [asyncio.create_task(self._serve(place), name="reader") for place in range(COUNT)]
        self._closed = False
        self._patience = PATIENCE_S

    def fetch(self, sql: str, params: Sequence[object]) -> "asyncio.Future[list[asyncpg.Record]]":
        """Begin a read; the future has its rows, or fails with `StoreUnavailable`."""
        return self._begin(lambda connection: connection.fetch(sql, *params))

    def read(self, reads: Reads[T]) -> "asyncio.Future[T]":
        """Begin reads in one transaction; the future has their result, or their error."""
        return self._begin(_Dependent(reads).run)

    def _begin(self, run: Callable[[asyncpg.Connection], Awaitable[T]]) -> "asyncio.Future[T]":
        found: asyncio.Future[T] = self._loop.create_future()
        if self._closed:
            found.set_exception(StoreUnavailable("the store is closed"))
            return found
        read = _Read(run, found, self._loop.time() + self._patience)
        while self._idle:
            reader = self._idle.popleft()
            if not reader.done():
                reader.set_result(read)
                return found
        self._waiting.append(read)
        return found

    async def close(self) -> None:
        """End the connections; reads that wait fail."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for read in self._waiting:
            _refuse(read, StoreUnavailable("the store is closed"))
        for connection in self._connections:
            if connection is not None:
                with suppress(Exception):
                    await connection.close(timeout=2)

    async def _serve(self, place: int) -> None:
        while True:
            await self._serve_next(place)

    async def _serve_next(self, place: int) -> None:
        if self._waiting:
            read = self._waiting.popleft()
        else:
            idle: asyncio.Future[_Read] = self._loop.create_future()
            self._idle.append(idle)
            read = await idle
        try:
            if not read.found.done():  # else its caller has gone
                await self._read(place, read)
        except asyncio.CancelledError:
            _refuse(read, StoreUnavailable("the store is closed"))
            raise

    async def _read(self, place: int, read: _Read) -> None:
        while True:
            connection = None
            try:
                if not self._certain.is_set():
                    await asyncio.wait_for(self._certain.wait(), max(0.0, read.until - self._loop.time()))
                if (reason_to_end := self._over()) is not None:
                    return _fail(read, StoreUnavailable(reason_to_end))
                connection = await self._connection(place, read.until)
                with Watch(self._url, connection):
                    result = await read.run(connection)
            except _OfTheReads as error:
                return _fail(read, error.error)
            except Exception as error:
                if connection is not None and is_statements_own(connection, error):
                    return _fail(read, StoreUnavailable(reason(error)))
                if connection is not None:
                    connection.terminate()
                    self._connections[place] = None
                if self._loop.time() >= read.until:
                    self._patience = AWAY_S
                    return _fail(read, StoreUnavailable(str(error) or "the database can't be reached"))
                await asyncio.sleep(RETRY_S)
            else:
                self._patience = PATIENCE_S
                if not read.found.done():
                    read.found.set_result(result)
                return None

    async def _connection(self, place: int, until: float) -> asyncpg.Connection:
        connection = self._connections[place]
        if connection is None or connection.is_closed():
            async with asyncio.timeout_at(max(until, self._loop.time() + LEAST_S)):
                connection = await connect(self._url, "parley reader", read_only=True)
            self._connections[place] = connection
        return connection


def _fail(read: _Read, error: Exception) -> None:
    if isinstance(error, StoreUnavailable):
        log.error("a read failed: %s", error)
    _refuse(read, error)


def _refuse(read: _Read, error: Exception) -> None:
    """Fail a read without a line in the log, as the end of the store does."""
    if not read.found.done():
        read.found.set_exception(error)
