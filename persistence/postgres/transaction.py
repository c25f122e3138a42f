"""One batch as one transaction: joined statements, savepoints for units that may be refused, and the commit.

A batch of nothing but joined statements is stored by one function of the session (`BatchFunctions`), in one message.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import asyncpg

from persistence.batches import (
    Outcome,
    RowsRefused,
    Statement,
    in_json,
    in_writes,
    joined,
    one_by_one,
    planned,
    refusal,
)
from persistence.dialect import POSTGRES
from persistence.postgres.batch_functions import BatchFunctions, begin
from persistence.postgres.connecting import is_statements_own, reason
from persistence.postgres.constraints import Constraints
from persistence.store import ROWS, Fenced, StoreUnavailable, Unit, Write

FENCED = "PF001"
"""The SQLSTATE of `parley_begin` for a writer whose place another gateway has taken."""

log = logging.getLogger("parley.writer")


class ConnectionLost(Exception):
    """The connection was lost within a batch; whether that committed is not known yet."""


class TakenOver(Exception):
    """Another gateway has taken over the database."""


class BatchFailed(Exception):
    """The transaction failed as a whole and is not stored."""


class _Refused(Exception):
    """A statement was refused; the cause tells why."""


class _TakeApart(Exception):
    """A statement failed outside of any savepoint, so the batch must be tried again with one for each unit."""


class Transaction:
    """One try to store a batch, under its number.

    `fenced`: the incarnations that are refused; those that this batch adds are in `newly_fenced` and count only if it
    commits. `outcomes` is complete once `commit_sent` is true. `shared`: it has its lock together with others.
    """

    def __init__(
        self,
        connection: asyncpg.Connection,
        functions: BatchFunctions,
        constraints: Constraints,
        fenced: set[int],
        before_commit: Callable[[], None] | None,
    ) -> None:
        self._connection = connection
        self._functions = functions
        self._constraints = constraints
        self._fenced = fenced
        self._before_commit = before_commit
        self.newly_fenced: set[int] = set()
        self.outcomes: list[Outcome] = []
        self.commit_sent = False
        self.shared = False
        self.takes_steps = False

    async def store(self, node: str, number: int, units: list[Unit]) -> bool:
        """Store units in one transaction, by one message where that can be.

        Returns False if they must be stored otherwise: with `store_in_steps` if this `takes_steps`, else with
        `store_apart`.

        Raises:
            ConnectionLost: it is not known whether they are stored.
            BatchFailed: they are not.
            TakenOver: they are not, nor will any other be.
        """
        statements = None if self._fenced else joined(units)
        call = None if statements is None else await self._call(statements)
        if statements is not None and call is not None:
            self.outcomes = [None] * len(units)
            self.shared = True
            return await self._store_at_once(call, node, number, *(array for _, array in statements))
        self.shared = all(_commutes(unit) for unit in units)
        writes = None if self._fenced or statements is not None else in_writes(units)
        steps = None if writes is None else await self._call_steps(writes)
        if writes is None or steps is None:
            return await self.store_in_steps(node, number, units)
        call, params = steps
        self.outcomes = [None] * len(units)
        if not await self._store_at_once(call, node, number, *params):
            self._functions.were_refused(writes)
            self.takes_steps = True
        return not self.takes_steps

    async def store_in_steps(self, node: str, number: int, units: list[Unit]) -> bool:
        """Store units by a message for each statement; return False if they must be stored with `store_apart`.

        Raises: as `store`.
        """
        steps = one_by_one(units) if self._fenced else planned(units, in_json)
        self.shared = all(_commutes(unit) for unit in units)
        await self._begin(node, number, shared=self.shared)
        try:
            for units_of_step, statements in steps:
                if statements:
                    for sql, array in statements:
                        await self._run_joined(sql, array)
                    self.outcomes += [None] * len(units_of_step)
                else:
                    (unit,) = units_of_step
                    self.outcomes.append(await self._apply(unit, savepoint=_may_be_refused(unit)))
        except _TakeApart:
            await self._roll_back()
            return False
        await self._commit()
        return True

    async def store_apart(self, node: str, number: int, units: list[Unit]) -> None:
        """Store units as `store` does, alone in the database, with a savepoint for each."""
        await self._begin(node, number, shared=False)
        try:
            for unit in units:
                self.outcomes.append(await self._apply(unit, savepoint=True))
        except _TakeApart as error:
            await self._roll_back()
            raise BatchFailed(str(error)) from error
        await self._commit()

    async def _call(self, statements: list[Statement]) -> str | None:
        """Return the call of the session's function for a batch of these statements, if it can have one."""
        try:
            return await self._functions.call([sql for sql, _ in statements], self._execute)
        except _Refused as refused:
            self._have_no_function(refused)
            return None

    async def _call_steps(self, steps: list[Sequence[Write]]) -> tuple[str, list[Any]] | None:
        """Return the call of the session's functions for steps, with its parameters, if all have one."""
        try:
            return await self._functions.call_steps(steps, self._execute, self._fetch, shared=self.shared)
        except _Refused as refused:
            self._have_no_function(refused)
            return None

    def _have_no_function(self, refused: _Refused) -> None:
        log.warning("a batch takes several messages, without a function: %s", reason(refused.__cause__))
        self._functions.take_no_more()

    async def _store_at_once(self, call: str, node: str, number: int, *params: object) -> bool:
        """Store the batch by one statement, which commits by itself; return False if it was refused."""
        await self._before_it_commits()
        self.commit_sent = True
        try:
            await self._execute(call, node, number, *params)
        except _Refused as refused:
            if _is_fenced(refused):
                raise TakenOver from refused
            return False
        return True

    async def _begin(self, node: str, number: int, *, shared: bool) -> None:
        call = begin(f"'{node}'", str(number), str(shared).lower())
        try:
            await self._execute(f"BEGIN; SELECT {call}")  # one message
        except _Refused as refused:
            await self._roll_back()
            if _is_fenced(refused):
                raise TakenOver from refused
            raise BatchFailed(reason(refused.__cause__)) from refused

    async def _commit(self) -> None:
        try:
            await self._before_it_commits()
        except BatchFailed:
            await self._roll_back()
            raise
        self.commit_sent = True
        try:
            done = await self._execute("COMMIT")
        except _Refused as refused:
            await self._roll_back()  # a COMMIT that was cancelled before it began leaves the transaction open
            raise BatchFailed(reason(refused.__cause__)) from refused
        if done != "COMMIT":  # the server rolls back a transaction with a failed statement, and says so
            raise BatchFailed(f"the transaction ended with {done}")

    async def _before_it_commits(self) -> None:
        if self._before_commit is not None:
            try:
                await asyncio.to_thread(self._before_commit)
            except Exception as error:
                raise BatchFailed(str(error)) from error

    async def _apply(self, unit: Unit, *, savepoint: bool) -> Outcome:
        if not (self._fenced.isdisjoint(unit.incarnations) and self.newly_fenced.isdisjoint(unit.incarnations)):
            self.newly_fenced.update(unit.incarnations)  # its other incarnations also have state that is not stored
            return Fenced("an earlier write of this actor failed")
        if savepoint:
            await self._mark("SAVEPOINT unit")
        try:
            touched = await self._run_all(unit.writes)
            if unit.then is not None:
                await self._run_all(unit.then(touched))
        except ConnectionLost:
            raise
        except Exception as error:
            if not savepoint:
                raise _TakeApart from error
            await self._mark("ROLLBACK TO SAVEPOINT unit; RELEASE SAVEPOINT unit")
            return await self._refused(unit, error)
        if savepoint:
            await self._mark("RELEASE SAVEPOINT unit")
        return None

    async def _refused(self, unit: Unit, error: Exception) -> Outcome:
        cause = error.__cause__ if isinstance(error, _Refused) else error
        constraint = ""
        if isinstance(error, RowsRefused):
            constraint = ROWS
        elif isinstance(cause, asyncpg.PostgresError) and unit.constraint_errors:
            constraint = await self._constraints.refused_by(cause, self._fetch)
        expected = refusal(unit, constraint)
        if expected is not None:
            return expected
        log.error("a unit failed: %s", reason(cause))
        self.newly_fenced.update(unit.incarnations)
        return StoreUnavailable(reason(cause))

    async def _run_all(self, writes: Iterable[Write]) -> int:
        """Run writes one after another; return the number of rows that the last one touched.

        Raises:
            RowsRefused: one touched another number of rows than it named.
        """
        touched = 0
        for write in writes:
            statement = POSTGRES.statement(write.sql)
            done = await self._execute(statement.sql, *statement.ordered(write.params))
            touched = _rows_touched(done)
            if write.rows is not None and touched != write.rows:
                raise RowsRefused(write, touched)
        return touched

    async def _run_joined(self, sql: str, array: str) -> None:
        try:
            await self._execute(POSTGRES.statement(sql).sql, array)
        except _Refused as refused:
            raise _TakeApart from refused

    async def _mark(self, sql: str) -> None:
        """Set, release or go back to a savepoint; an operator may cancel that as any other statement."""
        try:
            await self._execute(sql)
        except _Refused as refused:
            raise _TakeApart(reason(refused.__cause__)) from refused

    async def _roll_back(self) -> None:
        try:
            await self._execute("ROLLBACK")
        except _Refused as refused:  # a new connection is clear of the transaction
            raise ConnectionLost(reason(refused.__cause__)) from refused

    async def _execute(self, sql: str, *params: object) -> str:
        """Run a statement; return the server's word on what it did.

        Raises:
            _Refused: the server refused it, and the connection can be used.
            ConnectionLost: it can't.
        """
        try:
            return await self._connection.execute(sql, *params)
        except Exception as error:
            if is_statements_own(self._connection, error):
                raise _Refused from error
            raise ConnectionLost(str(error)) from error

    async def _fetch(self, sql: str) -> Sequence[asyncpg.Record]:
        try:
            return await self._connection.fetch(sql)
        except Exception as error:
            raise ConnectionLost(str(error)) from error


def _is_fenced(refused: _Refused) -> bool:
    return getattr(refused.__cause__, "sqlstate", None) == FENCED


def _commutes(unit: Unit) -> bool:
    """Return whether the writes of a unit and those of others may be stored in any order, by several writers."""
    return all(write.many is not None for write in unit.writes)


def _may_be_refused(unit: Unit) -> bool:
    expected = bool(unit.constraint_errors) and not unit.rarely_refused
    return expected or unit.then is not None or any(write.rows is not None for write in unit.writes)


def _rows_touched(done: str) -> int:
    """Return the number of rows of a command's tag, such as `INSERT 0 3` or `UPDATE 1`; 0 if it has none."""
    number = done.rpartition(" ")[2]
    return int(number) if number.isdecimal() else 0
