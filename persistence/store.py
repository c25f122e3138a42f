"""The store's interface: what actors submit and what they read, with no word of where it is kept.

A `Unit` is all the writes of one command; it is stored whole or not at all. A `Query` is one read of
committed state. `Store` is the seam that a second implementation (PostgreSQL) will fill.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

T = TypeVar("T")
Params = tuple[Any, ...]

ROWS = "rows"
"""The refusal key of a `Write` that touched another number of rows than it expected."""

FOREIGN_KEY = "foreign key"
"""The refusal key of a row that refers to one which is gone."""


NO_CONSTRAINT_ERRORS: Mapping[str, Callable[[], Exception]] = MappingProxyType({})


class StoreError(Exception):
    """Base of what a store raises."""


class StoreUnavailable(StoreError):
    """The unit was not stored, or could not be: disk full, I/O error, failed batch, wrong statement."""


class Fenced(StoreUnavailable):
    """An earlier unit of the same incarnation failed, so this one was refused unseen."""


class StoreTooNew(StoreError):
    """The database was written by a newer version of the code than this one."""


class StoreLocked(StoreError):
    """Another process has this database open."""


class Write(NamedTuple):
    """One statement with its parameters.

    `rows`: how many rows it must touch; another number refuses the unit under the key `ROWS`.
    `many`: a statement that does the same for many: its one parameter is a JSON array of their `params`. Only for
    writes that may be stored before or after others of the kind: units of them change places in a batch.
    """

    sql: str
    params: Params
    rows: int | None = None
    many: str | None = None


class Unit(NamedTuple):
    """What one command writes: stored whole, or not at all.

    `incarnations`: the activations of actors whose memory already holds this change; when the unit fails, the
    writer refuses every later unit of theirs (design 2.4).
    `constraint_errors`: the constraints that may refuse it, as `table.column`, `FOREIGN_KEY` or `ROWS`, each with a
    maker of the error to answer. A refusal fences nobody.
    `then`: makes further writes of the unit from the number of rows that the last of `writes` touched. The writer's
    thread calls it within the transaction, and once more where it has to begin that again.
    """

    writes: tuple[Write, ...]
    incarnations: tuple[int, ...] = ()
    constraint_errors: Mapping[str, Callable[[], Exception]] = NO_CONSTRAINT_ERRORS
    then: Callable[[int], Sequence[Write]] | None = None


@dataclass(frozen=True, slots=True)
class Query(Generic[T]):
    """One read of committed state: a statement, its parameters, and what makes a `T` of a row."""

    sql: str
    params: Params | Mapping[str, Any]
    build: Callable[[Params], T]


Settled = Callable[[Exception | None], None]
"""Called once on the event loop with None when the unit is durable, else with why it is not stored."""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """What the store did since it was opened: units that wait now, units tried, transactions that held them."""

    waiting: int
    units: int
    batches: int


class Store(Protocol):
    """Where state is kept. Writes commit in the order of `submit`; reads see committed state only."""

    @property
    def description(self) -> str:
        """Name where the state is, for people."""
        ...

    def submit(self, unit: Unit, settled: Settled) -> None:
        """Queue a unit for the next commit and return at once; `settled` tells how it ended."""
        ...

    async def commit(self, unit: Unit) -> None:
        """Submit a unit and wait until it is durable.

        Raises:
            StoreUnavailable: it is not stored.
            Exception: the refusal that the unit named.
        """
        ...

    async def fetch(self, query: Query[T]) -> list[T]:
        """Run a read and build its rows.

        Raises:
            StoreUnavailable: the read failed.
        """
        ...

    def forget(self, incarnation: int) -> None:
        """Drop what is remembered of an incarnation that has stopped and has no unit left."""
        ...

    def stats(self) -> StoreStats:
        """Tell what it did so far."""
        ...

    async def writable(self) -> bool:
        """Tell whether a commit succeeds now."""
        ...

    async def clear_log(self) -> bool:
        """Leave no trace of erased rows in the log of changes; tell whether that could be done now.

        Raises:
            StoreUnavailable: the files can't be written.
        """
        ...

    async def close(self) -> None:
        """Commit what waits, then close."""
        ...
