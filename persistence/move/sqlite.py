"""An SQLite file as a side of a move."""

import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

import aiosqlite

from persistence.migrations import numbered
from persistence.move.side import ROWS_AT_ONCE, Kind, MoveError, Row, Table, not_empty, not_migrated
from persistence.sqlite.migrate import MIGRATIONS, is_another_programs, migrate
from persistence.sqlite.store import lock_file
from persistence.sqlite.unusable import ELSEWHERE, unusable_database, unusable_file
from persistence.store import StoreError, StoreLocked

_KINDS: Mapping[str, Kind] = {"INTEGER": "integer", "TEXT": "text", "BLOB": "bytes"}
_NUL_ROWS_TOLD = 5
_LONGEST_KEY = 80

_TABLES = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'"


class SqliteSide:
    """An SQLite file, within a transaction. `triggers`: the statements that make those that were dropped."""

    stores_nul = True

    def __init__(self, path: Path, connection: sqlite3.Connection, triggers: Sequence[str] = ()) -> None:
        self._path = path
        self._connection = connection
        self._triggers = triggers

    @property
    def description(self) -> str:
        """Name the file."""
        return f"sqlite {self._path}"

    async def tables(self) -> list[Table]:
        """List the tables; a full-text index of 0.2.0 is none of this kind."""
        return [self._table(name) for (name,) in self._all(_TABLES)]

    async def count(self, table: Table) -> int:
        """Count the rows of a table."""
        return self._all(f"SELECT count(*) FROM {table.name}")[0][0]

    async def rows(self, table: Table) -> AsyncIterator[Sequence[Row]]:
        """Read the rows of a table in the order of its key."""
        sql = f"SELECT {', '.join(table.columns)} FROM {table.name} ORDER BY {', '.join(table.key)}"
        try:
            cursor = self._connection.execute(sql)
            while rows := cursor.fetchmany(ROWS_AT_ONCE):
                yield rows
        except sqlite3.OperationalError as error:
            if "decode" not in str(error):
                raise
            raise MoveError(
                f"the table {table.name} of {self.description} has a text that is not UTF-8, which no gateway writes:"
                " correct it with the program that did."
            ) from None  # the error has the text

    async def last_numbers(self) -> dict[str, int]:
        """Read the last numbers of the tables that never give a number twice."""
        return dict(self._all("SELECT name, seq FROM sqlite_sequence"))

    async def rows_with_nul(self, tables: Sequence[Table]) -> list[str]:
        """Name the first rows with a NUL character in a text, by their keys."""
        found: list[str] = []
        for table in tables:
            if table.texts:
                has_nul = " OR ".join(f"instr({column}, char(0))" for column in table.texts)
                rows = self._connection.execute(
                    f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {has_nul} LIMIT ?",
                    (_NUL_ROWS_TOLD - len(found),),
                )
                found += [_described(table, dict(zip(table.columns, row, strict=True))) for row in rows]
        return found

    async def empty(self, table: Table) -> None:
        """Remove the rows of a table."""
        self._connection.execute(f"DELETE FROM {table.name}")

    async def put(self, table: Table, rows: Sequence[Row]) -> None:
        """Add rows."""
        values = ", ".join("?" * len(table.columns))
        self._connection.executemany(f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES ({values})", rows)

    async def finish(self, last: Mapping[str, int]) -> None:
        """Bring back the triggers, and set the last numbers of the tables that never give one twice."""
        for trigger in self._triggers:
            self._connection.execute(trigger)
        highest = dict(self._all("SELECT name, seq FROM sqlite_sequence"))
        self._connection.execute("DELETE FROM sqlite_sequence")
        for (table,) in self._all("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'"):
            number = max(last.get(table, 0), highest.get(table, 0))
            if number:
                self._connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, number))

    async def commit(self) -> None:
        """Commit; after a crash, SQLite undoes what was written before."""
        self._connection.execute("COMMIT")

    def _table(self, name: str) -> Table:
        columns = self._all("SELECT name, type, pk FROM pragma_table_info(?) ORDER BY name", name)
        key = [column for column, _, place in sorted(columns, key=lambda column: column[2]) if place]
        parents = self._all('SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)', name)
        return Table(
            name,
            {column: _KINDS[kind] for column, kind, _ in columns},
            tuple(key or (column for column, _, _ in columns)),
            frozenset(parent for (parent,) in parents),
        )

    def _all(self, sql: str, *params: Any) -> list[Any]:
        return self._connection.execute(sql, params).fetchall()


@asynccontextmanager
async def source(path: Path) -> AsyncGenerator[SqliteSide, None]:
    """Open a file to read it; no gateway can use it meanwhile. It stays as it is, a log beside it included.

    Raises:
        MoveError: it is not there, in use, not Parley's, of another version, not indexed yet, or can't be read.
    """
    if not path.is_file():
        raise MoveError(f"there is no file {path}: correct FROM.")
    with _told(path), _locked(path), closing(_connect(path.absolute().as_uri() + "?mode=ro")) as connection:
        connection.execute("BEGIN")
        side = SqliteSide(path, connection)
        if is_another_programs(connection):
            raise MoveError(f"{side.description} has no tables of Parley: correct FROM.")
        version = _version(connection)
        if version != _newest():
            raise not_migrated(side.description, version, _newest())
        if connection.execute("SELECT EXISTS (SELECT 1 FROM memory_terms)").fetchone()[0]:
            raise MoveError(
                f"{side.description} has memories that are only in the full-text index of 0.2.0: start the gateway on"
                " it until its log (parley.indexing) tells that every bank is indexed, then move again."
            )
        yield side


@asynccontextmanager
async def target(path: Path) -> AsyncGenerator[SqliteSide, None]:
    """Open or make a file to write it in one transaction; no gateway can use it meanwhile.

    Raises:
        MoveError: it is in use, not empty, not Parley's, or can't be written.
    """
    if str(path.parent).startswith("~") and not path.parent.exists():
        raise MoveError(f"there is no folder {path.parent}, and ~ is not expanded: write out the home directory in TO.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise MoveError(_as_argument(unusable_file(path.parent, error))) from error
    with _told(path), _locked(path), closing(_connect(path.absolute().as_uri())) as connection:
        _require_new(path, connection)
        # pages are written once, not to a log first; a crash leaves the few that were there before
        connection.execute("PRAGMA journal_mode = DELETE")
        async with aiosqlite.connect(path, isolation_level=None) as migrating:
            await migrate(migrating)
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN EXCLUSIVE")
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        try:
            yield SqliteSide(path, connection, [sql for _, sql in triggers])
        finally:
            if connection.in_transaction:  # statements that are still referred to would keep it open
                connection.execute("ROLLBACK")


def _require_new(path: Path, connection: sqlite3.Connection) -> None:
    """Refuse a file with users or of another program, before its schema is changed."""
    description = f"sqlite {path}"
    if is_another_programs(connection):
        raise MoveError(f"{description} is another program's: name another file as TO.")
    version = _version(connection)
    if version > _newest():
        raise not_migrated(description, version, _newest())
    if version and connection.execute("SELECT EXISTS (SELECT 1 FROM users)").fetchone()[0]:
        raise not_empty(description, "users")


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None)


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _newest() -> int:
    return max(numbered(MIGRATIONS))


@contextmanager
def _locked(path: Path) -> Generator[None, None, None]:
    try:
        lock = lock_file(path)
    except StoreLocked:
        raise MoveError(f"sqlite {path} is in use by a gateway: stop that one first.") from None
    with lock:
        yield


@contextmanager
def _told(path: Path) -> Generator[None, None, None]:
    """Tell SQLite's errors to the operator."""
    try:
        yield
    except MoveError:
        raise
    except sqlite3.Error as error:
        raise MoveError(_as_argument(unusable_database(path, error))) from error
    except StoreError as error:
        raise MoveError(_as_argument(str(error))) from error


def _as_argument(message: str) -> str:
    return message.replace(ELSEWHERE, "or name another file")


def _described(table: Table, row: Mapping[str, Any]) -> str:
    """Name a row by its key, and the texts with a NUL character by their columns."""
    names = " and ".join(column for column in table.texts if "\0" in (row[column] or ""))
    key = ", ".join(
        f"{column} = {row[column].hex() if isinstance(row[column], bytes) else repr(row[column])[:_LONGEST_KEY]}"
        for column in table.key
    )
    return f"{table.name}.{names} of the row {key}"
