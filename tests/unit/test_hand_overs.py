"""Which shards a node hands over at once: those at rest, and later those at work."""

from actors.runtime.cluster.hand_overs import AT_WORK_S, STOPPING_S, HandOvers
from actors.runtime.cluster.planning import AT_ONCE


class Work:
    """Shards that a test has at work, and its clock."""

    def __init__(self) -> None:
        self.shards: set[int] = set()
        self.now = 0.0
        self.hand_overs = HandOvers(lambda: self.now)
        self.hand_overs.at_work = self.at_work

    async def at_work(self) -> set[int]:
        return self.shards


async def test_shards_at_rest_go_a_few_at_a_time_to_each_node():
    shards = list(range(AT_ONCE + 2))
    portions = await Work().hand_overs.portions({"b": shards, "c": [99]}, stopping=False)
    assert portions == [("b", shards[:AT_ONCE]), ("b", shards[AT_ONCE:]), ("c", [99])]


async def test_shards_at_work_stay_until_they_are_at_rest_or_for_long_and_then_go_together():
    work = Work()
    plan: dict[str | None, list[int]] = {"b": list(range(100)), "c": [200]}
    work.shards = {*range(50), 200}
    portions = await work.hand_overs.portions(plan, stopping=False)
    assert sorted(shard for _, shards in portions for shard in shards) == list(range(50, 100))
    work.now, plan["b"] = 1.0, list(range(50))
    work.shards.discard(7)
    assert await work.hand_overs.portions(plan, stopping=False) == [("b", [7])]
    plan["b"].remove(7)
    work.now = AT_WORK_S
    assert await work.hand_overs.portions(plan, stopping=False) == [("b", plan["b"]), ("c", [200])]


async def test_a_node_that_stops_has_less_patience():
    work = Work()
    work.shards = {1}
    assert await work.hand_overs.portions({"b": [1]}, stopping=True) == []
    work.now = STOPPING_S
    assert await work.hand_overs.portions({"b": [1]}, stopping=True) == [("b", [1])]


async def test_a_shard_that_was_to_stay_meanwhile_is_put_off_anew():
    work = Work()
    work.shards = {1}
    assert await work.hand_overs.portions({"b": [1]}, stopping=False) == []
    assert await work.hand_overs.portions({}, stopping=False) == []
    work.now = AT_WORK_S
    assert await work.hand_overs.portions({"b": [1]}, stopping=False) == []
