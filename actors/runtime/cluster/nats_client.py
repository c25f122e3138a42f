"""nats-py's client with shorter ways for messages, of which a request between nodes has two in each direction.

nats-py queues a message that arrives for a task of its subscription, and makes a future and wakes a task for one that
is sent. Here whole messages go to their callbacks as soon as their bytes arrive; what is sent in one turn of the loop
is written at its end. Connecting, pings, subscriptions, and messages that arrive in parts, stay nats-py's.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.aio.subscription import Subscription
from nats.protocol.parser import AWAITING_CONTROL_LINE, Parser

log = logging.getLogger("parley.cluster")


class Message(NamedTuple):
    """A message that has arrived; only the server itself sends one without data: nobody serves the subject."""

    subject: bytes
    reply: bytes
    data: bytes


class DirectClient(Client):
    """A client whose subscriptions call plain functions, and which sends within a step of the loop."""

    def __init__(self) -> None:
        super().__init__()
        self._ps = DirectParser(self)
        self._callbacks: dict[int, Callable[[Message], None]] = {}
        self._is_flush_due = False

    async def hear(self, subject: str, callback: Callable[[Message], None]) -> Subscription:
        """Subscribe to a subject; each message is a call."""
        subscription = await self.subscribe(subject)
        self._callbacks[subscription._id] = callback  # pyright: ignore[reportPrivateUsage]
        return subscription

    async def stop_hearing(self, subscription: Subscription) -> None:
        """End a subscription."""
        self._callbacks.pop(subscription._id, None)  # pyright: ignore[reportPrivateUsage]
        await subscription.unsubscribe()

    async def _connect_to_server(self, s: object) -> None:
        """Connect, and take whole messages from the new connection before its reader wakes a task for them."""
        await super()._connect_to_server(s)
        transport: Any = self._transport
        reader = transport._io_reader  # TLS has another one, whose data all go to nats-py's task
        feed, buffer = reader.feed_data, reader._buffer

        def feed_rest(data: bytes) -> None:
            rest = data if buffer or not self.is_connected else self._ps.take(data)
            if rest:
                feed(rest)

        reader.feed_data = feed_rest

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None) -> None:
        self.deliver(sid, Message(subject, reply, data))

    def deliver(self, sid: int, message: Message) -> None:
        """Call back with a message of a subscription."""
        callback = self._callbacks.get(sid)
        if callback is None:
            return
        try:
            callback(message)
        except Exception:  # else it would end the reading of the connection
            log.exception("a message of another node was not taken in")

    def send(self, subject: bytes, data: bytes, reply: bytes = b"") -> None:
        """Send a message of up to the server's greatest size at the end of this turn of the loop, if still connected.

        `subject` and `reply` are not looked at, so they must be valid.
        """
        command = b"PUB %b %b %d\r\n%b\r\n" % (subject, reply, len(data), data)
        self._pending.append(command)
        self._pending_data_size += len(command)
        if not self._is_flush_due:
            self._is_flush_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flush_due = False
        if self._pending and self.is_connected:
            pending, self._pending = self._pending, []
            self._pending_data_size = 0
            self._transport.writelines(pending)


class DirectParser(Parser):
    """nats-py's parser, which delivers whole messages without a look at anything else that a server may say."""

    nc: DirectClient

    def take(self, data: bytes) -> bytes:
        """Deliver the whole messages with which `data` begins; return the rest."""
        if self.buf or self.state != AWAITING_CONTROL_LINE:
            return data
        begin = 0
        while data.startswith(b"MSG ", begin):
            line = data.find(b"\r\n", begin)
            if line < 0:
                break
            subject, sid, *reply, size = data[begin + 4 : line].split(b" ")
            body = line + 2
            end = body + int(size)
            if len(data) < end + 2:
                break
            self.nc.deliver(int(sid), Message(subject, reply[0] if reply else b"", data[body:end]))
            begin = end + 2
        return data[begin:]

    async def parse(self, data: bytes = b"") -> None:
        """Deliver what has arrived; see `Parser.parse`."""
        rest = self.take(bytes(data))
        if rest:
            await super().parse(rest)
