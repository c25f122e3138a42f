"""Where each actor lives: shards, their placement on nodes, and the map of their owners."""

import hashlib
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache

SHARDS = 256
"""The number of shards; each actor is in one, and each shard is on one node."""

_BY_DIGITS = {f"{shard:02x}": shard for shard in range(SHARDS)}
_LAST_TWO = slice(-2, None)


def shard_of(key: str) -> int:
    """Return the shard of an actor's key, below SHARDS.

    It is the number in the last two hex digits, which the ids of a user and of everything it owns share
    (`actors/ids.py`). A key without such digits gets the CRC-32 of its bytes, modulo SHARDS.
    """
    shard = _BY_DIGITS.get(key[_LAST_TWO])
    return zlib.crc32(key.encode()) % SHARDS if shard is None else shard


def placed(nodes: Collection[str]) -> tuple[str, ...]:
    """Return the node on which each shard belongs, the same for every order of `nodes`.

    Rendezvous hashing: each node has a weight for each shard, and the largest wins. So a node that joins takes 1/n of
    the shards, evenly from all others, and no shard moves between those; when it leaves, it gives back the same ones.

    Raises:
        ValueError: there are no nodes.
    """
    weights = {node: _weights(node) for node in sorted(nodes)}
    return tuple(max(weights, key=lambda node: weights[node][shard]) for shard in range(SHARDS))


@lru_cache(maxsize=128)
def _weights(node: str) -> tuple[bytes, ...]:
    """Return the node's weight for each shard: 8 bytes each of one long hash."""
    digest = hashlib.shake_128(node.encode()).digest(8 * SHARDS)
    return tuple(digest[8 * shard : 8 * shard + 8] for shard in range(SHARDS))


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The owner of each shard, None while it has none, and the number of its last change of owner.

    `version` grows with each change of the map.
    """

    owners: tuple[str | None, ...]
    epochs: tuple[int, ...]
    version: int

    def owner(self, key: str) -> str | None:
        """Return the node that owns the shard of an actor's key."""
        return self.owners[shard_of(key)]
