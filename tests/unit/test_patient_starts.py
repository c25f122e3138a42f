"""Nodes that start while a change of another node holds the ledger up, on a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from persistence import ledger
from persistence.ledger import LedgerUnavailable, NodeEnded, patiently
from persistence.postgres.ledger_session import CHANGE_LOCK
from tests.support.members import Members, members, until
from tests.support.stores import database_for


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Members]:
    async with members(await database_for(tmp_path / "parley.db"), 3.0) as found:
        yield found


@asynccontextmanager
async def changing(cluster: Members) -> AsyncIterator[None]:
    """Be a node that hangs within a change."""
    connection = await asyncpg.connect(cluster.url)
    await connection.execute("SELECT pg_advisory_lock($1)", CHANGE_LOCK)
    yield
    await connection.close()


def waits(caplog: pytest.LogCaptureFixture) -> bool:
    return "the start waits for the database" in caplog.text


async def test_a_node_joins_once_it_is_not_held_up_any_more(cluster: Members, caplog: pytest.LogCaptureFixture):
    await cluster.join()
    async with changing(cluster):
        joining = asyncio.create_task(cluster.join(start=False))
        await until(lambda: waits(caplog))
    await (await joining).ownership.start()
    await cluster.settled()


async def test_a_node_takes_part_once_it_is_not_held_up_any_more(cluster: Members, caplog: pytest.LogCaptureFixture):
    node = await cluster.join(start=False)
    async with changing(cluster):
        starting = asyncio.create_task(node.ownership.start())
        await until(lambda: waits(caplog))
    await starting
    await cluster.settled()


async def test_a_node_that_is_held_up_for_too_long_does_not_start(cluster: Members, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ledger, "START_S", 0.0)
    async with changing(cluster):
        with pytest.raises(LedgerUnavailable, match="statement timeout"):
            await cluster.join()


async def test_what_ends_a_node_is_not_tried_again():
    tries: list[int] = []

    async def work() -> None:
        tries.append(1)
        raise NodeEnded("this node was declared dead")

    with pytest.raises(NodeEnded):
        await patiently(work)
    assert tries == [1]
