"""Rows of a gateway's database, read from its file."""

import sqlite3
from contextlib import closing
from typing import Any

import orjson

from tests.support.gateway import GatewayProcess


def read(gateway: GatewayProcess, sql: str, *params: Any) -> list[tuple[Any, ...]]:
    """Read rows from the database of a gateway, running or not."""
    with closing(sqlite3.connect(f"file:{gateway.data / 'parley.db'}?mode=ro", uri=True)) as database:
        return database.execute(sql, params).fetchall()


def events(gateway: GatewayProcess, kind: str) -> list[dict[str, Any]]:
    """Return the data of the stored events of a type, in order."""
    found = read(gateway, "SELECT data FROM events WHERE type = ? ORDER BY place", kind)
    return [orjson.loads(data) for (data,) in found]
