"""Functions of the writer's session that store a whole batch: one message, one answer, no open transaction.

A batch of joined statements has one function, any other a function for each of its steps. A function has the statements
of one kind, so the server parses and plans them once in a session. It is temporary: nobody else sees it, it goes with
the connection, and another version of the gateway has its own.
"""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from persistence.dialect import POSTGRES
from persistence.store import Write

MOST = 64
"""The number of functions of a session; there are few kinds of batches, told by which statements come in what order."""

MOST_STEPS = 8
"""The number of steps that one message stores; more kinds of batches would be prepared than are ever used again."""

SEEN = 16
"""How often a step is stored by several messages before it gets a function, and after it was refused."""

MOST_KINDS = 1_024
"""The number of kinds of steps that are counted."""

CHANGES = ("INSERT", "UPDATE", "DELETE")
"""The beginnings of statements that a function runs as they are; another kind might have rows to go somewhere."""

Execute = Callable[[str], Awaitable[object]]
Fetch = Callable[[str], Awaitable[Sequence[Any]]]
Kind = tuple[tuple[str, bool], ...]
"""The statements of a step in their order, and whether each must touch a given number of rows."""

_PLACE = re.compile(r"\$(\d+)")


def begin(node: str, batch: str, shared: str) -> str:
    """Return the call with which each transaction of a writer begins, of SQL expressions."""
    return f"parley_begin({node}, {batch}, {shared})"


class BatchFunctions:
    """The functions that a connection has. `seen`: how often a step is met before it gets one."""

    def __init__(self, seen: int = SEEN) -> None:
        self._enough = seen
        self._calls: dict[tuple[str, ...], str] = {}
        self._steps: dict[Kind, str] = {}
        self._seen: Counter[Kind] = Counter()
        self._most = MOST

    async def call(self, statements: Sequence[str], execute: Execute) -> str | None:
        """Return the statement that stores a batch of joined statements by a function, made when it is first needed.

        Its parameters are the node, the batch's number, and each statement's array. None if there are too many
        functions. `execute` runs a statement; what it raises is passed on.
        """
        kind = tuple(statements)
        call = self._calls.get(kind)
        if call is None and len(self._calls) < self._most:
            name = f"pg_temp.parley_store_{len(self._calls)}"
            await execute(_definition(name, kind))
            places = ", ".join(f"${place}" for place in range(1, 3 + len(kind)))
            call = self._calls[kind] = f"SELECT {name}({places})"
        return call

    async def call_steps(
        self, steps: Sequence[Sequence[Write]], execute: Execute, fetch: Fetch, *, shared: bool
    ) -> tuple[str, list[Any]] | None:
        """Return the statement that stores steps in their order, and its parameters after node and batch.

        None if a step has no function yet, or there are too many. `execute` and `fetch` are as for `call`.
        """
        kinds = [_kind(step) for step in steps]
        if len(kinds) > MOST_STEPS or not all([await self._has(kind, execute, fetch) for kind in kinds]):
            return None
        call, params = f"({begin('$1', '$2', str(shared).lower())} IS NULL)", list[Any]()
        for kind, step in zip(kinds, steps, strict=True):
            begun = len(params)
            for write in step:
                params += POSTGRES.statement(write.sql).ordered(write.params)
                params += () if write.rows is None else (write.rows,)
            places = [f"${place}" for place in range(begun + 3, len(params) + 3)]
            call = f"{self._steps[kind]}({', '.join([call, *places])})"  # an argument is computed before its function
        return f"SELECT {call}", params

    def were_refused(self, steps: Iterable[Sequence[Write]]) -> None:
        """Store the next ones of these steps by several messages, because one of them was refused."""
        for step in steps:
            self._seen[_kind(step)] = 0

    def take_no_more(self) -> None:
        """Make no further function, because the server refuses that."""
        self._most = 0

    async def _has(self, kind: Kind, execute: Execute, fetch: Fetch) -> bool:
        if len(self._seen) >= MOST_KINDS:
            self._seen.clear()
        self._seen[kind] += 1
        if self._seen[kind] <= self._enough or not all(sql.lstrip().startswith(CHANGES) for sql, _ in kind):
            return False
        if kind not in self._steps:
            if len(self._steps) >= self._most:
                return False
            name = f"pg_temp.parley_step_{len(self._steps)}"
            await execute(_definition_of_step(name, kind, [await _types(sql, execute, fetch) for sql, _ in kind]))
            self._steps[kind] = name
        return True


def _definition(name: str, statements: Sequence[str]) -> str:
    """Define a function. Each of its statements sees what was committed before it, so also before it had the lock."""
    types = ", ".join(["text", "bigint", *("text" for _ in statements)])
    body = [f"PERFORM {begin('$1', '$2', 'true')};"]
    for place, sql in enumerate(statements, 3):
        body.append(POSTGRES.statement(sql).sql.replace("$1", f"${place}") + ";")
    lines = "\n".join(body)
    return f"CREATE FUNCTION {name}({types}) RETURNS void LANGUAGE plpgsql AS $parley$ BEGIN\n{lines}\nEND $parley$"


def _kind(step: Sequence[Write]) -> Kind:
    return tuple([(write.sql, write.rows is not None) for write in step])


async def _types(sql: str, execute: Execute, fetch: Fetch) -> list[str]:
    """Return the types of a statement's parameters, as the server infers them."""
    await execute(f"PREPARE parley_step AS {POSTGRES.statement(sql).sql}")
    rows = await fetch("SELECT unnest(parameter_types)::text FROM pg_prepared_statements WHERE name = 'parley_step'")
    await execute("DEALLOCATE parley_step")
    return [row[0] for row in rows]


def _definition_of_step(name: str, kind: Kind, types: Sequence[Sequence[str]]) -> str:
    """Define a function that takes what was done before, then each statement's parameters and number of rows."""
    parameters, body = ["boolean"], list[str]()
    for (sql, is_counted), types_of_it in zip(kind, types, strict=True):
        begun = len(parameters)
        body.append(
            _PLACE.sub(lambda place, begun=begun: f"${int(place[1]) + begun}", POSTGRES.statement(sql).sql) + ";"
        )
        parameters += types_of_it
        if is_counted:
            parameters.append("bigint")
            body.append(
                f"GET DIAGNOSTICS parley_touched = ROW_COUNT; IF parley_touched <> ${len(parameters)} THEN"
                f" RAISE EXCEPTION 'a statement touched % rows', parley_touched; END IF;"
            )
    lines = "\n".join(body)
    return (
        f"CREATE FUNCTION {name}({', '.join(parameters)}) RETURNS boolean LANGUAGE plpgsql AS"
        f" $parley$ DECLARE parley_touched bigint; BEGIN\n{lines}\nRETURN true; END $parley$"
    )
