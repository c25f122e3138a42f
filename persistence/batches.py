"""Batches, for the writers of all stores: how waiting units become few statements, and how callers are answered."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from persistence.store import Constraint, Params, Settled, StoreUnavailable, Unit, Write

MAX_BATCH = 512
"""The largest number of units in one transaction; bounds the wait of the first for the last."""

Outcome = Exception | None
"""The outcome of a unit: None if it is durable, else the reason why it is not stored."""

Statement = tuple[str, str]
"""SQL with one parameter, a JSON array of rows."""

Rows = tuple[str, list[Params]]
"""SQL for many writes (`Write.many`), with the parameters of each."""

S = TypeVar("S", Statement, Rows)

log = logging.getLogger("parley.writer")


async def committed(submit: Callable[[Unit, Settled], None], unit: Unit) -> None:
    """Submit a unit to a writer and wait until it is durable; see `Store.commit`."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def settled(error: Exception | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    submit(unit, settled)
    await future


def answer(callers: Iterable[Settled], outcomes: Iterable[Outcome]) -> None:
    """Tell the callers of a batch what became of their units; one that fails on it disturbs no other."""
    for settled, outcome in zip(callers, outcomes, strict=True):
        try:
            settled(outcome)
        except Exception:
            log.exception("a unit's caller failed on its outcome")


class RowsRefused(Exception):
    """A write touched another number of rows than it named."""

    def __init__(self, write: Write, touched: int) -> None:
        super().__init__(f"{touched} rows touched instead of {write.rows}: {write.sql}")


def refusal(unit: Unit, constraint: Constraint) -> Exception | None:
    """Make the error of the constraint that refused a unit; None if the unit does not name it."""
    make = unit.constraint_errors.get(constraint)
    if make is None:
        return None
    try:
        return make()
    except Exception:
        log.exception("the error for a unit that %r refused could not be made", constraint)
        return StoreUnavailable(f"refused by {constraint}")


class Step(NamedTuple, Generic[S]):
    """Units in order of submission, and the statements that store them all; without any, each is stored by itself."""

    units: list[Unit]
    statements: Sequence[S]


def one_by_one(units: list[Unit]) -> list[Step[Any]]:
    """Plan to store each unit by itself."""
    return [Step([unit], ()) for unit in units]


def joined(units: list[Unit]) -> list[Statement] | None:
    """Make the statements that store all of these units together; None if one of them must be stored by itself."""
    return in_json(units) if all(map(_can_join_others, units)) else None


def in_writes(units: list[Unit]) -> list[Sequence[Write]] | None:
    """Plan to store units together where possible, each step as its writes; None if that is known only on the way.

    A unit that a constraint refuses would refuse the others, too.
    """
    steps: list[Sequence[Write]] = []
    for joinable, run in groupby(units, key=_can_join_others):
        same = list(run)
        statements = in_json(same) if joinable else []
        if statements is None or any(unit.then is not None for unit in same):
            return None
        steps += [[Write(sql, (array,)) for sql, array in statements]] if joinable else [unit.writes for unit in same]
    return steps


def planned(units: list[Unit], statements_for: Callable[[list[Unit]], Sequence[S] | None]) -> list[Step[S]]:
    """Plan to store units together where possible; most batches hold only chats and are one statement.

    `statements_for` makes the statements of units that can join: `in_rows` or `in_json`.
    """
    steps: list[Step[S]] = []
    for joinable, run in groupby(units, key=_can_join_others):
        same = list(run)
        statements = statements_for(same) if joinable and len(same) > 1 else None
        steps += [Step(same, statements)] if statements else one_by_one(same)
    return steps


def _can_join_others(unit: Unit) -> bool:
    """Return whether all writes of a unit can be stored in statements for many units."""
    if (unit.constraint_errors and not unit.rarely_refused) or unit.then is not None:
        return False
    return all(write.many is not None and write.rows is None for write in unit.writes)


def in_rows(units: list[Unit]) -> list[Rows]:
    """Make one statement per kind of write for units that can join."""
    first: dict[str, list[Params]] = {}
    others: dict[str, list[Params]] = {}
    for unit in units:
        for write in unit.writes:
            assert write.many is not None
            (first if write.before else others).setdefault(write.many, []).append(write.params)
    return [*first.items(), *others.items()]


def in_json(units: list[Unit]) -> list[Statement] | None:
    """Make the same statements with their rows as JSON; None if that can't represent them."""
    statements = in_rows(units)
    try:
        arrays = [orjson.dumps(rows) for _, rows in statements]
    except orjson.JSONEncodeError:
        return None
    if any(b"\\u0000" in array for array in arrays):  # PostgreSQL refuses a NUL
        return None
    return [(sql, array.decode()) for (sql, _), array in zip(statements, arrays, strict=True)]
