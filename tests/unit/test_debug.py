"""GET /debug/actors with very many actors, and on several nodes."""

from collections.abc import Iterator
from typing import Any

from actors.runtime.directory import ActorStatus
from routes.gateway.debug import AT_A_TIME, first_of, joined


def test_a_name_that_few_actors_have_is_looked_for_a_few_actors_at_a_time():
    looked_at = 0

    def live() -> Iterator[ActorStatus]:
        nonlocal looked_at
        for number in range(10 * AT_A_TIME):
            looked_at += 1
            yield ActorStatus("agent", f"agt_{number}", f"scout-{number}", "idle", 0, number, 1.0, 1.0, number)

    steps = first_of(live(), "SCOUT-1999", None, 10)
    before, most = 0, 0
    try:
        while True:
            next(steps)
            before, most = looked_at, max(most, looked_at - before)
    except StopIteration as end:
        shown = end.value
    assert [actor["name"] for actor in shown] == ["scout-1999"]
    assert most <= AT_A_TIME


def listed(*ages: float, kind: str = "agent") -> dict[str, Any]:
    actors = [{"kind": kind, "name": f"Scout-{age:g}", "age_s": age} for age in ages]
    return {"counts": {"agent": len(ages), "user": 1}, "actors": actors}


def test_the_lists_of_several_nodes_are_one_in_the_order_that_was_asked_for():
    by_node = {"a-1": listed(9, 4, 1), "b-2": listed(7, 5, 2)}
    whole = joined(by_node, None, 10)
    assert whole["counts"] == {"agent": 6, "user": 2}
    assert [(actor["node"], actor["age_s"]) for actor in whole["actors"]] == [
        *(("a-1", 9), ("b-2", 7), ("b-2", 5)),
        *(("a-1", 4), ("b-2", 2), ("a-1", 1)),
    ]
    assert [actor["age_s"] for actor in joined(by_node, "age_s", 2)["actors"]] == [1, 2]
    assert [actor["name"] for actor in joined(by_node, "-name", 3)["actors"]] == ["Scout-9", "Scout-7", "Scout-5"]
    assert whole["unreachable"] == []


def test_a_node_that_does_not_answer_is_named():
    found = joined({"a-1": listed(9), "b-2": None}, "kind", 10)
    assert [actor["node"] for actor in found["actors"]] == ["a-1"]
    assert found["unreachable"] == ["b-2"]
