"""Migrations of existing rows."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import aiosqlite

from persistence.sqlite.migrate import MIGRATIONS, migrate
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

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


# The rows are written by statements of that time, because today's may name later columns.


def insert(database: sqlite3.Connection, table: str, **row: object) -> None:
    columns, values = ", ".join(row), ", ".join("?" * len(row))
    database.execute(f"INSERT INTO {table} ({columns}) VALUES ({values})", tuple(row.values()))


def begin(database: sqlite3.Connection, banks: int) -> None:
    """Add a user with an agent and banks."""
    at = {"created_at": 0, "updated_at": 0}
    insert(database, "users", id="usr_1", name="ada", name_key="ada", secret_hash="", plan="free", created_at=0)
    agent = {"id": "agt_1", "owner_id": "usr_1", "name": "scout", "name_key": "scout", "description": ""}
    insert(database, "agents", **agent, access="agent", **at)
    for number in range(1, banks + 1):
        name = {"id": f"bnk_{number}", "name": f"bank{number}", "name_key": f"bank{number}"}
        insert(database, "banks", number=number, owner_id="usr_1", access="agent", **name, **at)


def memory(database: sqlite3.Connection, place: int, bank: int, name: str, **part: object) -> None:
    text = f"Text {place} of the xylophone"
    row = {"place": place, "bank_id": f"bnk_{bank}", "id": f"mem_{place}", "name": name, "text": text}
    insert(database, "memories", **row, author_id="agt_1", created_at=0, updated_at=0, **part)
    insert(database, "memory_terms", rowid=place, terms=terms_of(bank, place, name))


def terms_of(bank: int, place: int, name: str) -> str:
    """Return the terms of such a memory, as of that time; stars have none."""
    words = [*name.translate(str.maketrans("*/", "  ")).split() * 2, "text", str(place), "xylophone"]
    return " ".join(f"{bank}z{word}" for word in words)


def document(database: sqlite3.Connection, place: int, name: str) -> None:
    row = {"place": place, "id": f"doc_{place}", "user_id": "usr_1", "name": name, "media_type": "text/plain"}
    insert(
        database, "documents", **row, content="A text.", size=7, status="queued", parts=0, created_at=0, updated_at=0
    )


async def test_memories_and_documents_named_by_a_star_get_a_free_name_and_are_found_as_before(tmp_path: Path):
    file = tmp_path / "test.db"
    await brought_to(file, tmp_path / "before", NO_STAR)
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        begin(database, banks=3)
        for place, name in enumerate(("*", "notes"), 1):
            document(database, place, name)
        for place, bank, name in ((1, 1, "*"), (2, 1, "other"), (3, 1, "**"), (5, 2, "***/7")):
            memory(database, place, bank, name)
        memory(database, 4, 2, "*", document_id="doc_1", document_part=1)
        for part in (1, 2):
            memory(database, 5 + part, 3, f"*/{part}", document_id="doc_1", document_part=part, part_of="*")
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
            "SELECT banks.number, place, memories.name, terms FROM memories JOIN banks ON banks.id = bank_id"
            " JOIN memory_terms ON memory_terms.rowid = place"
        ).fetchall()
        assert len(kept) == 7
        for number, place, name, terms in kept:
            assert terms == terms_of(number, place, name)
        database.execute("INSERT INTO memory_terms (memory_terms) VALUES ('integrity-check')")
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_where_nothing_is_named_by_a_star_nothing_changes(tmp_path: Path):
    file = tmp_path / "test.db"
    await brought_to(file, tmp_path / "before", NO_STAR)
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        begin(database, banks=1)
        for place, name in enumerate(("*a", "a*", "*/1"), 1):
            memory(database, place, 1, name)
        document(database, 1, "**")
    await brought_to(file, tmp_path / "after", None)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("SELECT name FROM memories ORDER BY place").fetchall() == [("*a",), ("a*",), ("*/1",)]
        assert database.execute("SELECT name FROM documents").fetchall() == [("**",)]


async def test_of_agents_that_are_destroyed_already_only_the_names_are_left(tmp_path: Path):
    file = tmp_path / "test.db"
    await brought_to(file, tmp_path / "before", "only_names_of_destroyed_agents")
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        begin(database, banks=0)
        gone = {"id": "agt_2", "name": "ghost", "name_key": "ghost", "description": "Haunts.", "profile": "A door."}
        insert(database, "agents", **gone, access="agent", created_at=0, updated_at=0, destroyed_at=1)
        database.execute("UPDATE agents SET description = 'Scouts.', profile = 'A way.' WHERE id = 'agt_1'")
    await brought_to(file, tmp_path / "after", None)
    with closing(sqlite3.connect(file)) as database:
        left = database.execute("SELECT name, description, profile FROM agents ORDER BY id").fetchall()
        assert left == [("scout", "Scouts.", "A way."), ("ghost", "", None)]
        assert database.execute("SELECT due FROM erasure").fetchall() == [(1,)]
