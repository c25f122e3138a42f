"""The PostgreSQL of the benchmarks: in a temporary folder, reached through a Unix socket there, gone when they end."""

import asyncio
import base64
import secrets
from collections.abc import Generator
from contextlib import contextmanager

from bench.report import BenchError
from tests.support.postgres import Cluster, NoPostgres

AS_INSTALLED = {"shared_buffers": "128MB", "max_wal_size": "1GB", "autovacuum_naptime": "1min"}
"""Settings of a fresh installation; fsync is on, too."""


@contextmanager
def private_postgres() -> Generator[Cluster]:
    """Run a server until the end; not from an event loop.

    Raises:
        BenchError: PostgreSQL is not installed.
    """
    try:
        cluster = asyncio.run(Cluster.start(AS_INSTALLED))
    except NoPostgres as missing:
        raise BenchError(str(missing)) from None
    try:
        yield cluster
    finally:
        cluster.stop()


def stored_in(url: str | None) -> dict[str, str]:
    """Return the settings of a gateway that stores in a database; none are needed for SQLite."""
    if url is None:
        return {}
    return {"PARLEY_STORE_URL": url, "PARLEY_MASTER_KEY": base64.b64encode(secrets.token_bytes(32)).decode()}
