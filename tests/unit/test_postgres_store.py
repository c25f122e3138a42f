"""The store on PostgreSQL where it differs from SQLite's: the server's settings, its losses, its locks, erasing."""

import asyncio
import logging
import os
import random
import signal
import socket
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import asyncpg
import pytest
from msgspec import structs

from actors.errors import Overloaded
from actors.runtime.directory import Kind
from actors.runtime.local_directory import LocalDirectory
from persistence import conversations, users
from persistence.postgres import readers, session, watching, writer
from persistence.postgres.batch_functions import SEEN
from persistence.postgres.connecting import described
from persistence.postgres.migrate import MIGRATIONS, migrate
from persistence.postgres.store import NOTHING, PostgresStore
from persistence.store import (
    FOREIGN_KEY,
    ROWS,
    Fenced,
    InDoubt,
    Query,
    Reads,
    StoreError,
    StoreLocked,
    StoreTooNew,
    StoreUnavailable,
    Unit,
    Write,
    rows_of,
)
from persistence.users import UserRow
from tests.support.disk import TABLES, Counter, Increment, rows, value
from tests.support.postgres import SUPERUSER, Cluster, shared
from tests.support.relay import SOCKET, Link, linked, relayed
from tests.support.stores import postgres_only

pytestmark = postgres_only

COUNT = "INSERT INTO counted (n) VALUES (?)"
COUNT_MANY = "INSERT INTO counted (n) SELECT CAST(value ->> 0 AS bigint) FROM jsonb_array_elements(CAST(? AS jsonb))"


@pytest.fixture(scope="module")
async def own() -> AsyncIterator[Cluster]:
    """A server that tests may stop and change."""
    cluster = await Cluster.start()
    yield cluster
    cluster.stop()


@pytest.fixture
async def url(own: Cluster, tmp_path: Path) -> str:
    return await own.database(tmp_path.name)


@pytest.fixture
async def store(url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url)
    await store.commit(Unit((Write("CREATE TABLE counted (n bigint PRIMARY KEY)", ()),)))
    yield store
    await store.close()


def named(url: str) -> str:
    """Return the name of a database."""
    return urlsplit(url).path.removeprefix("/")


def count(n: int, *, by: int | None = None, many: bool = True) -> Unit:
    return Unit((Write(COUNT, (n,), many=COUNT_MANY if many else None),), () if by is None else (by,))


async def counted(store: PostgresStore) -> set[int]:
    return {n for (n,) in await rows(store, "SELECT n FROM counted")}


async def takes_units(store: PostgresStore) -> None:
    """Wait until an outage is over."""
    while store.trouble is not None:
        await asyncio.sleep(0.02)


# Settings of the server


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ("fsync = off", "set fsync = on in postgresql.conf"),
        ("synchronous_commit = off", "set it to on for this server, database and user"),
    ],
)
async def test_a_server_that_may_lose_commits_is_refused(own: Cluster, url: str, setting: str, remedy: str):
    key = setting.split(maxsplit=1)[0]
    await own.execute(f"ALTER SYSTEM SET {setting}")
    try:
        await reloaded(own, key, "off")
        with pytest.raises(StoreError, match=remedy):
            await PostgresStore.open(url)
    finally:
        await own.execute(f"ALTER SYSTEM RESET {key}")
        await reloaded(own, key, "on")
    await (await PostgresStore.open(url)).close()


async def reloaded(cluster: Cluster, setting: str, value: str) -> None:
    """Have a server read its settings again, and wait until new connections have the one that is asked for."""
    await cluster.execute("SELECT pg_reload_conf()")
    found = ""
    while found != value:
        connection = await cluster.connect()
        found = await connection.fetchval(f"SHOW {setting}")
        await connection.close()


async def test_a_database_of_another_encoding_is_refused(own: Cluster):
    await own.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="ENCODING 'UTF8'"):
        await PostgresStore.open(own.url("latin"))


async def test_a_database_that_is_not_there_is_told(own: Cluster):
    with pytest.raises(StoreError, match="no such database: make it with createdb"):
        await PostgresStore.open(own.url("nowhere"))


@pytest.mark.parametrize(("name", "value"), [("connect_timeout", "10"), ("work_mem", "much")])
async def test_a_parameter_of_the_url_that_the_server_does_not_take_is_named(own: Cluster, name: str, value: str):
    with pytest.raises(StoreError, match=rf"\"{name}\".* after the \? in PARLEY_STORE_URL"):
        await PostgresStore.open(f"{own.url('postgres')}&{name}={value}")


@pytest.mark.parametrize("table", ["users", "recipes"])
async def test_a_database_with_another_program_s_tables_is_refused_and_stays(own: Cluster, table: str):
    url = await own.database(f"of_{table}")
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE TABLE {table} (n bigint)")
    with pytest.raises(StoreError, match="tables of another program: make an empty one"):
        await PostgresStore.open(url)
    assert await connection.fetch("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname !~ '^(pg|sql)_'") == [
        (table,)
    ]
    await connection.close()


async def test_a_read_only_database_is_told(own: Cluster, url: str):
    await own.execute(f'ALTER DATABASE "{named(url)}" SET default_transaction_read_only = on')
    with pytest.raises(StoreError, match="read-only: name the primary server"):
        await PostgresStore.open(url)


async def test_a_server_that_is_not_there_is_told():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:\d+/parley can't be reached .*: start the server"):
        await PostgresStore.open(f"postgresql://me@127.0.0.1:{port}/parley")


def test_a_description_has_no_password():
    assert described("postgresql://me:secret@db:5433/parley?password=secret") == "postgresql db:5433/parley"
    assert described("postgresql://me@/parley?host=%2Frun%2Fpg") == "postgresql /run/pg/parley"


# Schema


async def test_the_schema_is_made_once(url: str, caplog: pytest.LogCaptureFixture):
    connection = await asyncpg.connect(url)
    with caplog.at_level("INFO", logger="parley.store"):
        newest = await migrate(connection)
    assert caplog.messages == []
    assert newest == len(list(MIGRATIONS.glob("*.sql")))
    assert await migrate(connection) == newest
    assert await connection.fetchval("SELECT version FROM schema_version") == newest
    await connection.close()


async def test_many_that_migrate_at_once_make_it_once(url: str):
    connections = [await asyncpg.connect(url) for _ in range(5)]
    assert len(set(await asyncio.gather(*map(migrate, connections)))) == 1
    for connection in connections:
        await connection.close()


async def test_a_newer_schema_is_refused(url: str):
    await (await PostgresStore.open(url)).close()
    connection = await asyncpg.connect(url)
    await connection.execute("UPDATE schema_version SET version = 10000")
    await connection.close()
    with pytest.raises(StoreTooNew, match="schema version 10000"):
        await PostgresStore.open(url)


async def test_a_failing_migration_leaves_the_version_before_it(url: str, tmp_path: Path):
    (tmp_path / "0001_first.sql").write_text("CREATE TABLE a (n bigint);")
    (tmp_path / "0002_second.sql").write_text("CREATE TABLE b (n bigint); INSERT INTO nowhere VALUES (1);")
    connection = await asyncpg.connect(url)
    with pytest.raises(asyncpg.PostgresError):
        await migrate(connection, tmp_path)
    assert await connection.fetchval("SELECT version FROM schema_version") == 1
    assert await connection.fetchval("SELECT to_regclass('b')") is None
    await connection.close()


SCHEMA = """
    SELECT 'column', table_name, column_name, data_type, collation_name FROM information_schema.columns
    WHERE table_schema = 'public'
    UNION ALL SELECT 'index', tablename, indexname, indexdef, '' FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'constraint', CAST(CAST(conrelid AS regclass) AS text), conname, pg_get_constraintdef(oid), ''
    FROM pg_constraint WHERE connamespace = CAST('public' AS regnamespace)
    UNION ALL SELECT 'trigger', CAST(CAST(tgrelid AS regclass) AS text), tgname, pg_get_triggerdef(oid), ''
    FROM pg_trigger WHERE NOT tgisinternal
    ORDER BY 1, 2, 3
"""
FILES = """
    SELECT relname, relfilenode FROM pg_class WHERE relnamespace = CAST('public' AS regnamespace) AND relkind = 'r'
    ORDER BY relname
"""
SAMPLED = """
    SELECT tablename, attname FROM pg_stats JOIN pg_attribute USING (attname)
    WHERE schemaname = 'public' AND attrelid = CAST(quote_ident(tablename) AS regclass) AND attstattarget = 0
"""


async def test_statistics_of_texts_that_an_older_version_made_are_dropped(own: Cluster, url: str, tmp_path: Path):
    for number in ("0001", "0003"):
        (file,) = MIGRATIONS.glob(f"{number}_*.sql")
        (tmp_path / file.name.replace("0003", "0002")).write_text(file.read_text())  # all but the one on statistics
    connection = await asyncpg.connect(url)
    await migrate(connection, tmp_path)
    await connection.execute("SET session_replication_role = replica")  # no foreign keys
    for number in range(3):
        await connection.execute(
            "INSERT INTO users (id, name, name_key, description, secret_hash, plan, created_at)"
            " VALUES ($1, $1, $1, 'a secret of ada', 'hash', 'free', 0)",
            f"usr_{number}",
        )
        await connection.execute(
            "INSERT INTO messages (conversation_id, seq, id, role, name, content, at)"
            " VALUES (1, $1, 'msg', 'user', 'ada', 'a secret of ada', 0)",
            number + 1,
        )
    await connection.execute("SET session_replication_role = origin; ANALYZE")
    await connection.execute("UPDATE schema_version SET version = 1")
    (statistics,) = MIGRATIONS.glob("0002_*.sql")
    await connection.execute(statistics.read_text())
    assert ("messages", "content") in {tuple(row) for row in await connection.fetch(SAMPLED)}
    await connection.execute("UPDATE schema_version SET version = 3")
    files = await connection.fetch(FILES)
    await migrate(connection)
    assert await connection.fetch(SAMPLED) == []
    assert {*files} <= {*await connection.fetch(FILES)}  # no table was written anew
    migrated = await connection.fetch(SCHEMA)
    await connection.close()
    fresh = await asyncpg.connect(await own.database(f"{tmp_path.name}-fresh"))
    await migrate(fresh)
    assert migrated == await fresh.fetch(SCHEMA)
    await fresh.close()


async def test_every_text_compares_by_bytes(store: PostgresStore):
    other = "SELECT table_name || '.' || column_name FROM information_schema.columns"
    other += " WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'"
    assert await rows(store, other) == []


# Constraints


async def test_constraints_have_the_names_of_the_modules(store: PostgresStore):
    def user(id: str, name: str) -> Write:
        return users.insert(UserRow(id, name, None, None, "hash", "free", None, 0))

    class Taken(Exception):
        pass

    class Gone(Exception):
        pass

    errors: dict[str, Callable[[], Exception]] = {users.NAME_TAKEN: Taken, FOREIGN_KEY: Gone}
    await store.commit(Unit((user("u1", "Ann"),)))
    with pytest.raises(Taken):
        await store.commit(Unit((user("u2", "ann"),), (), errors))
    with pytest.raises(Gone):
        await store.commit(Unit((conversations.begin(7, "u1", "nobody"),), (), errors))


# Lost connections


async def test_a_unit_waits_for_a_database_that_comes_back(
    own: Cluster, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "PATIENCE_S", 60)  # a busy machine starts a server slowly
    monkeypatch.setattr(readers, "PATIENCE_S", 60)
    await own.down()
    waiting = asyncio.gather(*(store.commit(count(n)) for n in range(20)))
    reading = asyncio.ensure_future(value(store, "SELECT 1"))
    await asyncio.sleep(0.5)
    assert not waiting.done()
    await own.up()
    await asyncio.wait_for(waiting, 30)
    assert await reading == 1
    assert await counted(store) == set(range(20))


async def test_a_unit_is_refused_when_the_database_stays_away(
    own: Cluster, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "PATIENCE_S", 0.5)
    monkeypatch.setattr(readers, "PATIENCE_S", 0.5)
    await own.down()
    try:
        with pytest.raises(StoreUnavailable):
            await store.commit(count(1, by=7))
        with pytest.raises(StoreUnavailable):
            await counted(store)
        assert not await store.writable()
    finally:
        await own.up()
    await takes_units(store)
    with pytest.raises(Fenced):
        await store.commit(count(2, by=7))
    await store.commit(count(3, by=8))
    assert await counted(store) == {3}


OUTAGES = [
    (
        'ALTER DATABASE "{name}" SET default_transaction_read_only = on',
        'ALTER DATABASE "{name}" RESET default_transaction_read_only',
        "it is read-only",
        "cannot execute SELECT FOR UPDATE in a read-only transaction",
    ),
    (
        'ALTER ROLE "{name}" NOLOGIN',
        'ALTER ROLE "{name}" LOGIN',
        "the server does not admit this user from here",
        'role "{name}" is not permitted to log in',
    ),
    (
        'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false',
        'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true',
        None,
        'database "{name}" is not currently accepting connections',
    ),
]


@pytest.mark.parametrize(("begin", "end", "note", "reason"), OUTAGES, ids=["read only", "no log-in", "closed"])
async def test_the_reason_of_an_outage_is_told_and_logged_once_in_each(
    own: Cluster,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    begin: str,
    end: str,
    note: str | None,
    reason: str,
):
    monkeypatch.setattr(writer, "PATIENCE_S", 0.5)
    monkeypatch.setattr(writer, "LEAST_S", 0.5)
    name = named(url)
    await own.execute(f'CREATE ROLE "{name}" LOGIN; ALTER DATABASE "{name}" OWNER TO "{name}"')
    store = await PostgresStore.open(own.url(name, user=name))
    try:
        for outages in (1, 2):
            await own.execute(begin.format(name=name))
            await own.kill_backends(name, "parley writer%")
            async with asyncio.timeout(30):
                while store.trouble != "the database can't be reached" + ("" if note is None else f": {note}"):
                    await asyncio.sleep(0.02)
            assert caplog.messages.count(f"the database can't be reached: {reason.format(name=name)}") == outages
            await own.execute(end.format(name=name))
            await takes_units(store)
            await store.commit(NOTHING)
    finally:
        await store.close()


async def test_the_connection_is_there_again_without_a_unit(own: Cluster, store: PostgresStore, url: str):
    before = await writers(own)
    assert await own.kill_backends(named(url), "parley writer%") == 1
    while not await writers(own) - before:
        await asyncio.sleep(0.02)
    await store.commit(count(1))
    assert await counted(store) == {1}


async def writers(cluster: Cluster) -> set[int]:
    """Return the process ids of the writers' connections."""
    connection = await cluster.connect()
    found = await connection.fetch("SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'parley writer%'")
    await connection.close()
    return {pid for (pid,) in found}


async def test_a_unit_with_wrong_parameters_hurts_no_other(store: PostgresStore):
    wrong = Unit((Write(COUNT, (1, 2)),))
    text = Unit((Write(COUNT, ("no number",)),))
    outcomes = await asyncio.gather(
        *map(store.commit, (count(1), wrong, count(2), text, count(3))), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        StoreUnavailable,
        type(None),
        StoreUnavailable,
        type(None),
    ]
    assert await counted(store) == {1, 2, 3}
    nul = Unit((Write("UPDATE users SET name = ?", ("a\0b",)),))
    with pytest.raises(StoreUnavailable):
        await store.commit(nul)
    await store.commit(count(4))


@pytest.mark.parametrize("seed", [*range(1), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(1, 3))])
async def test_nothing_acknowledged_is_lost_and_nothing_refused_is_there(
    own: Cluster, store: PostgresStore, url: str, seed: int, caplog: pytest.LogCaptureFixture
):
    """Connections are killed and the server restarted under load; each unit's outcome is compared with the rows."""
    caplog.set_level(logging.CRITICAL, "parley")
    rng = random.Random(seed)
    database = named(url)
    numbers = iter(range(10_000_000))
    stored: set[int] = set()
    refused: set[int] = set()
    doubtful: set[int] = set()
    until, harms = time.monotonic() + 8, 0

    def goes_on() -> bool:
        return time.monotonic() < until or harms < 5 or len(stored) <= 200  # the latter on a slow machine

    async def work() -> None:
        while goes_on():
            n = next(numbers)
            try:
                await store.commit(count(n, many=rng.random() < 0.8))
            except InDoubt:
                doubtful.add(n)
            except StoreUnavailable:
                refused.add(n)
            else:
                stored.add(n)

    async def harm() -> None:
        nonlocal harms
        while time.monotonic() < until - 1 or harms < 5:
            await asyncio.sleep(rng.random() * 0.3)
            harms += 1
            if harms % 8 == 4:
                await own.restart(rng.choice(["fast", "immediate"]))
            else:
                await own.kill_backends(database, "parley writer%")

    harming = asyncio.create_task(harm())
    await asyncio.gather(*(work() for _ in range(40)))
    found = await counted(store)
    assert stored - found == set()
    assert refused & found == set()
    assert found <= stored | doubtful
    await harming
    assert harms >= 5
    assert len(stored) > 200


@asynccontextmanager
async def stalled(url: str, table: str) -> AsyncIterator[PostgresStore]:
    """Open a store whose commits stand still if they have added to a table, until the connection `psql` is gone."""
    store = await PostgresStore.open(url)
    await store.commit(
        Unit((Write("CREATE TABLE counted (n bigint PRIMARY KEY)", ()), *(Write(sql, ()) for sql in TABLES)))
    )
    locker = await asyncpg.connect(url, server_settings={"application_name": "psql"})
    # a deferred trigger makes COMMIT itself wait for a lock
    await locker.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN PERFORM pg_advisory_xact_lock(99); RETURN NULL; END';"
        f"CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED"
        " FOR EACH ROW EXECUTE FUNCTION wait()"
    )
    await locker.execute("SELECT pg_advisory_lock(99)")
    yield store
    await store.close()
    locker.terminate()


async def stands_still(cluster: Cluster) -> None:
    """Wait until a commit waits for the lock."""
    connection = await cluster.connect()
    while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
        await asyncio.sleep(0.02)
    await connection.close()


async def test_a_commit_that_was_cut_off_is_tried_again(own: Cluster, url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "PATIENCE_S", 60)  # a busy machine connects slowly
    async with stalled(url, "counted") as store:
        commit = asyncio.create_task(store.commit(count(1, by=7)))
        await stands_still(own)
        assert await own.kill_backends(named(url), "parley writer%") == 1
        await asyncio.sleep(0.3)
        assert not commit.done()
        await own.kill_backends(named(url), "psql")
        await asyncio.wait_for(commit, 30)
        assert await counted(store) == {1}
        await store.commit(count(2, by=7))


async def test_a_commit_that_stays_in_doubt_is_not_told_as_refused(
    own: Cluster, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "PATIENCE_S", 0.5)
    async with stalled(url, "counted") as store:
        commit = asyncio.create_task(store.commit(count(1, by=7)))
        await stands_still(own)
        await own.down("immediate")
        with pytest.raises(InDoubt):
            await commit
        await own.up()
        await takes_units(store)
        with pytest.raises(Fenced):
            await store.commit(count(2, by=7))
        assert await counted(store) == set()


async def test_an_actor_says_that_a_commit_in_doubt_may_be_stored(
    own: Cluster, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "PATIENCE_S", 0.5)
    async with stalled(url, "increments") as store:
        directory = LocalDirectory({"counter": Kind(lambda key: Counter(key, store))}, idle_s=0)
        asked = asyncio.ensure_future(directory.ask("counter", "a", Increment()))
        await stands_still(own)
        await own.down("immediate")
        with pytest.raises(Overloaded, match="may have been carried out"):
            await asked
        await own.up()
        await takes_units(store)
        assert await directory.ask("counter", "a", Increment()) == 1
        await directory.close(5)


@pytest.mark.parametrize("many", [True, False], ids=["in one message", "by COMMIT"])
async def test_a_commit_whose_answer_was_lost_is_told_as_done_and_not_done_twice(
    own: Cluster, url: str, monkeypatch: pytest.MonkeyPatch, many: bool
):
    monkeypatch.setattr(writer, "PATIENCE_S", 60)  # a busy machine connects slowly
    with tempfile.TemporaryDirectory(prefix="relay-") as folder:
        async with relayed(own, named(url), Path(folder)) as (relay, by_relay):
            store = await PostgresStore.open(by_relay)
            relay.node = store._writer.session.node  # pyright: ignore[reportPrivateUsage]
            await store.commit(Unit((Write("CREATE TABLE counted (n bigint)", ()),)))
            for n in range(5):
                relay.loses = True
                await asyncio.wait_for(store.commit(count(n, by=7, many=many)), 30)
            assert relay.lost == store.stats().in_doubt == 5
            assert sorted(await rows(store, "SELECT n FROM counted")) == [(n,) for n in range(5)]
            await store.close()


# Servers that hang


@pytest.fixture
async def link(own: Cluster) -> AsyncIterator[Link]:
    """A link to the server."""
    async with linked(own.folder / SOCKET) as link:
        yield link


@pytest.fixture
async def far(link: Link, url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PostgresStore]:
    """A store by way of the link, which asks soon whether the server still works."""
    monkeypatch.setattr(watching, "SLOW_S", 0.2)
    monkeypatch.setattr(watching, "AGAIN_S", 0.2)
    monkeypatch.setattr(writer, "PATIENCE_S", 0.5)
    monkeypatch.setattr(readers, "PATIENCE_S", 0.5)
    store = await PostgresStore.open(f"postgresql://{SUPERUSER}@127.0.0.1:{link.port}/{named(url)}")
    await store.commit(Unit((Write("CREATE TABLE counted (n bigint PRIMARY KEY)", ()),)))
    yield store
    link.mend()
    await store.close()


async def test_a_server_that_hangs_is_noticed_and_used_again_when_it_goes_on(
    link: Link, far: PostgresStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(watching, "PROBE_S", 0.5)
    link.stall()
    reading = asyncio.ensure_future(counted(far))
    async with asyncio.timeout(30):  # a minute without the watch
        with pytest.raises(StoreUnavailable) as refused:
            await far.commit(count(1))
        assert far.trouble is not None
        with pytest.raises(StoreUnavailable, match="can't be reached"):
            await far.commit(count(2))
        with pytest.raises(StoreUnavailable):
            await reading
    assert "the database does not answer (TimeoutError)" in caplog.text
    link.mend()
    async with asyncio.timeout(30):
        await takes_units(far)
        await far.commit(count(3))
    assert await counted(far) - ({1} if isinstance(refused.value, InDoubt) else set()) == {3}


async def test_units_do_not_wait_in_an_outage_that_has_lasted(link: Link, far: PostgresStore):
    link.cut()
    async with asyncio.timeout(30):
        while far.trouble is None:
            await asyncio.sleep(0.02)
        refused: list[Exception | None] = []
        far.submit(count(1, by=7), refused.append)
        await asyncio.sleep(0)
        assert [type(error) for error in refused] == [StoreUnavailable]
        assert far.stats().waiting == 0
        link.mend()
        await takes_units(far)
    with pytest.raises(Fenced):
        await far.commit(count(2, by=7))


async def test_a_slow_statement_is_waited_for_while_the_server_works_on_it(
    far: PostgresStore, url: str, caplog: pytest.LogCaptureFixture
):
    other = await asyncpg.connect(url)
    async with other.transaction():
        await other.execute("LOCK TABLE counted")
        commit = asyncio.create_task(far.commit(count(1)))
        reading = asyncio.create_task(counted(far))
        await asyncio.sleep(2)
        assert not commit.done()
    await other.close()
    await asyncio.wait_for(commit, 30)
    await reading
    assert "counts as lost" not in caplog.text


async def test_a_statement_that_was_lost_on_the_way_is_sent_again(
    link: Link, far: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "PATIENCE_S", 30)
    monkeypatch.setattr(readers, "PATIENCE_S", 30)
    assert await counted(far) == set()
    link.forget()
    async with asyncio.timeout(30):
        await far.commit(count(1))
    assert await counted(far) == {1}


async def test_a_session_that_the_server_ended_while_it_was_idle_is_replaced(
    own: Cluster, link: Link, far: PostgresStore, url: str, caplog: pytest.LogCaptureFixture
):
    link.keep_open()  # asyncpg has the server's last message, and not yet the end of the connection
    await own.kill_backends(named(url), "parley writer%")
    while (await rows(far, "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'parley writer%'"))[0][0]:
        await asyncio.sleep(0.02)
    for _ in range(20):  # turns of the loop, in which the link passes the message on
        await asyncio.sleep(0.01)
    await far.commit(count(1))
    assert "cannot switch to state 15" in caplog.text
    assert await counted(far) == {1}


# One gateway


class Cancelling:
    """A connection on which a statement that begins with a text is cancelled, as an operator cancels one.

    `told` has the statements.
    """

    def __init__(self, connection: asyncpg.Connection, text: str = "") -> None:
        self.told: list[str] = []
        self._connection = connection
        self._text = text

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def execute(self, sql: str, *params: Any) -> str:
        self.told.append(sql)
        if self._text and sql.startswith(self._text):
            self._text = ""
            await self._connection.execute("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)")
        return await self._connection.execute(sql, *params)


@pytest.mark.parametrize(
    "text",
    ["BEGIN", "SAVEPOINT", "INSERT", "RELEASE", "ROLLBACK TO", "ROLLBACK", "COMMIT"],
)
async def test_a_cancelled_statement_of_the_writer_costs_no_more_than_its_batch(
    own: Cluster, store: PostgresStore, url: str, text: str
):
    mine = store._writer.session  # pyright: ignore[reportPrivateUsage]
    assert mine.connection is not None
    mine.connection = cast("asyncpg.Connection", Cancelling(mine.connection, text))
    taken = {"counted.n": LookupError}
    units = [count(1), *[structs.replace(count(n), constraint_errors=taken) for n in (1, 2)]]
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*map(store.commit, units), return_exceptions=True)
        await store.commit(count(9))
    there = [number for number, outcome in zip((1, 0, 2), outcomes, strict=True) if outcome is None]
    assert await counted(store) == {*there, 9}
    assert {type(outcome) for outcome in outcomes} <= {type(None), LookupError, StoreUnavailable}


@pytest.mark.parametrize("text", ["CREATE FUNCTION", "SELECT pg_temp"])
async def test_a_batch_that_can_not_be_stored_by_one_statement_is_stored_by_several(
    store: PostgresStore, caplog: pytest.LogCaptureFixture, text: str
):
    mine = store._writer.session  # pyright: ignore[reportPrivateUsage]
    assert mine.connection is not None
    mine.connection = cast("asyncpg.Connection", Cancelling(mine.connection, text))
    async with asyncio.timeout(30):
        await asyncio.gather(*(store.commit(count(n)) for n in range(5)))
        await store.commit(count(5))
    assert await counted(store) == set(range(6))
    assert ("takes several messages" in caplog.text) == (text == "CREATE FUNCTION")


async def test_a_batch_of_joined_writes_is_one_statement(store: PostgresStore):
    mine = store._writer.session  # pyright: ignore[reportPrivateUsage]
    assert mine.connection is not None
    watched = Cancelling(mine.connection)
    mine.connection = cast("asyncpg.Connection", watched)
    for start in (0, 10, 20):
        await asyncio.gather(*(store.commit(count(start + n)) for n in range(10)))
    assert await counted(store) == set(range(30))
    first, *others = watched.told
    assert first.startswith("CREATE FUNCTION pg_temp.parley_store_0(")
    assert store.stats().exclusive == 1  # the table
    assert others == ["SELECT pg_temp.parley_store_0($1, $2, $3)"] * 3


def doubled(n: int) -> Unit:
    """Double a number that is there, which the unit would be refused without."""
    return Unit(
        (Write("UPDATE counted SET n = 2 * n WHERE n = ?", (n,), rows=1), Write(COUNT, (-n,))),
        constraint_errors={ROWS: LookupError, "counted.n": KeyError},
    )


async def test_a_batch_with_units_that_may_be_refused_is_one_statement_once_their_kind_is_known(store: PostgresStore):
    mine = store._writer.session  # pyright: ignore[reportPrivateUsage]
    assert mine.connection is not None
    watched = Cancelling(mine.connection)

    async def stored(*units: Unit) -> list[str]:
        """Store units as one batch; return its statements."""
        watched.told.clear()
        outcomes = await asyncio.gather(*map(store.commit, units), return_exceptions=True)
        refused.extend(type(outcome) for outcome in outcomes if outcome is not None)
        return watched.told.copy()

    refused: list[object] = []
    mine.connection = cast("asyncpg.Connection", watched)
    for n in range(1001, 1001 + 2 * SEEN, 2):  # odd: none is another's double
        assert len(await stored(count(n), count(n + 5000), doubled(n))) > 3
    await stored(count(1), count(3), doubled(1))  # makes the functions
    first, second = 100_001, 100_003
    (told,) = await stored(count(first), count(second), doubled(first), doubled(second))
    assert told.startswith("SELECT pg_temp.parley_step_")
    assert {2 * first, 2 * second, -first, -second} <= await counted(store)
    assert not refused

    third = 100_005
    told = await stored(count(third), doubled(third), doubled(7), count(11))
    assert told[0].startswith("SELECT pg_temp.parley_step_")
    assert told[1].startswith("BEGIN")
    assert refused == [LookupError]
    assert {2 * third, -third, 11} <= await counted(store)
    assert -7 not in await counted(store)

    assert (await stored(count(13), doubled(13)))[0].startswith("BEGIN")  # for as long as before
    assert store.stats().in_doubt == 0


async def test_a_batch_sees_what_was_stored_before_it_had_the_lock(own: Cluster, url: str):
    await own.execute(f"ALTER DATABASE \"{named(url)}\" SET default_transaction_isolation = 'repeatable read'")
    store = await PostgresStore.open(url)
    connection = store._writer.session.connection  # pyright: ignore[reportPrivateUsage]
    assert connection is not None
    assert await connection.fetchval("SHOW transaction_isolation") == "read committed"
    await store.close()


async def test_a_lost_session_that_the_server_can_not_end_yet_is_no_other_gateway(
    own: Cluster, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(session, "START_S", 0.2)
    lost = store._writer.session  # pyright: ignore[reportPrivateUsage]
    assert lost.connection is not None
    pid = lost.connection.get_server_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        lost.drop()
        with pytest.raises(StoreUnavailable):
            await store.commit(count(1))
    finally:
        os.kill(pid, signal.SIGCONT)
    async with asyncio.timeout(30):
        await takes_units(store)
        await store.commit(count(2))
    assert await counted(store) == {2}


async def test_a_second_gateway_is_refused(store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("persistence.postgres.session.START_S", 0.3)
    with pytest.raises(StoreLocked, match="in use by another gateway"):
        await PostgresStore.open(url)
    await store.commit(count(1))


async def test_a_gateway_that_was_replaced_stores_nothing_more(own: Cluster, url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(readers, "PATIENCE_S", 60)
    first = await PostgresStore.open(url)
    await first.commit(Unit((Write("CREATE TABLE counted (n bigint PRIMARY KEY)", ()),)))
    await first.commit(count(1))
    # the session's lock goes with the connection, and another gateway is quicker to take it
    connection = await asyncpg.connect(url)
    await connection.execute("DELETE FROM fences")
    await connection.close()
    with pytest.raises(StoreUnavailable, match="taken over"):
        await first.commit(count(2))
    with pytest.raises(StoreUnavailable, match="taken over"):
        await first.commit(count(3))
    async with asyncio.timeout(30):  # no read waits for a connection that does not come back
        with pytest.raises(StoreUnavailable, match="taken over"):
            await counted(first)
    await first.close()
    second = await PostgresStore.open(url)
    assert await counted(second) == {1}
    await second.close()


async def test_a_database_that_lost_acknowledged_commits_is_not_used_on(own: Cluster, store: PostgresStore, url: str):
    """As a replica does that is promoted without the last commits."""
    for n in range(3):
        await store.commit(count(n))
    await own.execute("UPDATE fences SET batch = 1", named(url))
    await own.kill_backends(named(url), "parley writer%")
    async with asyncio.timeout(30):
        while store.trouble is None:
            await asyncio.sleep(0.02)
    with pytest.raises(StoreUnavailable, match="lost commits"):
        await store.commit(count(10))


async def test_reads_run_outside_of_tasks(store: PostgresStore):
    """As the gateway's fast path runs them: a coroutine driven by hand until its first future."""
    read = store.fetch(Query("SELECT 1", (), lambda row: row[0]))
    waits = read.send(None)
    assert asyncio.isfuture(waits)
    while not waits.done():
        await asyncio.sleep(0.01)
    with pytest.raises(StopIteration) as ended:
        read.send(None)
    assert ended.value.value == [1]


async def test_dependent_reads_see_one_state_while_others_commit(store: PostgresStore, url: str):
    counting: Query[int] = Query("SELECT count(*) FROM counted", (), lambda row: row[0])

    async def add() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute("INSERT INTO counted VALUES (1)")
        await connection.close()

    def reads() -> Reads[tuple[list[int], list[int]]]:
        before = yield from rows_of(counting)
        other = threading.Thread(target=lambda: asyncio.run(add()))
        other.start()
        other.join()
        return before, (yield from rows_of(counting))

    assert await store.read(reads()) == ([0], [0])
    for _ in range(readers.COUNT + 1):  # no reader stays in its transaction
        assert await store.fetch(counting) == [1]


async def test_a_close_ends_the_reads_under_way_and_logs_no_error(
    own: Cluster, url: str, caplog: pytest.LogCaptureFixture
):
    store = await PostgresStore.open(url)
    await store.commit(Unit((Write("CREATE TABLE counted (n bigint PRIMARY KEY)", ()),)))
    holding, watching = await asyncpg.connect(url), await own.connect()
    await holding.execute("BEGIN; LOCK TABLE counted")
    reading = [asyncio.create_task(counted(store)) for _ in range(readers.COUNT + 2)]
    waiting = "application_name = 'parley reader' AND wait_event_type = 'Lock'"
    while await watching.fetchval(f"SELECT count(*) FROM pg_stat_activity WHERE {waiting}") < readers.COUNT:
        await asyncio.sleep(0.01)
    reading[0].cancel()  # as a job that ends before the store
    await store.close()
    outcomes = await asyncio.gather(*reading, return_exceptions=True)
    assert list(map(type, outcomes)) == [asyncio.CancelledError] + [StoreUnavailable] * (readers.COUNT + 1)
    assert "a read failed" not in caplog.text
    await holding.close()
    await watching.close()


# Erasing


async def test_deleted_rows_are_out_of_reach_of_every_statement(store: PostgresStore, url: str):
    await store.commit(Unit((users.insert(UserRow("u", "u", None, None, "", "free", None, 0)),)))
    document = (
        "INSERT INTO documents (place, id, user_id, name, media_type, content, size, status, created_at, updated_at)"
    )
    await store.commit(
        Unit(
            tuple(
                Write(
                    f"{document} VALUES ({n}, 'd{n}', 'u', 'd{n}', 'text/plain', 'secret', 6, 'queued', 0, 0)",
                    (),
                )
                for n in range(100)
            )
        )
    )
    await store.commit(Unit((Write("DELETE FROM documents", ()),)))
    reader = await asyncpg.connect(url)
    await reader.execute("CREATE EXTENSION pgstattuple")
    dead = "SELECT dead_tuple_count FROM pgstattuple('documents')"
    assert await reader.fetchval(dead) == 100
    assert await store.erase_deleted()
    assert await reader.fetchval(dead) == 0
    await reader.close()


async def test_erasing_waits_for_transactions_that_may_see_what_was_deleted(
    store: PostgresStore, url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("persistence.postgres.erasing.WAIT_S", 0.2)
    reader = await asyncpg.connect(url)
    await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await reader.fetchval("SELECT count(*) FROM counted")
    await store.commit(count(1))
    await store.commit(Unit((Write("DELETE FROM counted", ()),)))
    assert not await store.erase_deleted()
    await reader.execute("COMMIT")
    assert await store.erase_deleted()
    await reader.close()


async def test_the_shared_server_is_this_process_s(tmp_path: Path):
    assert await shared() is await shared()
