"""Erasing on PostgreSQL: what SQL may still read after the gateway's own erasing, and the files after a rewrite."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest

from actors.core import CoreOptions
from persistence.postgres.erasing import TABLES
from persistence.postgres.store import PostgresStore
from tests.support.gateway import PASSWORD, Client
from tests.support.in_process import CommandClient, CoreGateway, commanded
from tests.support.memories import load
from tests.support.postgres import Cluster, shared
from tests.support.stores import database_for, postgres_only

pytestmark = postgres_only

CHECKOUT = Path(__file__).resolve().parents[2]
WORD = "xylophonist"
STEM = "xylophon"
SAID = f"The secret is {WORD}."

DERIVED = {"postings"}
"""Tables without a column of text or bytes that tell the words of texts all the same, here by the numbers of terms."""

NO_CONTENT = {
    *("agent_id", "author_id", "bank_id", "conversation_id", "credential_id", "document_id", "domain_id", "founder_id"),
    *("id", "message_id", "owner_id", "part_of", "request_id", "subject", "user_id", "zone_id"),
    *("access", "kind", "mark", "permission", "plan", "role", "state", "status", "type", "version"),
    *("key_hash", "place", "proof", "node", "owner", "catalogs", "expires", "needs"),
}
"""Names of columns, in any table, with ids, words of a fixed list, digests or numbers of versions."""


@pytest.fixture
async def url(tmp_path: Path) -> str:
    """A database whose folder's name no other test uses."""
    return await database_for(tmp_path / "parley.db")


@pytest.fixture
async def gateway(url: str, tmp_path: Path) -> AsyncIterator[CoreGateway]:
    """A core on the database of `url`."""
    async with commanded(tmp_path, options=CoreOptions(default_plan="enterprise")) as gateway:
        yield gateway


async def rewritten(url: str, *arguments: str) -> tuple[int, str, str]:
    """Run the program; return its exit status and what it wrote to its two streams."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "persistence.erase", *(arguments or ("--rewrite",))),
        cwd=CHECKOUT,
        env=environment | {"PARLEY_STORE_URL": url},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def fill(gateway: CoreGateway) -> tuple[Client, Client]:
    """Have the word in every place that texts can come to: one user censors it, the other one goes."""
    stays, goes = [await CommandClient(gateway).register(name) for name in ("ada", "bob")]
    for user, agent in ((stays, "scout"), (goes, "guide")):
        await user.agent(agent)
        bank = f"{agent}-bank"
        (await user.command("DM_Create", vx={"name": f"{agent}-home", "description": SAID})).ok()
        (await user.command("MB_Create", vx={"name": bank, "description": "Notes"})).ok()
        for number in range(40):
            (await load(user, bank, f"m{number}", f"{SAID} Of {number}.")).ok()
        (await load(user, bank, "long", f"{'A long text of many words. ' * 400}{SAID}")).ok()
        body = {"name": "paper", "content": f"{'Of paper and ink. ' * 400}{SAID}"}
        document = (await user.request("POST", "/api/documents", json=body)).body
        async with asyncio.timeout(60):
            while document["status"] != "ready":
                await asyncio.sleep(0.05)
                document = (await user.request("GET", f"/api/documents/{document['id']}")).body
        (await user.command("MB_Load", target={"bank": bank}, vx={"name": "paper"})).ok()
        (await user.command("AP_Chat", content="What is the secret?")).ok()
    (await goes.command("US_Update", vx={"description": SAID, "profile": SAID})).ok()
    for number in range(40):
        (await goes.command("ZN_Post", target={"domain": "guide-home"}, content=f"{SAID} Again {number}.")).ok()
        (await goes.command("AP_Chat", content=f"{SAID} Once more {number}.")).ok()
    return stays, goes


async def erase(gateway: CoreGateway, stays: Client, goes: Client) -> None:
    """Remove the word by commands."""
    (await stays.command("MB_Censor", target={"bank": "scout-bank"}, vx={"name": "*"})).ok()
    (
        await stays.command(
            "DM_Update", target={"domain": "scout-home"}, vx={"name": "scout-home", "description": "Home"}
        )
    ).ok()
    (await goes.command("US_Destroy", vx={"secret": PASSWORD})).ok()


async def analyzed(url: str) -> None:
    """Have the planner's statistics take samples of the texts, as the autovacuum does from time to time."""
    connection = await asyncpg.connect(url)
    await connection.execute("ANALYZE")
    await connection.close()


async def found_by_sql(url: str) -> set[str]:
    """Return the tables and views with a row that has the word."""
    connection = await asyncpg.connect(url)
    relations = await connection.fetch(
        "SELECT CAST(CAST(oid AS regclass) AS text) FROM pg_class WHERE relkind IN ('r', 'v', 'm')"
        " AND relnamespace IN (CAST('public' AS regnamespace), CAST('pg_catalog' AS regnamespace))"
        " AND relname NOT IN ('pg_stat_activity', 'pg_cursors', 'pg_prepared_statements', 'pg_hba_file_rules')"
    )
    found: set[str] = set()
    for (name,) in relations:
        if await connection.fetchval(
            f"SELECT EXISTS (SELECT 1 FROM {name} AS r WHERE strpos(CAST(r AS text), $1) > 0)", STEM
        ):
            found.add(name)
    await connection.close()
    return found


async def found_in_files(cluster: Cluster, url: str) -> set[str]:
    """Return the names of the database's files that hold the word."""
    connection = await asyncpg.connect(url)
    await connection.execute("CHECKPOINT")
    number = await connection.fetchval("SELECT oid FROM pg_database WHERE datname = current_database()")
    await connection.close()
    found = set[str]()
    for file in (cluster.data / "base" / str(number)).iterdir():
        with suppress(FileNotFoundError):  # the server removes its caches when the catalogue changes
            if STEM.encode() in file.read_bytes():
                found.add(file.name)
    return found


async def test_every_column_that_may_hold_a_text_of_a_user_is_in_a_table_that_is_erased_and_has_no_statistics(url: str):
    await (await PostgresStore.open(url)).close()
    connection = await asyncpg.connect(url)
    columns: list[Any] = await connection.fetch(
        "SELECT CAST(attrelid AS regclass)::text, attname, attstattarget FROM pg_attribute WHERE attnum > 0"
        " AND attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r')"
        " AND atttypid NOT IN ('bigint'::regtype, 'smallint'::regtype, 'integer'::regtype, 'boolean'::regtype)"
    )
    await connection.close()
    texts = [(table, column, target) for table, column, target in columns if column not in NO_CONTENT]
    assert {table for table, _, _ in texts} == set(TABLES) - DERIVED
    assert len(TABLES) == len(set(TABLES))
    assert [f"{table}.{column}" for table, column, target in texts if target != 0] == []  # see 0002 of the migrations


async def test_after_the_gateway_s_erasing_no_statement_answers_the_word_and_after_a_rewrite_no_file_has_it(
    gateway: CoreGateway, url: str
):
    users = await fill(gateway)
    await analyzed(url)
    assert await found_by_sql(url) == {
        *("memories", "messages", "zone_messages", "document_parts", "vocabulary", "users", "domains")
    }
    await erase(gateway, *users)
    assert await gateway.core.store.erase_deleted()
    assert await found_by_sql(url) == set()
    cluster = await shared()
    assert await found_in_files(cluster, url)

    status, out, err = await rewritten(url)
    assert (status, out) == (2, f"Rewriting {gateway.core.store.description}\n")
    assert "is in use by a gateway: stop it first" in err
    await gateway.core.close(5)
    status, out, err = await rewritten(url)
    assert (status, err) == (0, "")
    assert re.findall(r"^ ?\d+/\d+ (\w+) .* MB -> .* MB", out, re.MULTILINE) == list(TABLES)
    assert "administrator" not in out
    assert await found_in_files(cluster, url) == set()
    connection = await asyncpg.connect(url)
    assert await connection.fetchval("SELECT due FROM erasure") == 0
    assert await connection.fetchval("SELECT count(*) FROM memories WHERE text IS NULL") > 40
    await connection.close()


async def test_a_rewrite_is_refused_while_a_transaction_may_see_deleted_rows(url: str):
    await (await PostgresStore.open(url)).close()
    reader = await asyncpg.connect(url, server_settings={"application_name": "a report"})
    await reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    await reader.fetchval("SELECT count(*) FROM memories")
    other = await asyncpg.connect(url)
    await other.execute("UPDATE health SET checks = checks + 1")
    await other.close()
    status, _, err = await rewritten(url)
    assert status == 2
    assert "may still be seen by a report (pid" in err
    await reader.execute("COMMIT")
    await reader.close()
    assert (await rewritten(url))[0] == 0


async def test_a_rewrite_needs_a_database_of_this_version(url: str):
    cluster = await shared()
    await cluster.database("nothing_in_it")
    status, _, err = await rewritten(cluster.url("nothing_in_it"))
    assert status == 2
    assert "has no tables of Parley" in err
    await (await PostgresStore.open(url)).close()
    connection = await asyncpg.connect(url)
    await connection.execute("UPDATE schema_version SET version = version + 1")
    await connection.close()
    status, _, err = await rewritten(url)
    assert status == 2
    assert "this code's is" in err


async def test_a_role_without_rights_on_the_server_is_told_what_is_left_to_do(url: str):
    await (await PostgresStore.open(url)).close()
    cluster = await shared()
    name = url.partition("?")[0].rpartition("/")[2]
    await cluster.execute("CREATE ROLE tenant LOGIN")
    await cluster.execute(f'ALTER DATABASE "{name}" OWNER TO tenant')
    for table in (*TABLES, "erasure", "schema_version"):
        await cluster.execute(f"ALTER TABLE {table} OWNER TO tenant", name)
    status, out, _ = await rewritten(cluster.url(name, "tenant"))
    assert status == 0
    assert "This role may not run CHECKPOINT: have an administrator run it." in out


async def test_on_sqlite_there_is_nothing_to_rewrite(tmp_path: Path):
    file = tmp_path / "parley.db"
    status, out, _ = await rewritten(f"sqlite:///{quote(str(file))}")
    assert status == 0
    assert out.startswith(f"Nothing to do: {file} is an SQLite database.")
    assert not file.exists()


async def test_a_url_as_argument_wins_and_a_wrong_one_is_refused(url: str):
    status, _, err = await rewritten("sqlite:///unused.db", "--rewrite", "postgresql://db")
    assert status == 2
    assert err.startswith("Parley can't erase: settings are wrong:\nPARLEY_STORE_URL is 'postgresql://db'")
