"""A post within one process: it delays, reorders, doubles and loses by a seed."""

import asyncio
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from functools import partial

from actors.runtime.cluster.post import Handler, Lost, NotReached, NotServed
from actors.runtime.cluster.replies import Replies, ReplyFrames, carry_out

CUT = "the link to the other node is cut"


def _nothing() -> None:
    pass


class Network:
    """Carries what posts send each other, in order from one node to another, with a random delay each.

    Args:
        seed: of all that is random.
        delay_s: the longest delay of one message, in seconds; so messages of several senders overtake each other.
        doubled: the share of published messages that arrive twice, 0 to 1.
        dropped: the share of published messages that do not arrive.
        failed: the share of requests that fail, half of them before they begin, half after they were carried out.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        delay_s: float = 0.001,
        doubled: float = 0.0,
        dropped: float = 0.0,
        failed: float = 0.0,
    ) -> None:
        self.posts: dict[str, LoopbackPost] = {}
        self.delay_s = delay_s
        self.doubled = doubled
        self.dropped = dropped
        self.failed = failed
        self._random = random.Random(seed)
        self._cut: set[frozenset[str]] = set()
        self._under_way: dict[tuple[str, str], deque[tuple[Callable[[], None], Callable[[], None]]]] = {}

    def chance(self, share: float) -> bool:
        """Draw whether something that happens in this share of cases happens now."""
        return share > 0 and self._random.random() < share

    def linked(self, node: str, other: str) -> bool:
        """Whether messages between two nodes arrive."""
        return not self._cut & {frozenset((node,)), frozenset((other,)), frozenset((node, other))}

    def cut(self, node: str, other: str | None = None) -> None:
        """Cut a node off from all, itself included, or from one other; what is under way between them is lost."""
        self._cut.add(frozenset((node,) if other is None else (node, other)))
        for ends, queue in self._under_way.items():
            if not self.linked(*ends):
                lost = list(queue)
                queue.clear()
                for _, undelivered in lost:
                    undelivered()
        for one, post in self.posts.items():
            for another in self.posts:
                if not self.linked(one, another):
                    post.lose(another)

    def heal(self, node: str, other: str | None = None) -> None:
        """Undo a cut."""
        self._cut.discard(frozenset((node,) if other is None else (node, other)))
        post = self.posts.get(node)
        if other is None and post is not None:
            for callback in post.on_reconnect:
                callback()

    def carry(
        self, sender: str, receiver: str, deliver: Callable[[], None], undelivered: Callable[[], None] = _nothing
    ) -> None:
        """Call `deliver` after a delay, in order from sender to receiver; `undelivered` if a cut prevents it."""
        if not self.linked(sender, receiver):
            undelivered()
            return
        queue = self._under_way.setdefault((sender, receiver), deque())
        queue.append((deliver, undelivered))
        asyncio.get_running_loop().call_later(self._random.uniform(0.0, self.delay_s), self._arrive, queue)

    @staticmethod
    def _arrive(queue: deque[tuple[Callable[[], None], Callable[[], None]]]) -> None:
        if queue:  # a cut empties it
            deliver, _ = queue.popleft()
            deliver()


class LoopbackPost:
    """A `Post` of one node on a `Network`."""

    def __init__(self, network: Network) -> None:
        self.on_reconnect: list[Callable[[], None]] = []
        self._network = network
        self._node = ""
        self._handlers: dict[str, Handler] = {}
        self._followers: dict[str, list[Callable[[bytes], None]]] = {}
        self._replies = Replies()
        self._serving: set[asyncio.Task[None]] = set()

    @property
    def connected(self) -> bool:
        """Whether it is started, not closed and not cut off; see `Post.connected`."""
        return self._network.posts.get(self._node) is self and self._network.linked(self._node, self._node)

    def serve(self, subject: str, handler: Handler) -> None:
        """Carry out requests for a subject; see `Post.serve`."""
        self._handlers[subject] = handler

    async def start(self, node: str) -> None:
        """Join the network; see `Post.start`."""
        self._node = node
        self._network.posts[node] = self

    def request(self, node: str, subject: str, body: bytes, *, timeout_s: float) -> AsyncIterator[bytes]:
        """Send a request; see `Post.request`."""
        return self._send(node, subject, body, timeout_s)

    async def call(self, node: str, subject: str, body: bytes, *, timeout_s: float) -> bytes:
        """Send a request whose answer is one frame; see `Post.call`."""
        return await self._send(node, subject, body, timeout_s).only()

    def _send(self, node: str, subject: str, body: bytes, timeout_s: float) -> ReplyFrames:
        reply = self._replies.begin(node, timeout_s)
        not_reached = partial(self._fail, reply, NotReached, CUT)
        if not self.connected or self._network.chance(self._network.failed / 2):
            not_reached()
            return reply

        def arrive() -> None:
            target = self._network.posts.get(node)
            if target is None:
                not_reached()
                return
            unheard = self._network.chance(self._network.failed / 2)
            target.begin(self._node, subject, body, ReplyFrames("", 0, 0.0) if unheard else reply, self._replies)
            if unheard:
                self._fail(reply, Lost, CUT)

        self._network.carry(self._node, node, arrive, not_reached)
        return reply

    def _fail(self, reply: ReplyFrames, error: type[Exception], note: str) -> None:
        self._replies.end(reply, error(note))

    def begin(self, sender: str, subject: str, body: bytes, reply: ReplyFrames, replies: Replies) -> None:
        """Carry out a request that arrived from a sender, in a task; `reply` is one of the sender's `replies`."""
        handler = self._handlers.get(subject)

        def back(deliver: Callable[[], None]) -> None:
            self._network.carry(self._node, sender, deliver, lambda: replies.end(reply, Lost(CUT)))

        if handler is None:
            back(lambda: replies.end(reply, NotServed(f"the node serves no {subject}")))
            return
        task = asyncio.get_running_loop().create_task(
            carry_out(
                handler,
                body,
                lambda frame: back(lambda: reply.put(frame)),
                lambda error: back(lambda: replies.end(reply, error)),
            )
        )
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who follow a topic; see `Post.publish`."""
        if not self.connected:
            return
        for node, post in self._network.posts.items():
            if not self._network.chance(self._network.dropped):
                for _ in range(2 if self._network.chance(self._network.doubled) else 1):
                    self._network.carry(self._node, node, partial(post.hear, topic, body))

    def hear(self, topic: str, body: bytes) -> None:
        """Pass on a message that was published."""
        for handler in list(self._followers.get(topic, ())):
            handler(body)

    def follow(self, topic: str, handler: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `handler` with each message of a topic; see `Post.follow`."""
        handlers = self._followers.setdefault(topic, [])
        handlers.append(handler)

        def unfollow() -> None:
            if handler in handlers:
                handlers.remove(handler)

        return unfollow

    async def settled(self) -> None:
        """Do nothing, as `follow` is in force at once; see `Post.settled`."""

    def lose(self, node: str) -> None:
        """Fail all that waits for a node; see `Post.lose`."""
        self._replies.lose("the other node is dead or cut off", node)

    async def close(self) -> None:
        """Leave the network, which cancels what is being carried out; see `Post.close`."""
        if self._network.posts.get(self._node) is self:
            del self._network.posts[self._node]
        self._replies.lose("this node is stopping")
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
