"""Two transactions of PostgreSQL's writer, run a statement at a time in a given order, and what they leave.

A function of a batch (`BatchFunctions`) gets a gate behind each of its statements: an advisory lock that somebody else
holds until the batch may go on.
"""

import asyncio
import sys
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, Self, TypeVar, cast

import asyncpg

from persistence.dialect import POSTGRES
from persistence.postgres.batch_functions import BatchFunctions
from persistence.postgres.constraints import Constraints
from persistence.postgres.transaction import BatchFailed, Transaction
from persistence.store import Unit, Write

T = TypeVar("T")

LOOK_S = 0.001
"""How long a statement may run before it is asked whether it waits for a lock, in seconds."""

CONFLICTS = {"40001", "40P01"}
"""The SQLSTATEs of a serialization failure and of a deadlock."""

DRAWN = {
    "messages": "(to_jsonb(t) - 'place')::text",
    "zone_messages": "(to_jsonb(t) - 'place')::text",
    "deliveries": "(to_jsonb(t) - 'place' || jsonb_build_object('id', left(t.id, 20)))::text",
}
"""How a row is compared that has a random part, or a number whose order says nothing."""

GATES = range(8)
"""The gates of a function, more than any has; the keys of their locks."""

NO_STATE = ("fences", "nodes", "shards", "schema_version", "health")


class Result(NamedTuple):
    """What two batches came to: the outcome of each one's units, and the rows of each table."""

    outcomes: tuple[tuple[str, ...], tuple[str, ...]]
    tables: dict[str, str]


class Side:
    """A node's connection to the database: runs a batch as the writer does, each statement when it is told to.

    Attributes:
        at_once: whether a batch may be stored by a function.
        statements: the texts that the batch has run, and the gates that it has passed.
        conflicts: the SQLSTATEs of deadlocks and serialization failures that it met.
    """

    def __init__(self, node: str, connection: asyncpg.Connection, watcher: asyncpg.Connection) -> None:
        self.node = node
        self.at_once = True
        self.statements: list[str] = []
        self.conflicts: list[str] = []
        self._connection = connection
        self._watcher = watcher
        self._constraints = Constraints()
        self._functions = BatchFunctions(seen=sys.maxsize)  # what may be refused is stepped through by statements
        self._no_functions = BatchFunctions()
        self._no_functions.take_no_more()
        self._shut: list[int] = []
        self._at_gate = False
        self._free = False
        self._number = 0
        self._go: asyncio.Future[None] | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[tuple[str, ...]] | None = None

    async def begin(self, units: Sequence[Unit]) -> None:
        """Begin a batch: it stands before its first statement."""
        self._free, self._go, self._at_gate = False, None, False
        shut = ", ".join(f"pg_advisory_lock({self._key}, {gate})" for gate in GATES if gate not in self._shut)
        if shut:
            await self._watcher.execute(f"SELECT {shut}")
        self._shut = list(GATES)
        self.statements, self.conflicts = [], []
        self._changed.clear()
        self._task = asyncio.create_task(self._store(list(units)))

    async def step(self) -> bool:
        """Run one statement to its end; return False if the batch has ended or waits for the other one's lock."""
        if not await self._stands():
            return False
        await self._release()
        return await self._stands()

    @property
    def has_ended(self) -> bool:
        return self._task is not None and self._task.done()

    async def let_go(self) -> None:
        """Run the rest without a stop."""
        self._free, self._at_gate = True, False
        await self._open(len(self._shut))
        await self._release()

    async def finish(self) -> tuple[str, ...]:
        """Wait for the end of a batch that was let go; return the outcomes."""
        assert self._task is not None
        return await asyncio.wait_for(self._task, 20)

    # what the transaction calls, as of a connection

    def is_closed(self) -> bool:
        return self._connection.is_closed()

    async def execute(self, sql: str, *params: Any) -> str:
        if sql.startswith("CREATE FUNCTION"):
            return await self._connection.execute(self._with_gates(sql))
        return await self._in_turn(sql, self._connection.execute, sql, *params)

    async def fetch(self, sql: str, *params: Any) -> list[asyncpg.Record]:
        return await self._in_turn(sql, self._connection.fetch, sql, *params)

    async def _in_turn(self, text: str, run: Any, *args: Any) -> Any:
        if not self._free:
            self._go = asyncio.get_running_loop().create_future()
            self._changed.set()
            await self._go
        self.statements.append(text)
        try:
            return await cast("Awaitable[Any]", run(*args))
        except asyncpg.PostgresError as error:
            if error.sqlstate in CONFLICTS:
                self.conflicts.append(error.sqlstate)
            raise

    async def _store(self, units: list[Unit]) -> tuple[str, ...]:
        try:
            transaction = self._transaction()
            if not await transaction.store(self.node, self._number, units):
                transaction = self._transaction()
                await transaction.store_apart(self.node, self._number, units)
        except BatchFailed as failed:
            return (f"BatchFailed: {failed}",)
        finally:
            self._changed.set()
        return tuple("stored" if outcome is None else type(outcome).__name__ for outcome in transaction.outcomes)

    def _transaction(self) -> Transaction:
        self._number += 1
        functions = self._functions if self.at_once else self._no_functions
        return Transaction(cast("asyncpg.Connection", self), functions, self._constraints, set(), None)

    @property
    def _key(self) -> int:
        return self._connection.get_server_pid()

    def _with_gates(self, sql: str) -> str:
        *statements, end = sql.split(";\n")
        assert len(statements) <= len(GATES)
        gates = (f"PERFORM pg_advisory_xact_lock_shared({self._key}, {gate})" for gate in GATES)
        return ";\n".join([*chain.from_iterable(zip(statements, gates, strict=False)), end])

    async def _open(self, count: int) -> None:
        gates, self._shut = self._shut[:count], self._shut[count:]
        if gates:
            opened = ", ".join(f"pg_advisory_unlock({self._key}, {gate})" for gate in gates)
            await self._watcher.execute(f"SELECT {opened}")

    async def _release(self) -> None:
        if self._at_gate:
            self._at_gate = False
            self.statements.append(f"gate {self._shut[0]}")
            await self._open(1)
        go, self._go = self._go, None
        if go is not None:
            self._changed.clear()
            go.set_result(None)

    async def _stands(self) -> bool:
        """Wait until the batch stands before a statement or a gate; return False if it has ended, or is blocked."""
        assert self._task is not None
        while self._go is None and not self._task.done():
            try:
                await asyncio.wait_for(self._changed.wait(), LOOK_S)
            except TimeoutError:
                blocking = await self._blocking()
                if blocking == [self._watcher.get_server_pid()]:
                    self._at_gate = True
                    return True
                if blocking:
                    return False
            else:
                await asyncio.sleep(0)  # the task ends
        return self._go is not None

    async def _blocking(self) -> list[int]:
        return await self._watcher.fetchval("SELECT pg_blocking_pids($1)", self._key)


@dataclass
class Arena:
    """A database with a state that each run begins with, and two nodes in it."""

    sides: tuple[Side, Side]
    _watcher: asyncpg.Connection
    _connections: list[asyncpg.Connection]
    _tables: list[str] = field(default_factory=list)
    _kept: dict[str, str] = field(default_factory=dict)
    _sequences: str = "SELECT 1"

    @classmethod
    async def open(cls, url: str, state: Sequence[Write]) -> Self:
        """Connect to a migrated database as its superuser, and store the state that each run begins with."""
        # nothing of this has to survive a crash, and a deadlock is to show at once
        settings = {"synchronous_commit": "off", "deadlock_timeout": "20ms", "jit": "off"}
        connections = [await asyncpg.connect(url, server_settings=settings) for _ in range(3)]
        watcher = connections[2]
        sides = [Side(f"node {n}", connection, watcher) for n, connection in enumerate(connections[:2])]
        for side in sides:
            await watcher.execute("INSERT INTO fences (node, batch) VALUES ($1, 0)", side.node)
        for write in state:
            done = await watcher.execute(POSTGRES.text(write.sql), *write.params)
            assert done.startswith("DELETE") or not done.endswith(" 0"), f"this does nothing: {write}"
        arena = cls((sides[0], sides[1]), watcher, connections)
        await arena._keep()
        return arena

    async def close(self) -> None:
        for connection in self._connections:
            await connection.close()

    async def execute(self, sql: str) -> None:
        """Run a statement on no node's connection."""
        await self._watcher.execute(sql)

    async def run(self, batches: Sequence[Sequence[Unit]], order: Sequence[int]) -> Result:
        """Store two batches from the first state on: the sides in this order run a statement each, then the rest.

        A side that waits for the other one's lock is passed over.
        """
        for side, batch in zip(self.sides, batches, strict=True):
            await side.begin(batch)
        held: Side | None = None  # a lock is held to the end of the other batch
        for place in order:
            side = self.sides[place]
            if side is not held and not await side.step():
                held = side
            if held is not None and all(other is held or other.has_ended for other in self.sides):
                break
        for side in self.sides:
            await side.let_go()
        one, other = await asyncio.gather(*(side.finish() for side in self.sides))
        return Result((one, other), await self._taken())

    def store_at_once(self, at_once: bool) -> None:
        """Choose whether batches may be stored by functions."""
        for side in self.sides:
            side.at_once = at_once

    @property
    def lengths(self) -> tuple[int, int]:
        """The number of statements that each side ran last."""
        return len(self.sides[0].statements), len(self.sides[1].statements)

    @property
    def conflicts(self) -> list[str]:
        """The deadlocks and serialization failures of the last run."""
        return [state for side in self.sides for state in side.conflicts]

    @property
    def first_state(self) -> dict[str, str]:
        return self._kept

    async def _keep(self) -> None:
        names = await self._watcher.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        self._tables = [name for (name,) in names if name not in NO_STATE]
        await self._watcher.execute("CREATE SCHEMA kept")
        for table in self._tables:
            await self._watcher.execute(f"CREATE TABLE kept.{table} AS TABLE {table}")
        sequences = await self._watcher.fetch(
            "SELECT schemaname || '.' || sequencename, coalesce(last_value + 1, 1) FROM pg_sequences"
        )
        self._sequences = "SELECT " + ", ".join(f"setval('{name}', {value}, false)" for name, value in sequences)
        self._kept = await self._read()

    async def _taken(self) -> dict[str, str]:
        """Read the tables, then put the first state back into those that have changed."""
        found = await self._read()
        changed = [table for table in self._tables if found[table] != self._kept[table]]
        restored = "".join(f"DELETE FROM {table}; INSERT INTO {table} TABLE kept.{table};" for table in changed)
        await self._watcher.execute(
            f"BEGIN; SET LOCAL session_replication_role = replica; {restored} {self._sequences}; COMMIT"
        )
        return found

    async def _read(self) -> dict[str, str]:
        rows = ", ".join(
            "(SELECT coalesce(string_agg(seen, E'\\n' ORDER BY seen), '')"
            f" FROM (SELECT {DRAWN.get(table, 't::text')} AS seen FROM {table} AS t) AS rows)"
            for table in self._tables
        )
        found = await self._watcher.fetchrow(f"SELECT {rows}")
        assert found is not None
        return dict(zip(self._tables, found, strict=True))


def cuts(lengths: tuple[int, int], cut: Sequence[int] = (0, 1)) -> Iterator[list[int]]:
    """Make the orders in which a batch is cut at every statement by the whole other one, and two that take turns."""
    longest = 2 * max(lengths) + 4  # a batch may take more statements when it is refused
    for one in (0, 1):
        for before in range(1, lengths[one] if one in cut else 1):
            yield [one] * before + [1 - one] * longest
        yield [one, 1 - one] * longest
