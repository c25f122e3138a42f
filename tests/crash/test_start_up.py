"""A start that can't be: exit status 2, a message that says what to do, no traceback, and the process ends."""

import asyncio
import os
import socket
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.gateway import CHECKOUT, GatewayProcess, running


async def start(data: Path, **settings: str) -> tuple[int, str]:
    """Run the gateway, which should refuse; return its exit status and all that it said."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PARLEY_")}
    environment |= {"PARLEY_PORT": "0", "PARLEY_DATA_DIR": str(data), "PARLEY_LOG_LEVEL": "warning"} | settings
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CHECKOUT / "server.py"),
        env=environment,
        cwd=CHECKOUT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        said, _ = await asyncio.wait_for(process.communicate(), 15)
    except TimeoutError:
        process.kill()
        said, _ = await process.communicate()
        pytest.fail(f"the process does not end; it said:\n{said.decode()}")
    assert process.returncode is not None
    return process.returncode, said.decode()


async def refused(data: Path, *expected: str, **settings: str) -> None:
    """Insist on a refusal that says all that is expected."""
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


async def test_a_data_directory_of_another_gateway_is_refused_and_that_one_goes_on(tmp_path: Path):
    async with running(tmp_path / "data") as gateway:
        await refused(gateway.data, "in use", str(gateway.data), "PARLEY_DATA_DIR")
        async with gateway.client() as nobody:
            await nobody.register("lovelace")


async def test_a_newer_database_is_refused(tmp_path: Path):
    with sqlite3.connect(tmp_path / "parley.db") as made:
        made.execute("PRAGMA user_version = 999")
    made.close()
    await refused(tmp_path, "999", "newer")


async def test_wrong_settings_are_refused_all_at_once(tmp_path: Path):
    await refused(tmp_path, "PARLEY_PORT", "PARLEY_BRANT", "did you mean", PARLEY_PORT="eighty", PARLEY_BRANT="Acme")


async def test_an_engine_that_this_version_lacks_fails_its_chats_and_is_replaced_by_no_other(tmp_path: Path):
    settings = {
        "PARLEY_CHAT_ENGINE": "openai",
        "PARLEY_OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "PARLEY_OPENAI_MODEL": "llama",
    }
    async with running(tmp_path / "data", script=None, **settings) as gateway, gateway.client() as nobody:
        user = await nobody.register("lovelace")
        await user.agent("scout")
        (await user.command("AP_Chat", content="Hello")).refused(5001, 502)
        history = (await user.command("AP_History")).ok().content
        assert [message["content"] for message in history] == ["Hello"]


def no_database(folder: Path) -> None:
    (folder / "parley.db").write_bytes(b"no database at all, " * 1_000)


def broken_schema(folder: Path) -> None:
    """A database of somebody else's: what the first migration makes is there already."""
    with sqlite3.connect(folder / "parley.db") as made:
        made.execute("CREATE TABLE users (n)")
    made.close()


@pytest.mark.parametrize("spoil", [no_database, broken_schema])
async def test_a_file_that_is_no_database_of_parley_s_is_refused_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], None]
):
    spoil(tmp_path)
    before = (tmp_path / "parley.db").read_bytes()
    await refused(tmp_path, str(tmp_path / "parley.db"))
    if spoil is no_database:
        assert (tmp_path / "parley.db").read_bytes() == before


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
