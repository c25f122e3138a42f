"""Files that are deleted, moved or replaced while their database is open: nothing counts as stored any more."""

import asyncio
import logging
import os
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from persistence.sqlite.own_files import OwnFiles
from persistence.sqlite.store import SqliteStore
from persistence.store import InDoubt, StoreUnavailable, Unit, Write
from tests.support.disk import Disk, value
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

COUNT = Unit((Write("UPDATE health SET checks = checks + 1000", ()),))
FILES = ("", "-wal", ".lock")


def delete(file: Path) -> None:
    file.unlink()


def replace(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    copy.replace(file)


def move(file: Path) -> None:
    file.rename(file.with_name("moved"))


def move_the_folder(file: Path) -> None:
    file.parent.rename(file.parent.with_name("moved"))


def put_a_file_above(file: Path) -> None:
    move_the_folder(file)
    file.parent.touch()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "test.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(path)
    yield store
    await store.close()


async def outcome(store: SqliteStore) -> type[Exception] | None:
    try:
        await store.commit(COUNT)
    except StoreUnavailable as error:
        return type(error)
    return None


@pytest.mark.parametrize("lose", [delete, replace, move, move_the_folder, put_a_file_above])
@pytest.mark.parametrize("ending", FILES)
async def test_what_is_stored_in_a_lost_file_is_not_told_as_done(
    store: SqliteStore, path: Path, ending: str, lose: Callable[[Path], None], caplog: pytest.LogCaptureFixture
):
    assert await outcome(store) is None
    assert store.trouble is None
    file = Path(f"{path}{ending}")
    lose(file)
    assert await outcome(store) is InDoubt
    assert store.trouble == "a file of the database was deleted, moved or replaced"
    for _ in range(3):
        assert await outcome(store) is StoreUnavailable
        assert not await store.writable()
    with pytest.raises(StoreUnavailable):
        await store.erase_deleted()
    (told,) = [record.getMessage() for record in caplog.records if record.levelno == logging.CRITICAL]
    lost = file if lose in (delete, replace, move) else path  # all are lost with their folder
    assert told.startswith(f"{lost} is not the file that this gateway has opened")


async def test_units_that_wait_behind_the_batch_that_notices_it_are_refused_unstored(path: Path):
    disk = Disk()
    store = await SqliteStore.open(path, before_commit=disk.before_commit)
    try:
        disk.hold()
        first = asyncio.create_task(outcome(store))
        await disk.reached()
        others = [asyncio.create_task(outcome(store)) for _ in range(3)]
        await asyncio.sleep(0)
        delete(Path(f"{path}.lock"))
        disk.let_go()
        assert await first is InDoubt
        assert [await other for other in others] == [StoreUnavailable] * 3
    finally:
        await store.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT checks FROM health").fetchone() == (1_001,)


async def test_a_file_that_is_back_in_its_place_is_not_used_again(store: SqliteStore, path: Path):
    lock = Path(f"{path}.lock")
    move(lock)
    assert await outcome(store) is InDoubt
    lock.with_name("moved").rename(lock)
    assert await outcome(store) is StoreUnavailable  # another gateway may have had the database meanwhile


async def test_changes_beside_the_files_and_other_programs_lose_nothing(store: SqliteStore, path: Path):
    for number in range(3):
        (path.parent / f"{number}").touch()
        assert await outcome(store) is None
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute(f"VACUUM INTO '{path.parent / f'copy{number}'}'")
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert await store.erase_deleted()
        assert await outcome(store) is None
    assert await value(store, "SELECT checks FROM health") == 6_001
    assert store.trouble is None


async def test_an_orderly_end_folds_a_lost_log_into_the_file(path: Path):
    store = await SqliteStore.open(path)
    assert await outcome(store) is None
    delete(Path(f"{path}-wal"))
    assert await outcome(store) is InDoubt
    await store.close()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT checks FROM health").fetchone() == (2_001,)


async def test_the_end_leaves_the_files_alone_that_another_gateway_has_in_their_place(path: Path):
    store = await SqliteStore.open(path)
    move_the_folder(path)
    other = await SqliteStore.open(path)
    assert await outcome(store) is InDoubt
    await other.commit(COUNT)
    await store.close()
    assert await outcome(other) is None
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT checks FROM health").fetchone() == (2_001,)
    await other.close()


def test_a_change_is_noticed_within_the_same_moment_of_a_coarse_clock(tmp_path: Path):
    files = [tmp_path / name for name in ("one", "two")]
    for file in files:
        file.touch()
    own, now = OwnFiles(files), time.time_ns()
    (tmp_path / "beside").touch()
    os.utime(tmp_path, ns=(now, now))
    assert own.lost() is None
    files[1].unlink()
    os.utime(tmp_path, ns=(now, now))
    assert own.lost() == str(files[1])


def test_names_are_looked_up_again_only_once_their_folder_has_changed(tmp_path: Path):
    file = tmp_path / "one"
    file.touch()
    own = OwnFiles([file])
    os.utime(tmp_path, (0, 0))
    assert own.lost() is None
    file.unlink()
    os.utime(tmp_path, (0, 0))
    assert own.lost() is None
    (tmp_path / "beside").touch()
    assert own.lost() == str(file)
