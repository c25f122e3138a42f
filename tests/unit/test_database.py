"""The database: its settings, its migrations, and its use by one process only."""

import asyncio
import os
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import aiosqlite
import pytest

from persistence.migrations import numbered
from persistence.sqlite.migrate import MIGRATIONS, is_another_programs, migrate
from persistence.sqlite.store import SqliteStore
from persistence.store import StoreError, StoreLocked, StoreTooNew, Unit, Write
from tests.support.disk import rows, value
from tests.support.gateway import CHECKOUT
from tests.support.stores import sqlite_only

pytestmark = sqlite_only


@pytest.fixture
async def connection(tmp_path: Path) -> AsyncIterator[aiosqlite.Connection]:
    async with aiosqlite.connect(tmp_path / "migrated.db", isolation_level=None) as connection:
        yield connection


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "migrations"
    folder.mkdir()
    return folder


def write(folder: Path, **scripts: str) -> None:
    for name, script in scripts.items():
        (folder / f"{name.removeprefix('m')}.sql").write_text(script, encoding="utf-8")


async def look(connection: aiosqlite.Connection, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in await connection.execute_fetchall(sql)]


async def version(connection: aiosqlite.Connection) -> object:
    return (await look(connection, "PRAGMA user_version"))[0][0]


async def tables(connection: aiosqlite.Connection) -> list[object]:
    return [
        name for (name,) in await look(connection, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1")
    ]


# Settings


async def test_commits_are_on_disk_and_readers_do_not_wait_for_the_writer(tmp_path: Path):
    store = await SqliteStore.open(tmp_path / "new folder" / "test.db")
    # The settings of the writer's own connection, stored by itself; `synchronous` 2 is FULL.
    pragmas = "SELECT (SELECT * FROM pragma_journal_mode), (SELECT * FROM pragma_synchronous)"
    await store.commit(
        Unit(
            (
                Write("CREATE TABLE pragmas (journal_mode TEXT, synchronous INTEGER, foreign_keys INTEGER)", ()),
                Write(f"INSERT INTO pragmas {pragmas}, (SELECT * FROM pragma_foreign_keys)", ()),
            )
        )
    )
    try:
        assert await rows(store, "SELECT * FROM pragmas") == [("wal", 2, 1)]
        assert await value(store, "PRAGMA query_only") == 1
    finally:
        await store.close()


async def test_closing_folds_the_log_into_the_file(tmp_path: Path):
    store = await SqliteStore.open(tmp_path / "test.db")
    assert await store.writable()
    await store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test.db", "test.db.lock"]


async def test_what_was_stored_is_there_when_it_is_opened_again(tmp_path: Path):
    for starts in range(1, 4):
        store = await SqliteStore.open(tmp_path / "test.db")
        assert await store.writable()
        assert await value(store, "SELECT checks FROM health") == 2 * starts  # a start checks it, too
        await store.close()


@pytest.mark.parametrize("left", [0, 4_096, 8_192])
async def test_a_file_that_can_not_be_read_is_noticed_by_a_check_although_it_can_be_written(
    tmp_path: Path, left: int, caplog: pytest.LogCaptureFixture
):
    await (await SqliteStore.open(tmp_path / "test.db")).close()  # folds the log into the file
    store = await SqliteStore.open(tmp_path / "test.db")
    try:
        assert await store.writable()
        os.truncate(tmp_path / "test.db", left)
        await store.commit(Unit((Write("UPDATE health SET checks = checks + 1", ()),)))
        assert not await store.writable()
        assert "a read failed: " in caplog.text
    finally:
        await store.close()


async def test_the_description_names_the_file(tmp_path: Path):
    store = await SqliteStore.open(tmp_path / "test.db")
    assert str(tmp_path / "test.db") in store.description
    await store.close()


# Migrations


async def test_migrations_are_applied_in_order_and_once(connection: aiosqlite.Connection, folder: Path):
    write(folder, m0002_second="INSERT INTO a VALUES (2);\n")
    (folder / "0001_first.sql").write_text("CREATE TABLE a (n);\nINSERT INTO a VALUES (1);\n", encoding="utf-8")
    assert await migrate(connection, folder) == 2
    assert await migrate(connection, folder) == 2
    assert await look(connection, "SELECT n FROM a") == [(1,), (2,)]
    write(folder, m0010_tenth="INSERT INTO a VALUES (10);", m0003_third="INSERT INTO a VALUES (3);")
    for number in range(4, 10):
        write(folder, **{f"m000{number}_more": f"INSERT INTO a VALUES ({number});"})
    assert await migrate(connection, folder) == 10
    assert await look(connection, "SELECT n FROM a") == [(number,) for number in range(1, 11)]
    assert await version(connection) == 10


async def test_the_migrations_of_this_code_make_the_newest_version(connection: aiosqlite.Connection):
    newest = await migrate(connection)
    assert newest == len(list(MIGRATIONS.glob("*.sql"))) == await version(connection)
    assert {"users", "agents", "credentials", "conversations", "messages"} <= set(await tables(connection))
    assert await look(connection, "PRAGMA foreign_key_check") == []


async def test_two_migrations_of_one_number_are_refused(connection: aiosqlite.Connection, folder: Path):
    write(folder, m0001_first="CREATE TABLE a (n);", m0001_other="CREATE TABLE b (n);")
    with pytest.raises(StoreError, match=r"number 1: 0001_first\.sql and 0001_other\.sql"):
        await migrate(connection, folder)
    assert await version(connection) == 0
    assert await tables(connection) == []


async def test_a_failing_migration_leaves_the_version_before_it(connection: aiosqlite.Connection, folder: Path):
    write(
        folder,
        m0001_first="CREATE TABLE a (n);\n",
        m0002_second="CREATE TABLE b (n);\nINSERT INTO a VALUES (1);\nINSERT INTO nowhere VALUES (1);\n",
    )
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        await migrate(connection, folder)
    assert await version(connection) == 1
    assert await tables(connection) == ["a"]
    assert await look(connection, "SELECT * FROM a") == []
    write(folder, m0002_second="CREATE TABLE b (n);\n")
    assert await migrate(connection, folder) == 2
    assert await tables(connection) == ["a", "b"]


async def test_an_unfinished_migration_leaves_the_version_before_it(connection: aiosqlite.Connection, folder: Path):
    write(folder, m0001_first="CREATE TABLE a (n);\nCREATE TABLE b (n)\n")
    with pytest.raises(ValueError, match="CREATE TABLE b"):
        await migrate(connection, folder)
    assert await version(connection) == 0
    assert await tables(connection) == []


async def test_a_trigger_is_one_statement_though_it_holds_semicolons(connection: aiosqlite.Connection, folder: Path):
    write(
        folder,
        m0001_first="""
-- A comment; with a semicolon, and a quote that isn't closed.
CREATE TABLE a (n);
/* BEGIN; of a longer
   comment; */
CREATE TRIGGER doubles AFTER INSERT ON a
BEGIN
    UPDATE a SET n = CASE WHEN n > 9 THEN n ELSE 2 * n END WHERE rowid = new.rowid;
    UPDATE a SET n = n;
END;
INSERT INTO a VALUES (
    4
);
CREATE TABLE notes (text DEFAULT 'a;
b');
INSERT INTO notes DEFAULT VALUES; -- what follows a statement
""",
    )
    assert await migrate(connection, folder) == 1
    assert await look(connection, "SELECT n FROM a") == [(8,)]
    assert await look(connection, "SELECT text FROM notes") == [("a;\nb",)]


async def test_a_migration_may_end_in_a_comment(connection: aiosqlite.Connection, folder: Path):
    write(folder, m0001_first="CREATE TABLE a (n);\n-- That was all.\n")
    assert await migrate(connection, folder) == 1
    assert await tables(connection) == ["a"]


# A newer database


async def test_a_newer_database_is_refused_with_what_to_do_and_left_as_it_is(tmp_path: Path):
    path = tmp_path / "test.db"
    newest = len(list(MIGRATIONS.glob("*.sql")))
    await (await SqliteStore.open(path)).close()
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE of_the_future (n)")
        made.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreTooNew) as error:
        await SqliteStore.open(path)
    assert "999" in str(error.value)
    assert str(newest) in str(error.value)
    assert "newer Parley" in str(error.value)
    with closing(sqlite3.connect(path)) as left:
        assert left.execute("SELECT count(*) FROM of_the_future").fetchall() == [(0,)]
        assert left.execute("PRAGMA user_version").fetchall() == [(999,)]
        left.execute(f"PRAGMA user_version = {newest}")
    await (await SqliteStore.open(path)).close()  # the refused start released the lock


# Another program's database


OTHER_PROGRAMS = [
    "CREATE TABLE customers (a)",
    "CREATE TABLE users (a)",
    "CREATE VIEW one AS SELECT 1",
    "PRAGMA user_version = 9",
    "CREATE TABLE users (a); PRAGMA user_version = 9",
    "CREATE TABLE customers (a); PRAGMA user_version = 999",
]


@pytest.mark.parametrize("script", OTHER_PROGRAMS)
async def test_another_program_s_database_is_refused_with_what_to_do_and_left_as_it_is(tmp_path: Path, script: str):
    path = tmp_path / "app.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(script)
    before = path.read_bytes()
    with pytest.raises(
        StoreError, match=r"app\.db is another program's database: name another file in PARLEY_STORE_URL"
    ):
        await SqliteStore.open(path)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["app.db", "app.db.lock"]


def test_a_database_of_any_version_is_parley_s_so_that_an_interrupted_first_start_goes_on():
    with closing(sqlite3.connect(":memory:")) as database:
        for number, file in sorted(numbered(MIGRATIONS).items()):
            assert not is_another_programs(database), number
            database.executescript(file.read_text(encoding="utf-8"))
            database.execute(f"PRAGMA user_version = {number}")
        assert not is_another_programs(database)


async def test_a_first_start_that_was_interrupted_between_migrations_goes_on(tmp_path: Path, folder: Path):
    for number, file in sorted(numbered(MIGRATIONS).items())[:3]:
        shutil.copy(file, folder)
        path = tmp_path / f"{number}.db"
        async with aiosqlite.connect(path, isolation_level=None) as connection:
            await connection.execute("PRAGMA journal_mode = WAL")
            await migrate(connection, folder)
        await (await SqliteStore.open(path)).close()


async def test_a_file_that_has_only_tables_of_sqlite_s_own_is_taken(tmp_path: Path):
    path = tmp_path / "test.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript("PRAGMA journal_mode = WAL; CREATE TABLE a (n INTEGER PRIMARY KEY AUTOINCREMENT)")
        made.executescript("INSERT INTO a VALUES (1); ANALYZE; DROP TABLE a")
        assert made.execute("SELECT count(*) FROM sqlite_schema").fetchone() != (0,)
    await (await SqliteStore.open(path)).close()


# One process


HOLD_IT = """
import asyncio, sys
from pathlib import Path
from persistence.sqlite.store import SqliteStore

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]))
    print("open", store.description, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_a_second_process_is_locked_out_until_the_first_one_dies(tmp_path: Path):
    path = tmp_path / "test.db"
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLD_IT, str(path), cwd=CHECKOUT, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    try:
        assert (await asyncio.wait_for(holder.stdout.readline(), 60)).startswith(b"open")
        with pytest.raises(StoreLocked) as error:
            await SqliteStore.open(path)
        assert str(path) in str(error.value)
        assert "PARLEY_DATA_DIR" in str(error.value)
        assert "PARLEY_STORE_URL" in str(error.value)
    finally:
        holder.kill()
        await holder.communicate()
    store = await SqliteStore.open(path)
    assert await store.writable()
    await store.close()


async def test_a_second_store_in_the_same_process_is_locked_out_until_the_first_one_closes(tmp_path: Path):
    path = tmp_path / "test.db"
    first = await SqliteStore.open(path)
    with pytest.raises(StoreLocked):
        await SqliteStore.open(path)
    assert await first.writable()
    await first.close()
    second = await SqliteStore.open(path)
    await second.close()


async def test_a_file_that_a_store_has_is_locked_through_a_link_too(tmp_path: Path):
    file, link = tmp_path / "test.db", tmp_path / "linked" / "other.db"
    link.parent.mkdir()
    link.symlink_to(file)
    for first, second in ((file, link), (link, file)):
        store = await SqliteStore.open(first)
        with pytest.raises(StoreLocked):
            await SqliteStore.open(second)
        assert await store.writable()
        await store.close()
    assert list(link.parent.iterdir()) == [link]


async def test_a_database_that_was_moved_behind_a_link_goes_on(tmp_path: Path):
    file, moved = tmp_path / "test.db", tmp_path / "disk" / "moved.db"
    await (await SqliteStore.open(file)).close()
    moved.parent.mkdir()
    file.rename(moved)
    file.symlink_to(moved)
    store = await SqliteStore.open(file)
    assert await value(store, "SELECT checks FROM health") == 2
    await store.close()


OPEN_IT = """
import asyncio, sys
from pathlib import Path
from persistence.sqlite.store import SqliteStore

async def main():
    try:
        await SqliteStore.open(Path(sys.argv[1]))
    except Exception as error:
        print("refused", type(error).__name__, flush=True)

asyncio.run(main())
"""


async def test_a_file_that_is_no_database_is_refused_and_keeps_no_process_alive(tmp_path: Path):
    path = tmp_path / "test.db"
    path.write_bytes(b"no database at all, " * 1_000)
    opener = await asyncio.create_subprocess_exec(
        sys.executable, "-c", OPEN_IT, str(path), cwd=CHECKOUT, stdout=asyncio.subprocess.PIPE
    )
    try:
        said, _ = await asyncio.wait_for(opener.communicate(), 60)
    except TimeoutError:
        opener.kill()
        await opener.communicate()
        pytest.fail("a thread of aiosqlite keeps the process alive")
    assert said.startswith(b"refused ")
    assert path.read_bytes() == b"no database at all, " * 1_000
