"""The interface of the ledger, in which the nodes of a cluster hold leases and own shards of the users."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from persistence.store import StoreError

START_S = 15.0
"""Seconds for which a node that starts tries again where the ledger does not answer."""

AGAIN_S = 0.2
"""The pause before it does, in seconds."""

log = logging.getLogger("parley.cluster")

T = TypeVar("T")


class LedgerUnavailable(StoreError):
    """The ledger can't be reached, or did not answer in time; whether it made the change is not known."""


class NodeEnded(LedgerUnavailable):
    """This node was declared dead, or the database has lost changes, so it does nothing more."""


async def patiently(work: Callable[[], Awaitable[T]]) -> T:
    """Do a piece of work of a node's start, again after a failure: a change of another node may hold it up.

    It may have been done although it failed.

    Raises:
        LedgerUnavailable: it failed for `START_S` seconds, or the node has ended.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + START_S
    while True:
        try:
            return await work()
        except LedgerUnavailable as error:
            if isinstance(error, NodeEnded) or loop.time() >= until:
                raise
            log.warning("the start waits for the database: %s", error)
            await asyncio.sleep(AGAIN_S)


class NotAdmitted(StoreError):
    """A node can't join; the message gives the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node, as the ledger has it.

    Attributes:
        id: its name and random digits; no other node ever has the same.
        number: 0 to 255, of no other live node.
        version: of its code, for people.
        protocol: the version of the messages that it exchanges with others.
        catalogs: a digest of its catalogues of skills and servers, which should be equal on all nodes.
        draining: it takes no shards, because it is about to leave, or not ready yet.
        live: false once it has left or was declared dead; then it never is again.
        seen: the place of the last notice that it has acted on.
        expires_in_ms: the rest of its lease when the row was read, in ms; negative once it has expired.
    """

    id: str
    number: int
    version: str
    protocol: int
    catalogs: str
    draining: bool
    live: bool
    seen: int
    expires_in_ms: int


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A notice of a unit to other nodes; places are in the order of commits. `target` is JSON, `at` in ms."""

    place: int
    kind: str
    target: str
    message: bytes
    at: int


@dataclass(frozen=True, slots=True)
class Beat:
    """The result of a heartbeat.

    Attributes:
        held: the lease has been renewed; if not, this node was declared dead.
        nodes: all live nodes, in the order of their ids.
        owners: the owner of each shard, or None.
        epochs: the number of changes of each shard's owner. Their sum tells which of two readings is newer.
        notices: those after the place that this node has seen, the oldest first, up to `NOTICES`.
        clock_offset_ms: this machine's clock less the ledger's.
        up_ms: how long the ledger's server has been running, in ms.
    """

    held: bool
    nodes: tuple[NodeRow, ...]
    owners: tuple[str | None, ...]
    epochs: tuple[int, ...]
    notices: tuple[NoticeRow, ...]
    clock_offset_ms: int
    up_ms: int


class Ledger(Protocol):
    """The nodes, their leases and shards. Each method raises `LedgerUnavailable` where it does not succeed."""

    async def join(self, name: str, version: str, protocol: int, catalogs: str) -> NodeRow:
        """Enter this process as a node with a lease, which is not ready; the other methods are for this node.

        Raises:
            NotAdmitted: a live node's protocol differs by more than one, or its version is older than a migration of
                the schema needs, or there are 256 live nodes.
            StoreTooNew: the schema needs a newer version of the code.
            StoreLocked: a gateway that is no node has the database.
        """
        ...

    async def beat(self, seen: int) -> Beat:
        """Renew the lease, note the last notice that was acted on, and read what others have changed."""
        ...

    async def set_draining(self, draining: bool) -> None:
        """Have this node take no shards, or take them from now on."""
        ...

    async def take_over(self, dead: str, owners: Mapping[int, str]) -> bool:
        """Declare a node dead whose lease has expired, and give its shards to `owners`, or else to this node.

        Return False if its lease has been renewed, or if the ledger's server runs for less than a lease, because then
        nobody could renew. It waits for the dead node's last commit; after it the dead node commits nothing.
        """
        ...

    async def hand_over(self, shards: Collection[int], to: str | None) -> list[int]:
        """Give shards of this node to another one, or to none; return those that it has now.

        A node that is not live, is draining or has no lease gets none.

        It may be repeated: when it has returned, no earlier try is under way.
        """
        ...

    async def claim(self, shards: Collection[int]) -> list[int]:
        """Take shards that have no owner; return those that this node has now."""
        ...

    async def forget_notices(self) -> None:
        """Delete the notices that all live nodes have acted on."""
        ...

    async def leave(self) -> None:
        """End this node. Shards that it still has are without an owner then, and it commits nothing more."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...
