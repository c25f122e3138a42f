"""A PostgreSQL database as a side of a move."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager

import asyncpg

from persistence.migrations import numbered
from persistence.move.side import ROWS_AT_ONCE, Kind, MoveError, Row, Table, not_empty, not_migrated
from persistence.postgres.connecting import FORBIDDEN, check, connect, described, is_statements_own, reason, unusable
from persistence.postgres.migrate import MIGRATIONS, migrate
from persistence.postgres.session import take_database
from persistence.store import StoreError, StoreLocked

_KINDS: Mapping[str, Kind] = {"bigint": "integer", "text": "text", "bytea": "bytes"}

_OWN = ("schema_version", "fences", "nodes", "shards", "notices")
"""Tables that SQLite needs not; all but the first are the gateways' for as long as they run."""

_TABLES = """
    SELECT relname,
        ARRAY(
            SELECT ARRAY[CAST(attname AS text), format_type(atttypid, NULL)] FROM pg_attribute
            WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            ORDER BY attname COLLATE "C"
        ),
        ARRAY(
            SELECT CAST(attname AS text) FROM pg_index
            CROSS JOIN unnest(indkey) WITH ORDINALITY AS part (number, place)
            JOIN pg_attribute ON attrelid = indrelid AND attnum = part.number
            WHERE indrelid = pg_class.oid AND indisprimary AND place <= indnkeyatts ORDER BY place
        ),
        ARRAY(
            SELECT DISTINCT CAST(parent.relname AS text) FROM pg_constraint
            JOIN pg_class AS parent ON parent.oid = confrelid
            WHERE conrelid = pg_class.oid AND contype = 'f'
        )
    FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE relkind IN ('r', 'p') AND nspname = current_schema() AND relname <> ALL ($1)
"""

_IDENTITIES = """
    SELECT relname, attname, pg_get_serial_sequence(quote_ident(relname), attname)
    FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
    WHERE attidentity <> '' AND nspname = current_schema() AND relname <> ALL ($1)
"""

_LAST = "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END FROM {}"


class PostgresSide:
    """A PostgreSQL database, within a transaction."""

    stores_nul = False

    def __init__(self, url: str, connection: asyncpg.Connection, transaction: "asyncpg.Transaction") -> None:
        self._url = url
        self._connection = connection
        self._transaction = transaction

    @property
    def description(self) -> str:
        """Name the server and the database."""
        return described(self._url)

    async def tables(self) -> list[Table]:
        """List the tables."""
        return [
            Table(
                name,
                {column: _kind(name, column, of) for column, of in columns},
                tuple(key or (column for column, _ in columns)),
                frozenset(parents),
            )
            for name, columns, key, parents in await self._connection.fetch(_TABLES, _OWN)
        ]

    async def count(self, table: Table) -> int:
        """Count the rows of a table."""
        return int(await self._connection.fetchval(f"SELECT count(*) FROM {table.name}"))

    async def rows(self, table: Table) -> AsyncIterator[Sequence[Row]]:
        """Read the rows of a table in the order of its key."""
        cursor = await self._connection.cursor(
            f"SELECT {', '.join(table.columns)} FROM {table.name} ORDER BY {', '.join(table.key)}"
        )
        while rows := await cursor.fetch(ROWS_AT_ONCE):
            yield [tuple(row) for row in rows]

    async def last_numbers(self) -> dict[str, int]:
        """Read the last number that each table has given."""
        return {
            table: int(await self._connection.fetchval(_LAST.format(sequence)))
            for table, _, sequence in await self._connection.fetch(_IDENTITIES, _OWN)
        }

    async def rows_with_nul(self, tables: Sequence[Table]) -> list[str]:
        """Return none, because no text of PostgreSQL can have a NUL character."""
        return []

    async def empty(self, table: Table) -> None:
        """Remove the rows of a table, and have no trigger run for those to come."""
        await self._connection.execute(f"DELETE FROM {table.name}")
        await self._connection.execute(f"ALTER TABLE {table.name} DISABLE TRIGGER USER")

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows by COPY."""
        await self._connection.copy_records_to_table(table.name, records=rows, columns=list(table.columns))

    async def finish(self, last: Mapping[str, int]) -> None:
        """Bring back the triggers, set what each table numbers next, and have the planner know the tables."""
        for name, *_ in await self._connection.fetch(_TABLES, _OWN):
            await self._connection.execute(f"ALTER TABLE {name} ENABLE TRIGGER USER")
            await self._connection.execute(f"ANALYZE {name}")
        for table, column, _ in await self._connection.fetch(_IDENTITIES, _OWN):
            highest = await self._connection.fetchval(f"SELECT coalesce(max({column}), 0) FROM {table}")
            after = max(last.get(table, 0), int(highest)) + 1  # unlike setval, RESTART ends with the transaction
            await self._connection.execute(f"ALTER TABLE {table} ALTER COLUMN {column} RESTART WITH {after}")

    async def commit(self) -> None:
        """Commit."""
        try:
            await self._transaction.commit()
        except Exception as error:
            if is_statements_own(self._connection, error):
                raise
            raise MoveError(
                f"the connection to {self.description} was lost at the very end, so everything may have been moved, or"
                " nothing: move again. If that tells you that it is not empty, everything was moved."
            ) from error


def _kind(table: str, column: str, of: str) -> Kind:
    if of not in _KINDS:
        raise MoveError(
            f"the column {column} of the table {table} has the type {of}, so it is not Parley's: remove it."
        )
    return _KINDS[of]


@asynccontextmanager
async def source(url: str) -> AsyncGenerator[PostgresSide, None]:
    """Open a database to read it in one read-only transaction; no gateway can use it meanwhile.

    Raises:
        MoveError: it is in use, of another version, or can't be read.
    """
    async with _connected(url, "FROM") as connection:
        newest = max(numbered(MIGRATIONS))
        transaction = connection.transaction(isolation="repeatable_read", readonly=True)
        await transaction.start()
        version = await _version(connection)
        if version is None:
            raise MoveError(f"{described(url)} has no tables of Parley: correct FROM.")
        if version != newest:
            raise not_migrated(described(url), version, newest)
        yield PostgresSide(url, connection, transaction)


@asynccontextmanager
async def target(url: str) -> AsyncGenerator[PostgresSide, None]:
    """Open a database to write it in one transaction, with its tables made if needed; no gateway can use it meanwhile.

    Raises:
        MoveError: it is in use, not empty, not Parley's, or can't be written.
    """
    async with _connected(url, "TO") as connection:
        if await _version(connection) and await connection.fetchval("SELECT EXISTS (SELECT 1 FROM users)"):
            raise not_empty(described(url), "users")
        await migrate(connection)
        transaction = connection.transaction()
        await transaction.start()
        yield PostgresSide(url, connection, transaction)


async def _version(connection: asyncpg.Connection) -> int | None:
    """Return the version of the schema, or None if there is none of Parley's."""
    if await connection.fetchval("SELECT to_regclass('schema_version') IS NULL"):
        return None
    return int(await connection.fetchval("SELECT coalesce(max(version), 0) FROM schema_version"))


@asynccontextmanager
async def _connected(url: str, argument: str) -> AsyncGenerator[asyncpg.Connection, None]:
    """Open a connection that has the database for itself; its transaction is undone at the end if it is still open."""
    try:
        connection = await connect(url, "parley move", hurried=False)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, ValueError) as error:
        raise MoveError(_as_argument(unusable(url, error), argument)) from error
    try:
        with _told(url, argument):
            try:
                await take_database(connection, url)
            except StoreLocked:
                raise MoveError(f"{described(url)} is in use by a gateway: stop that one first.") from None
            await check(connection, url)
            yield connection
    finally:
        connection.terminate()


@contextmanager
def _told(url: str, argument: str) -> Generator[None, None, None]:
    """Tell PostgreSQL's errors to the operator, without values of rows."""
    try:
        yield
    except MoveError:
        raise
    except StoreError as error:
        raise MoveError(_as_argument(str(error), argument)) from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        if getattr(error, "sqlstate", None) == FORBIDDEN:
            raise MoveError(_as_argument(unusable(url, error), argument)) from error
        raise MoveError(f"{described(url)} failed ({reason(error)}): mend that, then move again.") from error
    except OSError as error:
        raise MoveError(_as_argument(unusable(url, error), argument)) from error


def _as_argument(message: str, argument: str) -> str:
    return re.sub(r"\bPARLEY_STORE_URL\b", argument, message)
