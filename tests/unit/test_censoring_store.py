"""The work of a censoring, which all other changes wait for: it grows with the number of documents, not its square."""

import sqlite3
from contextlib import closing

from persistence import censoring
from persistence.dialect import SQLITE
from persistence.memories import Choice
from persistence.sqlite.migrate import MIGRATIONS
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

PARTS = 60
WORDS = "as long as a part of it"


def furnish(database: sqlite3.Connection, documents: int) -> None:
    """Make a bank with the memories of documents, each of which was sent again in other words since."""
    for file in sorted(MIGRATIONS.glob("*.sql")):
        database.executescript(file.read_text(encoding="utf-8"))
    database.execute(
        "INSERT INTO users (id, name, name_key, secret_hash, plan, created_at)"
        " VALUES ('usr_1', 'a', 'a', '', 'free', 0)"
    )
    database.execute(
        "INSERT INTO banks (id, owner_id, name, name_key, access, created_at, updated_at)"
        " VALUES ('bnk_1', 'usr_1', 'b', 'b', 'agent', 0, 0)"
    )
    for document in range(documents):
        name, id = f"book {document}", f"doc_{document}"
        database.execute(
            "INSERT INTO documents (id, user_id, name, media_type, size, status, parts, created_at, updated_at)"
            " VALUES (?, 'usr_1', ?, 'text/plain', 1, 'ready', ?, 0, 0)",
            (id, name, PARTS),
        )
        for part in range(1, PARTS + 1):
            again = f"{WORDS} {document} {part}" if part == 1 else f"other words {document} {part}"
            database.execute("INSERT INTO document_parts VALUES (?, ?, ?)", (id, part, f"new: {again}."))
            database.execute(
                "INSERT INTO memories (bank_id, id, name, text, created_at, updated_at, document_part, part_of)"
                " VALUES ('bnk_1', ?, ?, ?, 0, 0, ?, ?)",
                (f"mem_{document}_{part}", f"{name}/{part}", f"{WORDS} {document} {part}", part, name),
            )


def censored(documents: int) -> tuple[int, int]:
    """Censor all; return the number of the database's steps, in hundreds, and that of the parts which are left."""
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        furnish(database, documents)
        database.set_progress_handler(step, 100)
        for write in censoring.censor("bnk_1", Choice(), 1):
            database.execute(SQLITE.text(write.sql), write.params)
        (left,) = database.execute("SELECT count(*) FROM document_parts WHERE text IS NOT NULL").fetchone()
        return steps, left


def test_a_censoring_of_all_memories_of_many_documents_takes_steps_in_proportion():
    steps, left = censored(8)
    assert left == 8 * (PARTS - 1)
    assert censored(32)[0] < 6 * steps
