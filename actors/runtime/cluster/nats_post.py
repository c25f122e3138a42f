"""A post over NATS: one connection per node, and an inbox of its own.

    parley.n.<node>.<subject>   requests for a node
    parley.r.<node>.<number>    the frames that answer a node's request
    parley.t.<topic>            messages to all who follow a topic
    parley.back                 a node that was disconnected: what waits for it may have missed its frames

nats-py's own `request` would need a task and one message per answer; what else of nats-py is replaced is in
`nats_client.py`. NATS delivers a message once at most, and in order from one connection to another, but loses what is
under way when a connection ends. So a request fails with Lost if either side's connection has ended meanwhile, and no
message of a sequence is missed unnoticed (`parts.py`).
"""

import asyncio
import itertools
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from actors.runtime.cluster.nats_answer import FRAME, LAST_FRAME, LOST, NOT_REACHED, ONLY_FRAME, WHOLE, Answer
from actors.runtime.cluster.nats_client import DirectClient, Message
from actors.runtime.cluster.parts import HEADER, PART_BYTES, Gap, Joining, Joinings, split
from actors.runtime.cluster.post import Handler, Lost, NotReached, NotServed
from actors.runtime.cluster.replies import SILENT, Replies, ReplyFrames, carry_out

log = logging.getLogger("parley.cluster")

CONNECT_S = 5.0
RECONNECT_WAIT_S = 0.2
PING_S = 2
"""Seconds between pings; a connection whose last two have no answer is given up."""
SETTLE_S = 2.0
"""Seconds to wait until the server has what was sent to it."""

NODE = re.compile(r"[A-Za-z0-9_-]+")

PROBE = "probe"
"""A subject that no node serves, so that each answers at once."""
PROBE_S = 60.0


class NatsPost:
    """A `Post` over NATS.

    Args:
        url: of the server, `nats://` or `tls://`; it may hold user and password.
        connect_s: seconds that `start` waits for a connection.
    """

    def __init__(self, url: str, connect_s: float = CONNECT_S) -> None:
        self.on_reconnect: list[Callable[[], None]] = []
        self._url = url
        self._connect_s = connect_s
        self._nats = DirectClient()
        self._node = ""
        self._inbox = b""
        self._closing = False
        self._trouble: Exception | None = None
        self._handlers: dict[bytes, Handler] = {}
        self._followers: dict[str, list[Callable[[bytes], None]]] = {}
        self._topics: dict[str, Subscription] = {}
        self._replies = Replies(self._probe)
        self._requests = Joinings()
        self._published = itertools.count()
        self._serving: set[asyncio.Task[None]] = set()
        self._asked: Subscription | None = None

    @property
    def connected(self) -> bool:
        """Whether there is a connection to the server now; see `Post.connected`."""
        return self._nats.is_connected

    # life

    async def start(self, node: str) -> None:
        """Connect; see `Post.start`."""
        if not NODE.fullmatch(node):
            raise ValueError(f"{node!r} is no id of a node: it has letters, digits, - and _")
        self._node = node
        self._inbox = f"parley.r.{node}.".encode()
        try:
            await asyncio.wait_for(self._connect(), self._connect_s)
        except (TimeoutError, OSError, NatsError) as error:
            await self._nats.close()
            reason = self._trouble or error
            raise ConnectionError(
                f"no connection to NATS at {self._address}: {str(reason) or type(reason).__name__}"
            ) from error
        if self._nats.max_payload < PART_BYTES + HEADER.size:
            allowed = self._nats.max_payload
            await self.close()
            raise ConnectionError(f"NATS at {self._address} has max_payload {allowed}; at least 1 MB is needed")

    async def _connect(self) -> None:
        await self._nats.connect(
            self._url,
            name=self._node,
            error_cb=self._failed,
            disconnected_cb=self._disconnected,
            reconnected_cb=self._reconnected,
            closed_cb=self._closed,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_WAIT_S,
            ping_interval=PING_S,
            pending_size=0,  # nats-py never waits for room, and keeps nothing for a later connection
        )
        await self._nats.hear(f"parley.r.{self._node}.*", self._answered)
        self._asked = await self._nats.hear(f"parley.n.{self._node}.*", self._requested)
        await self._nats.hear("parley.back", self._back)
        for topic in self._followers:
            await self._subscribe(topic)
        await self.settled()

    @property
    def _address(self) -> str:
        """The server's host and port, for people; the URL may hold a password."""
        return urlsplit(self._url).netloc.rpartition("@")[2]

    async def settled(self) -> None:
        """Wait until the server knows all topics that are followed; see `Post.settled`."""
        # A request to oneself follows what was subscribed before; nats-py's own `flush` overtakes it.
        with suppress(NotReached, Lost):
            await self.call(self._node, "settled", b"", timeout_s=SETTLE_S)

    async def close(self) -> None:
        """Disconnect; see `Post.close`."""
        self._closing = True
        self._replies.lose("this node is stopping")
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        if self._asked is not None and self._nats.is_connected:
            # Requests are refused here until the server knows, and there from then on, so none is lost.
            await self._asked.unsubscribe()
        await self.settled()
        if self._node:  # nats-py closes only what it has begun to connect
            await self._nats.close()

    async def _failed(self, error: Exception) -> None:
        if not (isinstance(self._trouble, NatsError) and isinstance(error, OSError)):
            self._trouble = error  # what the server has said tells more than that it hung up
        log.debug("NATS: %r", error)  # nats-py tries again for ever

    async def _disconnected(self) -> None:
        if not self._closing:
            log.warning("the connection to NATS at %s ended; connecting again", self._address)
        self._requests.clear()
        self._replies.lose("the connection to NATS ended")

    async def _reconnected(self) -> None:
        log.info("connected to NATS at %s again", self._address)
        self._trouble = None
        self._send(b"parley.back", self._node.encode())
        for callback in self.on_reconnect:
            callback()

    async def _closed(self) -> None:
        if not self._closing:
            log.error("NATS at %s takes this node no more: %r", self._address, self._trouble)

    def _back(self, message: Message) -> None:
        self.lose(message.data.decode())

    # sending requests

    def request(self, node: str, subject: str, body: bytes, *, timeout_s: float) -> AsyncIterator[bytes]:
        """Send a request; see `Post.request`."""
        return self._ask(node, subject, body, timeout_s)

    async def call(self, node: str, subject: str, body: bytes, *, timeout_s: float) -> bytes:
        """Send a request whose answer is one frame; see `Post.call`."""
        return await self._ask(node, subject, body, timeout_s).only()

    def _ask(self, node: str, subject: str, body: bytes, timeout_s: float) -> ReplyFrames:
        reply = self._replies.begin(node, timeout_s)
        if not self.connected:
            self._replies.end(reply, NotReached("there is no connection to NATS"))
            return reply
        if subject != PROBE and self._replies.is_silent(node):
            self._replies.end(reply, NotReached(SILENT))
            return reply
        to, inbox = f"parley.n.{node}.{subject}".encode(), self._inbox + b"%d" % reply.number
        for message in split(WHOLE, body):
            self._send(to, message, inbox)
        return reply

    def _probe(self, node: str) -> None:
        self._ask(node, PROBE, b"", PROBE_S)

    def _answered(self, message: Message) -> None:
        subject, _, data = message
        reply = self._replies.get(int(subject[len(self._inbox) :]))
        if reply is None:
            return
        if not data:
            self._replies.end(reply, NotReached("the other node is not connected"))
            self.lose(reply.node)  # it has lost the frames of its answers, too
            return
        self._replies.heard(reply.node)
        if reply.joining is None and data.startswith(ONLY_FRAME):
            reply.put(data[HEADER.size :])
            self._replies.end(reply)
            return
        if reply.joining is None:
            reply.joining = Joining()
        try:
            taken = reply.joining.take(data)
        except Gap:
            self._replies.end(reply, Lost("a part of the answer was lost"))
            return
        match taken:
            case None:
                pass
            case (kind, body) if kind in {FRAME, LAST_FRAME}:
                reply.put(body)
                if kind == LAST_FRAME:
                    self._replies.end(reply)
            case (kind, body):
                errors = {NOT_REACHED: NotServed, LOST: Lost}
                self._replies.end(reply, errors[kind](body.decode()) if kind in errors else None)

    def lose(self, node: str) -> None:
        """Fail all that waits for a node; see `Post.lose`."""
        self._replies.lose("the other node is dead or was disconnected", node)

    # carrying out requests

    def serve(self, subject: str, handler: Handler) -> None:
        """Carry out requests for a subject; see `Post.serve`."""
        self._handlers[subject.encode()] = handler

    def _requested(self, message: Message) -> None:
        subject, inbox, data = message
        answer = Answer(partial(self._send, inbox))
        handler = self._handlers.get(subject[subject.rindex(b".") + 1 :])
        if handler is None or self._closing:
            answer.end(NotReached("the other node does not serve this"))
            return
        try:
            body = self._requests.take(inbox, data)
        except Gap:
            answer.end(NotReached("a part of the request was lost"))
            return
        if body is not None:
            task = asyncio.get_running_loop().create_task(carry_out(handler, body, answer.send, answer.end))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)

    # topics

    def publish(self, topic: str, body: bytes) -> None:
        """Send a message to all who follow a topic; see `Post.publish`."""
        key = f"{self._node}.{next(self._published)}".encode()  # what the parts of one message have in common
        for message in split(WHOLE, body):
            self._send(f"parley.t.{topic}".encode(), message, key)

    def follow(self, topic: str, handler: Callable[[bytes], None]) -> Callable[[], None]:
        """Call `handler` with each message of a topic; see `Post.follow`."""
        handlers = self._followers.setdefault(topic, [])
        handlers.append(handler)
        if len(handlers) == 1 and self._node:
            _run(self._subscribe(topic))

        def unfollow() -> None:
            if handler in handlers:
                handlers.remove(handler)
                if not handlers:
                    del self._followers[topic]
                    _run(self._unsubscribe(topic))

        return unfollow

    async def _subscribe(self, topic: str) -> None:
        joinings = Joinings()

        def hear(message: Message) -> None:
            try:
                body = joinings.take(message.reply, message.data)
            except Gap:
                return
            if body is not None:
                for handler in list(self._followers.get(topic, ())):
                    handler(body)

        if topic not in self._topics and not self._nats.is_closed:
            self._topics[topic] = await self._nats.hear(f"parley.t.{topic}", hear)

    async def _unsubscribe(self, topic: str) -> None:
        subscription = self._topics.pop(topic, None)
        if subscription is not None and not self._nats.is_closed:
            await self._nats.stop_hearing(subscription)

    def _send(self, subject: bytes, message: bytes, reply: bytes = b"") -> None:
        if self.connected:  # what waits for a connection would arrive after it was given up
            self._nats.send(subject, message, reply)


def _run(coroutine: Coroutine[Any, Any, None], _: object = None) -> None:
    """Run a coroutine of nats-py in this step; it has to wait only while a queue of a thousand flushes is full."""
    try:
        awaited: Any = coroutine.send(None)
    except StopIteration:
        return
    except NatsError as error:
        log.warning("NATS refused a message: %r", error)
        return
    if awaited is None:
        asyncio.get_running_loop().call_soon(_run, coroutine)
    else:
        awaited._asyncio_future_blocking = False
        awaited.add_done_callback(partial(_run, coroutine))
