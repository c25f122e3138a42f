"""The `Ledger` in PostgreSQL: the tables `nodes`, `fences` and `shards`.

All changes of owners, and of whether a node is live, are made under one advisory lock, so a shard's owner is always
live. Two connections: a heartbeat must not wait behind a change.
"""

import re
import secrets
from collections.abc import Collection, Mapping
from time import time
from typing import Any

import asyncpg

from persistence import notices
from persistence.dialect import POSTGRES
from persistence.ledger import Beat, LedgerUnavailable, NodeRow, NotAdmitted, patiently
from persistence.postgres.admission import admit
from persistence.postgres.connecting import check, connected, unusable
from persistence.postgres.ledger_session import LedgerSession
from persistence.postgres.migrate import schema_locked
from persistence.postgres.session import writer_name
from persistence.store import StoreError

NUMBERS = 256
"""The number of nodes that may be live at a time."""

NOTICES = 1_000
"""How many notices a heartbeat reads."""

BEAT_S = 1.5
"""The longest time of a heartbeat, in seconds; then another connection may do better."""

_NAME = 32
"""The longest part of an id that comes from the node's name: the server cuts names of sessions at 63 characters."""

_NODES = """
    SELECT id, number, version, protocol, catalogs, draining, live, seen,
        CAST(extract(epoch FROM expires - clock_timestamp()) * 1000 AS bigint)
    FROM nodes WHERE live ORDER BY id
"""

_SHARDS = """
    SELECT array_agg(owner ORDER BY id), array_agg(epoch ORDER BY id),
        CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint),
        CAST(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000 AS bigint)
    FROM shards
"""

_RENEW = """
    UPDATE nodes SET expires = clock_timestamp() + make_interval(secs => $2), seen = greatest(seen, $3)
    WHERE id = $1 AND live
"""

# The lowest number that no live node has. Earlier notices concern nothing that a new node has in memory; the newest may
# be forgotten, if a live node has seen it.
_JOIN = """
    INSERT INTO nodes (id, number, version, protocol, catalogs, expires, seen, draining)
    SELECT $1, min(number), $2, $3, $4, clock_timestamp() + make_interval(secs => $5),
        greatest((SELECT max(place) FROM notices), (SELECT max(seen) FROM nodes WHERE live), 0), true
    FROM generate_series(0, $6) AS number WHERE number NOT IN (SELECT number FROM nodes WHERE live)
    HAVING min(number) IS NOT NULL
"""

_LONG_DEAD = "NOT live AND expires < clock_timestamp() - interval '1 day'"

# Its last lease has expired, and the server runs for a lease, in which the node could have renewed it.
_EXPIRED = """
    expires < clock_timestamp() AND pg_postmaster_start_time() < clock_timestamp() - make_interval(secs => $2)
"""

_END_WRITER = f"""
    SELECT pg_terminate_backend(pid, 500) FROM pg_stat_activity
    WHERE usename = current_user AND application_name = $3
    AND EXISTS (SELECT 1 FROM nodes WHERE id = $1 AND (NOT live OR {_EXPIRED}))
"""

_DECLARE_DEAD = f"UPDATE nodes SET live = false WHERE id = $1 AND live AND {_EXPIRED}"

_GIVE = """
    UPDATE shards SET epoch = epoch + 1, owner = coalesce((
        SELECT nodes.id FROM unnest(CAST($3 AS bigint[]), CAST($4 AS text[])) AS given (shard, node)
        JOIN nodes ON nodes.id = node WHERE shard = shards.id AND live AND NOT draining
    ), $2)
    WHERE owner = $1
"""

_HAND_OVER = """
    UPDATE shards SET owner = $3, epoch = epoch + 1 WHERE id = ANY ($2) AND owner = $1 AND (CAST($3 AS text) IS NULL
    OR EXISTS (SELECT 1 FROM nodes WHERE id = $3 AND live AND NOT draining AND expires > clock_timestamp()))
"""

_CLAIM = """
    UPDATE shards SET owner = $1, epoch = epoch + 1 WHERE id = ANY ($2) AND owner IS NULL
    AND EXISTS (SELECT 1 FROM nodes WHERE id = $1 AND live AND NOT draining)
"""

_FENCE_OWNER = """
    UPDATE fences SET live = false WHERE node = $1 AND EXISTS (SELECT 1 FROM shards WHERE owner = $1)
"""

_OWNED = "SELECT id FROM shards WHERE owner IS NOT DISTINCT FROM $1 AND id = ANY ($2) ORDER BY id"


class PostgresLedger:
    """A `Ledger` in a PostgreSQL database. `join` first.

    Args:
        url: the database.
        ttl_s: the length of a lease, the same on all nodes, in seconds.
    """

    def __init__(self, url: str, ttl_s: float) -> None:
        self._url = url
        self._ttl_s = ttl_s
        self._node = ""
        self._beats = LedgerSession(url, "parley lease", whole_s=BEAT_S, shares_database=True)
        self._changes = LedgerSession(url, "parley ledger")

    async def join(self, name: str, version: str, protocol: int, catalogs: str) -> NodeRow:
        """Bring the schema up to date and enter this process as a node; see `Ledger.join`."""
        self._node = f"{re.sub('[^A-Za-z0-9_-]', '-', name)[:_NAME]}-{secrets.token_hex(4)}"
        self._beats.node = self._changes.node = self._node

        async def join(connection: asyncpg.Connection) -> list[asyncpg.Record]:
            if await connection.fetchval("SELECT EXISTS (SELECT 1 FROM nodes WHERE id = $1)", self._node):
                return await connection.fetch(_NODES)  # an earlier try has entered it
            await connection.execute(f"DELETE FROM fences WHERE node IN (SELECT id FROM nodes WHERE {_LONG_DEAD})")
            await connection.execute(f"DELETE FROM nodes WHERE {_LONG_DEAD}")
            entered = (self._node, version, protocol, catalogs, self._ttl_s, NUMBERS - 1)
            if await connection.execute(_JOIN, *entered) == "INSERT 0 0":
                raise NotAdmitted(f"{NUMBERS} nodes are live: stop one first")
            await connection.execute("INSERT INTO fences (node, batch) VALUES ($1, 0)", self._node)
            return await connection.fetch(_NODES)

        try:
            async with connected(self._url, "parley start") as connection:
                await check(connection, self._url)
                await self._beats.take_database()
                # nobody joins between the look at the live nodes and the migration, or between that and this node
                async with schema_locked(connection):
                    await admit(connection, version, protocol, lambda node: self._declare_dead(node, {}, None))
                    nodes = await patiently(lambda: self._changes.change(join))
        except StoreError:
            raise
        except Exception as error:
            raise StoreError(unusable(self._url, error)) from error
        return next(row for row in map(_node, nodes) if row.id == self._node)

    async def beat(self, seen: int) -> Beat:
        """Renew the lease and read what others have changed; see `Ledger.beat`."""

        async def beat(connection: asyncpg.Connection) -> Beat:
            before = time()
            held = await connection.execute(_RENEW, self._node, self._ttl_s, seen) == "UPDATE 1"
            row = await connection.fetchrow(_SHARDS)
            assert row is not None
            owners, epochs, now_ms, up_ms = row
            offset_ms = round((before + time()) / 2 * 1000) - now_ms
            nodes = await connection.fetch(_NODES)
            query = notices.notices_after(seen, NOTICES)
            statement = POSTGRES.statement(query.sql)
            found = await connection.fetch(statement.sql, *statement.ordered(query.params))
            new = tuple(query.build(tuple(notice)) for notice in found)
            return Beat(held, tuple(map(_node, nodes)), tuple(owners), tuple(epochs), new, offset_ms, up_ms)

        return await self._beats.run(beat)

    async def set_draining(self, draining: bool) -> None:
        """Have this node take no shards, or take them from now on."""
        sql = "UPDATE nodes SET draining = $2 WHERE id = $1"
        await self._changes.change(lambda connection: connection.execute(sql, self._node, draining))

    async def take_over(self, dead: str, owners: Mapping[int, str]) -> bool:
        """Declare a node dead whose lease has expired; see `Ledger.take_over`."""
        return await self._declare_dead(dead, owners, self._node)

    async def _declare_dead(self, dead: str, owners: Mapping[int, str], heir: str | None) -> bool:
        """Declare a node dead; shards that `owners` lacks go to the heir, or to nobody if there is none."""

        async def take(connection: asyncpg.Connection) -> bool:
            declared = await connection.execute(_DECLARE_DEAD, dead, self._ttl_s)
            if declared == "UPDATE 0" and await _is_live(connection, dead):
                return False
            if heir is not None and not await _is_live(connection, heir):
                raise LedgerUnavailable("this node was declared dead")
            await connection.execute("UPDATE fences SET live = false WHERE node = $1", dead)  # after its last commit
            await connection.execute(_GIVE, dead, heir, list(owners), list(owners.values()))
            return True

        # a transaction of a writer that hangs would be waited for
        ended = (dead, self._ttl_s, writer_name(dead))
        await self._changes.run(lambda connection: connection.execute(_END_WRITER, *ended))
        return await self._changes.change(take)

    async def hand_over(self, shards: Collection[int], to: str | None) -> list[int]:
        """Give shards of this node to another one; see `Ledger.hand_over`."""
        return await self._moved(to, shards, _HAND_OVER, self._node, list(shards), to)

    async def claim(self, shards: Collection[int]) -> list[int]:
        """Take shards that have no owner; see `Ledger.claim`."""
        return await self._moved(self._node, shards, _CLAIM, self._node, list(shards))

    async def forget_notices(self) -> None:
        """Delete the notices that all live nodes have acted on."""
        await self._changes.run(lambda connection: connection.execute(notices.forget().sql))

    async def leave(self) -> None:
        """End this node; see `Ledger.leave`."""

        async def leave(connection: asyncpg.Connection) -> None:
            await connection.execute("UPDATE nodes SET live = false WHERE id = $1", self._node)
            await connection.execute(_FENCE_OWNER, self._node)
            await connection.execute("UPDATE shards SET owner = NULL, epoch = epoch + 1 WHERE owner = $1", self._node)

        await self._changes.change(leave)

    async def close(self) -> None:
        """Close the connections."""
        await self._changes.close()
        await self._beats.close()

    async def _moved(self, to: str | None, shards: Collection[int], sql: str, *params: Any) -> list[int]:
        async def move(connection: asyncpg.Connection) -> list[int]:
            await connection.execute(sql, *params)
            return [shard for (shard,) in await connection.fetch(_OWNED, to, list(shards))]

        return await self._changes.change(move)


def _node(row: asyncpg.Record) -> NodeRow:
    return NodeRow(*row)


async def _is_live(connection: asyncpg.Connection, node: str) -> bool:
    return await connection.fetchval("SELECT EXISTS (SELECT 1 FROM nodes WHERE id = $1 AND live)", node)
