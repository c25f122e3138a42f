"""What gateways have stored, read by the tests beside them: from the file, or from the tests' own PostgreSQL."""

import asyncio
import io
import sqlite3
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import orjson

from persistence.dialect import POSTGRES, SQLITE
from tests.support.gateway import GatewayProcess
from tests.support.stores import ON_POSTGRES, database_for


class Fetch(Protocol):
    """Runs a statement, which may have macros (persistence/dialect.py), and returns its rows."""

    def __call__(self, sql: str, *params: Any) -> Awaitable[list[tuple[Any, ...]]]: ...


@asynccontextmanager
async def reading(data: Path) -> AsyncIterator[Fetch]:
    """Open the database of a data folder for reads, its gateway running or not."""
    if ON_POSTGRES:
        connection = await asyncpg.connect(await database_for(data / "parley.db"))
        free = asyncio.Lock()  # a connection runs one statement at a time

        async def of_postgres(sql: str, *params: Any) -> list[tuple[Any, ...]]:
            async with free:
                rows = await connection.fetch(POSTGRES.text(sql), *params)
            return [tuple(row) for row in rows]

        try:
            yield of_postgres
        finally:
            await connection.close()
        return
    with closing(sqlite3.connect(f"file:{data / 'parley.db'}?mode=ro", uri=True)) as database:

        async def of_sqlite(sql: str, *params: Any) -> list[tuple[Any, ...]]:
            return database.execute(SQLITE.text(sql), params).fetchall()

        yield of_sqlite


async def read(gateway: GatewayProcess, sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Read rows from the database of a gateway, running or not."""
    async with reading(gateway.data) as fetch:
        return await fetch(sql, *params)


async def events(gateway: GatewayProcess, kind: str) -> list[dict[str, Any]]:
    """Return the data of the stored events of a type, in order."""
    found = await read(gateway, "SELECT data FROM events WHERE type = ? ORDER BY place", kind)
    return [orjson.loads(data) for (data,) in found]


async def contents(data: Path) -> dict[str, bytes]:
    """Return the content of each file of a data folder and, on PostgreSQL, of each table of its database."""
    found = {path.name: path.read_bytes() for path in data.iterdir() if path.is_file()}
    if ON_POSTGRES:
        found |= await _tables(await database_for(data / "parley.db"))
    assert any(found.values())
    return found


async def _tables(url: str) -> dict[str, bytes]:
    connection = await asyncpg.connect(url)
    try:
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        found: dict[str, bytes] = {}
        for (name,) in names:
            content = io.BytesIO()
            await connection.copy_from_table(name, output=content, format="binary")  # no byte is escaped in it
            found[name] = content.getvalue()
        return found
    finally:
        await connection.close()


async def traces(data: Path, word: str) -> list[str]:
    """Return the files and tables of a data folder that hold a word."""
    return [name for name, content in (await contents(data)).items() if word.encode() in content]


async def erased(data: Path, word: str, *, within_s: float) -> None:
    """Wait until no file and no table of a data folder holds a word."""
    async with asyncio.timeout(within_s):
        while await traces(data, word):
            await asyncio.sleep(0.2)
