"""A store with many agents, a directory over it, and a fresh process for measurements of memory."""

import asyncio
import multiprocessing
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, TypeVar

import uvloop

from actors.agents.actor import AgentActor
from actors.engines.recall import RecallEngine
from actors.ids import system_clock
from actors.runtime.actor import handles
from actors.runtime.directory import Kind
from actors.runtime.durable import DurableActor
from actors.runtime.local_directory import LocalDirectory
from actors.runtime.mailbox import Ask
from actors.webhooks.outbox import Outbox
from persistence import agents, users
from persistence.agents import AgentRow
from persistence.dialect import SQLITE
from persistence.sqlite.store import SqliteStore
from persistence.users import UserRow

R = TypeVar("R")

OWNER = "usr_of_the_bench"
AT = 1_700_000_000_000
LIMIT_S = 300.0
"""Time limit of a measurement in a process of its own."""


class Touch(Ask[int], frozen=True):
    """Answered with the number of handled messages."""


class MinimalActor(DurableActor):
    """A minimal durable actor, which loads and keeps nothing."""

    kind = "minimal"

    @handles(Touch)
    def _touch(self, _: Touch) -> int:
        return self.handled


def agent_id(number: int) -> str:
    """Return the id of a stored agent, in the length of a real id."""
    return f"agt_{number:032x}"


@asynccontextmanager
async def opened(
    path: Path, *, idle_s: float = 3600, max_active: int = 1_000_000, sweeping: bool = False
) -> AsyncGenerator[LocalDirectory]:
    """Open a store with a directory over it; actors are passivated only if it is `sweeping`."""
    store, engine, outbox = await SqliteStore.open(path), RecallEngine(), Outbox(system_clock)
    factories: dict[str, Callable[[str], AgentActor | MinimalActor]] = {
        "agent": lambda key: AgentActor(key, store, system_clock, engine, outbox, {}),
        "minimal": lambda key: MinimalActor(key, store),
    }
    directory = LocalDirectory(
        {kind: Kind(make) for kind, make in factories.items()}, idle_s=idle_s, max_active=max_active
    )
    sweeper = asyncio.create_task(directory.sweep()) if sweeping else None
    try:
        yield directory
    finally:
        if sweeper is not None:
            sweeper.cancel()
        await directory.close(grace_s=10)
        await store.close()


async def populate(path: Path, count: int) -> None:
    """Make a database with one user and `count` agents."""
    await (await SqliteStore.open(path)).close()  # creates the schema
    owner = UserRow(OWNER, "bench-user", None, None, "no hash", "enterprise", None, AT)
    insert_owner = users.insert(owner)
    rows = [agents.insert(_agent(number)) for number in range(count)]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(SQLITE.text(insert_owner.sql), insert_owner.params)
        connection.executemany(SQLITE.text(rows[0].sql), (row.params for row in rows))


def _agent(number: int) -> AgentRow:
    return AgentRow(
        id=agent_id(number),
        owner_id=OWNER,
        owner="bench-user",
        name=f"scout-{number:06}",
        description=f"Keeps the notes of its owner's week, number {number} of many.",
        profile="Speaks plainly. Knows when the library opens, which bus goes to the harbour and who waters the "
        f"plants in room {number % 400}. Asks back when a date is missing.",
        access="agent",
        online=True,
        created_at=AT,
        updated_at=AT,
    )


def in_own_process(measure: Callable[..., Coroutine[Any, Any, R]], *arguments: Any) -> R:
    """Run a coroutine function of a module in a fresh process, without earlier garbage in its memory."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_run, measure, arguments).result(LIMIT_S)


def _run(measure: Callable[..., Coroutine[Any, Any, R]], arguments: tuple[Any, ...]) -> R:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(measure(*arguments), LIMIT_S))
