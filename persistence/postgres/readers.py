"""The connections for reads: a few, each served by a task, because a caller may run outside of any task."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import asyncpg

from persistence.postgres.connecting import connect, is_statements_own, reason
from persistence.postgres.session import RETRY_S
from persistence.store import StoreUnavailable

COUNT = 4
PATIENCE_S = 5.0
"""How long a read waits for a lost connection, in seconds."""

log = logging.getLogger("parley.store")


class _Read(NamedTuple):
    sql: str
    params: Sequence[object]
    found: "asyncio.Future[list[asyncpg.Record]]"
    until: float


class Readers:
    """Runs reads on `COUNT` connections; the others wait. A read that a lost connection ended is repeated.

    `certain`: while it is not set, a read waits, because a commit is in doubt.
    """

    def __init__(self, url: str, certain: asyncio.Event) -> None:
        self._url = url
        self._certain = certain
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Read] = deque()
        self._idle: deque[asyncio.Future[_Read]] = deque()
        self._connections: list[asyncpg.Connection | None] = [None] * COUNT
        self._tasks = [asyncio.create_task(self._serve(place), name="reader") for place in range(COUNT)]
        self._closed = False

    def fetch(self, sql: str, params: Sequence[object]) -> "asyncio.Future[list[asyncpg.Record]]":
        """Begin a read; the future has its rows, or fails with `StoreUnavailable`."""
        found: asyncio.Future[list[asyncpg.Record]] = self._loop.create_future()
        if self._closed:
            found.set_exception(StoreUnavailable("the store is closed"))
            return found
        read = _Read(sql, params, found, self._loop.time() + PATIENCE_S)
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
            _fail(read, "the store is closed")
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
            _fail(read, "the store is closed")
            raise

    async def _read(self, place: int, read: _Read) -> None:
        while True:
            connection = None
            try:
                if not self._certain.is_set():
                    await asyncio.wait_for(self._certain.wait(), max(0.0, read.until - self._loop.time()))
                connection = await self._connection(place)
                rows = await connection.fetch(read.sql, *read.params)
            except Exception as error:
                if connection is not None and is_statements_own(connection, error):
                    return _fail(read, reason(error))
                if connection is not None:
                    connection.terminate()
                    self._connections[place] = None
                if self._loop.time() >= read.until:
                    return _fail(read, str(error) or "the database can't be reached")
                await asyncio.sleep(RETRY_S)
            else:
                if not read.found.done():
                    read.found.set_result(rows)
                return None

    async def _connection(self, place: int) -> asyncpg.Connection:
        connection = self._connections[place]
        if connection is None or connection.is_closed():
            connection = self._connections[place] = await connect(self._url, "parley reader", read_only=True)
        return connection


def _fail(read: _Read, reason: str) -> None:
    log.error("a read failed: %s", reason)
    if not read.found.done():
        read.found.set_exception(StoreUnavailable(reason))
