"""Functions of the writer's session, each of which stores a whole batch: one message, one answer, no open transaction.

A function has the statements of one kind of batch, so the server parses and plans them once in a session. It is
temporary: nobody else sees it, it goes with the connection, and another version of the gateway has its own.
"""

from collections.abc import Awaitable, Callable, Sequence

from persistence.dialect import POSTGRES

MOST = 64
"""The number of functions of a session; there are few kinds of batches, told by which statements come in what order."""

Execute = Callable[[str], Awaitable[object]]


def begin(node: str, batch: str, shared: str) -> str:
    """Return the call with which each transaction of a writer begins, of SQL expressions."""
    return f"parley_begin({node}, {batch}, {shared})"


class BatchFunctions:
    """The functions that a connection has."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, ...], str] = {}
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

    def take_no_more(self) -> None:
        """Make no further function, because the server refuses that."""
        self._most = 0


def _definition(name: str, statements: Sequence[str]) -> str:
    """Define a function. Each of its statements sees what was committed before it, so also before it had the lock."""
    types = ", ".join(["text", "bigint", *("text" for _ in statements)])
    body = [f"PERFORM {begin('$1', '$2', 'true')};"]
    for place, sql in enumerate(statements, 3):
        body.append(POSTGRES.statement(sql).sql.replace("$1", f"${place}") + ";")
    lines = "\n".join(body)
    return f"CREATE FUNCTION {name}({types}) RETURNS void LANGUAGE plpgsql AS $parley$ BEGIN\n{lines}\nEND $parley$"
