"""Zombies: writers of nodes that are declared dead while they commit, with nothing but the fence to stop them."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter

import asyncpg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from persistence.ledger import LedgerUnavailable
from persistence.postgres import ledger as ledgers
from persistence.postgres.ledger import PostgresLedger
from persistence.postgres.writer import Writer
from persistence.store import InDoubt, StoreUnavailable, Unit, Write
from tests.support.members import Members, members, until
from tests.support.stores import database_for

COMMITTERS = 6
TTL_S = 0.5

NOTHING_ENDED = "SELECT CAST($1 AS text), CAST($2 AS float8), CAST($3 AS text)"
"""In place of the statement that ends the dead node's session: the fence is on its own."""


class Races:
    """A database with a table of rows, and the node that takes over from one zombie after another."""

    def __init__(self, url: str, admin: asyncpg.Connection, ledger: PostgresLedger, node: str) -> None:
        self.url = url
        self.admin = admin
        self.ledger = ledger
        self.node = node
        self.made = 0

    async def zombie(self) -> str:
        """Enter a node whose lease has expired."""
        self.made += 1
        node = f"zombie-{self.made}"
        await self.admin.execute(
            "INSERT INTO nodes (id, number, version, protocol, catalogs, expires, seen, draining)"
            " VALUES ($1, 99, '', 1, '', clock_timestamp() - interval '1 second', 0, false)",
            node,
        )
        await self.admin.execute("INSERT INTO fences (node, batch) VALUES ($1, 0)", node)
        await self.admin.execute("UPDATE shards SET owner = $1 WHERE id = 7", node)
        return node

    async def rows(self, node: str) -> set[int]:
        return {n for (n,) in await self.admin.fetch("SELECT n FROM counted WHERE node = $1", node)}


@asynccontextmanager
async def races(url: str) -> AsyncIterator[Races]:
    ledger = PostgresLedger(url, TTL_S)
    node = (await ledger.join("heir", "1", 1, "")).id
    await ledger.set_draining(False)
    admin = await asyncpg.connect(url)
    await admin.execute("CREATE TABLE counted (node text, n bigint, PRIMARY KEY (node, n))")
    try:
        yield Races(url, admin, ledger, node)
    finally:
        await admin.close()
        await ledger.close()


@pytest.fixture
async def url(tmp_path: Path) -> str:
    return await database_for(tmp_path / "parley.db")


def row(node: str, n: int) -> Unit:
    return Unit((Write("INSERT INTO counted (node, n) VALUES (?, ?)", (node, n)),))


async def commits_until_refused(writer: Writer, node: str, numbers: "list[int]", outcomes: dict[int, Exception | None]):
    """Commit one row after another; note each outcome."""
    while True:
        numbers[0] += 1
        n, done = numbers[0], asyncio.get_running_loop().create_future()
        writer.submit(row(node, n), done.set_result)
        outcomes[n] = await done
        if outcomes[n] is not None:
            return


async def race(on: Races, delay_s: float) -> Counter[str]:
    """Have a zombie commit while its node is taken over; check its rows against what the heir loaded."""
    node = await on.zombie()
    writer = Writer(on.url, None, node)
    await writer.start()
    numbers, outcomes = [0], dict[int, Exception | None]()
    work = [asyncio.create_task(commits_until_refused(writer, node, numbers, outcomes)) for _ in range(COMMITTERS)]
    await asyncio.sleep(delay_s)
    known = {n for n, outcome in list(outcomes.items()) if outcome is None}
    assert await taken(on, node)
    loaded = await on.rows(node)
    await asyncio.gather(*work)
    assert await on.rows(node) == loaded  # no row of a zombie appears after the heir has loaded
    stored = {n for n, outcome in outcomes.items() if outcome is None}
    refused = {n for n, outcome in outcomes.items() if type(outcome) is StoreUnavailable}
    in_doubt = {n for n, outcome in outcomes.items() if isinstance(outcome, InDoubt)}
    assert stored | refused | in_doubt == outcomes.keys()
    assert stored == loaded  # also of the batch that was lost: the fence's row has the number of the last one
    assert not in_doubt
    await writer.close()
    return Counter(
        stored=len(stored),
        refused=len(refused),
        in_doubt=len(in_doubt),
        committed_during_the_take_over=bool(loaded - known),
        races=1,
    )


async def taken(on: Races, node: str) -> bool:
    """Take over, as often as it takes."""
    for _ in range(50):
        try:
            if await on.ledger.take_over(node, {}):
                return True
        except LedgerUnavailable:  # the dead node's transaction took too long
            pass
        await asyncio.sleep(0.02)
    return False


@pytest.mark.parametrize("number", [25, pytest.param(300, marks=pytest.mark.soak)])
@pytest.mark.parametrize("ends_session", [False, True], ids=["fence alone", "session ended"])
async def test_no_row_of_a_zombie_appears_after_its_heir_has_loaded(
    url: str, monkeypatch: pytest.MonkeyPatch, ends_session: bool, number: int
):
    if not ends_session:
        monkeypatch.setattr(ledgers, "_END_WRITER", NOTHING_ENDED)
    chosen = random.Random(17)
    counts = Counter[str]()
    async with races(url) as on:
        await asyncio.sleep(TTL_S)
        began = perf_counter()
        for _ in range(number):
            counts += await race(on, chosen.uniform(0, 0.012))
        print(f"{perf_counter() - began:.0f} s: {dict(counts)}")  # noqa: T201 - shown by -rP
    assert counts["races"] == number
    assert counts["stored"] > number
    assert counts["refused"] + counts["in_doubt"] == number * COMMITTERS


@pytest.mark.parametrize("ends_session", [False, True], ids=["idle timeout alone", "session ended"])
async def test_a_writer_that_hangs_within_its_transaction_does_not_hold_up_a_take_over(
    url: str, monkeypatch: pytest.MonkeyPatch, ends_session: bool
):
    if not ends_session:
        monkeypatch.setattr(ledgers, "_END_WRITER", NOTHING_ENDED)
    reached, go_on = threading.Event(), threading.Event()

    def hang() -> None:
        reached.set()
        go_on.wait(20)

    async with races(url) as on:
        await asyncio.sleep(TTL_S)
        node = await on.zombie()
        writer = Writer(url, hang, node)
        await writer.start()
        done = asyncio.get_running_loop().create_future()
        writer.submit(row(node, 1), done.set_result)
        await until(reached.is_set)
        began = perf_counter()
        assert await taken(on, node)
        print(f"taken over after {1000 * (perf_counter() - began):.0f} ms")  # noqa: T201 - shown by -rP
        assert await on.rows(node) == set()
        go_on.set()
        assert isinstance(await done, StoreUnavailable)
        assert await on.rows(node) == set()
        await writer.close()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("examples", [3, pytest.param(40, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_each_shard_has_one_owner_at_most_whoever_joins_leaves_or_dies(
    tmp_path_factory: pytest.TempPathFactory, examples: int
):
    @settings(max_examples=examples, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(
            st.tuples(st.sampled_from(["join", "join", "leave", "die"]), st.integers(0, 2), st.floats(0, 0.3)),
            min_size=3,
            max_size=6,
        )
    )
    def holds(steps: list[tuple[str, int, float]]) -> None:
        asyncio.run(run(steps))

    async def run(steps: list[tuple[str, int, float]]) -> None:
        url = await database_for(tmp_path_factory.mktemp("steps") / "parley.db")
        async with members(url, 2 * TTL_S) as cluster:  # a busy machine pauses for longer than the short one
            for _ in range(2):
                await cluster.join()
            for step, which, pause_s in steps:
                await take(cluster, step, which)
                await asyncio.sleep(pause_s)
            if not cluster.living:
                await cluster.join()
            await cluster.settled()

    holds()


async def take(cluster: Members, step: str, which: int) -> None:
    if step == "join" or not cluster.living:
        await cluster.join()
        return
    member = cluster.living[which % len(cluster.living)]
    if step == "leave":
        await member.ownership.leave(5)
        member.hung = True
    else:
        await member.hang()
