"""Refused starts: exit status 2, a message with the remedy, no traceback, and the process ends."""

import base64
import os
import secrets
import socket
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg
import pytest

from persistence.sqlite.store import SqliteStore
from tests.support import nats
from tests.support.gateway import MASTER_KEY, GatewayProcess, ran, running
from tests.support.postgres import shared
from tests.support.stores import ON_POSTGRES, database_for, postgres_only, sqlite_only


async def start(data: Path, **settings: str) -> tuple[int, str]:
    """Run a refused start; return its exit status and its output. An empty setting is left out."""
    given = {"PARLEY_PORT": "0", "PARLEY_DATA_DIR": str(data), "PARLEY_LOG_LEVEL": "warning"}
    if ON_POSTGRES:
        given |= {"PARLEY_STORE_URL": await database_for(data / "parley.db"), "PARLEY_MASTER_KEY": MASTER_KEY}
    chosen: dict[str, Any] = {name: value for name, value in (given | settings).items() if value}
    with TemporaryDirectory() as folder:
        return await ran(Path(folder), **chosen)


async def refused(data: Path, *expected: str, **settings: str) -> None:
    """Assert a refusal with all expected parts."""
    status, said = await start(data, **settings)
    assert status == 2, said
    assert "Traceback" not in said
    assert said.startswith("Parley can't ")
    for text in expected:
        assert text in said
    assert len(said.splitlines()) <= 4, said


async def test_a_port_in_use_is_refused(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        await refused(tmp_path / "data", f"127.0.0.1:{port}", "in use", PARLEY_PORT=port)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1"])
async def test_an_address_that_is_not_this_machine_s_is_refused(tmp_path: Path, host: str):
    await refused(tmp_path / "data", host, PARLEY_HOST=host)


async def test_the_data_of_another_gateway_is_refused_and_that_one_goes_on(tmp_path: Path):
    async with running(tmp_path / "data") as gateway:
        other = ("in use", "PARLEY_STORE_URL") if ON_POSTGRES else ("in use", str(gateway.data), "PARLEY_DATA_DIR")
        await refused(gateway.data, *other)
        async with gateway.client() as nobody:
            await nobody.register("lovelace")


async def test_a_newer_database_is_refused(tmp_path: Path):
    if ON_POSTGRES:
        connection = await asyncpg.connect(await database_for(tmp_path / "parley.db"))
        await connection.execute("UPDATE schema_version SET version = 999")
        await connection.close()
    else:
        await (await SqliteStore.open(tmp_path / "parley.db")).close()
        with closing(sqlite3.connect(tmp_path / "parley.db")) as made:
            made.execute("PRAGMA user_version = 999")
    await refused(tmp_path, "999", "newer")


async def test_wrong_settings_are_refused_all_at_once(tmp_path: Path):
    await refused(tmp_path, "PARLEY_PORT", "PARLEY_BRANT", "did you mean", PARLEY_PORT="eighty", PARLEY_BRANT="Acme")


async def test_an_engine_whose_server_is_not_there_fails_its_chats_and_is_replaced_by_no_other(tmp_path: Path):
    settings: dict[str, Any] = {
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "PARLEY_OPENAI_MODEL": "llama",
    }
    async with running(tmp_path / "data", **settings) as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        await user.agent("scout")
        (await user.command("AP_Chat", content="Hello")).refused(5001, 502)
        history = (await user.command("AP_History")).ok().content
        assert [message["content"] for message in history] == ["Hello"]


def no_database(folder: Path) -> None:
    (folder / "parley.db").write_bytes(b"no database at all, " * 1_000)


def another_program_s(folder: Path) -> None:
    with sqlite3.connect(folder / "parley.db") as made:
        made.execute("CREATE TABLE customers (n)")
    made.close()


@sqlite_only
@pytest.mark.parametrize("spoil", [no_database, another_program_s])
async def test_a_file_that_is_no_database_of_parley_s_is_refused_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], None]
):
    spoil(tmp_path)
    before = (tmp_path / "parley.db").read_bytes()
    await refused(tmp_path, str(tmp_path / "parley.db"), "PARLEY_STORE_URL")
    assert (tmp_path / "parley.db").read_bytes() == before


@sqlite_only
async def test_a_data_directory_that_is_a_file_is_refused_as_such(tmp_path: Path):
    (tmp_path / "data").write_text("a file")
    status, said = await start(tmp_path / "data")
    assert status == 2
    assert "Traceback" not in said
    assert str(tmp_path / "data") in said
    assert "can't listen" not in said


async def test_a_refused_start_leaves_the_data_to_the_next_one(tmp_path: Path):
    data = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        await refused(data, PARLEY_PORT=str(taken.getsockname()[1]))
    gateway = await GatewayProcess(data).start()
    assert await gateway.stop() == 0


async def test_a_catalog_of_tool_servers_that_can_t_be_used_is_refused(tmp_path: Path):
    catalog = tmp_path / "catalog.toml"
    catalog.write_text('[servers.time]\ncommand = ["/no/such/program"]\n', encoding="utf-8")
    settings: dict[str, Any] = {"PARLEY_MCP_CATALOG": str(catalog)}
    await refused(tmp_path, "servers.time", "command:", str(catalog), "/no/such/program", **settings)


# the master key

KEY_FILE = "master.key"


async def started(data: Path, **settings: Any) -> None:
    """Start the gateway and stop it in an orderly way."""
    async with running(data, **settings) as gateway:
        assert await gateway.stop() == 0


def new_key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


@sqlite_only
async def test_the_first_start_makes_a_key_file_that_its_owner_alone_can_read(tmp_path: Path):
    before = os.umask(0)  # the mode must not depend on it
    try:
        await started(tmp_path)
    finally:
        os.umask(before)
    file = tmp_path / KEY_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    made = file.read_bytes()
    assert len(base64.b64decode(made, validate=False)) == 32
    await started(tmp_path)
    assert file.read_bytes() == made


@sqlite_only
async def test_a_key_of_the_settings_needs_no_file(tmp_path: Path):
    key = new_key()
    await started(tmp_path, PARLEY_MASTER_KEY=key)
    assert not (tmp_path / KEY_FILE).exists()
    await started(tmp_path, PARLEY_MASTER_KEY=key)
    await refused(tmp_path, "master key", "gone", str(tmp_path / KEY_FILE), "PARLEY_MASTER_KEY")
    assert not (tmp_path / KEY_FILE).exists()  # a new one would make sealed data permanently unreadable
    (tmp_path / KEY_FILE).write_text(f"{key}\n")
    await started(tmp_path)


@sqlite_only
async def test_a_wrong_master_key_is_refused_and_harms_nothing(tmp_path: Path):
    await started(tmp_path)
    file = tmp_path / KEY_FILE
    right = file.read_bytes()
    await refused(tmp_path, "master key", "not the one", "PARLEY_MASTER_KEY", PARLEY_MASTER_KEY=new_key())
    file.write_text(new_key())
    await refused(tmp_path, "master key", "not the one", str(file))
    file.write_bytes(right)
    await started(tmp_path)
    await started(tmp_path, PARLEY_MASTER_KEY=right.decode().strip())


@sqlite_only
async def test_a_key_file_that_is_gone_is_refused_where_there_is_a_database(tmp_path: Path):
    await started(tmp_path)
    file = tmp_path / KEY_FILE
    right = file.read_bytes()
    file.unlink()
    await refused(tmp_path, "master key", "gone", str(file), "backup")
    assert not file.exists()
    file.write_bytes(right)
    await started(tmp_path)


@sqlite_only
@pytest.mark.parametrize(
    "content", [b"", b"\n", b"no key", b"AAAA\n", b"\xff\xfe\x00", b"A" * 43, base64.b64encode(bytes(33)), bytes(32)]
)
async def test_a_damaged_key_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes):
    file = tmp_path / KEY_FILE
    file.write_bytes(content)
    await refused(tmp_path, str(file), "master key")
    assert file.read_bytes() == content


@sqlite_only
async def test_a_key_file_that_is_a_folder_is_refused(tmp_path: Path):
    (tmp_path / KEY_FILE).mkdir()
    await refused(tmp_path, str(tmp_path / KEY_FILE), "master key (Is a directory)")


@pytest.mark.parametrize("key", ["short", "AAAA", "A" * 43, base64.b64encode(bytes(31)).decode(), "!" * 44])
async def test_a_key_of_the_settings_that_is_none_is_refused_and_not_shown(tmp_path: Path, key: str):
    status, said = await start(tmp_path, PARLEY_MASTER_KEY=key)
    assert status == 2
    assert "PARLEY_MASTER_KEY" in said
    assert "32 bytes" in said
    assert "Traceback" not in said
    assert key not in said


@sqlite_only
async def test_a_start_that_crashed_before_the_key_was_proven_goes_on_with_its_key(tmp_path: Path):
    """The file is made before its first use, so one without a proof in the database is valid."""
    (tmp_path / KEY_FILE).write_text(f"{new_key()}\n")
    await started(tmp_path)


@sqlite_only
async def test_a_start_that_crashed_while_it_made_the_key_file_harms_no_later_one(tmp_path: Path):
    (tmp_path / f"{KEY_FILE}.new").write_text("half a k")
    await started(tmp_path)
    assert not (tmp_path / f"{KEY_FILE}.new").exists()
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    await started(tmp_path)


@pytest.fixture(params=["alone", "a node"])
async def cluster(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a gateway that is alone, or those that make it a node."""
    return {} if request.param == "alone" else {"PARLEY_NATS_URL": (await nats.shared()).url}


@postgres_only
async def test_a_master_key_must_be_set_with_postgresql(tmp_path: Path, cluster: dict[str, str]):
    settings = {"PARLEY_MASTER_KEY": "", **cluster}
    await refused(tmp_path, "master key", "openssl rand -base64 32", "PARLEY_MASTER_KEY", **settings)
    assert list(tmp_path.iterdir()) == []
    await started(tmp_path, **cluster)
    status, said = await start(tmp_path, **settings)
    assert status == 2
    assert "set the key that this database was sealed with" in said
    assert "openssl" not in said


@postgres_only
async def test_a_wrong_master_key_of_a_postgresql_database_is_refused_and_harms_nothing(
    tmp_path: Path, cluster: dict[str, str]
):
    await started(tmp_path, **cluster)
    await refused(tmp_path, "not the one", "as PARLEY_MASTER_KEY.", PARLEY_MASTER_KEY=new_key(), **cluster)
    await started(tmp_path, **cluster)
    assert list(tmp_path.iterdir()) == []  # PostgreSQL has everything


# PostgreSQL


@postgres_only
async def test_a_postgresql_database_that_is_not_there_is_refused(tmp_path: Path):
    url = (await shared()).url("nobody-made-this")
    await refused(tmp_path, "no such database", "createdb", "PARLEY_STORE_URL", PARLEY_STORE_URL=url)


@postgres_only
@pytest.mark.parametrize("host", ["127.0.0.1:9", "no-such-host.invalid"])
async def test_a_postgresql_server_that_is_not_there_is_refused_without_the_password(tmp_path: Path, host: str):
    url = f"postgresql://parley:the-password@{host}/parley"
    status, said = await start(tmp_path, PARLEY_STORE_URL=url)
    assert status == 2
    assert said.startswith("Parley can't start: ")
    assert host in said
    assert "Traceback" not in said
    assert "the-password" not in said


@postgres_only
async def test_a_postgresql_user_that_may_make_no_tables_is_refused(tmp_path: Path):
    cluster = await shared()
    await cluster.database("of-another")
    await cluster.execute('CREATE ROLE visitor LOGIN; GRANT CONNECT ON DATABASE "of-another" TO visitor')
    await refused(tmp_path, "owner of the database", PARLEY_STORE_URL=cluster.url("of-another", "visitor"))


@postgres_only
async def test_a_postgresql_server_without_a_free_connection_is_refused(tmp_path: Path):
    cluster = await shared()
    await cluster.database("crowded")
    await cluster.execute('CREATE ROLE crowd LOGIN CONNECTION LIMIT 0; GRANT CREATE ON DATABASE "crowded" TO crowd')
    await refused(tmp_path, "no more connections", "max_connections", PARLEY_STORE_URL=cluster.url("crowded", "crowd"))
