"""The choice of the store."""

from collections.abc import Callable
from pathlib import Path

from persistence.sqlite.store import SqliteStore
from persistence.store import Store


async def open_store(postgres_url: str | None, file: Path, before_commit: Callable[[], None] | None = None) -> Store:
    """Open the PostgreSQL database of a URL, or the SQLite file if there is none.

    Raises:
        StoreError: it is in use, too new for this code, or can't be used.
    """
    if postgres_url is None:
        return await SqliteStore.open(file, before_commit=before_commit)
    from persistence.postgres.store import PostgresStore  # noqa: PLC0415 - only this store needs its driver

    return await PostgresStore.open(postgres_url, before_commit=before_commit)
