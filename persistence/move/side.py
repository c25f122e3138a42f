"""The two sides of a move: their tables, and the interface of each."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from persistence.store import StoreError

Row = tuple[Any, ...]
Kind = Literal["integer", "text", "bytes"]

ROWS_AT_ONCE = 100
"""The largest number of rows that one read brings into memory."""

FILLED_BY_START = ("erasure", "health", "master_key")
"""The tables that migrations or a gateway's first start fill; a target may have rows in them."""


class MoveError(StoreError):
    """The move can't be done; the message gives the reason and the remedy."""


def not_empty(description: str, table: str) -> MoveError:
    """Refuse a target with rows."""
    return MoveError(f"{description} is not empty, it has {table}: name a database without users as TO.")


def not_migrated(description: str, version: int, newest: int) -> MoveError:
    """Refuse a source of another version than this code's."""
    if version > newest:
        remedy = "use the newer Parley that wrote it"
    else:
        remedy = "start the gateway of this version on it once, then move again"
    return MoveError(f"{description} is at schema version {version}, this code needs {newest}: {remedy}.")


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its columns with their kinds, the columns that order its rows, and the tables that it refers to."""

    name: str
    columns: Mapping[str, Kind]
    key: tuple[str, ...]
    parents: frozenset[str]

    @property
    def texts(self) -> list[str]:
        """The columns with text."""
        return [column for column, kind in self.columns.items() if kind == "text"]


class Source(Protocol):
    """The database that is read, in one transaction that sees one state."""

    @property
    def description(self) -> str:
        """Name the database for people, without a password."""
        ...

    async def tables(self) -> list[Table]:
        """List the tables with the gateway's state, without those that only this kind of database has."""
        ...

    async def count(self, table: Table) -> int:
        """Count the rows of a table."""
        ...

    def rows(self, table: Table) -> AsyncIterator[Sequence[Row]]:
        """Read the rows of a table in the order of its key, up to `ROWS_AT_ONCE` at a time."""
        ...

    async def last_numbers(self) -> dict[str, int]:
        """Read the last number that each table has given to a row, where the database keeps it; 0 for none."""
        ...

    async def rows_with_nul(self, tables: Sequence[Table]) -> list[str]:
        """Name some rows with a NUL character in a text, which PostgreSQL can't store."""
        ...


class Target(Source, Protocol):
    """The database that is written, in one transaction: what is not committed is not there."""

    stores_nul: bool
    """Whether a text may have a NUL character."""

    async def empty(self, table: Table) -> None:
        """Remove what a start has put into a table."""
        ...

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows; no trigger runs for them."""
        ...

    async def finish(self, last: Mapping[str, int]) -> None:
        """Have each table number its next rows after these numbers and its own highest; bring back the triggers."""
        ...

    async def commit(self) -> None:
        """Make everything durable at once.

        Raises:
            MoveError: it failed, or nobody knows whether it did.
        """
        ...
