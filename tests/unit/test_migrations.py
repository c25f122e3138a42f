"""What migrations make of the rows that are there already."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import aiosqlite

from actors.recall import indexed_terms
from actors.slices import whole
from persistence import agents, banks, documents, users
from persistence.agents import AgentRow
from persistence.banks import BankRow, MemoryRow, Part
from persistence.database import MIGRATIONS, migrate
from persistence.documents import DocumentRow
from persistence.store import Write
from persistence.users import UserRow

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
NO_STAR = "no_memory_is_named_star"


async def brought_to(database: Path, folder: Path, before: str | None) -> None:
    """Apply the migrations that come before one, or all."""
    folder.mkdir(exist_ok=True)
    for file in sorted(MIGRATIONS.glob("*.sql")):
        if before is not None and before in file.name:
            break
        shutil.copy(file, folder)
    async with aiosqlite.connect(database, isolation_level=None) as connection:
        await migrate(connection, folder)


def run(database: sqlite3.Connection, *writes: Write) -> None:
    for write in writes:
        database.execute(write.sql, write.params)


def memory(place: int, bank: int, name: str, part: Part | None = None) -> tuple[Write, ...]:
    text = f"Text {place} of the xylophone"
    row = MemoryRow(place, f"mem_{place}", name, text, "agt_1", "scout", "usr_1", 0, 0, 0)
    return banks.add_memory(f"bnk_{bank}", row, whole(indexed_terms(bank, name, text)), part)


def document(place: int, name: str) -> tuple[Write, ...]:
    row = DocumentRow(place, f"doc_{place}", "usr_1", name, "text/plain", None, 9, "queued", None, 0, 0, 0, 0)
    return documents.add(row, "A text.")


async def test_memories_and_documents_named_by_a_star_get_a_free_name_and_are_found_as_before(tmp_path: Path):
    file = tmp_path / "test.db"
    await brought_to(file, tmp_path / "before", NO_STAR)
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        run(database, users.insert(USER), agents.insert(AGENT))
        for number in (1, 2, 3):
            run(
                database,
                banks.insert(BankRow(number, f"bnk_{number}", "usr_1", "ada", f"bank{number}", None, "agent", 0, 0, 0)),
            )
        run(database, *document(1, "*"), *document(2, "notes"))
        run(database, *memory(1, 1, "*"), *memory(2, 1, "other"), *memory(3, 1, "**"))
        run(database, *memory(4, 2, "*", Part("doc_1", 1, None)), *memory(5, 2, "***/7"))
        run(database, *(step for n in (1, 2) for step in memory(5 + n, 3, f"*/{n}", Part("doc_1", n, "*"))))
    await brought_to(file, tmp_path / "after", None)
    with closing(sqlite3.connect(file)) as database:
        free = "****"  # `**` is taken, and `***/7` is named like a part of `***`
        named = database.execute("SELECT place, name, part_of FROM memories ORDER BY place").fetchall()
        assert named == [
            (1, free, None),
            (2, "other", None),
            (3, "**", None),
            (4, free, None),
            (5, "***/7", None),
            (6, f"{free}/1", free),
            (7, f"{free}/2", free),
        ]
        assert database.execute("SELECT name FROM documents ORDER BY place").fetchall() == [(free,), ("notes",)]
        kept = database.execute(
            "SELECT banks.number, memories.name, text, terms FROM memories JOIN banks ON banks.id = bank_id"
            " JOIN memory_terms ON memory_terms.rowid = place"
        ).fetchall()
        assert len(kept) == 7
        for number, name, text, terms in kept:
            assert terms == whole(indexed_terms(number, name, text))
        database.execute("INSERT INTO memory_terms (memory_terms) VALUES ('integrity-check')")
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_where_nothing_is_named_by_a_star_nothing_changes(tmp_path: Path):
    file = tmp_path / "test.db"
    await brought_to(file, tmp_path / "before", NO_STAR)
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        run(database, users.insert(USER), agents.insert(AGENT))
        run(database, banks.insert(BankRow(1, "bnk_1", "usr_1", "ada", "bank1", None, "agent", 0, 0, 0)))
        run(database, *memory(1, 1, "*a"), *memory(2, 1, "a*"), *memory(3, 1, "*/1"), *document(1, "**"))
    await brought_to(file, tmp_path / "after", None)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT name FROM memories ORDER BY place").fetchall() == [("*a",), ("a*",), ("*/1",)]
        assert database.execute("SELECT name FROM documents").fetchall() == [("**",)]
