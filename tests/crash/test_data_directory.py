"""An unusable data directory: the refused start names the path and the remedy."""

import os
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.gateways.confined import UNSUPPORTED
from tests.gateways.gate import ENGINES
from tests.support.gateway import ran, running
from tests.support.stores import sqlite_only

pytestmark = sqlite_only  # on PostgreSQL nothing is kept in it

UNPRIVILEGED = {"TEST_UNPRIVILEGED": "true"}
"""Permissions are what they are for an ordinary user."""


async def refused(data: Path, *expected: str, confined: dict[str, str] | None = None) -> str:
    """Assert a refusal in one line with all expected parts; return it. `confined` has settings of confined.py."""
    settings: dict[str, Any] = {"PARLEY_PORT": "0", "PARLEY_DATA_DIR": str(data)} | (confined or {})
    with TemporaryDirectory() as folder:
        if confined is None:
            status, said = await ran(Path(folder), **settings)
        else:
            status, said = await ran(Path(folder), script=ENGINES / "confined.py", **settings)
    if status == UNSUPPORTED:
        pytest.skip(said)
    assert status == 2, said
    assert "Traceback" not in said
    assert said.startswith("Parley can't start"), said
    assert "can't listen" not in said
    for text in expected:
        assert text in said, said
    assert len(said.splitlines()) <= 2, said
    return said


async def test_a_folder_that_can_t_be_written_is_named_with_its_owner(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir(mode=0o500)
    await refused(data, str(data), "may not write", "belongs to", "chown", confined=UNPRIVILEGED)


async def test_a_folder_that_can_t_be_made_is_refused_naming_the_one_above_it(tmp_path: Path):
    above = tmp_path / "above"
    above.mkdir(mode=0o500)
    data = above / "parley" / "data"
    await refused(data, f"write {above} ", "belongs to", "PARLEY_DATA_DIR", confined=UNPRIVILEGED)


async def test_a_folder_that_may_not_even_be_searched_is_refused(tmp_path: Path):
    above = tmp_path / "above"
    (above / "data").mkdir(parents=True)
    above.chmod(0o000)
    try:
        await refused(above / "data", str(above), "may not", confined=UNPRIVILEGED)
    finally:
        above.chmod(0o700)


@pytest.mark.parametrize("file", ["parley.db", "parley.db.lock", "master.key"])
async def test_a_file_of_another_user_is_named(tmp_path: Path, file: str):
    data = tmp_path / "data"
    async with running(data) as gateway:
        assert await gateway.stop() == 0
    (data / file).chmod(0o000)
    if os.geteuid() == 0:
        os.chown(data / file, 65534, 65534)
    said = await refused(data, f"{data / file} (it belongs to the user ", "chown", confined=UNPRIVILEGED)
    assert "Errno" not in said


async def test_a_database_that_may_only_be_read_is_refused_with_its_owner(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data) as gateway:
        assert await gateway.stop() == 0
    (data / "parley.db").chmod(0o400)
    await refused(data, f"write {data / 'parley.db'} ", "belongs to", confined=UNPRIVILEGED)


async def test_a_data_directory_below_a_file_is_refused_naming_the_file(tmp_path: Path):
    (tmp_path / "file").write_text("a file")
    await refused(tmp_path / "file" / "data", str(tmp_path / "file"), "is a file where a directory is needed")


async def test_a_directory_in_place_of_the_database_is_refused(tmp_path: Path):
    (tmp_path / "parley.db").mkdir()
    await refused(tmp_path, f"{tmp_path / 'parley.db'} is a directory")


async def test_a_file_that_is_no_database_is_refused_with_what_to_do(tmp_path: Path):
    (tmp_path / "parley.db").write_bytes(b"no database at all, " * 1_000)
    await refused(tmp_path, f"{tmp_path / 'parley.db'} is not an SQLite database", "PARLEY_STORE_URL")


async def test_a_database_that_another_program_holds_is_refused_as_locked(tmp_path: Path):
    data = tmp_path / "data"
    async with running(data) as gateway:
        assert await gateway.stop() == 0
    holder = sqlite3.connect(data / "parley.db", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        await refused(data, f"{data / 'parley.db'} is locked by another program", "end that one")
    finally:
        holder.close()


def on_a_mount(folder: Path, options: str) -> dict[str, str]:
    """Return the settings of a gateway in a namespace with a folder as its own file system."""
    return {"TEST_MOUNT": str(folder), "TEST_MOUNT_OPTIONS": options}


@pytest.mark.parametrize("size", ["4k", "64k", "500k"])
async def test_a_full_disk_is_told_as_such(tmp_path: Path, size: str):
    """The disk is full at the folder, at the database, or at its log, depending on the size."""
    data = tmp_path / "data"
    data.mkdir()
    await refused(data, "no space left", str(data), "free some", confined=on_a_mount(data, f"size={size}"))


async def test_a_read_only_disk_is_told_as_such(tmp_path: Path):
    data = tmp_path / "data"
    data.mkdir()
    await refused(data, "read-only", str(data), "PARLEY_DATA_DIR", confined=on_a_mount(data, "ro"))
