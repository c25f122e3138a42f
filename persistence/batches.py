"""Batches, for the writers of all stores: how waiting units become few statements, and how callers are answered."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import NamedTuple

import orjson

from persistence.store import Constraint, Params, Settled, StoreUnavailable, Unit

MAX_BATCH = 512
"""The largest number of units in one transaction; bounds the wait of the first for the last."""

Outcome = Exception | None
"""What becomes of a unit: None if it is durable, else the reason why it is not stored."""

Statement = tuple[str, str]
"""SQL with one parameter, a JSON array of rows."""


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


class Step(NamedTuple):
    """Units in order of submission, and the statements that store them all; without any, each is stored by itself."""

    units: list[Unit]
    statements: list[Statement]


def one_by_one(units: list[Unit]) -> list[Step]:
    """Plan to store each unit by itself."""
    return [Step([unit], []) for unit in units]


def joined(units: list[Unit]) -> list[Statement] | None:
    """Make the statements that store all of these units together; None if one of them must be stored by itself."""
    return _statements_for(units) if all(map(_can_join_others, units)) else None


def planned(units: list[Unit]) -> list[Step]:
    """Plan to store units together where possible; most batches hold only chats and are one statement."""
    steps: list[Step] = []
    for joinable, run in groupby(units, key=_can_join_others):
        same = list(run)
        statements = _statements_for(same) if joinable and len(same) > 1 else []
        steps += [Step(same, statements)] if statements else one_by_one(same)
    return steps


def _can_join_others(unit: Unit) -> bool:
    """Return whether all writes of a unit can be stored in statements for many units."""
    if unit.constraint_errors or unit.then is not None:
        return False
    return all(write.many is not None and write.rows is None for write in unit.writes)


def _statements_for(units: list[Unit]) -> list[Statement] | None:
    """Make one statement per kind of write for units that can join; None if JSON can't represent their parameters."""
    first: dict[str, list[Params]] = {}
    others: dict[str, list[Params]] = {}
    for unit in units:
        for write in unit.writes:
            assert write.many is not None
            (first if write.before else others).setdefault(write.many, []).append(write.params)
    rows = first | others
    try:
        arrays = [orjson.dumps(of_kind) for of_kind in rows.values()]
    except orjson.JSONEncodeError:
        return None
    if any(b"\\u0000" in array for array in arrays):  # SQLite's JSON ends a text at a NUL, PostgreSQL refuses it
        return None
    return [(sql, array.decode()) for sql, array in zip(rows, arrays, strict=True)]
