"""The admission of a node: it and the nodes that are live must fit each other, and the schema must fit all of them."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import asyncpg

from persistence.ledger import NotAdmitted
from persistence.postgres import migrate
from persistence.postgres.migrate import Migration, apply, is_older, pending, read_schema, too_new

log = logging.getLogger("parley.cluster")


class _Other(NamedTuple):
    """A live node. `rest_ms` is the rest of its lease; negative once it has expired."""

    id: str
    version: str
    protocol: int
    rest_ms: int

    @property
    def named(self) -> str:
        return f"{self.id} (version {self.version})"


async def admit(
    connection: asyncpg.Connection, version: str, protocol: int, declare_dead: Callable[[str], Awaitable[bool]]
) -> None:
    """Bring the schema up to date for a node, unless it and the live nodes don't fit. Call it with `schema_locked`.

    Args:
        connection: of a database that is shared by nodes only.
        version: of the node's code.
        protocol: of its messages to other nodes.
        declare_dead: ends a node whose lease has expired, and returns whether it has ended.

    Raises:
        NotAdmitted: the protocol of a live node differs by more than one, or a migration needs it to be newer.
        StoreTooNew: the schema needs a newer version than this one.
        StoreError: a table is in use for too long.
    """
    others = await _others(connection)
    _require_fitting_protocols(protocol, others)
    schema = await read_schema(connection)
    todo = pending(schema.version, migrate.MIGRATIONS)
    newest = max(migration.number for migration in pending(0, migrate.MIGRATIONS))
    if schema.version > newest:
        if is_older(version, schema.needs):
            raise too_new(schema, newest)
        log.info("the database is at schema version %d, this code knows %d and works with it", schema.version, newest)
    await _require_new_enough(todo, others, declare_dead)
    await apply(connection, todo)


async def _others(connection: asyncpg.Connection) -> Sequence[_Other]:
    if await connection.fetchval("SELECT to_regclass('nodes') IS NULL"):
        return ()
    rows = await connection.fetch(
        "SELECT id, version, protocol, CAST(extract(epoch FROM expires - clock_timestamp()) * 1000 AS bigint)"
        " FROM nodes WHERE live ORDER BY id"
    )
    return [_Other(*row) for row in rows]


def _require_fitting_protocols(protocol: int, others: Sequence[_Other]) -> None:
    too_far = [other for other in others if other.rest_ms > 0 and abs(other.protocol - protocol) > 1]
    if too_far:
        named = ", ".join(f"{other.id} ({other.protocol})" for other in too_far)
        raise NotAdmitted(
            f"this version's protocol between nodes is {protocol}, and that of {named} differs by more than one:"
            " upgrade all nodes to a version in between first"
        )


async def _require_new_enough(
    todo: Sequence[Migration], others: Sequence[_Other], declare_dead: Callable[[str], Awaitable[bool]]
) -> None:
    """Refuse migrations that take away what a live node uses. Nodes whose leases have expired are declared dead."""
    for migration in todo:
        for other in others:
            if not is_older(other.version, migration.needs):
                continue
            if other.rest_ms < 0 and await declare_dead(other.id):
                continue
            raise NotAdmitted(
                f"the migration {migration.file.name} takes away what versions before {migration.needs} use, and"
                f" {other.named} is live: upgrade every node to {migration.needs} first, or stop the older ones;"
                f" one that was killed counts as live for {max(other.rest_ms, 0) / 1000:.1f} s more"
            )
