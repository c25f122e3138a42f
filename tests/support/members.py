"""Nodes of a cluster as far as ownership goes: real ledgers in one PostgreSQL database, no actors."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import asyncpg

from actors.runtime.cluster.lease import boottime
from actors.runtime.cluster.ownership import Ownership
from actors.runtime.cluster.shards import SHARDS
from persistence.ledger import NodeRow
from persistence.postgres.ledger import PostgresLedger

KEYS = tuple(f"usr_{shard:02x}" for shard in range(SHARDS))
"""A key of each shard."""


@dataclass
class SteppedClock:
    """The time since the machine's start, moved on by tests."""

    ahead_s: float = 0.0

    def __call__(self) -> float:
        return boottime() + self.ahead_s


@dataclass
class Member:
    """One node.

    Attributes:
        over: the reasons with which it ended.
        drained: the shards whose actors it was told to stop, in the portions in which it was told.
    """

    ledger: PostgresLedger
    ownership: Ownership
    row: NodeRow
    clock: SteppedClock
    over: list[str] = field(default_factory=list[str])
    drained: list[list[int]] = field(default_factory=list[list[int]])
    hung: bool = False

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def mine(self) -> set[int]:
        """The shards that it may serve now."""
        return {shard for shard, key in enumerate(KEYS) if self.ownership.is_mine(key)}

    @property
    def lives(self) -> bool:
        return not self.hung and self.ownership.over is None

    async def hang(self) -> None:
        """Stop its heartbeats, as a process that is stopped or cut off; it does not know of it."""
        self.hung = True
        tasks: list[asyncio.Task[None]] = self.ownership._work  # pyright: ignore[reportPrivateUsage]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drain(self, shards: Collection[int]) -> None:
        assert not self.mine & set(shards)
        self.drained.append(list(shards))
        await asyncio.sleep(0)


@dataclass
class Members:
    """Nodes on one database. No shard may ever be served by two of them; `doubles` has the pairs that did."""

    url: str
    ttl_s: float
    all: list[Member] = field(default_factory=list[Member])
    doubles: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    async def join(
        self,
        name: str = "node",
        protocol: int = 1,
        start: bool = True,
        ledger: Callable[[str, float], PostgresLedger] = PostgresLedger,
    ) -> Member:
        """Start a node."""
        clock = SteppedClock()
        its_ledger = ledger(self.url, self.ttl_s)
        ownership = Ownership(its_ledger, self.ttl_s, clock)
        over: list[str] = []
        ownership.on_over = over.append
        try:
            row = await ownership.join(name, "1.0.0", protocol, "digest")
        except BaseException:
            await its_ledger.close()
            raise
        member = Member(its_ledger, ownership, row, clock, over)
        ownership.drained = member._drain  # pyright: ignore[reportPrivateUsage]
        self.all.append(member)
        if start:
            await ownership.start()
        return member

    @property
    def living(self) -> list[Member]:
        return [member for member in self.all if member.lives]

    async def settled(self, within_s: float = 60.0) -> None:
        """Wait until each shard is served by the living node on which it belongs."""

        def is_settled() -> bool:
            parts = [len(member.mine) for member in self.living]
            even = SHARDS // len(parts)
            return sum(parts) == SHARDS and min(parts) > even // 2 and max(parts) < 2 * even

        await until(is_settled, within_s)

    async def watch(self) -> None:
        """Look at all nodes again and again for a shard that two serve."""
        while True:
            self.look()
            await asyncio.sleep(0.002)

    def look(self) -> None:
        """Note the shards that two nodes serve now."""
        served: dict[int, str] = {}
        for member in self.all:
            for shard in member.mine:
                if shard in served:
                    self.doubles.add((served[shard], member.id))
                served[shard] = member.id


@asynccontextmanager
async def members(url: str, ttl_s: float = 1.0) -> AsyncIterator[Members]:
    """Run nodes on a database, watched for shards that two serve."""
    found = Members(url, ttl_s)
    watching = asyncio.create_task(found.watch())
    try:
        yield found
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        for member in found.all:
            await member.hang()
            await member.ledger.close()
    assert found.doubles == set()


async def until(condition: Callable[[], bool], within_s: float = 60.0) -> float:
    """Wait until a condition holds; return how long that took, in seconds."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.005)
    return loop.time() - began


async def run(url: str, sql: str, *params: Any) -> list[asyncpg.Record]:
    """Run a statement on a connection of its own."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(sql, *params)
    finally:
        await connection.close()
