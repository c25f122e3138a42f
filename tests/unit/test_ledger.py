"""Several nodes on one PostgreSQL database: their stores, leases, shards and notices, each through its own ledger."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import asyncpg
import pytest

from persistence import notices
from persistence.ledger import NodeRow, NotAdmitted
from persistence.postgres.ledger import NUMBERS, PostgresLedger
from persistence.postgres.store import PostgresStore
from persistence.store import StoreLocked, StoreUnavailable, Unit, Write
from tests.support.stores import database_for

TTL_S = 60.0
SHORT_S = 1.0
LEFT_S = 1.5
ALL = range(256)

Opens = Callable[[NodeRow | None], Awaitable[PostgresStore]]
Joins = Callable[..., Awaitable[tuple[PostgresLedger, NodeRow]]]


@pytest.fixture
async def url(tmp_path: Path, patient_ledgers: None) -> str:
    return await database_for(tmp_path / "parley.db")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


@pytest.fixture
def joins(url: str, stack: AsyncExitStack) -> Joins:
    async def joins(name: str = "node", protocol: int = 1, ttl_s: float = TTL_S) -> tuple[PostgresLedger, NodeRow]:
        ledger = PostgresLedger(url, ttl_s)
        stack.push_async_callback(ledger.close)
        node = await ledger.join(name, "1.0.0", protocol, "digest")
        await ledger.set_draining(False)
        return ledger, node

    return joins


@pytest.fixture
def opens(url: str, stack: AsyncExitStack) -> Opens:
    async def opens(node: NodeRow | None) -> PostgresStore:
        store = await PostgresStore.open(url, cluster=node)
        stack.push_async_callback(store.close)
        return store

    return opens


def unit(n: int) -> Unit:
    return Unit((Write("INSERT INTO counted (n) VALUES (?)", (n,)),))


async def counted(url: str) -> set[int]:
    connection = await asyncpg.connect(url)
    found = {n for (n,) in await connection.fetch("SELECT n FROM counted")}
    await connection.close()
    return found


async def make_table(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute("CREATE TABLE counted (n bigint PRIMARY KEY)")
    await connection.close()


async def expires_in(url: str, node: NodeRow, seconds: float) -> None:
    """Let a node's lease expire in so many seconds, whatever the machine's pace was so far."""
    connection = await asyncpg.connect(url)
    sql = "UPDATE nodes SET expires = clock_timestamp() + make_interval(secs => $2) WHERE id = $1"
    await connection.execute(sql, node.id, seconds)
    await connection.close()


async def test_nodes_store_side_by_side_in_one_database(url: str, joins: Joins, opens: Opens):
    await make_table(url)
    stores = [await opens((await joins())[1]) for _ in range(3)]
    await asyncio.gather(*(stores[n % 3].commit(unit(n)) for n in range(30)))
    assert await counted(url) == set(range(30))


async def test_a_node_and_a_gateway_that_is_alone_keep_each_other_out(
    url: str, joins: Joins, opens: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("persistence.postgres.session.START_S", 0.2)
    ledger, _ = await joins(ttl_s=SHORT_S)
    with pytest.raises(StoreLocked, match="another gateway"):
        await PostgresStore.open(url)
    await ledger.close()
    alone = await opens(None)
    with pytest.raises(StoreLocked, match="another gateway"):
        await joins()
    await alone.close()
    await joins()


async def test_a_gateway_that_is_alone_ends_the_nodes_before_it_after_their_leases(
    url: str, joins: Joins, opens: Opens, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO)
    await make_table(url)
    ledger, node = await joins()
    await ledger.claim(ALL)
    zombie = await opens(node)
    await zombie.commit(unit(1))
    await ledger.close()
    connection = zombie._writer.session.connection  # pyright: ignore[reportPrivateUsage]
    assert connection is not None
    zombie._writer.session._url = "postgresql:///?host=/nowhere"  # pyright: ignore[reportPrivateUsage]
    connection.terminate()
    began = asyncio.get_running_loop().time()
    await expires_in(url, node, LEFT_S)
    alone = await opens(None)
    assert asyncio.get_running_loop().time() - began > LEFT_S
    assert f"s for the leases of nodes that did not leave: {node.id}" in caplog.text
    zombie._writer.session._url = url  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(StoreUnavailable, match="taken over"):
        await zombie.commit(unit(2))
    await alone.close()
    assert await counted(url) == {1}
    fresh, _ = await joins()
    beat = await fresh.beat(0)
    assert [node.number for node in beat.nodes] == [0]
    assert set(beat.owners) == {None}


async def test_a_node_gets_an_id_of_its_own_and_the_lowest_free_number(joins: Joins):
    ledgers = [await joins("a.b c" * 20) for _ in range(3)]
    assert [node.number for _, node in ledgers] == [0, 1, 2]
    assert len({node.id for _, node in ledgers}) == 3
    assert all(node.id.startswith("a-b-ca-b-c") and len(node.id) == 41 for _, node in ledgers)
    await ledgers[1][0].leave()
    assert (await joins())[1].number == 1


async def test_a_node_whose_protocol_differs_by_more_than_one_is_not_admitted(joins: Joins):
    await joins(protocol=3)
    await joins(protocol=4)
    for protocol in (1, 2, 5):
        with pytest.raises(NotAdmitted, match="protocol"):
            await joins(protocol=protocol)
    await joins(protocol=3)


async def test_a_beat_renews_a_lease_and_shows_nodes_and_owners(joins: Joins):
    first, a = await joins("a")
    second, b = await joins("b")
    assert await first.claim(ALL) == list(ALL)
    assert await second.claim(ALL) == []
    assert await first.hand_over(range(10), b.id) == list(range(10))
    assert await first.hand_over(range(5, 12), b.id) == list(range(5, 12))
    beat = await second.beat(7)
    assert beat.held
    assert beat.owners == (b.id,) * 12 + (a.id,) * 244
    assert beat.epochs == (2,) * 12 + (1,) * 244
    assert [(node.id, node.seen) for node in beat.nodes] == [(a.id, 0), (b.id, 7)]
    assert 0.5 * TTL_S * 1000 < beat.nodes[1].expires_in_ms <= TTL_S * 1000
    offsets = [abs((await second.beat(7)).clock_offset_ms) for _ in range(10)]
    assert min(offsets) < 500  # a busy machine pauses between two looks at its clock
    assert beat.up_ms > 0


async def test_a_node_is_taken_over_only_once_its_lease_has_expired(url: str, joins: Joins, opens: Opens):
    await make_table(url)
    first, a = await joins("a")
    second, b = await joins("b", ttl_s=SHORT_S)
    zombie = await opens(a)
    await zombie.commit(unit(1))
    await first.claim(ALL)
    await second.beat(0)
    assert not await second.take_over(a.id, dict.fromkeys(ALL, b.id))
    assert (await first.beat(0)).held
    await expires_in(url, a, -1)
    await asyncio.sleep(SHORT_S + 0.05)  # the server may have started just now
    await second.beat(0)
    _, c = await joins("c")
    assert await second.take_over(a.id, {shard: c.id if shard < 3 else "gone" for shard in range(100)})
    assert not (await first.beat(0)).held
    beat = await second.beat(0)
    assert beat.owners == (c.id,) * 3 + (b.id,) * 253
    assert await first.hand_over(ALL, b.id) == list(range(3, 256))
    assert await first.claim(ALL) == []
    with pytest.raises(StoreUnavailable, match="taken over"):
        await zombie.commit(unit(2))
    assert await counted(url) == {1}
    with pytest.raises(StoreLocked, match="declared dead"):
        await opens(a)


async def test_shards_go_to_no_node_that_is_draining_or_has_left(joins: Joins):
    first, _ = await joins("a")
    second, b = await joins("b")
    await first.claim(ALL)
    await second.set_draining(True)
    assert (await first.beat(0)).nodes[1].draining
    assert await first.hand_over([1, 2], b.id) == []
    await second.leave()
    assert await first.hand_over([1, 2], b.id) == []
    assert await first.hand_over([1, 2], None) == [1, 2]
    assert (await first.beat(0)).owners[:3] == (first._node, None, None)  # pyright: ignore[reportPrivateUsage]


async def test_a_node_that_leaves_without_shards_may_still_commit_and_with_shards_may_not(
    url: str, joins: Joins, opens: Opens
):
    await make_table(url)
    first, a = await joins("a")
    second, b = await joins("b")
    one, other = await opens(a), await opens(b)
    await first.claim(ALL)
    await second.leave()
    await other.commit(unit(1))
    await first.leave()
    with pytest.raises(StoreUnavailable):
        await one.commit(unit(2))
    assert await counted(url) == {1}


async def test_notices_are_read_after_a_place_and_forgotten_once_all_have_seen_them(joins: Joins, opens: Opens):
    first, a = await joins("a")
    second, _ = await joins("b")
    store = await opens(a)
    told = [("Reload", '{"keys": ["x"]}', b"\x00\xff"), ("Told", "[1]", b"")]
    await store.commit(Unit((notices.insert(told),)))
    found = (await second.beat(0)).notices
    assert [(row.kind, row.target, row.message) for row in found] == told
    assert await store.fetch(notices.notices_after(found[0].place, 10)) == [found[1]]
    await first.beat(found[1].place)
    await second.beat(found[0].place)
    await first.forget_notices()
    assert (await second.beat(0)).notices == (found[1],)
    assert (await first.beat(0)).nodes[0].seen == found[1].place
    third, c = await joins("c")
    assert c.seen == found[1].place
    assert (await third.beat(c.seen)).notices == ()


async def test_a_node_that_joins_after_all_notices_were_forgotten_is_not_behind(joins: Joins, opens: Opens):
    first, a = await joins("a")
    store = await opens(a)
    await store.commit(Unit((notices.insert([("Told", "[1]", b"")]),)))
    (forgotten,) = (await first.beat(0)).notices
    await first.beat(forgotten.place)
    await first.forget_notices()
    second, b = await joins("b")
    assert b.seen == forgotten.place
    await store.commit(Unit((notices.insert([("Told", "[2]", b"")]),)))
    assert [row.target for row in (await second.beat(b.seen)).notices] == ["[2]"]


async def test_no_more_nodes_join_than_have_numbers(url: str, joins: Joins):
    await joins()
    connection = await asyncpg.connect(url)
    await connection.execute(
        "INSERT INTO nodes (id, number, version, protocol, catalogs, expires, seen)"
        " SELECT 'n' || number, number, '', 1, '', clock_timestamp(), 0 FROM generate_series(1, $1) AS number",
        NUMBERS - 1,
    )
    await connection.close()
    with pytest.raises(NotAdmitted, match="256"):
        await joins()
