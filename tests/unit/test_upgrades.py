"""Nodes of two versions on one database: who may join, who migrates, and what is refused."""

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from config.version import VERSION
from persistence.ledger import NotAdmitted
from persistence.postgres import migrate as migrating
from persistence.postgres.ledger import PostgresLedger
from persistence.postgres.migrate import MIGRATIONS, is_older, needed, read_schema
from persistence.postgres.store import PostgresStore
from persistence.store import StoreError, StoreLocked, StoreTooNew
from tests.support.stores import database_for

NEWEST = max(int(file.name[:4]) for file in MIGRATIONS.glob("*.sql"))
OLD, NEW = "0.2.0", "0.3.0"
EXPANDING = "ALTER TABLE agents ADD mood text;"
CONTRACTING = "-- needs: 0.3.0\nDROP TABLE logon_places;"

Joins = Callable[..., Awaitable[PostgresLedger]]


@pytest.fixture
async def url(tmp_path: Path, patient_ledgers: None) -> str:
    return await database_for(tmp_path / "parley.db")


@pytest.fixture
async def admin(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


@pytest.fixture
async def joins(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Joins]:
    """Have a node of a version join, whose code has some migrations more than this one."""
    async with AsyncExitStack() as stack:

        async def joins(version: str, *more: str, protocol: int = 1, ttl_s: float = 60) -> PostgresLedger:
            folder = tmp_path / f"migrations-{len(more)}"
            shutil.copytree(MIGRATIONS, folder, dirs_exist_ok=True)
            for number, sql in enumerate(more, NEWEST + 1):
                (folder / f"{number:04}_more.sql").write_text(sql)
            monkeypatch.setattr(migrating, "MIGRATIONS", folder)
            ledger = PostgresLedger(url, ttl_s)
            stack.push_async_callback(ledger.close)
            await ledger.join("node", version, protocol, "")
            return ledger

        yield joins


async def test_a_migration_that_expands_runs_beside_older_nodes_which_may_start_again(
    joins: Joins, admin: asyncpg.Connection, caplog: pytest.LogCaptureFixture
):
    old = await joins(OLD)
    await joins(NEW, EXPANDING, protocol=2)
    assert await read_schema(admin) == (NEWEST + 1, None)
    assert (await old.beat(0)).held
    await old.leave()
    with caplog.at_level(logging.INFO):
        again = await joins(OLD)
    assert f"schema version {NEWEST + 1}, this code knows {NEWEST} and works with it" in caplog.text
    assert (await again.beat(0)).held


async def test_a_migration_that_contracts_is_refused_while_older_nodes_are_live_and_bars_them_afterwards(
    joins: Joins, admin: asyncpg.Connection
):
    old = await joins(OLD)
    with pytest.raises(NotAdmitted, match=rf"{NEWEST + 2:04}_more.*before 0\.3\.0.*node-.*0\.2\.0\) is live"):
        await joins(NEW, EXPANDING, CONTRACTING)
    assert await read_schema(admin) == (NEWEST, None)  # not even the one that expands
    await joins(NEW, EXPANDING)
    await old.leave()
    await joins("0.4.0", EXPANDING, CONTRACTING)
    assert await read_schema(admin) == (NEWEST + 2, "0.3.0")
    with pytest.raises(StoreTooNew, match=r"0\.3\.0 or newer"):
        await joins(OLD)
    await joins(NEW, EXPANDING)


async def test_an_older_node_that_was_killed_is_declared_dead_before_a_migration_that_contracts(
    joins: Joins, admin: asyncpg.Connection
):
    killed = await joins(OLD, ttl_s=60)
    await killed.set_draining(False)
    await killed.claim(range(256))
    with pytest.raises(NotAdmitted, match="one that was killed counts as live for"):
        await joins(NEW, CONTRACTING, ttl_s=0.5)
    await admin.execute("UPDATE nodes SET expires = now() - interval '1 second'")
    heir = await joins(NEW, CONTRACTING, ttl_s=0.5)
    assert not (await killed.beat(0)).held
    assert set((await heir.beat(0)).owners) == {None}
    assert await admin.fetchval("SELECT count(*) FROM fences WHERE live") == 1


async def test_a_node_whose_protocol_does_not_fit_changes_nothing(joins: Joins, admin: asyncpg.Connection):
    await joins(OLD)
    with pytest.raises(NotAdmitted, match="protocol"):
        await joins(NEW, EXPANDING, protocol=3)
    assert await read_schema(admin) == (NEWEST, None)


async def test_a_gateway_that_is_alone_does_not_migrate_under_nodes(
    url: str, joins: Joins, admin: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("persistence.postgres.session.START_S", 0.2)
    await joins(OLD)
    newer = migrating.MIGRATIONS
    (newer / f"{NEWEST + 1:04}_more.sql").write_text(EXPANDING)
    with pytest.raises(StoreLocked):
        await PostgresStore.open(url)
    assert await read_schema(admin) == (NEWEST, None)


async def test_a_gateway_that_is_alone_refuses_a_newer_schema_as_ever(
    url: str, joins: Joins, monkeypatch: pytest.MonkeyPatch
):
    newer = await joins(NEW, EXPANDING)
    await newer.leave()
    await newer.close()
    monkeypatch.undo()
    with pytest.raises(StoreTooNew):
        await PostgresStore.open(url)


async def test_a_migration_lets_writers_pass_and_tries_again(
    joins: Joins, url: str, admin: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(migrating, "PAUSE_S", 0.3)
    await joins(OLD)
    reader = await asyncpg.connect(url)
    long = reader.transaction()
    await long.start()
    await reader.fetch("SELECT 1 FROM agents LIMIT 1")
    joining = asyncio.ensure_future(joins(NEW, EXPANDING))
    while f"{NEWEST + 1:04}_more.sql waits until others have done" not in caplog.text:
        async with asyncio.timeout(30):  # behind a migration that waits for the reader it would wait for ever
            await admin.execute("UPDATE agents SET name = name")
        await asyncio.sleep(0.01)
    assert not joining.done()
    await long.commit()
    await reader.close()
    await joining
    assert await read_schema(admin) == (NEWEST + 1, None)


async def test_a_migration_that_never_gets_its_tables_is_given_up_with_the_reason(
    joins: Joins, admin: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(migrating, "PATIENCE_S", 0.1)
    async with admin.transaction():
        await admin.fetch("SELECT 1 FROM agents LIMIT 1")
        with pytest.raises(StoreError, match="long transactions use them"):
            await joins(NEW, EXPANDING)
    assert await read_schema(admin) == (NEWEST, None)


def test_versions_compare_by_their_numbers():
    assert is_older("0.2.9", "0.10.0")
    assert not is_older("0.10", "0.10.0")
    assert not is_older("0.10.0.dev1", "0.10.0")
    assert not is_older("0.1.0", None)


def test_a_migration_that_takes_something_away_says_what_it_needs():
    for file in sorted(MIGRATIONS.glob("*.sql"))[4:]:
        sql = "\n".join(line.partition("--")[0] for line in file.read_text().splitlines()).upper()
        takes_away = any(word in sql for word in ("DROP TABLE", "DROP COLUMN", "RENAME ", "SET NOT NULL"))
        assert needed(file) is not None or not takes_away, file.name
        assert not is_older(VERSION, needed(file)), file.name
