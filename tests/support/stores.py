"""The store that the tests run on: SQLite, or PostgreSQL with `make test STORE=postgres`."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from persistence.postgres.migrate import migrate
from persistence.postgres.store import PostgresStore
from persistence.sqlite.store import SqliteStore
from persistence.store import Store
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
