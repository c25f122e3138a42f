"""The `Store` on PostgreSQL: one database, one writer and a few readers, all on the event loop."""

import logging
from collections.abc import Callable
from typing import Self, TypeVar

from persistence.batches import committed
from persistence.dialect import POSTGRES
from persistence.ledger import NodeRow
from persistence.postgres.connecting import described, unusable
from persistence.postgres.erasing import erase_deleted
from persistence.postgres.migrate import prepare
from persistence.postgres.readers import Readers
from persistence.postgres.writer import Writer
from persistence.store import Query, Reads, Settled, StoreError, StoreStats, StoreUnavailable, Unit

T = TypeVar("T")

NOTHING = Unit(())
"""A unit without a write: its transaction still stores the number of its batch."""

log = logging.getLogger("parley.store")


class PostgresStore:
    """A `Store` in a PostgreSQL database, for one gateway: a commit that returned is on the server's disk.

    Use `await PostgresStore.open(url)`; the database must exist, its schema is made.
    """

    def __init__(self, url: str, writer: Writer, readers: Readers) -> None:
        self._url = url
        self._writer = writer
        self._readers = readers

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        before_commit: Callable[[], None] | None = None,
        cluster: NodeRow | None = None,
        on_over: Callable[[str], None] | None = None,
    ) -> Self:
        """Connect, check the server's settings, bring the schema up to date and start the writer.

        Args:
            url: the database.
            before_commit: see `Writer`.
            cluster: this gateway as a node that has joined; without it, the gateway has the database alone.
            on_over: called with the reason once this gateway may store no more.

        Raises:
            StoreLocked: another gateway has the database, or the node was declared dead.
            StoreTooNew: a newer version of the code wrote it.
            StoreError: the database can't be used; the message gives the reason and the remedy.
        """
        try:
            if cluster is None:  # a node has done so when it joined
                await prepare(url)
            writer = Writer(url, before_commit, None if cluster is None else cluster.id, on_over)
            await writer.start()
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(unusable(url, error)) from error
        return cls(url, writer, Readers(url, writer.certain, lambda: writer.over))

    @property
    def description(self) -> str:
        """Name the server and the database."""
        return described(self._url)

    @property
    def has_index_of_0_2_0(self) -> bool:
        """Whether memories may be in the full-text index of 0.2.0: no PostgreSQL database ever had it."""
        return False

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit for the next commit; see `Store.submit`."""
        self._writer.submit(unit, settled)

    async def commit(self, unit: Unit) -> None:
        """Submit a unit and wait until it is durable; see `Store.commit`."""
        await committed(self._writer.submit, unit)

    async def fetch(self, query: Query[T]) -> list[T]:
        """Run a read on one of the readers; see `Store.fetch`."""
        statement = POSTGRES.statement(query.sql)
        rows = await self._readers.fetch(statement.sql, statement.ordered(query.params))
        return [query.build(tuple(row)) for row in rows]

    async def read(self, reads: Reads[T]) -> T:
        """Run reads in one transaction of one of the readers, on the event loop; see `Store.read`."""
        return await self._readers.read(reads)

    def forget(self, incarnation: int) -> None:
        """Drop the fence of a stopped incarnation; see `Store.forget`."""
        self._writer.forget(incarnation)

    def stats(self) -> StoreStats:
        """Report the counts of the writer; see `Store.stats`."""
        writer = self._writer
        return StoreStats(
            writer.depth,
            writer.units,
            writer.batches,
            writer.oldest_s,
            writer.commit_s,
            writer.batch_units,
            writer.exclusive,
            writer.in_doubt,
        )

    @property
    def trouble(self) -> str | None:
        """Why changes are refused now, such as an outage of the server; see `Store.trouble`."""
        return self._writer.trouble

    async def writable(self) -> bool:
        """Commit a transaction for this purpose, and return whether that succeeded."""
        try:
            await self.commit(NOTHING)
        except StoreUnavailable:
            return False
        return True

    async def erase_deleted(self) -> bool:
        """Take deleted and overwritten rows out of reach of every statement; see `Store`.

        Not out of the server's files: free space inside pages, the log, archives, replicas and backups keep them
        (docs/operations.md). Return False while a transaction may still see them.
        """
        return await erase_deleted(self._url)

    async def close(self) -> None:
        """Commit the waiting units and close every connection."""
        await self._writer.close()
        await self._readers.close()
