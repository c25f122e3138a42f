"""Leases, take-overs and hand-overs of several nodes on a real PostgreSQL, in one process."""

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path
from time import monotonic

import pytest

from actors.runtime.cluster.lease import SHARE, Lease
from actors.runtime.cluster.ownership import DECLARED_DEAD, LOST_COMMITS
from actors.runtime.cluster.planning import AT_ONCE
from actors.runtime.cluster.shards import SHARDS, placed
from persistence import notices
from persistence.ledger import LedgerUnavailable, NotAdmitted, NoticeRow
from persistence.postgres.ledger import PostgresLedger
from persistence.postgres.store import PostgresStore
from persistence.store import Unit
from tests.support.members import KEYS, Member, Members, SteppedClock, members, run, until
from tests.support.postgres import Cluster
from tests.support.stores import database_for

ALL = set(range(SHARDS))
TTL_S = 1.0


@pytest.fixture
async def url(tmp_path: Path) -> str:
    return await database_for(tmp_path / "parley.db")


@pytest.fixture
async def cluster(url: str) -> AsyncIterator[Members]:
    async with members(url, TTL_S) as found:
        yield found


async def test_the_first_node_serves_every_shard_as_soon_as_it_has_started(cluster: Members):
    node = await cluster.join()
    assert node.ownership.owner("usr_17") == node.id
    assert node.ownership.map.version == SHARDS
    await until(lambda: node.mine == ALL and node.ownership.valid)  # at once, but for a machine that paused
    await until(lambda: 0 < node.ownership.lease_s <= SHARE * TTL_S)


async def test_a_node_that_has_joined_but_not_started_is_given_nothing(cluster: Members):
    first = await cluster.join()
    second = await cluster.join(start=False)
    await asyncio.sleep(TTL_S)
    await until(lambda: first.mine == ALL)
    assert second.mine == set()
    await second.ownership.start()
    await cluster.settled()


async def test_every_node_that_may_answer_knows_a_node_before_that_owns_anything(cluster: Members):
    """Else it would not tell the new one what changes under its actors."""
    first = await cluster.join()
    await first.hang()
    second = asyncio.create_task(cluster.join())
    await until(lambda: len(cluster.all) == 2)
    while not cluster.all[1].mine:
        assert first.ownership.nodes.keys() == {first.id}
        may_answer = first.ownership.valid
        await asyncio.sleep(0.005)
        assert not (may_answer and cluster.all[1].ownership.nodes[cluster.all[1].id].draining is False)
    await second


async def has_its_share(member: Member, places: Sequence[str]) -> None:
    """Wait until a member serves all shards that belong to it, and no others."""
    share = {shard for shard in ALL if places[shard] == member.id}
    await until(lambda: member.mine == share)


async def test_a_join_moves_the_share_of_the_new_node_a_few_shards_at_a_time(cluster: Members):
    first, second = await cluster.join(), await cluster.join()
    await has_its_share(second, placed([first.id, second.id]))
    both = placed([first.id, second.id])
    before = [{shard for shard in ALL if both[shard] == member.id} for member in (first, second)]
    third = await cluster.join()
    all_three = placed([first.id, second.id, third.id])
    for member in (third, first, second):
        await has_its_share(member, all_three)
    given = {shard for shard in ALL if all_three[shard] == third.id}
    assert [{shard for shard in ALL if all_three[shard] == member.id} for member in (first, second)] == [
        shards - given for shards in before
    ]
    portions = [*first.drained, *second.drained]
    assert max(map(len, portions)) <= AT_ONCE
    moved = [shard for portion in portions for shard in portion]
    assert sorted(moved) == sorted([*before[1], *given])  # each once


async def test_a_node_that_leaves_gives_its_shards_to_the_others_at_once(cluster: Members):
    first, second, third = [await cluster.join() for _ in range(3)]
    await cluster.settled()
    gone: list[str] = []
    first.ownership.on_dead.append(gone.append)
    await until(lambda: second.mine != set())
    share = second.mine
    await second.ownership.leave()
    second.hung = True
    assert second.mine == set()
    assert sorted(shard for portion in second.drained[-len(share) :] for shard in portion if shard in share)
    assert await run(cluster.url, "SELECT 1 FROM shards WHERE owner IS NULL OR owner = $1", second.id) == []
    await cluster.settled()
    await until(lambda: gone == [second.id])
    await until(lambda: first.mine | third.mine == ALL)
    assert (first.over, second.over, third.over) == ([], [], [])


async def test_the_last_node_that_leaves_frees_its_shards_for_the_next(url: str, cluster: Members):
    first = await cluster.join()
    await first.ownership.leave()
    assert sorted(shard for portion in first.drained for shard in portion) == sorted(ALL)
    assert await run(url, "SELECT 1 FROM shards WHERE owner IS NOT NULL") == []
    next = await cluster.join()
    await until(lambda: next.mine == ALL)


async def test_a_node_that_hangs_is_taken_over_after_its_lease(cluster: Members):
    first, second, third = [await cluster.join() for _ in range(3)]
    await cluster.settled()
    await asyncio.sleep(TTL_S)
    gone: list[str] = []
    first.ownership.on_dead.append(gone.append)
    await second.hang()
    ((expires,),) = await run(cluster.url, "SELECT expires FROM nodes WHERE id = $1", second.id)
    await until(lambda: first.mine | third.mine == ALL)
    ((is_over,),) = await run(cluster.url, "SELECT clock_timestamp() > $1", expires)
    assert is_over
    assert second.mine == set()  # by its own clock, without a word from anybody
    assert gone == [second.id]
    with pytest.raises(LedgerUnavailable):
        await second.ownership._beat()  # pyright: ignore[reportPrivateUsage]
    assert second.over == [DECLARED_DEAD]


async def test_a_node_takes_over_only_after_it_has_held_its_own_lease_for_as_long(cluster: Members):
    first = await cluster.join()
    await first.hang()
    await run(cluster.url, "UPDATE nodes SET expires = clock_timestamp() - interval '1 hour'")
    began = monotonic()
    second = await cluster.join()
    await until(lambda: second.mine == ALL)
    assert monotonic() - began > TTL_S * 0.7


async def test_a_lease_that_lapsed_is_good_again_if_nobody_took_over(cluster: Members):
    node = await cluster.join()
    version = node.ownership.map.version
    node.clock.ahead_s += TTL_S
    assert not node.ownership.valid
    assert node.mine == set()
    await until(lambda: node.mine == ALL)
    assert node.ownership.map.version == version
    assert node.over == []


def test_a_lease_counts_as_held_from_its_first_renewal_without_a_gap():
    now = [0.0]
    lease = Lease(1.0, lambda: now[0])
    assert not lease.valid
    lease.renewed(0.0)
    for now[0] in (0.5, 0.79):
        assert lease.valid
    lease.renewed(0.7)
    now[0] = 1.2
    assert lease.held_for_ttl
    now[0] = 1.5
    assert not lease.held_for_ttl
    assert not lease.valid
    lease.renewed(1.5)  # after a gap it begins anew
    assert lease.valid
    assert not lease.held_for_ttl
    lease.renewed(2.0)
    now[0] = 2.5
    assert lease.held_for_ttl
    lease.end()
    assert not lease.valid


async def test_a_node_that_was_declared_dead_ends_and_serves_nothing(cluster: Members):
    first, second = await cluster.join(), await cluster.join()
    await cluster.settled()
    await run(cluster.url, "UPDATE nodes SET live = false WHERE id = $1 RETURNING id", first.id)
    await until(lambda: first.over == [DECLARED_DEAD])
    assert first.mine == set()
    assert first.ownership.draining
    await until(lambda: second.mine == ALL)


async def test_a_writer_that_is_fenced_ends_its_node(cluster: Members):
    node = await cluster.join()
    store = await PostgresStore.open(cluster.url, cluster=node.row, on_over=node.ownership.end)
    try:
        assert await store.writable()
        await run(cluster.url, "UPDATE fences SET live = false RETURNING node")
        assert not await store.writable()
        assert len(node.over) == 1
        assert node.mine == set()
    finally:
        await store.close()


async def test_a_database_that_lost_changes_of_owners_ends_its_nodes(cluster: Members):
    node = await cluster.join()
    await run(cluster.url, "UPDATE shards SET epoch = 0, owner = NULL WHERE id = 3 RETURNING id")
    await until(lambda: node.over == [LOST_COMMITS])
    assert node.mine == set()


@pytest.mark.parametrize("ahead_s", [-3, 3])
async def test_a_machine_whose_clock_is_wrong_is_not_admitted(
    cluster: Members, monkeypatch: pytest.MonkeyPatch, ahead_s: int
):
    first = await cluster.join()
    with monkeypatch.context() as patched:
        patched.setattr("persistence.postgres.ledger.time", lambda: time.time() + ahead_s)
        with pytest.raises(NotAdmitted, match=r"clock is .* s off"):
            await cluster.join(start=False)
    await asyncio.sleep(TTL_S / 2)
    await until(lambda: list(first.ownership.nodes) == [first.id] and first.mine == ALL)


async def test_a_node_with_a_far_protocol_is_not_admitted(cluster: Members):
    await cluster.join(protocol=3)
    with pytest.raises(NotAdmitted, match="protocol"):
        await cluster.join(protocol=1)
    await cluster.join(protocol=2)


async def test_notices_come_once_and_in_order_and_go_once_all_have_seen_them(
    cluster: Members, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("actors.runtime.cluster.ownership.FORGET_BEATS", 3)
    monkeypatch.setattr("persistence.postgres.ledger.NOTICES", 7)
    first, second = await cluster.join(), await cluster.join()
    seen: dict[str, list[NoticeRow]] = {first.id: [], second.id: []}
    for node in (first, second):
        node.ownership.on_notices = seen[node.id].extend
    store = await PostgresStore.open(cluster.url, cluster=first.row)
    for batch in range(5):
        rows = [("Reload", f'["{batch}.{n}"]', b"m") for n in range(10)]
        await store.commit(Unit((notices.insert(rows),)))
    await store.close()
    second.ownership.look_soon()
    await until(lambda: all(len(rows) == 50 for rows in seen.values()))
    expected = [f'["{batch}.{n}"]' for batch in range(5) for n in range(10)]
    assert [[row.target for row in rows] for rows in seen.values()] == [expected, expected]
    async with asyncio.timeout(30):
        while await run(cluster.url, "SELECT 1 FROM notices"):
            await asyncio.sleep(0.05)


class Doubtful(PostgresLedger):
    """A ledger whose answers to hand-overs are lost at first, after or before they were carried out."""

    lost = 3

    async def hand_over(self, shards: Collection[int], to: str | None) -> list[int]:
        self.lost -= 1
        if self.lost % 2:
            await super().hand_over(shards, to)
        if self.lost >= 0:
            raise LedgerUnavailable("the answer was lost")
        return await super().hand_over(shards, to)


async def test_a_hand_over_in_doubt_leaves_no_shard_to_two_nodes_or_none(cluster: Members):
    await cluster.join(ledger=Doubtful)
    for _ in range(2):
        await cluster.join()
        await cluster.settled()


async def test_a_hand_over_tells_what_it_waits_for_and_for_how_long(cluster: Members):
    class Away(PostgresLedger):
        """A ledger that takes no hand-over in at first."""

        away = True

        async def hand_over(self, shards: Collection[int], to: str | None) -> list[int]:
            if self.away:
                raise LedgerUnavailable("the database is away")
            return await super().hand_over(shards, to)

    first = await cluster.join(ledger=Away)
    stopped, stop = asyncio.Event(), first.ownership.drained

    async def drained(shards: Collection[int]) -> None:
        await stop(shards)
        await stopped.wait()

    def waited_for() -> set[str]:
        return {waiting.waits_for for waiting in first.ownership.leaving.waiting().values()}

    first.ownership.drained = drained
    await cluster.join()
    await until(lambda: waited_for() == {"actors"})
    await until(lambda: min(waiting.s for waiting in first.ownership.leaving.waiting().values()) > 0.1)
    assert not first.mine & first.ownership.leaving.waiting().keys()
    stopped.set()
    await until(lambda: waited_for() == {"ledger"})
    Away.away = False
    await cluster.settled()
    await until(lambda: waited_for() == set())


async def test_a_node_whose_actors_can_not_be_stopped_keeps_their_shards(cluster: Members):
    first = await cluster.join()
    fails = [True]
    stop = first.ownership.drained

    async def drained(shards: Collection[int]) -> None:
        if fails[0]:
            raise RuntimeError("an actor does not stop")
        await stop(shards)

    first.ownership.drained = drained
    await cluster.join()
    await asyncio.sleep(TTL_S / 2)
    await until(lambda: first.mine == ALL)
    fails[0] = False
    await cluster.settled()


async def test_a_leave_that_takes_too_long_leaves_its_shards_behind_and_commits_nothing_more(cluster: Members):
    first = await cluster.join()
    store = await PostgresStore.open(cluster.url, cluster=first.row)
    second = await cluster.join()
    await cluster.settled()

    async def drained(_: Collection[int]) -> None:
        await asyncio.sleep(60)

    first.ownership.drained = drained
    await first.ownership.leave(0.3)
    first.hung = True
    await until(lambda: second.mine == ALL)
    assert not await store.writable()
    await store.close()


async def test_nodes_live_through_a_restart_of_the_database(tmp_path: Path):
    own = await Cluster.start()
    try:
        async with members(await own.database("restarted"), TTL_S) as cluster:
            for _ in range(2):
                await cluster.join()
            await cluster.settled()
            both = placed([member.id for member in cluster.all])
            before = [{shard for shard in ALL if both[shard] == member.id} for member in cluster.all]
            await until(lambda: [member.mine for member in cluster.all] == before)
            for mode in ("fast", "immediate"):
                await own.down(mode)
                await until(lambda: not any(member.ownership.valid for member in cluster.all))
                assert [member.mine for member in cluster.all] == [set(), set()]
                await asyncio.sleep(TTL_S)  # all leases have expired
                await own.up()
                await until(lambda: [member.mine for member in cluster.all] == before)
            await asyncio.sleep(2 * TTL_S)
            await until(lambda: [member.mine for member in cluster.all] == before)
            assert [member.over for member in cluster.all] == [[], []]
            await cluster.all[0].hang()
            await cluster.settled()
    finally:
        own.stop()


def test_every_key_belongs_to_the_shard_of_its_last_digits():
    assert len({key[-2:] for key in KEYS}) == SHARDS
    assert SteppedClock(5.0)() > SteppedClock()()
