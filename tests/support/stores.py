"""The store that the tests run on: SQLite, or PostgreSQL with `make test STORE=postgres`."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from persistence.postgres.store import PostgresStore
from persistence.sqlite.store import SqliteStore
from persistence.store import Store
from tests.support.postgres import shared

ON_POSTGRES = os.environ.get("STORE") == "postgres"

sqlite_only = pytest.mark.skipif(ON_POSTGRES, reason="about SQLite's files or statements")
postgres_only = pytest.mark.skipif(not ON_POSTGRES, reason="needs `make test STORE=postgres`")


async def database_for(path: Path) -> str:
    """Return the URL of the database that stands for an SQLite file; it is made when it is asked for first."""
    return await (await shared()).database(f"test_{hashlib.sha256(str(path).encode()).hexdigest()[:16]}")


async def opened(path: Path, *, before_commit: Callable[[], None] | None = None) -> Store:
    """Open the store of a path: a file on SQLite, a database of the tests' own server on PostgreSQL."""
    if ON_POSTGRES:
        return await PostgresStore.open(await database_for(path), before_commit=before_commit)
    return await SqliteStore.open(path, before_commit=before_commit)
