"""The interface of the store, which names no database: units to commit, queries to read.

A `Unit` is all the writes of one command; it is stored whole or not at all. A `Query` is one read of
committed state. `Store` is the seam for a second implementation (PostgreSQL).
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from persistence.histogram import Histogram

T = TypeVar("T")
Params = tuple[Any, ...]

ROWS = "rows"
"""The constraint that refuses a `Write` with another number of touched rows than expected."""

FOREIGN_KEY = "foreign key"
"""The constraint that refuses a row which refers to one that is gone."""

Constraint = str
"""A constraint that may refuse a unit: `ROWS`, `FOREIGN_KEY`, or a persistence module's, as `agents.NAME_TAKEN`."""


def not_null(column: str) -> Constraint:
    """Name the constraint that refuses a null in a column, which is given as `table.column`."""
    return f"{column} is null"


NO_CONSTRAINT_ERRORS: Mapping[Constraint, Callable[[], Exception]] = MappingProxyType({})


class StoreError(Exception):
    """Base of a store's errors."""


class StoreUnavailable(StoreError):
    """The unit was not stored, or could not be: disk full, I/O error, failed batch, wrong statement."""


class InDoubt(StoreUnavailable):
    """The store was lost within the commit and did not come back in time: the unit may be stored, or not."""


class Fenced(StoreUnavailable):
    """An earlier unit of the same incarnation failed, so this one was refused without being tried."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of the code than this one."""


class StoreLocked(StoreError):
    """Another process has this database open."""


class Write(Struct, frozen=True):
    """One statement with its parameters.

    `rows`: the number of rows that it must touch; another number refuses the unit with the constraint `ROWS`.
    `many`: a statement that does the same for many writes; the parameter of its `@rows` stands for their `params`. Only
    for writes whose order does not matter, because units of them change places in a batch.
    `before`: whether the statement for many runs before those of other writes, which may refer to its rows.
    """

    sql: str
    params: Params
    rows: int | None = None
    many: str | None = None
    before: bool = False


class Unit(Struct, frozen=True):
    """All writes of one command: stored whole, or not at all.

    `incarnations`: the activations of actors whose memory already holds this change; when the unit fails, the
    writer refuses every later unit of theirs.
    `constraint_errors`: the constraints that may refuse it, each with a maker of the error to answer. A refusal fences
    no incarnation.
    `rarely_refused`: whether that is so rare that it may be stored together with others; a refusal takes them apart.
    `then`: makes further writes of the unit from the number of rows that the last of `writes` touched. The writer's
    thread calls it within the transaction, and once more where it has to begin that again.
    """

    writes: tuple[Write, ...]
    incarnations: tuple[int, ...] = ()
    constraint_errors: Mapping[Constraint, Callable[[], Exception]] = NO_CONSTRAINT_ERRORS
    then: Callable[[int], Sequence[Write]] | None = None
    rarely_refused: bool = False


class Query(Struct, Generic[T], frozen=True):
    """One read of committed state: a statement, its parameters, and the function that makes a `T` of a row."""

    sql: str
    params: Params | Mapping[str, Any]
    build: Callable[[Params], T]


Reads = Generator[Query[Any], list[Any], T]
"""Reads of which later ones depend on earlier ones: yields each query, is sent its rows, and returns the result.

SQLite's store runs it off the event loop, so its own work is short and touches nothing that others change.
"""


def rows_of(query: Query[T]) -> Generator[Query[T], list[T], list[T]]:
    """Return the rows of one of the `Reads`, for `yield from`."""
    return (yield query)


Settled = Callable[[Exception | None], None]
"""Called once on the event loop, with None if the unit is durable, else with the reason why it is not stored."""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts since the store was opened: units that wait now, units tried, transactions that held them.

    `oldest_s`: seconds since the oldest of the waiting units was submitted, 0 if none waits; `commit_s`: times from the
    start of a transaction to its outcome; `batch_units`: numbers of units of the transactions.
    `exclusive`: the stored ones of these for which all writers of the database had to wait. `in_doubt`: commits whose
    answer was lost. Both only of a store that has such.
    """

    waiting: int
    units: int
    batches: int
    oldest_s: float
    commit_s: Histogram
    batch_units: Histogram
    exclusive: int | None = None
    in_doubt: int | None = None


class Store(Protocol):
    """The store of all state. Writes commit in the order of `submit`; reads see only committed state."""

    @property
    def description(self) -> str:
        """Name the place of the state, for people."""
        ...

    @property
    def has_index_of_0_2_0(self) -> bool:
        """Whether memories may be in the full-text index of 0.2.0 (persistence/memories_not_moved.py)."""
        ...

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit for the next commit and return at once; `settled` is called with its outcome."""
        ...

    async def commit(self, unit: Unit) -> None:
        """Submit a unit and wait until it is durable.

        Raises:
            StoreUnavailable: it is not stored.
            Exception: the error of the constraint that refused the unit.
        """
        ...

    async def fetch(self, query: Query[T]) -> list[T]:
        """Run a read and build its rows.

        Raises:
            StoreUnavailable: the read failed.
        """
        ...

    async def read(self, reads: Reads[T]) -> T:
        """Run reads that see the same committed state, in one trip, and return their result.

        Raises:
            StoreUnavailable: a read failed; `reads` is closed where it waits.
            Exception: an error of `reads` itself.
        """
        ...

    def forget(self, incarnation: int) -> None:
        """Drop the fence of an incarnation that has stopped and has no unit left."""
        ...

    def stats(self) -> StoreStats:
        """Report the counts so far."""
        ...

    @property
    def trouble(self) -> str | None:
        """Why the store takes no changes for now, in words that everyone may read; None if it knows of nothing."""
        ...

    async def writable(self) -> bool:
        """Return whether a commit succeeds now."""
        ...

    async def erase_deleted(self) -> bool:
        """Put deleted and overwritten content out of reach, as far as the store can while it is in use.

        After True, this holds for all content whose deletion was committed before the call: on SQLite neither the file
        nor its log has it, on PostgreSQL no statement reaches it (docs/operations.md, "Erasing"). False means that
        something in use still has it, such as a running read; call again later.

        Raises:
            StoreUnavailable: the files can't be written, or the database can't be reached.
        """
        ...

    async def close(self) -> None:
        """Commit the waiting units, then close."""
        ...
