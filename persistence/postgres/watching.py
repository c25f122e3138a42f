"""Telling a server that hangs from one that is slow: it is asked on another connection what this one waits for."""

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType

import asyncpg

from persistence.postgres.connecting import connect

SLOW_S = 2.0
"""How long an answer takes before the server is asked about it, in seconds."""

PROBE_S = 3.0
"""The longest time for the server to answer that question, connecting included, in seconds."""

AGAIN_S = 0.5
"""The pause between two questions, in seconds."""

_AT_WORK = ("active", "fastpath function call", "disabled")
"""States of a session that has a statement to run, or of which the server does not tell the state."""

log = logging.getLogger("parley.store")


class Watch:
    """Ends a connection that waits for nothing: `with Watch(url, connection):` around a wait for the server's answer.

    A server that does not answer another connection either within `PROBE_S` hangs. One that does, and that is at work
    on the statement or waits for a lock, is left to it, however long that takes. If it has nothing to do for this
    connection in two questions, the statement or its answer was lost on the way.

    `lost` is called before the connection is ended.
    """

    def __init__(self, url: str, connection: asyncpg.Connection, lost: Callable[[], None] | None = None) -> None:
        self._url = url
        self._connection = connection
        self._lost = lost
        self._task: asyncio.Task[None] | None = None

    def __enter__(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SLOW_S, self._begin)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._timer.cancel()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._watch(), name="watch")

    async def _watch(self) -> None:
        try:
            reason = await self._reason_to_end()
        except Exception as error:
            reason = f"the database does not answer ({str(error) or type(error).__name__})"
        log.error("%s: a connection to it counts as lost", reason)
        if self._lost is not None:
            self._lost()
        self._connection.terminate()

    async def _reason_to_end(self) -> str:
        """Ask again and again; return why the connection is lost. An error means that the server does not answer."""
        pid = self._connection.get_server_pid()
        before: object = None
        while True:
            try:
                state, since = await self._state(pid)
            except asyncpg.PostgresError:  # it refuses another connection, so it answers
                state, since = "disabled", None
            if state is None:
                return "the database has ended a session"
            if state not in _AT_WORK and since == before:
                return "the database has nothing to do for a statement that waits for its answer"
            before = since
            await asyncio.sleep(AGAIN_S)

    async def _state(self, pid: int) -> tuple[str | None, object]:
        """Return the state of a session, None if it is gone, and the time since when it is in that state."""
        async with asyncio.timeout(PROBE_S):
            connection = await connect(self._url, "parley watch", read_only=True)
            try:
                row = await connection.fetchrow("SELECT state, state_change FROM pg_stat_activity WHERE pid = $1", pid)
            finally:
                connection.terminate()
        return (None, None) if row is None else (row[0] or "disabled", row[1])
