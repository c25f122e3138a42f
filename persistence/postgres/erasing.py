"""Erasing on PostgreSQL: deleted rows leave the tables and their indexes."""

import asyncio

import asyncpg

from persistence.postgres.connecting import connect
from persistence.store import StoreUnavailable

TABLES = (
    "memories",
    "messages",
    "zone_messages",
    "documents",
    "document_parts",
    "indexed_texts",
    "postings",
    "vocabulary",
    "kept_answers",
    "events",
    "deliveries",
)
"""The tables with texts of users, or with what was made of them."""

WAIT_S = 5.0
"""How long transactions that are under way are waited for, in seconds."""

VACUUM_S = 3_600.0

_OLDER_TRANSACTIONS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    AND (age(backend_xid) > age(CAST($1 AS xid)) OR age(backend_xmin) > age(CAST($1 AS xid)))
"""


async def erase_deleted(url: str) -> bool:
    """Vacuum the tables with users' texts; return False while an older transaction may still see dead rows.

    Raises:
        StoreUnavailable: the database can't be reached, or it failed.
    """
    try:
        connection = await connect(url, "parley erasing")
        try:
            return await _erase(connection)
        finally:
            await connection.close(timeout=5)
    except Exception as error:
        raise StoreUnavailable(str(error)) from error


async def _erase(connection: asyncpg.Connection) -> bool:
    # every deletion that is committed now has a lower number; an older transaction may still see the rows
    now = await connection.fetchval("SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS xid)")
    until = asyncio.get_running_loop().time() + WAIT_S
    while await connection.fetchval(_OLDER_TRANSACTIONS, now):
        if asyncio.get_running_loop().time() > until:
            return False
        await asyncio.sleep(0.02)
    await connection.execute(f"VACUUM (INDEX_CLEANUP ON) {', '.join(TABLES)}", timeout=VACUUM_S)
    return True
