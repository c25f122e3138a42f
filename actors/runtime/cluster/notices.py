"""Notices over nodes: what a unit changes under actors of other nodes is known there before the unit is answered.

The unit itself stores its notices as rows, so none is lost. After the commit they are pushed to every other live node,
which acts on them and acknowledges; the answer waits for that. A node also reads the rows with its heartbeat, so that
without a push, because the post is down or the sender has crashed, it acts on them half a second later.
"""

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from actors.runtime.cluster.post import Lost, NotReached, Post
from actors.runtime.cluster.wire import decode_notice, encode_notice
from actors.runtime.future import AsyncFuture, once_all_done
from actors.runtime.notices import Notice, Reload, Told
from persistence import notices as rows
from persistence.ledger import NoticeRow
from persistence.store import Write

NOTICE = "notice"
"""The subject of pushes."""

PUSH_TIMEOUT_S = 1.0
"""How long a push waits for its acknowledgement before it is sent again, in seconds."""

PAUSE_S = 0.1
"""The pause after a push that failed, in seconds."""

REMEMBERED = 10_000
"""The number of notices that a node remembers to have acted on, so that it need not do it twice."""

_ID_BYTES = 16

log = logging.getLogger("parley.notices")


class _Sent(NamedTuple):
    """A notice in its binary form; `message` begins with its id."""

    kind: str
    target: str
    message: bytes


class Node(Protocol):
    """A node as this one knows it."""

    @property
    def live(self) -> bool:
        """Whether it is neither dead nor has left."""
        ...

    @property
    def seen(self) -> int:
        """The place of the last row that it has acted on."""
        ...


class Nodes(Protocol):
    """The part of `Ownership` that notices use."""

    on_notices: Callable[[Sequence[NoticeRow]], AsyncFuture[None] | None]

    @property
    def node(self) -> str:
        """The id of this node."""
        ...

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All live nodes by id, this one included."""
        ...

    def is_mine(self, key: str) -> bool:
        """Return whether this node may serve the actors of a key now: it owns them, keeps them, and has its lease."""
        ...


class NodeNotices:
    """Sends the notices of this node's units to all nodes, and acts on those of others.

    `deliver` acts on notices within this process.
    """

    def __init__(
        self, nodes: Nodes, post: Post, deliver: Callable[[Iterable[Notice]], AsyncFuture[None] | None]
    ) -> None:
        self._nodes = nodes
        self._post = post
        self._deliver = deliver
        self._known: OrderedDict[bytes, None] = OrderedDict()  # ids of notices acted on, or soon to be
        self._acting: dict[bytes, AsyncFuture[None]] = {}  # by ids of notices that take more than a step
        self._places: dict[bytes, int] = {}  # of this node's notices under way, once a heartbeat has shown them
        self._open: set[NodePosting] = set()  # whose unit is not settled
        nodes.on_notices = self.read
        post.serve(NOTICE, self._serve)

    def prepare(self, notices: Sequence[Notice]) -> "NodePosting":
        """Prepare the notices of a unit; see `Notifier.prepare`."""
        sent = [self._encoded(notice) for notice in notices] if any(map(self._crosses, notices)) else []
        posting = NodePosting(self, notices, sent)
        self._open.add(posting)
        return posting

    def _crosses(self, notice: Notice) -> bool:
        """Return whether a notice concerns other nodes, as far as it is known before the commit."""
        match notice:
            case Told(_, key, _):
                return not self._nodes.is_mine(key)
            case Reload(_, keys, _):
                return not all(map(self._nodes.is_mine, keys))
            case _:
                return True

    @staticmethod
    def _encoded(notice: Notice) -> _Sent:
        kind, target, message = encode_notice(notice)
        return _Sent(kind, target, os.urandom(_ID_BYTES) + message)

    # this node's notices

    def settle(self, posting: "NodePosting") -> None:
        """Note that a unit is settled and its notices, if it is stored, have reached this node's actors."""
        self._open.discard(posting)
        if posting.settled is not None:
            posting.settled.set(None)

    async def all_settled(self) -> None:
        """Wait for the units that are open now: a shard that leaves must not miss what they change under its actors."""
        waiting: list[AsyncFuture[None]] = []
        for posting in self._open:  # all before the first wait, in which others may be settled
            posting.settled = posting.settled or AsyncFuture()
            waiting.append(posting.settled)
        for settled in waiting:
            await settled

    def deliver(self, posting: "NodePosting") -> AsyncFuture[None] | None:
        """Deliver the notices of a stored unit here, and push them to all other live nodes."""
        for one in posting.sent:
            self._remember(_id_of(one))
        here = self._deliver(posting.notices)
        others = [name for name, node in self._nodes.nodes.items() if node.live and name != self._nodes.node]
        if not posting.sent or not others:
            return here
        self._places[_id_of(posting.sent[-1])] = 0
        return once_all_done([self._all_pushed(posting, others, here)])

    async def _all_pushed(self, posting: "NodePosting", others: Sequence[str], here: AsyncFuture[None] | None) -> None:
        body = msgspec.msgpack.encode(posting.sent)
        last = _id_of(posting.sent[-1])
        try:
            await asyncio.gather(*[self._push(name, body, last) for name in others])
            if here is not None:
                await here
        finally:
            del self._places[last]

    async def _push(self, name: str, body: bytes, last: bytes) -> None:
        """Push notices to a node until it has acted on them, or is dead."""
        while (node := self._nodes.nodes.get(name)) is not None and node.live:
            place = self._places[last]
            if 0 < place <= node.seen:
                return
            try:
                await self._post.call(name, NOTICE, body, timeout_s=PUSH_TIMEOUT_S)
            except (Lost, NotReached):
                await asyncio.sleep(PAUSE_S)
            else:
                return

    def hint(self, node: str, notice: Told) -> None:
        """Push a notice that may be lost."""
        body = msgspec.msgpack.encode([self._encoded(notice)])
        once_all_done([self._push_once(node, body)])

    async def _push_once(self, node: str, body: bytes) -> None:
        try:
            await self._post.call(node, NOTICE, body, timeout_s=PUSH_TIMEOUT_S)
        except (Lost, NotReached):
            log.debug("a hint did not reach %s", node)

    # all nodes' notices

    async def _serve(self, body: bytes) -> AsyncIterator[bytes]:
        """Act on notices that another node pushes; the answer is the acknowledgement."""
        under_way = self._act_on(msgspec.msgpack.decode(body, type=list[_Sent]))
        if under_way is not None:
            await under_way
        yield b""

    def read(self, found: Sequence[NoticeRow]) -> AsyncFuture[None] | None:
        """Act on the rows that a heartbeat has found, this node's own included: a unit in doubt may be stored.

        Return the future that resolves once all of it is done, or None if it is.
        """
        received = [_Sent(row.kind, row.target, row.message) for row in found]
        for row, sent in zip(found, received, strict=True):
            if _id_of(sent) in self._places:
                self._places[_id_of(sent)] = row.place
        return self._act_on(received)

    def _act_on(self, received: Sequence[_Sent]) -> AsyncFuture[None] | None:
        """Act on the notices that are new here; the future covers those that came before and are still acted on."""
        fresh = {_id_of(one): one for one in received if _id_of(one) not in self._known}
        notices: list[Notice] = []
        for id, one in fresh.items():
            self._remember(id)
            try:
                notices.append(decode_notice(one.kind, one.target, one.message[_ID_BYTES:]))
            except Exception:
                log.exception("a notice of kind %s can't be read", one.kind)
        begun = self._deliver(notices) if notices else None
        if begun is not None:
            self._acting.update(dict.fromkeys(fresh, begun))
            begun.then(lambda _: self._acted(fresh))
        under_way = {self._acting[id] for id in map(_id_of, received) if id in self._acting}
        return once_all_done(under_way) if under_way else None

    def _acted(self, ids: Iterable[bytes]) -> None:
        for id in ids:
            self._acting.pop(id, None)

    def _remember(self, id: bytes) -> None:
        self._known[id] = None
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


class NodePosting:
    """The `Posting` of one unit of this node."""

    __slots__ = ("_hub", "notices", "sent", "settled")

    def __init__(self, hub: NodeNotices, notices: Sequence[Notice], sent: Sequence[_Sent]) -> None:
        self._hub = hub
        self.notices = notices
        self.sent = sent
        self.settled: AsyncFuture[None] | None = None

    @property
    def writes(self) -> Sequence[Write]:
        """The rows of the unit; see `Posting.writes`."""
        return (rows.insert(self.sent),) if self.sent else ()

    def deliver(self) -> AsyncFuture[None] | None:
        """Deliver the notices; see `Posting.deliver`."""
        try:
            return self._hub.deliver(self)
        finally:
            self._hub.settle(self)

    def drop(self) -> None:
        """Give the notices up; see `Posting.drop`."""
        self._hub.settle(self)


def _id_of(sent: _Sent) -> bytes:
    return sent.message[:_ID_BYTES]
