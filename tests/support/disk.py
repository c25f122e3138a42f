"""A real store on a disk that tests can block and make fail, and an actor that counts on it."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from actors.errors import NameTaken, NotFound
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import Ask
from persistence.store import Query, Store, Unit, Write
from tests.support.stores import opened


class DiskFull(OSError):
    """The error of a test's disk."""


@dataclass
class Disk:
    """A hook of the writer's thread before each COMMIT."""

    fails: Callable[[], bool] = lambda: False
    commits: int = 0
    _free: threading.Event = field(default_factory=threading.Event)
    _reached: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._free.set()

    def before_commit(self) -> None:
        """Run in the writer's thread: wait while blocked, then fail or pass."""
        self.commits += 1
        self._reached.set()
        assert self._free.wait(30), "a test held the disk and never let go of it"
        if self.fails():
            raise DiskFull("no space left on this disk")

    def hold(self) -> None:
        """Block all batches from now on."""
        self._reached.clear()
        self._free.clear()

    async def reached(self) -> None:
        """Wait until a batch stands at its COMMIT."""
        assert await asyncio.to_thread(self._reached.wait, 30)

    def let_go(self, *, failing: bool = False) -> None:
        """Let the blocked batch pass or fail; later ones pass."""
        if failing:
            self.fail_next()
        self._free.set()

    def fail_next(self, batches: int = 1) -> None:
        """Fail this number of batches from now on."""
        left = iter(range(batches))
        self.fails = lambda: next(left, None) is not None


TABLES = (
    "CREATE TABLE counters (key TEXT PRIMARY KEY, n INTEGER NOT NULL) @sqlite(STRICT)",
    "CREATE TABLE increments (key TEXT NOT NULL, by_n INTEGER NOT NULL CHECK (by_n > 0)) @sqlite(STRICT)",
    "CREATE TABLE names (name TEXT PRIMARY KEY, key TEXT NOT NULL REFERENCES counters (key)) @sqlite(STRICT)",
)


@asynccontextmanager
async def open_store(folder: Path, disk: Disk | None = None, name: str = "test.db") -> AsyncIterator[Store]:
    """Open a store with the tables of the counters beside the gateway's own."""
    store = await opened(folder / name, before_commit=disk.before_commit if disk else None)
    if not await has_table(store, "counters"):
        await store.commit(Unit(tuple(Write(sql, ()) for sql in TABLES)))
    try:
        yield store
    finally:
        if disk:
            disk.let_go()
        await store.close()


async def has_table(store: Store, name: str) -> bool:
    """Return whether a store has a table of this name."""
    tables = "@sqlite(SELECT 1 FROM sqlite_schema WHERE name = ?)@postgres(SELECT 1 FROM pg_tables WHERE tablename = ?)"
    return bool(await rows(store, tables, name))


async def rows(store: Store, sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Read committed rows."""
    return await store.fetch(Query(sql, params, lambda row: row))


async def value(store: Store, sql: str, *params: Any) -> Any:
    """Read the value of a query with one row and one column."""
    ((found,),) = await rows(store, sql, *params)
    return found


async def spin(steps: int = 20) -> None:
    """Let the event loop take some steps, so that everything that needs no waiting is done."""
    for _ in range(steps):
        await asyncio.sleep(0)


class Increment(Ask[int], frozen=True):
    """Increment the count, as one unit of two rows; answered with the new count."""

    by_n: int = 1


class ReadCount(Ask[int], frozen=True):
    """Answered with the count in memory."""


class RefuseWithCount(Ask[None], frozen=True):
    """Refused, with the count in memory in the note."""


class TakeName(Ask[tuple[str, int]], frozen=True):
    """Take a name that may be taken already; answered with the name and the count in memory."""

    name: str


class Incarnation(Ask[int], frozen=True):
    """Answered with the actor's incarnation."""


class Counter(DurableActor):
    """Counts in memory first and stores the value afterwards, which an unfenced writer would get wrong."""

    kind = "counter"

    def __init__(self, key: str, store: Store) -> None:
        super().__init__(key, store)
        self.n = 0
        self.name: str | None = None

    async def on_begin(self) -> None:
        found = await rows(self.store, "SELECT n FROM counters WHERE key = ?", self.key)
        self.n = found[0][0] if found else 0

    @handles(Increment)
    def _increment(self, message: Increment) -> AsyncFuture[int]:
        self.n = n = self.n + 1
        return self.commit(
            Write(
                "INSERT INTO counters (key, n) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET n = excluded.n",
                (self.key, n),
            ),
            Write("INSERT INTO increments (key, by_n) VALUES (?, ?)", (self.key, message.by_n)),
            reply=lambda: n,
        )

    @handles(ReadCount)
    def _read(self, _: ReadCount) -> int:
        return self.n

    @handles(RefuseWithCount)
    def _refuse(self, _: RefuseWithCount) -> None:
        raise NotFound(f"there are {self.n}")

    @handles(TakeName)
    def _take_name(self, message: TakeName) -> AsyncFuture[tuple[str, int]]:
        def applied() -> None:
            self.name = message.name

        n = self.n  # the value of now, because a later count may fail to be stored
        return self.commit_or_refuse(
            Write("INSERT INTO names (name, key) VALUES (?, ?)", (message.name, self.key)),
            reply=lambda: (message.name, n),
            applied=applied,
            constraint_errors={"names.name": lambda: NameTaken(f"{message.name} is taken")},
        )

    @handles(Incarnation)
    def _incarnation(self, _: Incarnation) -> int:
        return self.incarnation
