"""The writer's session: the one connection that stores, its locks, and its place in the table of fences."""

import logging
import secrets
from asyncio import get_running_loop, sleep
from collections.abc import Callable

import asyncpg

from persistence.postgres.connecting import connect, described
from persistence.store import StoreLocked

LOCK = 8
"""The advisory lock that a gateway holds while it has the database."""

RETRY_S = 0.1
"""The pause between two tries, in seconds."""

START_S = 5.0
"""How long a start waits for the session of a gateway that has just ended, in seconds."""

log = logging.getLogger("parley.writer")


class Unreachable(Exception):
    """The database can't be reached now."""


class FencedForEver(Exception):
    """This gateway may store no more; the message gives the reason."""


class WriterSession:
    """The writer's connection, opened anew when it is lost. `open` first; then `connection` is set while it is there.

    `lost` is called when the connection has ended.
    """

    def __init__(self, url: str, lost: Callable[[], None]) -> None:
        self.node = secrets.token_hex(8)
        self.connection: asyncpg.Connection | None = None
        self._url = url
        self._lost = lost
        self._name = f"parley writer {self.node}"
        self._pid = 0

    async def open(self) -> None:
        """Take the database for this gateway alone, and fence the writers that had it before.

        Raises:
            StoreLocked: another gateway has it.
        """
        connection = await self._connect()
        try:
            await take_database(connection, self._url)
            await connection.execute("DELETE FROM fences")  # waits for the last transaction of a writer that was killed
            await connection.execute("INSERT INTO fences (node, batch) VALUES ($1, 0)", self.node)
        except BaseException:
            connection.terminate()
            raise
        self._have(connection)

    async def reopen(self) -> int:
        """Open a new connection in place of the lost one; return the number of the last batch that is stored.

        Raises:
            Unreachable: it can't be opened now.
            FencedForEver: another gateway has taken over.
        """
        try:
            connection = await self._connect()
        except Exception as error:  # whatever it is, the next try may succeed
            raise Unreachable(str(error)) from error
        try:
            await self._end_lost_session(connection)
            # waits for a transaction that still runs on the lost connection
            number = await connection.fetchval("SELECT batch FROM fences WHERE node = $1 FOR UPDATE", self.node)
            if number is None:
                raise FencedForEver("another gateway has taken over this database")
            await take_database(connection, self._url)
        except FencedForEver:
            connection.terminate()
            raise
        except Exception as error:  # also the lock, which a session that the server can't end yet may still have
            connection.terminate()
            raise Unreachable(str(error)) from error
        self._have(connection)
        return int(number)

    def drop(self) -> None:
        """Give up the connection without a word to the server."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.terminate()

    async def close(self) -> None:
        """End the connection in an orderly way, which gives the database free."""
        connection, self.connection = self.connection, None
        if connection is not None:
            try:
                await connection.close(timeout=5)
            except Exception:
                log.warning("the writer's connection could not be closed in an orderly way")

    def _have(self, connection: asyncpg.Connection) -> None:
        self._pid = connection.get_server_pid()
        self.connection = connection
        connection.add_termination_listener(self._ended)

    def _ended(self, connection: asyncpg.Connection) -> None:
        if connection is self.connection:
            self.connection = None
            self._lost()

    async def _connect(self) -> asyncpg.Connection:
        return await connect(self._url, self._name)

    async def _end_lost_session(self, connection: asyncpg.Connection) -> None:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2",
            self._pid,
            self._name,
        )


async def take_database(connection: asyncpg.Connection, url: str) -> None:
    """Take the database for this connection, as a gateway does; the end of the connection gives it free.

    Raises:
        StoreLocked: another gateway has it.
    """
    until = get_running_loop().time() + START_S
    while not await connection.fetchval(f"SELECT pg_try_advisory_lock({LOCK})"):
        if get_running_loop().time() > until:
            raise StoreLocked(
                f"{described(url)} is in use by another gateway; stop that one, or set another PARLEY_STORE_URL"
            )
        await sleep(RETRY_S)
