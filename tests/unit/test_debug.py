"""GET /debug/actors with very many actors."""

from collections.abc import Iterator

from actors.runtime.directory import ActorStatus
from routes.gateway.debug import AT_A_TIME, first_of


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
