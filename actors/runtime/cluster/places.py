"""This node's place among several, as far as code above the runtime uses it."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from actors.runtime.cluster.hand_overs import HandOvers
from actors.runtime.cluster.post import Post
from actors.runtime.cluster.shards import ShardMap
from persistence.ledger import NodeRow


class Places(Protocol):
    """The map of the nodes (`Ownership`)."""

    @property
    def node(self) -> str:
        """This node."""
        ...

    @property
    def map(self) -> ShardMap:
        """The owners of the shards, as far as this node knows."""
        ...

    @property
    def nodes(self) -> Mapping[str, NodeRow]:
        """The live nodes by their ids."""
        ...

    @property
    def valid(self) -> bool:
        """Whether this node may answer now."""
        ...

    @property
    def draining(self) -> bool:
        """Whether this node is about to leave, or has to end."""
        ...

    @property
    def over(self) -> str | None:
        """The reason why this node may serve no more; None while it may."""
        ...

    @property
    def lease_s(self) -> float:
        """The rest of its lease, in seconds; below 0 once it has lapsed."""
        ...

    @property
    def seen(self) -> int:
        """The place of the last notice that this node has acted on."""
        ...

    @property
    def leaving(self) -> HandOvers:
        """The shards that this node is giving to others."""
        ...

    @property
    def on_change(self) -> list[Callable[[Any], None]]:
        """Called with each new map."""
        ...

    def owner(self, key: str) -> str | None:
        """Return the node that owns a key's shard; None while it has none."""
        ...

    def is_mine(self, key: str) -> bool:
        """Return whether this node serves a key's shard now."""
        ...


class Traffic(Protocol):
    """The requests that this node has sent on."""

    @property
    def forwarded(self) -> Counter[str]:
        """Requests sent to other nodes, by node."""
        ...

    @property
    def moved(self) -> int:
        """Requests that moved on from the home of their user."""
        ...


class Clustered(Protocol):
    """This node as one of several."""

    traffic: Traffic | None
    """Its requests to others, once it serves."""

    @property
    def post(self) -> Post:
        """Reaches the other nodes."""
        ...

    @property
    def ownership(self) -> Places:
        """The map of the nodes."""
        ...


def name_of(node: str) -> str:
    """Return the name in the id of a node, which is the name and random digits."""
    return node.rsplit("-", 1)[0]
