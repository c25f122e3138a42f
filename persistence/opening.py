"""The choice of the store, and the ledger of a cluster."""

from collections.abc import Callable
from pathlib import Path

from persistence.ledger import Ledger, NodeRow
from persistence.sqlite.store import SqliteStore
from persistence.store import Store


async def open_store(
    postgres_url: str | None,
    file: Path,
    before_commit: Callable[[], None] | None = None,
    *,
    cluster: NodeRow | None = None,
    on_over: Callable[[str], None] | None = None,
) -> Store:
    """Open the PostgreSQL database of a URL, or the SQLite file if there is none.

    `cluster` is this gateway as a node that has joined, and `on_over` is told if it may store no more.

    Raises:
        StoreError: it is in use, too new for this code, or can't be used.
    """
    if postgres_url is None:
        return await SqliteStore.open(file, before_commit=before_commit)
    from persistence.postgres.store import PostgresStore  # noqa: PLC0415 - only this store needs its driver

    return await PostgresStore.open(postgres_url, before_commit=before_commit, cluster=cluster, on_over=on_over)


def open_ledger(postgres_url: str, lease_s: float) -> Ledger:
    """Return the ledger of the cluster that shares a PostgreSQL database; it connects when the node joins."""
    from persistence.postgres.ledger import PostgresLedger  # noqa: PLC0415 - as above

    return PostgresLedger(postgres_url, lease_s)
