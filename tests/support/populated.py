"""An SQLite file with every kind of row: what the calls of tests/support/statements.py leave, and a few more."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from persistence.dialect import SQLITE
from persistence.sqlite.store import SqliteStore
from persistence.store import Query
from tests.support.statements import SECTIONS

LEFT_OUT = ("censored", "farewell")
"""Sections that take away what others have stored."""

MORE = (
    "INSERT INTO offers (bank_id, agent_id, permission, since) VALUES ('bnk_2', 'agt_4', 'read', 1)",
    "INSERT INTO recoveries (endpoint, since, cursor, upto) VALUES (2, 0, 1, 9223372036854775807)",
    "INSERT INTO skill_files (user_id, skill, path, content) SELECT user_id, name, 'a/é', x'00ff00' FROM skills",
    "INSERT INTO skill_files (user_id, skill, path, content) SELECT user_id, name, 'empty', x'' FROM skills",
    "UPDATE memories SET text = NULL, censored = 1 WHERE place = 6",
    # more than one batch, and a text as large as one
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000)"
    " INSERT INTO audit (user_id, at, credential_id, address, service, target, internal_code, request_id)"
    " SELECT 'usr_1', i, 'ses_1', '::1', 'AP_Chat', '{}', -i, 'req_' || i FROM n",
    "INSERT INTO document_parts (document_id, number, text)"
    " VALUES ('doc_1', 99, replace(hex(zeroblob(2500000)), '0', 'ß'))",
    "INSERT INTO document_parts (document_id, number, text)"
    " VALUES ('doc_1', 98, '\\N\t\n\r ' || char(1, 0x10ffff) || '\\.')",
    # the newest number of a table that never gives one twice is gone
    "INSERT INTO banks (number, id, owner_id, name, name_key, access, created_at, updated_at)"
    " VALUES (77, 'bnk_gone', 'usr_1', 'gone', 'gone', 'agent', 1, 1)",
    "DELETE FROM banks WHERE number = 77",
)


async def populate(file: Path) -> None:
    """Make a file of the newest schema, and fill it."""
    await (await SqliteStore.open(file)).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA foreign_keys = ON")

        def find(sql: str) -> list[tuple[object, ...]]:
            return database.execute(sql).fetchall()

        for section, steps in SECTIONS.items():
            for step in steps if section not in LEFT_OUT else ():
                made = step.made(find)
                if isinstance(made, Query):
                    continue
                database.execute("BEGIN")
                touched: list[bool] = []
                try:
                    for write in made:
                        count = database.execute(SQLITE.text(write.sql), write.params).rowcount
                        touched.append(write.rows in (None, count))
                except sqlite3.IntegrityError:
                    touched.append(False)
                database.execute("COMMIT" if all(touched) else "ROLLBACK")
        for more in MORE:
            database.execute(more)
        assert [table for table in tables_of(file).values() if not table] == []


def add_messages(file: Path, count: int) -> None:
    """Add messages to the first conversation."""
    with closing(sqlite3.connect(file)) as database, database:
        database.executemany(
            "INSERT INTO messages (conversation_id, seq, id, role, name, content, at)"
            " VALUES (1, ?, ?, 'user', 'Ada', ?, 0)",
            ((1_000 + n, f"msg_more_{n}", f"Number {n}: é" * 10) for n in range(count)),
        )


def tables_of(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Read all rows of a file's tables, in the order of their columns' names; and what numbers rows."""
    with closing(sqlite3.connect(file.as_uri() + "?mode=ro", uri=True)) as database:
        names = database.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name <> 'sqlite_schema'"
        ).fetchall()
        found: dict[str, list[tuple[Any, ...]]] = {}
        for (name,) in names:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
            rows = database.execute(f"SELECT {', '.join(sorted(columns))} FROM {name}").fetchall()
            found[name] = sorted(rows, key=repr)
        return found
