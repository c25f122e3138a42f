"""Placement: the part of the gateway's shards that this node owns, as jobs and actors need to know it."""

from collections.abc import Collection
from typing import Protocol

from actors.runtime.cluster.shards import SHARDS, ShardMap

HOUSEKEEPER = "00"
"""The key whose owner runs the jobs that exist once in a cluster: the hourly ones, and erasing."""


class Placement(Protocol):
    """Tells what is this node's."""

    @property
    def alone(self) -> bool:
        """Whether this gateway is the only one on its database, and so owns everything."""
        ...

    @property
    def number(self) -> int:
        """The node's number, 0 to 255, which no other live node has."""
        ...

    def mine(self, key: str) -> bool:
        """Return whether this node owns the shard of a key, and may act on it now."""
        ...

    def shards(self) -> Collection[int]:
        """Return the shards that this node owns now."""
        ...


class LocalPlacement:
    """A `Placement` of a gateway that is alone."""

    alone = True
    number = 0

    def mine(self, key: str) -> bool:
        """Return True."""
        return True

    def shards(self) -> Collection[int]:
        """Return all shards."""
        return range(SHARDS)


class Owner(Protocol):
    """The ownership of shards as `OwnedPlacement` uses it."""

    @property
    def node(self) -> str:
        """This node's id."""
        ...

    @property
    def map(self) -> ShardMap:
        """The present owners."""
        ...

    def is_mine(self, key: str) -> bool:
        """Return whether this node may serve a key now."""
        ...


class OwnedPlacement:
    """A `Placement` of one node of several."""

    alone = False

    def __init__(self, ownership: Owner, number: int) -> None:
        self._ownership = ownership
        self.number = number

    def mine(self, key: str) -> bool:
        """Return whether this node may serve the key now: it owns the shard, and its lease is valid."""
        return self._ownership.is_mine(key)

    def shards(self) -> Collection[int]:
        """Return the shards that it may serve now."""
        node, owned = self._ownership.node, self._ownership.map.owners
        return [shard for shard in range(SHARDS) if owned[shard] == node and self.mine(f"{shard:02x}")]
