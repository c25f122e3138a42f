"""Erasing on PostgreSQL: deleted rows leave the tables and their indexes."""

import asyncio

import asyncpg

from persistence.postgres.connecting import connected
from persistence.store import StoreUnavailable

TABLES = (
    "users",
    "agents",
    "domains",
    "zones",
    "membership_events",
    "banks",
    "memories",
    "conversations",
    "messages",
    "bindings",
    "run_keys",
    "failed_runs",
    "push_configs",
    "zone_messages",
    "documents",
    "document_parts",
    "indexed_texts",
    "postings",
    "vocabulary",
    "credentials",
    "kept_answers",
    "events",
    "audit",
    "endpoints",
    "attempts",
    "tool_servers",
    "skills",
    "skill_files",
    "notices",
)
"""The tables with texts of users, names included, or with what was made of them."""

WAIT_S = 5.0
"""How long transactions that are under way are waited for, in seconds."""

VACUUM_S = 3_600.0

# Of the autovacuum's workers only one that analyzes keeps dead rows.
_OLDER_TRANSACTIONS = """
    SELECT application_name || ' (pid ' || pid || ')' FROM pg_stat_activity
    WHERE coalesce(datname, current_database()) = current_database() AND pid <> pg_backend_pid()
    AND (backend_type <> 'autovacuum worker' OR pid IN (SELECT pid FROM pg_stat_progress_analyze))
    AND (age(backend_xid) > age(CAST($1 AS xid)) OR age(backend_xmin) > age(CAST($1 AS xid)))
    UNION ALL
    SELECT 'prepared transaction ' || gid FROM pg_prepared_xacts
    WHERE database = current_database() AND age(transaction) > age(CAST($1 AS xid))
    UNION ALL
    SELECT 'replication slot ' || slot_name FROM pg_replication_slots WHERE age(xmin) > age(CAST($1 AS xid))
"""


async def erase_deleted(url: str) -> bool:
    """Vacuum the tables with users' texts; return False while an older transaction may still see dead rows.

    Raises:
        StoreUnavailable: the database can't be reached, or it failed.
    """
    try:
        async with connected(url, "parley erasing") as connection:
            return await _erase(connection)
    except Exception as error:
        raise StoreUnavailable(str(error)) from error


async def older_transactions(connection: asyncpg.Connection) -> list[str]:
    """Wait up to `WAIT_S` for what may still see rows that are deleted by now; name what is left of it, for people."""
    # every deletion that is committed now has a lower number; an older transaction may still see the rows
    now = await connection.fetchval("SELECT CAST(pg_snapshot_xmax(pg_current_snapshot()) AS xid)")
    until = asyncio.get_running_loop().time() + WAIT_S
    while older := await connection.fetch(_OLDER_TRANSACTIONS, now):
        if asyncio.get_running_loop().time() > until:
            break
        await asyncio.sleep(0.02)
    return [name for (name,) in older]


async def _erase(connection: asyncpg.Connection) -> bool:
    if await older_transactions(connection):
        return False
    await connection.execute(f"VACUUM (INDEX_CLEANUP ON) {', '.join(TABLES)}", timeout=VACUUM_S)
    return True
