"""The shards that a node is to give to others: when each leaves, and those under way, which nobody serves meanwhile."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from actors.runtime.cluster.planning import AT_ONCE

AT_WORK_S = 30.0
"""How long a shard stays at most because actors of it are at work for callers, in seconds."""

STOPPING_S = 10.0
"""The same on a node that stops."""

WaitsFor = Literal["actors", "ledger"]
"""The shard's actors, which finish what they do; or the ledger, which has to take the new owner in."""


class Waiting(NamedTuple):
    """The reason why a hand-over waits, and for how many seconds it has waited."""

    waits_for: WaitsFor
    s: float


async def _none() -> Collection[int]:
    return ()


class HandOvers:
    """The hand-overs under way, by shard; `clock` returns a monotonic time in seconds.

    `at_work` returns the shards of which actors are at work for callers.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.at_work: Callable[[], Awaitable[Collection[int]]] = _none
        self._clock = clock
        self._since: dict[int, tuple[WaitsFor, float]] = {}
        self._put_off: dict[int, float] = {}

    async def portions(
        self, misplaced: Mapping[str | None, list[int]], *, stopping: bool
    ) -> list[tuple[str | None, list[int]]]:
        """Return which shards to hand over now, together and to whom: `AT_ONCE` at most of those at rest.

        A shard at work is put off, because engines may end soon; those that were put off for long go together.
        """
        at_work = await self.at_work() if misplaced else ()
        now, longest_s = self._clock(), STOPPING_S if stopping else AT_WORK_S
        put_off = {shard for shards in misplaced.values() for shard in shards if shard in at_work}
        self._put_off = {shard: self._put_off.get(shard, now) for shard in put_off}
        portions: list[tuple[str | None, list[int]]] = []
        for to, shards in misplaced.items():
            at_rest = [shard for shard in shards if shard not in put_off]
            portions += [(to, at_rest[first : first + AT_ONCE]) for first in range(0, len(at_rest), AT_ONCE)]
        for to, shards in misplaced.items():
            overdue = [shard for shard in shards if shard in put_off and now - self._put_off[shard] >= longest_s]
            portions += [(to, overdue)] if overdue else []
        return portions

    def __contains__(self, shard: int) -> bool:
        """Return whether a shard is being handed over."""
        return shard in self._since

    def wait(self, what: WaitsFor, shards: Iterable[int]) -> None:
        """Note what the hand-over of shards waits for from now on."""
        self._since.update(dict.fromkeys(shards, (what, self._clock())))

    def end(self, shards: Iterable[int]) -> None:
        """End the hand-over of shards."""
        for shard in shards:
            self._since.pop(shard, None)

    def waiting(self) -> dict[int, Waiting]:
        """Return what each waits for."""
        now = self._clock()
        return {shard: Waiting(what, now - since) for shard, (what, since) in self._since.items()}
