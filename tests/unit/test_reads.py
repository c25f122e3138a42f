"""Reads that depend on each other: one trip to the store, one state, one result (`Store.read`)."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from persistence.sqlite.store import READERS
from persistence.store import Query, Reads, Store, StoreUnavailable, Unit, Write, rows_of
from tests.support.disk import open_store, value
from tests.support.stores import sqlite_only

COUNT: Query[int] = Query("SELECT count(*) FROM counters", (), lambda row: row[0])


class Wrong(Exception):
    """An error of reads themselves."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path) as store:
        await add(store, "a")
        yield store


async def add(store: Store, name: str) -> None:
    await store.commit(Unit((Write("INSERT INTO counters VALUES (?, ?)", (name, 1)),)))


def number_of(values: tuple[int, ...]) -> Query[int]:
    return Query("SELECT @typed(?, bigint) + @typed(?, bigint)", values, lambda row: row[0])


async def test_a_read_depends_on_the_rows_of_the_one_before_it(store: Store):
    def reads() -> Reads[str]:
        first = yield from rows_of(number_of((1, 2)))
        second = yield from rows_of(number_of((first[0], 10)))
        return f"{first} {second}"

    assert await store.read(reads()) == "[3] [13]"


async def test_reads_without_a_query_have_a_result(store: Store):
    def reads() -> Reads[str]:
        yield from ()
        return "nothing read"

    assert await store.read(reads()) == "nothing read"


@sqlite_only
async def test_reads_see_one_state_while_others_commit(store: Store):
    reached, go_on = threading.Event(), threading.Event()

    def reads() -> Reads[tuple[list[int], list[int]]]:
        before = yield from rows_of(COUNT)
        reached.set()
        assert go_on.wait(10)
        return before, (yield from rows_of(COUNT))

    reading = asyncio.create_task(store.read(reads()))
    assert await asyncio.to_thread(reached.wait, 10)
    await add(store, "b")
    go_on.set()
    assert await reading == ([1], [1])
    for _ in range(READERS):  # no reader stays in its transaction
        assert await store.fetch(COUNT) == [2]
        assert await store.erase_deleted()


@pytest.mark.parametrize(
    "query", [Query("SELECT * FROM nowhere", (), tuple), Query("SELECT 1\0", (), tuple), Query("SELECT ?", (), tuple)]
)
async def test_a_read_that_fails_ends_the_reads(store: Store, query: Query[object]):
    closed: list[bool] = []

    def reads() -> Reads[None]:
        try:
            yield from rows_of(COUNT)
            yield from rows_of(query)
        finally:
            closed.append(True)

    with pytest.raises(StoreUnavailable):
        await store.read(reads())
    assert closed == [True]
    await still_reads(store)


async def test_an_error_of_the_reads_themselves_reaches_the_caller(store: Store):
    def reads() -> Reads[None]:
        yield from rows_of(COUNT)
        raise Wrong

    with pytest.raises(Wrong):
        await store.read(reads())
    await still_reads(store)


async def test_nothing_can_be_changed_by_reads(store: Store):
    def reads() -> Reads[None]:
        yield Query("DELETE FROM counters", (), tuple)

    with pytest.raises(StoreUnavailable):
        await store.read(reads())
    await still_reads(store)


@sqlite_only
async def test_a_caller_that_gave_up_leaves_the_reader_ready(store: Store):
    reached, go_on = threading.Event(), threading.Event()

    def reads() -> Reads[None]:
        yield from rows_of(COUNT)
        reached.set()
        assert go_on.wait(10)
        yield from rows_of(COUNT)

    reading = asyncio.create_task(store.read(reads()))
    assert await asyncio.to_thread(reached.wait, 10)
    reading.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await reading
    await still_reads(store)


async def test_a_closed_store_reads_nothing(tmp_path: Path):
    async with open_store(tmp_path) as store:
        pass
    with pytest.raises(StoreUnavailable):
        await store.read(rows_of(COUNT))


async def still_reads(store: Store) -> None:
    """Require that each reader sees what is stored from now on."""
    before = await value(store, "SELECT count(*) FROM counters")
    await add(store, f"counter {before}")
    for _ in range(READERS):
        assert await store.read(rows_of(COUNT)) == [before + 1]
