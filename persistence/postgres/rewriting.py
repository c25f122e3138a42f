"""Rewriting of the tables with users' texts, so that not even free space inside their files has deleted content."""

from collections.abc import Callable
from time import monotonic

import asyncpg

from persistence.migrations import numbered
from persistence.postgres.connecting import FORBIDDEN, check, connected, described, unusable
from persistence.postgres.erasing import TABLES, older_transactions
from persistence.postgres.migrate import MIGRATIONS
from persistence.postgres.session import LOCK
from persistence.store import StoreError, StoreLocked

REWRITE_S = 86_400.0
"""The longest time of a table, in seconds."""


async def rewrite(url: str, tell: Callable[[str], None]) -> None:
    """Write each table with users' texts anew, then the server's files to disk; no gateway may run meanwhile.

    `tell` gets a line for each table. What is erased already stays so if this is broken off.

    Raises:
        StoreLocked: a gateway has the database.
        StoreError: it can't be done; the message gives the reason and the remedy.
    """
    try:
        async with connected(url, "parley rewriting") as connection:
            await check(connection, url)
            await _prepare(connection, url)
            await _rewrite(connection, tell)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(unusable(url, error)) from error


async def _prepare(connection: asyncpg.Connection, url: str) -> None:
    """Keep gateways out, and refuse a database that this code can't rewrite whole.

    Raises:
        StoreLocked: a gateway has it.
        StoreError: its schema is another one, or a transaction may still see deleted rows.
    """
    place = described(url)
    if not await connection.fetchval(f"SELECT pg_try_advisory_lock({LOCK})"):
        raise StoreLocked(f"{place} is in use by a gateway: stop it first, because each table is locked for a while.")
    newest = max(numbered(MIGRATIONS))
    if await connection.fetchval("SELECT to_regclass('schema_version')") is None:
        raise StoreError(f"{place} has no tables of Parley: name the database that the gateway uses.")
    version = await connection.fetchval("SELECT max(version) FROM schema_version")
    if version != newest:
        raise StoreError(
            f"{place} is at schema version {version}, this code's is {newest}:"
            " use the version of Parley that runs on it, or start this one once."
        )
    older = await older_transactions(connection)
    if older:
        raise StoreError(
            f"{place}: deleted rows may still be seen by {', '.join(older)}; end these first (pg_terminate_backend,"
            " ROLLBACK PREPARED, pg_drop_replication_slot)."
        )


async def _rewrite(connection: asyncpg.Connection, tell: Callable[[str], None]) -> None:
    width = max(map(len, TABLES))
    for number, table in enumerate(TABLES, 1):
        began, before = monotonic(), await _size(connection, table)
        await connection.execute(f"VACUUM (FULL, ANALYZE) {table}", timeout=REWRITE_S)
        after = await _size(connection, table)
        tell(
            f"{number:2}/{len(TABLES)} {table:{width}} {before / 1e6:10,.1f} MB -> {after / 1e6:10,.1f} MB"
            f" {monotonic() - began:7.1f} s"
        )
    await connection.execute("UPDATE erasure SET due = 0")
    for statement in ("CHECKPOINT", "SELECT pg_switch_wal()"):
        try:
            await connection.execute(statement, timeout=REWRITE_S)
        except asyncpg.PostgresError as error:
            if error.sqlstate != FORBIDDEN:
                raise
            tell(f"This role may not run {statement}: have an administrator run it.")


async def _size(connection: asyncpg.Connection, table: str) -> int:
    return await connection.fetchval("SELECT pg_total_relation_size(CAST($1 AS regclass))", table)
