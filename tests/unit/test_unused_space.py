"""The unused space of pages: copies that SQLite leaves there are cleared, and nothing else changes."""

import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from persistence.sqlite import unused_space
from persistence.sqlite.store import SqliteStore
from persistence.sqlite.unused_space import UnusedSpace
from persistence.store import Unit, Write
from tests.support.disk import open_store, rows
from tests.support.stored import traces
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

WORD = "xylophone"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A store with a table of texts in which rows with the word were deleted, among others that stay."""
    chance = random.Random(1)
    async with open_store(tmp_path) as store:
        table = "CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"
        await store.commit(Unit((Write(table, ()), Write("CREATE INDEX by_text ON texts (text)", ()))))
        for _ in range(60):
            some = [
                f"{chance.getrandbits(64):016x} {chance.choice((WORD, 'piano'))} " * chance.randint(1, 40)
                for _ in range(50)
            ]
            writes = [Write("INSERT INTO texts (text) VALUES (?)", (text,)) for text in some]
            await store.commit(Unit((*writes, Write("DELETE FROM texts WHERE text LIKE ?", (f"%{WORD}%",)))))
        assert isinstance(store, SqliteStore)
        yield store


async def test_copies_of_deleted_rows_are_cleared_and_the_rows_stay(store: SqliteStore, tmp_path: Path):
    before = await rows(store, "SELECT * FROM texts ORDER BY id")
    await rows(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert await traces(tmp_path, WORD)  # secure_delete alone leaves some, so the test can fail
    assert await store.erase_deleted()
    assert await traces(tmp_path, WORD) == []
    assert await rows(store, "SELECT * FROM texts ORDER BY id") == before
    assert await rows(store, "PRAGMA integrity_check") == [("ok",)]


async def test_copies_are_cleared_in_a_database_behind_a_link(tmp_path: Path):
    (tmp_path / "linked").mkdir()
    link = tmp_path / "linked" / "other.db"
    link.symlink_to(tmp_path / "test.db")
    store = await SqliteStore.open(link)
    await store.commit(Unit((Write("CREATE TABLE texts (text TEXT)", ()),)))
    await store.commit(Unit((Write("INSERT INTO texts VALUES (?)", (WORD,)),)))
    await store.commit(Unit((Write("DELETE FROM texts", ()),)))
    assert await traces(tmp_path, WORD)  # the log has it
    assert await store.erase_deleted()
    assert await traces(tmp_path, WORD) == []
    await store.close()


async def test_pages_in_memory_don_t_bring_the_copies_back(store: SqliteStore, tmp_path: Path):
    assert await store.erase_deleted()
    await store.commit(Unit((Write("UPDATE texts SET text = replace(text, 'piano', 'organ')", ()),)))
    assert await traces(tmp_path, "organ")
    assert await traces(tmp_path, WORD) == []
    await store.close()
    assert await traces(tmp_path, WORD) == []
    with closing(sqlite3.connect(tmp_path / "test.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_nothing_is_cleared_while_a_reader_uses_the_log(store: SqliteStore, tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "test.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM texts").fetchall()
        await store.commit(Unit((Write("DELETE FROM texts WHERE id % 2 = 0", ()),)))
        await store._writer.run(lambda connection: connection.execute("PRAGMA busy_timeout = 100"))  # not 5 s
        assert not await store.erase_deleted()
    assert await store.erase_deleted()
    assert await traces(tmp_path, WORD) == []


@pytest.mark.parametrize("of", ["a database whose page numbers look like b-tree pages", "one with pointer maps"])
async def test_pages_that_only_look_like_b_tree_pages_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
):
    """A page of a long text, or of pointers, may begin as a b-tree page does."""
    path = tmp_path / "test.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        if of == "one with pointer maps":
            database.execute("PRAGMA auto_vacuum = FULL")
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE texts (text TEXT)")
        database.executemany("INSERT INTO texts VALUES (?)", [("x" * 20_000,) for _ in range(100)])
        database.execute("CREATE INDEX by_text ON texts (text)")
        database.execute("CREATE TABLE others (text TEXT)")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = path.stat().st_size // 4096
        if of != "one with pointer maps":
            monkeypatch.setattr(unused_space, "_MAX_PAGES", size)
        before = path.read_bytes()
        with closing(UnusedSpace(path)) as space:
            assert space.clear(database, range(1, size + 1))
            assert space.find() == []
        assert path.read_bytes() == before
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
