"""Migrations: they bring a database's schema up to the version of this code.

Most expand the schema: they add to it, and the versions before go on using it. One that contracts takes away what an
older version uses. Its first line names the oldest version that works with the result:

    -- needs: 0.3.0
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import asyncpg

from persistence.migrations import numbered
from persistence.postgres.connecting import check, connected
from persistence.postgres.session import take_database
from persistence.store import StoreError, StoreTooNew

MIGRATIONS = Path(__file__).parent / "migrations"

LOCK = 9
"""The advisory lock of a migration; those of `parley_begin` and of the writer's session are 7 and 8."""

LOCK_S = 0.5
"""How long a migration waits for a table, in seconds; whoever comes after it to that table waits with it."""

PAUSE_S = 2.0
"""The pause before a migration that could not get a table is tried again, in seconds."""

PATIENCE_S = 120.0
"""How long a migration is tried in all, in seconds."""

_LOCK_NOT_AVAILABLE = "55P03"

_NEEDS = re.compile(r"-- needs: (\d+(?:\.\d+)*)\s*\n")

log = logging.getLogger("parley.store")


class Migration(NamedTuple):
    """One numbered file. `needs` is the oldest version that works with the schema after it, or None if all do."""

    number: int
    file: Path
    needs: str | None


class Schema(NamedTuple):
    """The state of a database: its version, and the oldest version of the code that works with it, or None."""

    version: int
    needs: str | None


async def prepare(url: str) -> None:
    """Check the server's settings and bring the schema up to date, for a gateway that is alone.

    Raises:
        StoreTooNew: a newer version of the code wrote the database.
        StoreLocked: another gateway uses it, and it lacks migrations.
        StoreError: the server's settings are wrong.
    """
    async with connected(url, "parley start") as connection:
        await check(connection, url)
        if await is_behind(connection):
            await take_database(connection, url)  # until the connection ends
        await migrate(connection)


async def is_behind(connection: asyncpg.Connection) -> bool:
    """Return whether a database lacks migrations of this code."""
    if await connection.fetchval("SELECT to_regclass('schema_version') IS NULL"):
        return True
    version = await connection.fetchval("SELECT coalesce(max(version), 0) FROM schema_version")
    return version < max(numbered(MIGRATIONS))


async def migrate(connection: asyncpg.Connection, folder: Path | None = None) -> int:
    """Apply the numbered migrations that the database lacks, each in a transaction; return the version reached.

    Files are named `0001_subject.sql`; the table `schema_version` keeps the version. Several processes may try at once.

    Raises:
        StoreTooNew: the database's version is higher than any file's.
        StoreError: two files have the same number, or a table is in use for too long.
    """
    folder = folder or MIGRATIONS
    newest = max(numbered(folder), default=0)
    async with schema_locked(connection):
        schema = await read_schema(connection)
        if schema.version > newest:
            raise too_new(schema, newest)
        await apply(connection, pending(schema.version, folder))
    return newest


@asynccontextmanager
async def schema_locked(connection: asyncpg.Connection) -> AsyncGenerator[None]:
    """Hold the lock of migrations for a while."""
    await connection.execute(f"SELECT pg_advisory_lock({LOCK})", timeout=2 * PATIENCE_S)
    try:
        yield
    finally:
        if not connection.is_closed():
            await connection.execute(f"SELECT pg_advisory_unlock({LOCK})")


async def read_schema(connection: asyncpg.Connection) -> Schema:
    """Return the state of the database; its table of it is made where it is missing.

    Raises:
        StoreError: the table is missing, and there are others.
    """
    if await connection.fetchval(
        "SELECT to_regclass('schema_version') IS NULL"
        " AND EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema())"
    ):
        raise StoreError("the database has tables of another program: make an empty one with createdb, and name that.")
    await connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)")
    column = "attrelid = to_regclass('schema_version') AND attname = 'needs'"
    if not await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE {column})"):
        await connection.execute('ALTER TABLE schema_version ADD needs text COLLATE "C"')
    row = await connection.fetchrow("SELECT version, needs FROM schema_version")
    return Schema(0, None) if row is None else Schema(*row)


def pending(version: int, folder: Path) -> Sequence[Migration]:
    """List the migrations of a folder after a version of the schema.

    Raises:
        StoreError: two files have the same number.
    """
    files = sorted(numbered(folder).items())
    return [Migration(number, file, needed(file)) for number, file in files if number > version]


def needed(file: Path) -> str | None:
    """Return the version that a migration names in its first line as needed."""
    found = _NEEDS.match(file.read_text(encoding="utf-8"))
    return found and found[1]


def is_older(version: str, than: str | None) -> bool:
    """Return whether a version of the code, such as `0.3.0`, is older than another one; none is older than None."""
    return than is not None and _parts(version) < _parts(than)


def _parts(version: str) -> list[int]:
    return [*(int(part) for part in re.findall(r"\d+", version)), 0, 0, 0][:3]


def too_new(schema: Schema, newest: int) -> StoreTooNew:
    """Make the error of a database that this code can't use."""
    needs = "" if schema.needs is None else f" ({schema.needs} or newer)"
    return StoreTooNew(
        f"the database is at schema version {schema.version}, this code knows {newest}: "
        f"start the newer Parley that wrote it{needs}"
    )


async def apply(connection: asyncpg.Connection, migrations: Sequence[Migration]) -> None:
    """Apply migrations, each in a transaction. To be called with `schema_locked`.

    Raises:
        StoreError: a table is in use for too long.
    """
    for migration in migrations:
        await _apply(connection, migration)
    if migrations and migrations[0].number > 1:  # no log line for a new database
        log.info("schema brought from version %d to %d", migrations[0].number - 1, migrations[-1].number)


async def _apply(connection: asyncpg.Connection, migration: Migration) -> None:
    """Apply a migration; where others use a table of it for long, let them pass and try again."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PATIENCE_S
    while True:
        try:
            await _apply_once(connection, migration)
        except asyncpg.PostgresError as error:
            if error.sqlstate != _LOCK_NOT_AVAILABLE:
                raise
            if loop.time() > until:
                raise StoreError(
                    f"the migration {migration.file.name} can't have its tables, because long transactions use them"
                    " (a backup, or a session that pg_stat_activity shows): end these, and start again"
                ) from None
            log.warning("the migration %s waits until others have done with its tables", migration.file.name)
            await asyncio.sleep(PAUSE_S)
        else:
            return


async def _apply_once(connection: asyncpg.Connection, migration: Migration) -> None:
    async with connection.transaction():
        await connection.execute(f"SET LOCAL lock_timeout = '{round(LOCK_S * 1000)}ms'")
        await connection.execute(migration.file.read_text(encoding="utf-8"))
        schema = await read_schema(connection)
        needs = migration.needs if is_older(schema.needs or "", migration.needs) else schema.needs
        await connection.execute("DELETE FROM schema_version")
        await connection.execute("INSERT INTO schema_version (version, needs) VALUES ($1, $2)", migration.number, needs)
