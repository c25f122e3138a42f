"""The move itself: tables in order of their foreign keys, compared by count and digest before the commit."""

import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from persistence.move.side import FILLED_BY_START, MoveError, Row, Source, Table, Target, not_empty

BATCH_ROWS = 2_000
BATCH_CHARS = 4_000_000
"""The size from which a batch is written; with `ROWS_AT_ONCE` it bounds the memory that a move takes."""

Step = Callable[[str, int], None]
"""Told of progress: what is being done, such as "copying messages", and the number of rows that were done."""


class Digest(NamedTuple):
    """A table's number of rows, and the SHA-256 of all of them in the order of its key."""

    rows: int
    sha256: str


async def move(source: Source, target: Target, begin: Callable[[int], Step]) -> dict[str, Digest]:
    """Copy every table, compare what arrived, and commit; return each table's digest.

    `begin` is called with the number of rows that will be read, in both databases together.

    Raises:
        MoveError: the target is not empty, a row can't be stored, or what arrived is not the same.
    """
    tables = ordered(await source.tables())
    await _require_same_schema(source, target, tables)
    await _require_empty(target, tables)
    if not target.stores_nul:
        await _require_no_nul(source, tables)
    step = begin(2 * sum([await source.count(table) for table in tables]))
    copied = {table.name: await _copy(source, target, table, step) for table in tables}
    await target.finish(await source.last_numbers())
    for table in tables:
        arrived = await _digest(target.rows(table), lambda rows, name=table.name: step(f"comparing {name}", rows))
        if arrived != copied[table.name]:
            raise MoveError(
                f"the table {table.name} is not the same in {target.description}: {arrived.rows:,} rows of"
                f" {copied[table.name].rows:,} arrived, or some are different. Please report this."
            )
    await target.commit()
    return copied


def ordered(tables: Sequence[Table]) -> list[Table]:
    """Sort tables so that each comes after those that it refers to."""
    by_name = {table.name: table for table in sorted(tables, key=lambda table: table.name)}
    graph = {name: sorted(table.parents - {name}) for name, table in by_name.items()}
    return [by_name[name] for name in TopologicalSorter(graph).static_order()]


async def _require_same_schema(source: Source, target: Target, tables: Sequence[Table]) -> None:
    here = {table.name: table for table in tables}
    there = {table.name: table for table in await target.tables()}
    different = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
    if different:
        raise MoveError(
            f"{source.description} and {target.description} don't have the same tables ({', '.join(different)}):"
            " remove the tables that are not Parley's, or name another database."
        )


async def _require_empty(target: Target, tables: Sequence[Table]) -> None:
    for table in tables:
        if table.name not in FILLED_BY_START and await target.count(table):
            raise not_empty(target.description, table.name)


async def _require_no_nul(source: Source, tables: Sequence[Table]) -> None:
    found = await source.rows_with_nul(tables)
    if found:
        raise MoveError(
            f"PostgreSQL can't store the NUL character, and {source.description} has it in {'; '.join(found)}."
            " Change or delete these through the gateway, then move again."
        )


async def _copy(source: Source, target: Target, table: Table, step: Step) -> Digest:
    await target.empty(table)
    waiting: list[Row] = []
    chars = 0

    async def passed_on() -> AsyncIterator[Sequence[Row]]:
        nonlocal chars
        async for rows in source.rows(table):
            waiting.extend(rows)
            chars += sum(len(value) for row in rows for value in row if isinstance(value, str | bytes))
            if len(waiting) >= BATCH_ROWS or chars >= BATCH_CHARS:
                await target.put(table, waiting)
                waiting.clear()
                chars = 0
            yield rows

    digest = await _digest(passed_on(), lambda rows: step(f"copying {table.name}", rows))
    if waiting:
        await target.put(table, waiting)
    return digest


async def _digest(batches: AsyncIterator[Sequence[Row]], step: Callable[[int], None]) -> Digest:
    """Count and hash rows; `repr` tells integers, texts, bytes and None apart, and is the same for equal values."""
    count, digest = 0, hashlib.sha256()
    async for rows in batches:
        for row in rows:
            digest.update(repr(row).encode())
        count += len(rows)
        step(len(rows))
    step(0)
    return Digest(count, digest.hexdigest())
