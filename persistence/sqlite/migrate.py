"""Migrations: they bring a database's schema up to the version of this code."""

import logging
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import aiosqlite

from persistence.migrations import numbered
from persistence.store import StoreError, StoreTooNew

MIGRATIONS = Path(__file__).parent / "migrations"

_FOREIGN_KEYS_OFF = "-- foreign keys: off\n"

_ALWAYS_THERE = {"users", "agents", "roster", "messages", "health"}
"""Tables that every version of Parley's schema has."""

log = logging.getLogger("parley.store")


def is_another_programs(connection: sqlite3.Connection) -> bool:
    """Return whether another program uses a database: it has tables or a version, but not Parley's tables."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if version == 0:  # also after a first start that was interrupted: each migration comes with its version
        return any(not name.startswith("sqlite_") for name in names)
    return not names >= _ALWAYS_THERE


async def migrate(connection: aiosqlite.Connection, folder: Path = MIGRATIONS) -> int:
    """Apply the numbered migrations that the database lacks, each in a transaction; return the version reached.

    Files are named `0001_subject.sql`; the database keeps its version in `PRAGMA user_version`. One whose first line is
    `-- foreign keys: off` may make a table anew that others refer to (https://sqlite.org/lang_altertable.html, 7).

    Raises:
        StoreTooNew: the database's version is higher than any file's.
        StoreError: two files have the same number.
    """
    migrations = numbered(folder)
    newest = max(migrations, default=0)
    row = await (await connection.execute("PRAGMA user_version")).fetchone()
    version = int(row[0]) if row is not None else 0
    if version > newest:
        raise StoreTooNew(
            f"the database is at schema version {version}, this code knows {newest}: "
            "start the newer Parley that wrote it"
        )
    for number in range(version + 1, newest + 1):
        script = migrations[number].read_text(encoding="utf-8")
        async with _foreign_keys_off(connection) if script.startswith(_FOREIGN_KEYS_OFF) else nullcontext():
            await _apply(connection, number, script)
    if 0 < version < newest:  # no log line for a new database
        log.info("schema brought from version %d to %d", version, newest)
    return newest


async def _apply(connection: aiosqlite.Connection, number: int, script: str) -> None:
    await connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements(script):
            await connection.execute(statement)
        if script.startswith(_FOREIGN_KEYS_OFF):
            dangling = await (await connection.execute("PRAGMA foreign_key_check")).fetchone()
            if dangling is not None:
                raise StoreError(f"migration {number} would leave rows of {dangling[0]} that refer to no {dangling[2]}")
        await connection.execute(f"PRAGMA user_version = {number}")
    except BaseException:
        await connection.rollback()
        raise
    await connection.commit()


@asynccontextmanager
async def _foreign_keys_off(connection: aiosqlite.Connection) -> AsyncGenerator[None]:
    """Switch the checks off for one migration; within a transaction the pragma has no effect."""
    row = await (await connection.execute("PRAGMA foreign_keys")).fetchone()
    await connection.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        await connection.execute(f"PRAGMA foreign_keys = {row[0] if row else 0}")


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements; `executescript` would commit the open transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in statement.splitlines()):
        raise ValueError(f"a migration ends in an unfinished statement: {statement.strip()[:80]}")
