"""The writer's session: the one connection that stores, its locks, and its place in the table of fences."""

import logging
import secrets
from asyncio import get_running_loop, sleep
from collections.abc import Callable

import asyncpg

from persistence.postgres.batch_functions import BatchFunctions
from persistence.postgres.connecting import connect, described, reason, told
from persistence.store import StoreLocked

LOCK = 8
"""The advisory lock that a gateway holds while it has the database; nodes of a cluster share it."""

RETRY_S = 0.1
"""The pause between two tries, in seconds."""

START_S = 5.0
"""How long a start waits for the session of a gateway that has just ended, in seconds."""

IN_CLUSTER = {"idle_in_transaction_session_timeout": "1s"}
"""Settings of a node's session: one that hangs within a transaction keeps the locks of all for a second at most."""

SILENT = "it does not answer"

_LAST_BATCH = "SELECT batch, live FROM fences WHERE node = $1 FOR UPDATE"

log = logging.getLogger("parley.writer")


class Unreachable(Exception):
    """The database can't be reached now; the message gives the reason, and `told` in words for everyone, or None."""

    def __init__(self, reason: str, told: str | None = None) -> None:
        super().__init__(reason)
        self.told = told


class FencedForEver(Exception):
    """This gateway may store no more; the message gives the reason.

    `last`: the number of its last batch that is stored, or None if that is not known any more.
    """

    def __init__(self, reason: str, last: int | None = None) -> None:
        super().__init__(reason)
        self.last = last


class WriterSession:
    """The writer's connection, opened anew when it is lost. `open` first; then `connection` is set while it is there.

    `lost` is called when the connection has ended. `node` is the id of a node that has joined its cluster; without it
    the gateway is alone. `functions` are those of the connection.
    """

    def __init__(self, url: str, lost: Callable[[], None], node: str | None = None) -> None:
        self.node = node or secrets.token_hex(8)
        self._is_alone = node is None
        self.connection: asyncpg.Connection | None = None
        self.functions = BatchFunctions()
        self._url = url
        self._lost = lost
        self._name = writer_name(self.node)
        self._pid = 0

    async def open(self) -> None:
        """Take the database: alone, with the writers fenced that had it before, or as one of a cluster's nodes.

        Raises:
            StoreLocked: another gateway has it, or this node was declared dead meanwhile.
        """
        connection = await self._connect()
        try:
            await take_database(connection, self._url, shared=not self._is_alone)
            if self._is_alone:
                await _end_all_others(connection)
                await connection.execute("INSERT INTO fences (node, batch) VALUES ($1, 0)", self.node)
            elif not (await _last_batch(connection, self.node))[1]:
                raise StoreLocked(f"the node {self.node} was declared dead while it started; start it again")
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
            raise _unreachable(error) from error
        try:
            await self._end_lost_session(connection)
            # waits for a transaction that still runs on the lost connection
            number, live = await _last_batch(connection, self.node)
            if number is None or not live:
                raise FencedForEver("another gateway has taken over this database", number)
            await take_database(connection, self._url, shared=not self._is_alone)
        except Exception as error:
            connection.terminate()
            if isinstance(error, FencedForEver):
                raise
            raise _unreachable(error) from error  # also if a session has the lock that the server can't end yet
        except BaseException:  # the try has taken too long
            connection.terminate()
            raise
        self._have(connection)
        return number

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
        self.functions = BatchFunctions()
        connection.add_termination_listener(self._ended)

    def _ended(self, connection: asyncpg.Connection) -> None:
        if connection is self.connection:
            self.connection = None
            self._lost()

    async def _connect(self) -> asyncpg.Connection:
        return await connect(self._url, self._name, settings={} if self._is_alone else IN_CLUSTER)

    async def _end_lost_session(self, connection: asyncpg.Connection) -> None:
        await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid = $1 AND application_name = $2",
            self._pid,
            self._name,
        )


def _unreachable(error: Exception) -> Unreachable:
    return Unreachable(reason(error) or SILENT, told(error))  # a time-out has no text


def writer_name(node: str) -> str:
    """Name the session of a node's writer, as the server's `pg_stat_activity` shows it."""
    return f"parley writer {node}"


async def take_database(connection: asyncpg.Connection, url: str, *, shared: bool = False) -> None:
    """Take the database for this connection, as a gateway does; the end of the connection gives it free.

    `shared`: with other nodes of a cluster, not alone.

    Raises:
        StoreLocked: another gateway has it.
    """
    until = get_running_loop().time() + START_S
    function = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
    while not await connection.fetchval(f"SELECT {function}({LOCK})"):
        if get_running_loop().time() > until:
            raise StoreLocked(
                f"{described(url)} is in use by another gateway; stop that one, or set another PARLEY_STORE_URL"
            )
        await sleep(RETRY_S)


async def _last_batch(connection: asyncpg.Connection, node: str) -> tuple[int | None, bool]:
    """Return the number of the last batch that a writer stored, None if its row is gone, and whether it may store."""
    row = await connection.fetchrow(_LAST_BATCH, node)
    return (None, False) if row is None else (row[0], row[1])


async def _end_all_others(connection: asyncpg.Connection) -> None:
    """Fence every writer that had the database, and wait for the leases of nodes that can't have heard of it."""
    await connection.execute("DELETE FROM fences")  # waits for the last transaction of a writer that was killed
    await connection.execute("UPDATE nodes SET live = false WHERE live")
    row = await connection.fetchrow(
        "SELECT extract(epoch FROM max(expires) - clock_timestamp()), string_agg(id, ', ' ORDER BY id)"
        " FROM nodes WHERE expires > clock_timestamp()"
    )
    if row is not None and row[0] is not None:
        log.info("waiting %.1f s for the leases of nodes that did not leave: %s", row[0], row[1])
        await sleep(max(0.0, float(row[0])))  # until then such a node may answer reads
    await connection.execute("UPDATE shards SET owner = NULL, epoch = epoch + 1 WHERE owner IS NOT NULL")
    await connection.execute("DELETE FROM nodes")
    await connection.execute("DELETE FROM notices")
