"""nats-py's client with shorter ways for messages, of which a request between nodes has two in each direction.

nats-py queues a message that arrives for a task of its subscription, and makes a future and wakes a task for one that
is sent. Here a message goes to its callback as soon as it is parsed; what is sent in one turn of the loop is written at
its end. Connecting, pings and subscriptions stay nats-py's.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from nats.aio.client import Client
from nats.aio.subscription import Subscription

log = logging.getLogger("parley.cluster")


class Message(NamedTuple):
    """A message that has arrived; only the server itself sends one without data: nobody serves the subject."""

    subject: str
    reply: str
    data: bytes


class DirectClient(Client):
    """A client whose subscriptions call plain functions, and which sends within a step of the loop."""

    def __init__(self) -> None:
        super().__init__()
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

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None) -> None:
        callback = self._callbacks.get(sid)
        if callback is None:
            return
        try:
            callback(Message(subject.decode(), reply.decode(), data))
        except Exception:  # else it would end the reading of the connection
            log.exception("a message of another node was not taken in")

    def send(self, subject: str, data: bytes, reply: str = "") -> None:
        """Send a message of up to the server's greatest size at the end of this turn of the loop, if still connected.

        `subject` and `reply` are not looked at, so they must be valid.
        """
        command = b"PUB %b %b %d\r\n%b\r\n" % (subject.encode(), reply.encode(), len(data), data)
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
