"""The store that the tests run on: SQLite, or PostgreSQL with `make test STORE=postgres`."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import aiosqlite
import asyncpg
import pytest

from persistence.dialect import POSTGRES, SQLITE
from persistence.postgres import migrate as postgres
from persistence.postgres.migrate import migrate
from persistence.postgres.store import PostgresStore
from persistence.sqlite import migrate as sqlite
from persistence.sqlite.store import SqliteStore
from persistence.store import Store, Write
from tests.support.postgres import shared

ON_POSTGRES = os.environ.get("STORE") == "postgres"

sqlite_only = pytest.mark.sqlite
postgres_only = pytest.mark.postgres

TEMPLATE = "parley_template"
"""The name of a migrated database that no gateway has used; the others are copies of it."""

_making = asyncio.Lock()


async def database_for(path: Path) -> str:
    """Return the URL of the database that stands for an SQLite file; it is made when it is asked for first.

    A copy of a migrated database takes a tenth of the time of a migration.
    """
    cluster = await shared()
    async with _making:
        if TEMPLATE not in cluster.made:
            connection = await asyncpg.connect(await cluster.database(TEMPLATE))
            await migrate(connection)
            await connection.close()
        return await cluster.database(f"test_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}", TEMPLATE)


async def opened(path: Path, *, before_commit: Callable[[], None] | None = None) -> Store:
    """Open the store of a path: a file on SQLite, a database of the tests' own server on PostgreSQL."""
    if ON_POSTGRES:
        return await PostgresStore.open(await database_for(path), before_commit=before_commit)
    return await SqliteStore.open(path, before_commit=before_commit)


async def upgraded(path: Path, before: str, *stored: Write) -> Store:
    """Open the store of a new path whose schema and rows are of the version before a migration."""
    folder = path.parent / f"before {before}"
    folder.mkdir()
    for file in sorted((postgres if ON_POSTGRES else sqlite).MIGRATIONS.glob("*.sql")):
        if before in file.name:
            break
        shutil.copy(file, folder)
    if not ON_POSTGRES:
        async with aiosqlite.connect(path, isolation_level=None) as database:
            await sqlite.migrate(database, folder)
            for write in stored:
                await database.execute(SQLITE.text(write.sql), write.params)
        return await SqliteStore.open(path)
    url = await (await shared()).database(f"old_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}")
    connection = await asyncpg.connect(url)
    await migrate(connection, folder)
    for write in stored:
        statement = POSTGRES.statement(write.sql)
        await connection.execute(statement.sql, *statement.ordered(write.params))
    await connection.close()
    return await PostgresStore.open(url)
