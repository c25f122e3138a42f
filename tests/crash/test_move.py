"""`python -m persistence.move` as an operator runs it: killed at any moment, and with gateways before and after it."""

import asyncio
import gzip
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest

from persistence.move.__main__ import run
from persistence.postgres.store import PostgresStore
from tests.support.gateway import CHECKOUT, Client, running
from tests.support.memories import load
from tests.support.populated import add_messages, populate, tables_of
from tests.support.postgres import shared

STORED = CHECKOUT / "tests" / "fixtures" / "before-0.2.0"
KILLS = pytest.mark.parametrize("kills", [4, pytest.param(12, marks=pytest.mark.soak)])
LINES = 40
"""The number of lines that a whole move of every kind of row writes by about its middle."""

MESSAGES = 8_000

COMMITS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'parley move' AND wait_event = 'SyncRep'"


async def begun(source: str, target: str) -> Process:
    """Start the command."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
    command = (sys.executable, "-m", "persistence.move", source, target)
    return await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, cwd=CHECKOUT, env=environment)


async def moved(source: str, target: str) -> tuple[int, str, str]:
    """Run the command; return its exit status, and what it wrote to stdout and stderr."""
    process = await begun(source, target)
    out, errors = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode is not None
    return process.returncode, out.decode(), errors.decode()


async def database(name: str) -> str:
    return await (await shared()).database(f"moved_{name}")


async def users_on_postgres(url: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        there = await connection.fetchval("SELECT to_regclass('users') IS NOT NULL")
        return await connection.fetchval("SELECT count(*) FROM users") if there else 0
    finally:
        await connection.close()


def users_in_file(file: Path) -> int:
    if not file.exists():
        return 0
    with closing(sqlite3.connect(file)) as found:  # undoes what a killed move has written
        there = found.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'users'").fetchone()[0]
        return found.execute("SELECT count(*) FROM users").fetchone()[0] if there else 0


async def killed(source: str, target: str, chance: random.Random) -> None:
    """Kill a move at some moment: after one of the lines of its progress, or before the first."""
    process = await begun(source, target)
    assert process.stderr is not None
    for _ in range(chance.randint(0, LINES)):
        await asyncio.wait_for(process.stderr.readline(), 60)
    await asyncio.sleep(chance.uniform(0, 0.1))
    if process.returncode is None:
        process.kill()
    await process.communicate()


@KILLS
async def test_a_move_to_postgresql_that_is_killed_leaves_the_file_whole_and_the_database_empty(
    tmp_path: Path, kills: int
):
    file, chance = tmp_path / "parley.db", random.Random(1)
    await populate(file)
    add_messages(file, MESSAGES)
    before = hashlib.sha256(file.read_bytes()).digest()
    source, target, whole = f"sqlite:///{file}", await database("killed"), 0
    for kill in range(kills):
        await killed(source, target, chance)
        assert hashlib.sha256(file.read_bytes()).digest() == before
        if users := await users_on_postgres(target):  # the kill came after the commit
            assert users == 4
            await require_same(target, file, tmp_path / f"after_{kill}.db")
            whole, target = whole + 1, await database(f"killed_{kill}")
    assert whole < kills
    status, _, errors = await moved(source, target)
    assert status == 0, errors
    await require_same(target, file, tmp_path / "back.db")


@KILLS
async def test_a_move_to_sqlite_that_is_killed_leaves_the_database_whole_and_the_file_empty(tmp_path: Path, kills: int):
    file, back, chance = tmp_path / "parley.db", tmp_path / "back.db", random.Random(2)
    source, whole = await database("source"), 0
    await populate(file)
    add_messages(file, MESSAGES)
    await run(f"sqlite:///{file}", source, unwatched)
    for kill in range(kills):
        await killed(source, f"sqlite:///{back}", chance)
        if users_in_file(back):
            assert tables_of(back) == tables_of(file)
            whole, back = whole + 1, tmp_path / f"back_{kill}.db"
    assert whole < kills
    status, _, errors = await moved(source, f"sqlite:///{back}")
    assert status == 0, errors
    assert tables_of(back) == tables_of(file)


async def require_same(source: str, file: Path, back: Path) -> None:
    """Require that PostgreSQL has what a file has."""
    await run(source, f"sqlite:///{back}", unwatched)
    assert tables_of(back) == tables_of(file)


def unwatched(_: int) -> Callable[[str, int], None]:
    return lambda what, rows: None


async def test_a_move_that_is_interrupted_tells_that_nothing_was_moved(tmp_path: Path):
    file, target = tmp_path / "parley.db", await database("interrupted")
    await populate(file)
    add_messages(file, MESSAGES)
    process = await begun(f"sqlite:///{file}", target)
    assert process.stderr is not None
    lines = [await asyncio.wait_for(process.stderr.readline(), 60) for _ in range(2)]
    process.send_signal(signal.SIGINT)
    _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert lines[0] == b"Looking at both databases.\n"
    assert b"%  copying " in lines[1]
    assert process.returncode == 130
    assert errors.decode().endswith("Stopped: nothing was moved, and TO is as empty as before.\n")
    assert await users_on_postgres(target) == 0


async def test_a_move_that_is_interrupted_in_its_commit_tells_that_everything_may_have_been_moved(tmp_path: Path):
    file, target, cluster = tmp_path / "parley.db", await database("interrupted_late"), await shared()
    await populate(file)
    await (await PostgresStore.open(target)).close()  # it makes the tables
    try:
        await cluster.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")  # commits wait
        await cluster.execute("SELECT pg_reload_conf()")
        process = await begun(f"sqlite:///{file}", target)
        connection = await cluster.connect()
        async with asyncio.timeout(60):
            while not await connection.fetchval(COMMITS):
                await asyncio.sleep(0.02)
        await connection.close()
        process.send_signal(signal.SIGINT)
        _, errors = await asyncio.wait_for(process.communicate(), 60)
    finally:
        await cluster.execute("ALTER SYSTEM RESET synchronous_standby_names")
        await cluster.execute("SELECT pg_reload_conf()")
    assert process.returncode == 130
    assert "everything may have been moved, or nothing: move again" in errors.decode()
    assert await users_on_postgres(target) == 4
    status, _, errors = await moved(f"sqlite:///{file}", target)
    assert status == 2
    assert "is not empty" in errors


async def test_a_gateway_goes_on_in_the_other_database(tmp_path: Path):
    data, target = tmp_path / "data", await database("gateway")
    source = f"sqlite:///{data / 'parley.db'}"
    async with running(data, PARLEY_STORE_URL=source) as gateway, gateway.client() as nobody:
        ada = await nobody.register("lovelace")
        await ada.agent("scout")
        (await ada.command("MB_Create", vx={"name": "notes"})).ok()
        (await load(ada, "notes", "otter", "The otter sleeps on its back in the kelp.")).ok()
        (await ada.command("AP_Chat", content="How does the otter sleep?")).ok()
        history = await history_of(ada)
        status, _, errors = await moved(source, target)
        assert (status, errors) == (
            2,
            f"Looking at both databases.\nParley can't move: sqlite {data / 'parley.db'} is in use by a gateway:"
            " stop that one first.\n",
        )
        await gateway.kill()
    status, out, errors = await moved(source, target)
    assert status == 0, errors
    assert "100 %  comparing " in errors
    assert "set PARLEY_MASTER_KEY" in out
    assert str(data / "master.key") in out
    key = (data / "master.key").read_text().strip()
    back = f"sqlite:///{tmp_path / 'back.db'}"
    for url in (target, back):
        if url == back:
            status, out, errors = await moved(target, url)
            assert status == 0, errors
        async with (
            running(tmp_path / "other", PARLEY_STORE_URL=url, PARLEY_MASTER_KEY=key) as gateway,
            gateway.client() as nobody,
        ):
            ada = Client(nobody.http, nobody.base, ada.token, "lovelace")
            assert (await history_of(ada))[: len(history)] == history
            found = (await ada.command("MB_Recall", target={"bank": "notes"}, content="Where do otters sleep?")).ok()
            assert found.content[0]["name"] == "otter"
            assert "kelp" in str((await ada.command("AP_Chat", content="Where does the otter sleep?")).ok().content)
            await nobody.register(f"new{len(url)}")
            if url == target:
                status, _, errors = await moved(target, back)
                assert (status, "in use by a gateway" in errors) == (2, True)


async def history_of(client: Client) -> list[dict[str, object]]:
    return (await client.command("AP_History", target={"agent": "scout"}, page={"limit": 200})).ok().content


async def test_a_database_of_0_2_0_moves_once_a_gateway_has_brought_it_up_to_date(tmp_path: Path):
    data, target = tmp_path / "data", await database("before")
    data.mkdir()
    file = data / "parley.db"
    file.write_bytes(gzip.decompress((STORED / "parley.db.gz").read_bytes()))
    shutil.copy(STORED / "master.key", data)
    status, _, errors = await moved(f"sqlite:///{file}", target)
    assert status == 2
    assert "start the gateway of this version on it once, then move again" in errors
    async with running(data, PARLEY_STORE_URL=f"sqlite:///{file}"), asyncio.timeout(60):
        while tables_not_indexed(file):
            await asyncio.sleep(0.1)
    status, _, errors = await moved(f"sqlite:///{file}", target)
    assert status == 0, errors
    status, _, errors = await moved(target, f"sqlite:///{tmp_path / 'back.db'}")
    assert status == 0, errors
    assert tables_of(tmp_path / "back.db") == tables_of(file)


def tables_not_indexed(file: Path) -> int:
    with closing(sqlite3.connect(file)) as found:
        return found.execute("SELECT count(*) FROM memory_terms").fetchone()[0]
