"""A connection of the ledger: opened when it is needed, in short statements that never wait long."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncpg

from persistence.ledger import LedgerUnavailable
from persistence.postgres.connecting import connect, is_statements_own, reason
from persistence.postgres.session import IN_CLUSTER, LOCK, take_database
from persistence.store import StoreError

T = TypeVar("T")

STATEMENT_S = 1.0
"""The longest time of a statement, in seconds."""

WHOLE_S = 4.0
"""The longest time of a piece of work with all its statements, a new connection included, in seconds."""

CHANGE_LOCK = 10
"""The advisory lock of a transaction that changes the owner of a shard, or whether a node is live."""


class LedgerSession:
    """One connection for one piece of work at a time. When one fails, the next opens a new connection.

    Args:
        url: the database.
        name: what the connection is for, in the server's `pg_stat_activity`; `node` is appended.
        whole_s: the longest time of a piece of work, a new connection included, in seconds.
        shares_database: hold the lock of the nodes, which keeps a gateway out that is no node.
    """

    def __init__(self, url: str, name: str, *, whole_s: float = WHOLE_S, shares_database: bool = False) -> None:
        self.node = ""
        self._url = url
        self._name = name
        self._whole_s = whole_s
        self._shares_database = shares_database
        self._connection: asyncpg.Connection | None = None
        self._turn = asyncio.Lock()

    async def take_database(self) -> None:
        """Take the lock of the nodes, and wait for the end of a gateway that has the database alone.

        Raises:
            StoreLocked: it does not end.
        """
        connection = await self._open()
        try:
            await take_database(connection, self._url, shared=True)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection

    async def run(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """Run statements, each a transaction of its own.

        Raises:
            LedgerUnavailable: it failed or took too long; it may have been done in part.
        """
        async with self._turn:
            try:
                async with asyncio.timeout(self._whole_s):
                    return await work(await self._connected())
            except BaseException as error:
                self._drop_unless_usable(error)
                if isinstance(error, StoreError) or not isinstance(error, Exception):
                    raise
                raise LedgerUnavailable(reason(error) or type(error).__name__) from error

    async def change(self, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        """Run statements in one transaction, after all other changes of owners and before the next.

        Raises:
            LedgerUnavailable: it failed, or whether it has been done is not known. A later one runs after it has ended.
        """

        async def in_transaction(connection: asyncpg.Connection) -> T:
            async with connection.transaction():
                await connection.execute(f"SELECT pg_advisory_xact_lock({CHANGE_LOCK})")
                return await work(connection)

        return await self.run(in_transaction)

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                await connection.close(timeout=2)
            except Exception:
                connection.terminate()

    def _drop_unless_usable(self, error: BaseException) -> None:
        is_usable = isinstance(error, StoreError)
        if self._connection is None or is_usable:
            return
        if not isinstance(error, Exception) or not is_statements_own(self._connection, error):
            self._connection.terminate()
            self._connection = None

    async def _connected(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            connection = await self._open()
            try:
                await self._begin(connection)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection
        return self._connection

    async def _open(self) -> asyncpg.Connection:
        settings = IN_CLUSTER | {"statement_timeout": f"{round(STATEMENT_S * 1000)}ms"}
        return await connect(self._url, self._session_name, settings=settings)

    async def _begin(self, connection: asyncpg.Connection) -> None:
        """End what may still run on lost connections, so that nothing of it is done later; share the database."""
        lost: list[Any] = await connection.fetch(
            "SELECT pg_terminate_backend(pid, 500) FROM pg_stat_activity"
            " WHERE usename = current_user AND application_name = $1 AND pid <> pg_backend_pid()",
            self._session_name,
        )
        if not all(ended for (ended,) in lost):
            raise LedgerUnavailable("a lost session has not ended yet")
        if self._shares_database and not await connection.fetchval(f"SELECT pg_try_advisory_lock_shared({LOCK})"):
            raise LedgerUnavailable("another gateway has taken over the database")

    @property
    def _session_name(self) -> str:
        return f"{self._name} {self.node}".rstrip()
