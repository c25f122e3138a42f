"""Migrations: they bring a database's schema up to the version of this code."""

import logging
from pathlib import Path

import asyncpg

from persistence.migrations import numbered
from persistence.postgres.connecting import check, connected
from persistence.store import StoreTooNew

MIGRATIONS = Path(__file__).parent / "migrations"

LOCK = 9
"""The advisory lock of a migration; those of `parley_begin` and of the writer's session are 7 and 8."""

log = logging.getLogger("parley.store")


async def prepare(url: str) -> None:
    """Check the server's settings and bring the schema up to date; several gateways may do so at once.

    Raises:
        StoreTooNew: a newer version of the code wrote the database.
        StoreError: the server's settings are wrong.
    """
    async with connected(url, "parley start") as connection:
        await check(connection, url)
        await migrate(connection)


async def migrate(connection: asyncpg.Connection, folder: Path = MIGRATIONS) -> int:
    """Apply the numbered migrations that the database lacks, each in a transaction; return the version reached.

    Files are named `0001_subject.sql`; the table `schema_version` keeps the version. Several processes may try at once.

    Raises:
        StoreTooNew: the database's version is higher than any file's.
        StoreError: two files have the same number.
    """
    migrations = numbered(folder)
    newest = max(migrations, default=0)
    await connection.execute(f"SELECT pg_advisory_lock({LOCK})")
    try:
        await connection.execute("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)")
        version = await connection.fetchval("SELECT coalesce(max(version), 0) FROM schema_version")
        if version > newest:
            raise StoreTooNew(
                f"the database is at schema version {version}, this code knows {newest}: "
                "start the newer Parley that wrote it"
            )
        for number in range(version + 1, newest + 1):
            async with connection.transaction():
                await connection.execute(migrations[number].read_text(encoding="utf-8"))
                await connection.execute("DELETE FROM schema_version")
                await connection.execute("INSERT INTO schema_version (version) VALUES ($1)", number)
    finally:
        if not connection.is_closed():
            await connection.execute(f"SELECT pg_advisory_unlock({LOCK})")
    if 0 < version < newest:  # no log line for a new database
        log.info("schema brought from version %d to %d", version, newest)
    return newest
