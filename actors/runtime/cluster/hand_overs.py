"""The shards that a node is giving to others, which nobody serves meanwhile."""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

WaitsFor = Literal["actors", "ledger"]
"""The shard's actors, which finish what they do; or the ledger, which has to take the new owner in."""


class Waiting(NamedTuple):
    """What a hand-over waits for, and for how long it has, in seconds."""

    waits_for: WaitsFor
    s: float


class HandOvers:
    """Those under way, by shard; `clock` returns a monotonic time in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._since: dict[int, tuple[WaitsFor, float]] = {}

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
