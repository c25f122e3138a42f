"""Decides from the ledger which shards a node takes and gives away: pure functions, the same on every node."""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from actors.runtime.cluster.shards import SHARDS, placed
from persistence.ledger import NodeRow

AT_ONCE = 16
"""How many shards are handed over together; their users wait meanwhile."""

_placed = lru_cache(maxsize=4)(placed)  # asked for at each heartbeat


def expired(nodes: Collection[NodeRow]) -> list[str]:
    """List the live nodes whose lease has expired."""
    return [node.id for node in nodes if node.expires_in_ms < 0]


def wanted(nodes: Collection[NodeRow]) -> tuple[str | None, ...]:
    """Return the node on which each shard belongs: one that has a lease and takes shards; all None without one."""
    takers = sorted(node.id for node in nodes if not node.draining and node.expires_in_ms >= 0)
    return _placed(tuple(takers)) if takers else (None,) * SHARDS


def unclaimed(me: str, owners: Sequence[str | None], places: Sequence[str | None]) -> list[int]:
    """List the shards without an owner that belong on this node."""
    return [shard for shard, owner in enumerate(owners) if owner is None and places[shard] == me]


def misplaced(me: str, owners: Sequence[str | None], places: Sequence[str | None]) -> Mapping[str | None, list[int]]:
    """List the shards of this node that belong elsewhere, by the node that takes them; None: by no node."""
    found: dict[str | None, list[int]] = {}
    for shard, owner in enumerate(owners):
        if owner == me and places[shard] != me:
            found.setdefault(places[shard], []).append(shard)
    return found


def without_live_owner(owners: Sequence[str | None], nodes: Mapping[str, NodeRow]) -> set[str]:
    """Return the owners that are no live nodes, as it may look between two reads of the ledger."""
    return {owner for owner in owners if owner is not None and owner not in nodes}
