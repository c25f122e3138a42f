"""Hints of changes over nodes (`actors/runtime/changes.py`).

An actor's node publishes each hint to a topic that the nodes with watchers follow. A message may be lost: while the
post is interrupted on either side, or when a node dies between a commit and its message. Each of these is noticed, here
or by a message of the other side, and then all watchers are told.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from actors.runtime.changes import Changes
from actors.runtime.cluster.post import Post

TOPIC = "c."
"""The beginning of a key's topic."""
ALL = "changes"
"""The topic on which a node says that hints of its own may have been lost."""


class Owners(Protocol):
    """The part of `Ownership` that hints use."""

    on_change: list[Callable[[Any], None]]

    @property
    def node(self) -> str:
        """The id of this node."""
        ...

    @property
    def nodes(self) -> Mapping[str, Any]:
        """All live nodes by id."""
        ...


class ClusterChanges(Changes):
    """The hints of all nodes, for the watchers of this one."""

    def __init__(self, owners: Owners, post: Post) -> None:
        super().__init__()
        self._owners = owners
        self._post = post
        self._followed: dict[str, Callable[[], None]] = {}
        owners.on_change.append(lambda _: self.tell_all())
        post.on_reconnect.append(self._reconnected)

    def watch(self, key: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Follow the key's topic, too; see `Changes.watch`."""
        if ALL not in self._followed:
            self._followed[ALL] = self._post.follow(ALL, self._from_others(self.tell_all))
        if key not in self._followed:
            self._followed[key] = self._post.follow(TOPIC + key, self._from_others(lambda: self.tell(key)))
        return super().watch(key, changed)

    def unwatched(self, key: str) -> None:
        """Follow the key's topic no more."""
        self._followed.pop(key)()

    async def in_force(self) -> None:
        """Wait until the topics are followed; see `Changes.in_force`."""
        await self._post.settled()

    def changed(self, key: str) -> None:
        """Tell the watchers of all nodes."""
        self.tell(key)
        if len(self._owners.nodes) > 1:
            self._post.publish(TOPIC + key, self._owners.node.encode())

    def _from_others(self, tell: Callable[[], None]) -> Callable[[bytes], None]:
        return lambda sender: None if sender == self._owners.node.encode() else tell()

    def _reconnected(self) -> None:
        self.tell_all()
        self._post.publish(ALL, self._owners.node.encode())
