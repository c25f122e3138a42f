"""The names of constraints: from the server's to those of the persistence modules, such as `users.name_key`."""

from collections.abc import Awaitable, Callable, Sequence

import asyncpg

from persistence.store import FOREIGN_KEY, not_null

_UNIQUE_VIOLATION = "23505"
_FOREIGN_KEY_VIOLATION = "23503"
_NOT_NULL_VIOLATION = "23502"

_UNIQUE_INDEXES = """
    SELECT unique_index.relname, unique_table.relname || '.' || attname
    FROM pg_index
    JOIN pg_class AS unique_index ON unique_index.oid = indexrelid
    JOIN pg_class AS unique_table ON unique_table.oid = indrelid
    JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
    JOIN pg_namespace ON pg_namespace.oid = unique_table.relnamespace
    WHERE indisunique AND nspname = current_schema()
"""

Fetch = Callable[[str], Awaitable[Sequence[asyncpg.Record]]]


class Constraints:
    """Names a refusal's constraint, or "" if it is unknown.

    That is `table.column` of a unique index's first column, `not_null` of a column, or `FOREIGN_KEY`.

    The names of unique indexes are read from the catalogue, at the start and when an unknown one refuses something.
    """

    def __init__(self) -> None:
        self._columns: dict[str, str] = {}

    async def read(self, fetch: Fetch) -> None:
        """Read the names of all unique indexes."""
        self._columns = {row[0]: row[1] for row in await fetch(_UNIQUE_INDEXES)}

    async def refused_by(self, error: asyncpg.PostgresError, fetch: Fetch) -> str:
        """Name the constraint of a refusal."""
        if error.sqlstate == _FOREIGN_KEY_VIOLATION:
            return FOREIGN_KEY
        if error.sqlstate == _NOT_NULL_VIOLATION:
            return not_null(f"{error.table_name}.{error.column_name}")
        if error.sqlstate != _UNIQUE_VIOLATION or error.constraint_name is None:
            return ""
        if error.constraint_name not in self._columns:
            await self.read(fetch)
        return self._columns.get(error.constraint_name, "")
