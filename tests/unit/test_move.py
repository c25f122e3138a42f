"""`python -m persistence.move`: what it copies, and what it refuses. Both databases are real."""

import hashlib
import io
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from persistence.migrations import numbered
from persistence.move.__main__ import main, run
from persistence.move.moving import ordered
from persistence.move.postgres import PostgresSide
from persistence.move.progress import Progress
from persistence.move.side import MoveError, Row, Table
from persistence.move.sqlite import SqliteSide
from persistence.postgres.store import PostgresStore
from persistence.sqlite import migrate
from persistence.sqlite.store import SqliteStore
from persistence.store import Unit
from persistence.users import UserRow, insert
from tests.support.populated import populate, tables_of
from tests.support.postgres import shared

ADA = UserRow("usr_new", "newcomer", None, None, "hash", "free", None, 10)


def nothing(_: int) -> Callable[[str, int], None]:
    return lambda what, rows: None


def sqlite_url(file: Path) -> str:
    return f"sqlite:///{file}"


async def moved(source: str | Path, target: str | Path) -> None:
    from_, to = (sqlite_url(each) if isinstance(each, Path) else each for each in (source, target))
    await run(from_, to, nothing)


@pytest.fixture(scope="module")
async def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with every kind of row, which no test changes."""
    file = tmp_path_factory.mktemp("filled") / "parley.db"
    await populate(file)
    return file


@pytest.fixture
def own(filled: Path, tmp_path: Path) -> Path:
    """A copy of that file."""
    return Path(shutil.copy(filled, tmp_path / "own.db"))


@pytest.fixture
async def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database of PostgreSQL."""
    name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:16]
    return await (await shared()).database(f"move_{name}")


async def read(url: str, sql: str) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def users_in(url: str) -> int:
    ((there,),) = await read(url, "SELECT to_regclass('users') IS NOT NULL")
    return (await read(url, "SELECT count(*) FROM users"))[0][0] if there else 0


async def test_a_database_with_every_kind_of_row_is_the_same_after_a_move_there_and_back(
    filled: Path, database: str, tmp_path: Path
):
    before = filled.read_bytes()
    await moved(filled, database)
    await moved(database, tmp_path / "deep" / "back.db")
    assert tables_of(tmp_path / "deep" / "back.db") == tables_of(filled)
    assert filled.read_bytes() == before


async def test_the_tables_on_postgresql_are_those_of_the_file(filled: Path, database: str):
    await moved(filled, database)
    for table, rows in tables_of(filled).items():
        if table != "sqlite_sequence":
            with closing(sqlite3.connect(filled)) as file:
                columns = sorted(row[1] for row in file.execute(f"PRAGMA table_info({table})"))
            found = await read(database, f"SELECT {', '.join(columns)} FROM {table}")
            assert sorted(found, key=repr) == rows, table


async def test_both_databases_number_and_count_on_after_a_move(own: Path, database: str, tmp_path: Path):
    await moved(own, database)
    bank = "INSERT INTO banks (id, owner_id, name, name_key, access, created_at, updated_at)"
    bank += " VALUES ('bnk_new', 'usr_1', 'new', 'new', 'agent', 1, 1)"
    message = "INSERT INTO messages (conversation_id, seq, id, role, name, content, at)"
    message += " VALUES (1, 99, 'msg_new', 'user', 'Ada', 'x', 1)"
    memory = "INSERT INTO memories (place, bank_id, id, name, text, created_at, updated_at)"
    memory += " VALUES (990, 'bnk_new', 'mem_new', 'new', 'x', 1, 1)"
    assert await read(database, bank + " RETURNING number") == [(78,)]
    ((place,),) = await read(database, message + " RETURNING place")
    assert place == max(row[0] for row in await read(database, "SELECT place FROM messages WHERE id <> 'msg_new'")) + 1
    await read(database, memory)
    await read(database, "DELETE FROM banks WHERE number = 78 AND memories = 1")  # and its memories by trigger
    await moved(database, tmp_path / "back.db")
    with closing(sqlite3.connect(tmp_path / "back.db")) as back:
        assert back.execute(bank + " RETURNING number").fetchall() == [(79,)]
        back.execute(memory)
        assert back.execute("SELECT memories FROM banks WHERE number = 79").fetchall() == [(1,)]
        assert back.execute("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'").fetchone()[0] > 10


async def test_a_file_whose_log_is_not_folded_in_is_moved_and_stays_as_it_is(own: Path, database: str, tmp_path: Path):
    copy = tmp_path / "killed" / "parley.db"
    copy.parent.mkdir()
    with closing(sqlite3.connect(own)) as writing, writing:
        writing.execute("PRAGMA wal_autocheckpoint = 0")
        writing.execute("UPDATE users SET description = 'only in the log'")
        writing.commit()
        for name in ("", "-wal"):  # as a killed gateway leaves them
            shutil.copy(f"{own}{name}", f"{copy}{name}")
    before = {file.name: file.read_bytes() for file in copy.parent.iterdir()}
    await moved(copy, database)
    assert await read(database, "SELECT DISTINCT description FROM users") == [("only in the log",)]
    assert {name: (copy.parent / name).read_bytes() for name in before} == before
    assert len(before["parley.db-wal"]) > 0


async def test_a_target_of_an_older_version_without_users_is_brought_up_to_date(
    own: Path, database: str, tmp_path: Path
):
    await moved(own, database)
    with closing(sqlite3.connect(tmp_path / "older.db")) as older:
        older.executescript(migrate.MIGRATIONS.joinpath("0001_foundation.sql").read_text(encoding="utf-8"))
        older.execute("PRAGMA user_version = 1")
    await moved(database, tmp_path / "older.db")
    assert tables_of(tmp_path / "older.db") == tables_of(own)


async def test_a_target_on_which_a_gateway_ran_gets_the_proof_of_the_sources_master_key(own: Path, database: str):
    store = await PostgresStore.open(database)
    await store.close()
    await read(database, "INSERT INTO master_key (proof) VALUES ('another')")
    await moved(own, database)
    assert await read(database, "SELECT proof FROM master_key") == [(b"\x00proof",)]
    assert await users_in(database) == 4


# losses and refusals


@pytest.mark.parametrize(
    ("moment", "told"),
    [("put", "failed"), ("finish", "failed"), ("commit", "may have been moved, or nothing: move again")],
)
async def test_a_lost_connection_is_told_and_a_move_begun_again_succeeds(
    own: Path, database: str, monkeypatch: pytest.MonkeyPatch, moment: str, told: str
):
    whole = getattr(PostgresSide, moment)

    async def loses_it(self: PostgresSide, *args: Any) -> None:
        cluster = await shared()
        assert await cluster.kill_backends(urlsplit(database).path[1:], "parley move") == 1
        await whole(self, *args)

    monkeypatch.setattr(PostgresSide, moment, loses_it)
    with pytest.raises(MoveError, match=told):
        await moved(own, database)
    monkeypatch.undo()
    assert await users_in(database) == 0
    await moved(own, database)
    assert await users_in(database) == 4


async def test_a_connection_to_the_source_that_is_lost_leaves_the_file_empty(
    own: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await moved(own, database)

    async def put(self: SqliteSide, table: Table, rows: list[Row], put: Any = SqliteSide.put) -> None:
        if table.name == "messages":
            await (await shared()).kill_backends(urlsplit(database).path[1:], "parley move")
        await put(self, table, rows)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteSide, "put", put)
        with pytest.raises(MoveError, match="failed"):
            await moved(database, tmp_path / "back.db")
    assert tables_of(tmp_path / "back.db")["users"] == []
    await moved(database, tmp_path / "back.db")
    assert tables_of(tmp_path / "back.db") == tables_of(own)


async def test_a_file_that_can_not_grow_is_told_and_stays_empty(
    own: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await moved(own, database)

    async def put(self: SqliteSide, table: Table, rows: list[Row], put: Any = SqliteSide.put) -> None:
        self._connection.execute("PRAGMA max_page_count = 400")  # fails as a full disk does
        await put(self, table, rows)

    with monkeypatch.context() as patched:
        patched.setattr(SqliteSide, "put", put)
        with pytest.raises(MoveError, match=r"there is no space left for .*back\.db: free some, or name another file"):
            await moved(database, tmp_path / "back.db")
    assert tables_of(tmp_path / "back.db")["users"] == []
    await moved(database, tmp_path / "back.db")
    assert tables_of(tmp_path / "back.db") == tables_of(own)


async def test_a_target_with_a_user_is_refused_and_stays(own: Path, database: str, tmp_path: Path):
    for store in (await PostgresStore.open(database), await SqliteStore.open(tmp_path / "other.db")):
        await store.commit(Unit((insert(ADA),)))
        await store.close()
    with pytest.raises(MoveError, match="is not empty, it has users: name a database without users as TO"):
        await moved(own, database)
    assert await read(database, "SELECT name FROM users") == [("newcomer",)]
    with pytest.raises(MoveError, match=r"other\.db is not empty, it has users"):
        await moved(database, tmp_path / "other.db")
    assert len(tables_of(tmp_path / "other.db")["users"]) == 1


async def test_rows_without_a_user_are_found_in_a_target_too(own: Path, database: str):
    await (await PostgresStore.open(database)).close()
    await read(database, "INSERT INTO kept_answers VALUES ('ses_1', 'k', 'usr_1', 'f', 1)")
    with pytest.raises(MoveError, match="is not empty, it has kept_answers"):
        await moved(own, database)


async def test_a_database_that_a_gateway_has_is_refused_on_either_side(
    own: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("persistence.postgres.session.START_S", 0.2)
    in_use = "is in use by a gateway: stop that one first"
    file, server = await SqliteStore.open(tmp_path / "used.db"), await PostgresStore.open(database)
    try:
        for source, target in ((tmp_path / "used.db", database), (database, tmp_path / "used.db"), (own, database)):
            with pytest.raises(MoveError, match=in_use):
                await moved(source, target)
        with pytest.raises(MoveError, match=in_use):
            await moved(database, tmp_path / "new.db")
    finally:
        await file.close()
        await server.close()
    await moved(own, database)


async def test_a_file_that_a_gateway_has_is_refused_through_a_link_on_either_side(
    own: Path, database: str, tmp_path: Path
):
    await moved(own, database)
    (tmp_path / "linked").mkdir()
    link = tmp_path / "linked" / "parley.db"
    link.symlink_to(own)
    file = await SqliteStore.open(own)
    try:
        for source, target in ((link, database), (database, link)):
            with pytest.raises(MoveError, match=r"linked/parley\.db is in use by a gateway: stop that one first"):
                await moved(source, target)
    finally:
        await file.close()


async def test_no_gateway_starts_on_either_side_during_a_move(own: Path, database: str, monkeypatch: Any):
    monkeypatch.setattr("persistence.postgres.session.START_S", 0.2)
    tried: list[str] = []

    async def started(store: Any, place: Any) -> None:
        with pytest.raises(Exception, match="in use") as refused:
            await store.open(place)
        tried.append(type(refused.value).__name__)

    async def put(self: PostgresSide, table: Table, rows: list[Row], put: Any = PostgresSide.put) -> None:
        if table.name == "users":
            await started(SqliteStore, own)
            await started(PostgresStore, database)
        await put(self, table, rows)

    monkeypatch.setattr(PostgresSide, "put", put)
    await moved(own, database)
    assert tried == ["StoreLocked", "StoreLocked"]


async def test_rows_that_do_not_arrive_as_they_were_are_noticed_and_nothing_is_stored(
    own: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def spoil(side: type[Any], spoiled: Callable[[list[Row]], list[Row]]) -> None:
        async def put(self: Any, table: Table, rows: list[Row], put: Any = side.put) -> None:
            await put(self, table, spoiled(rows) if table.name == "audit" else rows)

        monkeypatch.setattr(side, "put", put)

    spoil(PostgresSide, lambda rows: rows[1:])
    with pytest.raises(MoveError, match=r"the table audit is not the same in .* 5,003 rows of 5,006 arrived"):
        await moved(own, database)
    monkeypatch.undo()
    assert await users_in(database) == 0
    await moved(own, database)
    spoil(SqliteSide, lambda rows: [(*rows[0][:-1], "usr_2"), *rows[1:]])
    with pytest.raises(MoveError, match=r"the table audit is not the same in .* or some are different"):
        await moved(database, tmp_path / "back.db")
    assert tables_of(tmp_path / "back.db")["users"] == []


async def test_a_nul_character_is_found_before_anything_is_copied(own: Path, database: str):
    with closing(sqlite3.connect(own)) as file, file:
        file.execute("UPDATE memories SET text = 'a' || char(0) || 'b' WHERE place = 2")
        file.execute("UPDATE tool_servers SET offers = char(0), entry = NULL, url = char(0)")
    with pytest.raises(MoveError) as refused:
        await moved(own, database)
    assert "memories.text of the row place = 2" in str(refused.value)
    assert "tool_servers.offers and url of the row id = 'mcp_2'" in str(refused.value)
    assert await users_in(database) == 0
    with closing(sqlite3.connect(own)) as file, file:
        file.execute("UPDATE memories SET text = 'ab' WHERE place = 2")
        file.execute("UPDATE tool_servers SET offers = NULL, url = 'https://w/'")
    await moved(own, database)


async def test_a_text_that_is_not_utf_8_is_told_without_the_text(own: Path, database: str):
    with closing(sqlite3.connect(own)) as file, file:
        file.execute("UPDATE users SET profile = CAST(x'736563726574ff' AS TEXT) WHERE id = 'usr_1'")
    with pytest.raises(MoveError, match=r"the table users of .* has a text that is not UTF-8") as refused:
        await moved(own, database)
    assert "secret" not in str(refused.value)
    assert await users_in(database) == 0


@pytest.mark.parametrize(
    ("version", "remedy"), [(-1, "start the gateway of this version on it once"), (1, "use the newer Parley")]
)
async def test_a_source_of_another_version_is_refused(
    own: Path, database: str, tmp_path: Path, version: int, remedy: str
):
    newest = max(numbered(migrate.MIGRATIONS))
    with closing(sqlite3.connect(own)) as file:
        file.execute(f"PRAGMA user_version = {newest + version}")
    with pytest.raises(MoveError, match=remedy):
        await moved(own, database)
    await (await PostgresStore.open(database)).close()
    await read(database, f"UPDATE schema_version SET version = version + {version}")
    with pytest.raises(MoveError, match=remedy):
        await moved(database, tmp_path / "back.db")


async def test_a_role_that_does_not_own_the_target_is_told_to_become_its_owner(own: Path, database: str):
    await (await shared()).execute("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN")
    with pytest.raises(MoveError, match="make it the owner of the database"):
        await moved(own, database.replace("postgresql://parley@", "postgresql://stranger@"))


async def test_memories_that_only_the_index_of_0_2_0_has_are_waited_for(own: Path, database: str):
    with closing(sqlite3.connect(own)) as file, file:
        file.execute("INSERT INTO memory_terms (rowid, terms) VALUES (1, '1zmoon')")
    with pytest.raises(MoveError, match="start the gateway on it until its log"):
        await moved(own, database)


async def test_a_database_that_is_not_parleys_is_refused_and_stays(own: Path, database: str, tmp_path: Path):
    (tmp_path / "text.db").write_text("no database at all " * 100)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.executescript("CREATE TABLE recipes (name); PRAGMA user_version = 7")
    for source, target, reason in (
        (tmp_path / "none.db", database, r"there is no file .*none\.db: correct FROM"),
        (tmp_path / "text.db", database, "is not an SQLite database: move it away, or name another file"),
        (tmp_path / "other.db", database, r"other\.db has no tables of Parley: correct FROM"),
        (database, tmp_path / "back.db", "has no tables of Parley: correct FROM"),
    ):
        with pytest.raises(MoveError, match=reason):
            await moved(source, target)
    assert not (tmp_path / "none.db").exists()
    await read(database, "CREATE TABLE recipes (name text)")
    with pytest.raises(MoveError, match="has tables of another program: make an empty one"):
        await moved(own, database)
    assert await read(database, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [("recipes",)]
    await read(database, "DROP TABLE recipes")
    await moved(own, database)
    with pytest.raises(MoveError, match=r"other\.db is another program's: name another file as TO"):
        await moved(database, tmp_path / "other.db")
    await read(database, "CREATE TABLE recipes (name text)")
    with pytest.raises(MoveError, match=r"don't have the same tables \(recipes\)"):
        await moved(database, tmp_path / "back.db")


async def test_a_home_directory_that_no_shell_has_expanded_is_refused_as_the_target(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    await (await PostgresStore.open(database)).close()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MoveError, match="~ is not expanded: write out the home directory in TO"):
        await moved(database, "sqlite:///~/parley.db")
    assert list(tmp_path.iterdir()) == []


async def test_a_server_that_is_not_there_is_told_by_argument(own: Path, database: str):
    with pytest.raises(MoveError, match=r"can't be reached .*or correct TO\."):
        await moved(own, "postgresql://ada:secret@127.0.0.1:9/parley")
    with pytest.raises(MoveError, match=r"there is no such database: make it with createdb, or name another in TO\."):
        await moved(own, database.replace("/move_", "/none_"))


@pytest.mark.parametrize(
    "urls",
    [
        ("parley.db", "postgresql://ada@127.0.0.1/parley"),
        ("sqlite:///a.db", "sqlite:///b.db"),
        ("postgresql://ada@h/a", "postgresql://ada@h/b"),
        ("sqlite:///a.db", "mysql://ada@h/b"),
        ("sqlite:///a.db", "postgresql://ada@h"),
        ("sqlite:///", "postgresql://ada@h/a"),
        ("sqlite:///a.db",),
    ],
)
def test_a_wrong_command_line_is_told_and_touches_nothing(urls: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(urls)
    assert ended.value.code == 2
    assert "usage: python -m persistence.move" in capsys.readouterr().err
    assert not Path("a.db").exists()


# tables and progress


def test_tables_come_after_those_that_they_refer_to():
    table = {name: Table(name, {}, (), frozenset(parents)) for name, parents in {"a": "bc", "b": "c", "c": "c"}.items()}
    assert [each.name for each in ordered(list(table.values()))] == ["c", "b", "a"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_line_for_each_table_where_nobody_watches():
    out = io.StringIO()
    progress = Progress(out, 4_000)
    for what, rows in (("copying a", 1_000), ("copying a", 1_000), ("copying b", 0), ("comparing a", 2_000)):
        progress.step(what, rows)
    progress.end()
    assert out.getvalue() == " 50 %  copying a (2,000)\n100 %  comparing a (2,000)\n"


def test_progress_is_a_bar_on_a_terminal():
    out = Terminal()
    progress = Progress(out, 4_000)
    for _ in range(3):
        progress.step("copying a", 1_000)
    progress.end()
    bars = [line.removesuffix("\x1b[K").rstrip() for line in out.getvalue().rstrip("\n").split("\r")[1:]]
    assert bars[0] == "[#######.......................]  25 %  1,000 of 4,000  copying a"
    assert bars[-1] == "[######################........]  75 %  3,000 of 4,000  copying a"
