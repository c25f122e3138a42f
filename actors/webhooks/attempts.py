"""Attempts: each delivery is sent in its own task, which reports the outcome to the dispatcher."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, cast

from actors.ids import Clock
from actors.runtime.mailbox import OwnTell, Tell
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.lanes import Lane, Receiver
from actors.webhooks.messages import Outcome
from actors.webhooks.signing import Signer, body_of
from persistence import deliveries
from persistence.deliveries import DueRow
from persistence.store import Store, StoreUnavailable

if TYPE_CHECKING:
    from actors.webhooks.sender import Sender

IN_FLIGHT = 512
"""The number of attempts under way on a node; beyond it, each endpoint has only one."""


log = logging.getLogger("parley.webhooks")

OpenSender = Callable[[], Awaitable["Sender"]]
"""Opens the sender, with its connections."""


class SharedSender:
    """The sender of a node's dispatchers: opened at the first attempt, closed when the last dispatcher has ended."""

    def __init__(self, open_sender: OpenSender) -> None:
        self._open = open_sender
        self._opening = asyncio.Lock()
        self._users: set[Callable[[], None]] = set()
        self.sender: Sender | None = None
        """None until it is open."""
        self.stopping = False
        """Whether the gateway stops, so that a dispatcher that starts now delivers nothing."""

    def join(self, stop_delivering: Callable[[], None]) -> None:
        """Add a dispatcher, by what lets it begin no more attempts; that is called at once if the gateway stops."""
        self._users.add(stop_delivering)
        if self.stopping:
            stop_delivering()

    def stop(self) -> None:
        """Let no dispatcher of this node begin another attempt: the gateway stops."""
        self.stopping = True
        for stop_delivering in self._users:
            stop_delivering()

    async def leave(self, stop_delivering: Callable[[], None]) -> None:
        """Remove a dispatcher, and close the sender with the last one."""
        self._users.discard(stop_delivering)
        if not self._users and self.sender is not None:
            sender, self.sender = self.sender, None
            await sender.close()

    async def opened(self) -> "Sender":
        """Return the sender, opened if it is not."""
        async with self._opening:
            if self.sender is None:
                self.sender = await self._open()
            return self.sender


class BodyRead(OwnTell, frozen=True):
    """The data of a long event was read; None if it is gone."""

    number: int
    row: DueRow
    data: str | None


class AttemptEnded(OwnTell, frozen=True):
    """An attempt has ended; it has the endpoint's number, the receiver, and the time of its beginning, `at`."""

    number: int
    row: DueRow
    receiver: Receiver
    at: int
    outcome: Outcome


class AttemptsHost(Protocol):
    """The dispatcher as attempts use it."""

    @property
    def store(self) -> Store:
        """The store, for the data of long events."""
        ...

    def tell_self(self, message: Tell) -> None:
        """Queue the result of an attempt."""
        ...

    def fail(self, error: BaseException) -> None:
        """Stop the dispatcher because of a fault."""
        ...


class Attempts:
    """Signs and sends deliveries; the dispatcher selects them, and judges the outcomes."""

    __slots__ = ("_clock", "_counts", "_host", "_sender", "_signer", "_tasks", "in_flight")

    def __init__(
        self,
        host: AttemptsHost,
        clock: Clock,
        signer: Signer,
        sender: SharedSender,
        counts: DeliveryCounts,
    ) -> None:
        self._host = host
        self._clock = clock
        self._signer = signer
        self._sender = sender
        self._counts = counts
        self._tasks: set[asyncio.Task[None]] = set()
        self.in_flight = 0

    @property
    def full(self) -> bool:
        """Whether the largest number of attempts is under way."""
        return self._counts.in_flight >= IN_FLIGHT

    def begin(self, lane: Lane, row: DueRow) -> None:
        """Begin an attempt of a lane, after reading a long event's data."""
        lane.open.add(row.position)
        lane.sending += 1
        self._count(1)
        if row.data is None:
            self.in_background(self._read_body(lane.number, row))
        else:
            self.send(lane, row, row.data)

    async def _read_body(self, number: int, row: DueRow) -> None:
        try:
            found = await self._host.store.fetch(deliveries.event_data(row.event))
        except StoreUnavailable as error:
            self._host.fail(error)
        else:
            self._host.tell_self(BodyRead(number, row, found[0] if found else None))

    def send(self, lane: Lane, row: DueRow, data: str) -> None:
        """Send an event's data to the lane's receiver."""
        receiver = lane.receiver
        assert receiver is not None
        self._tasks.add(asyncio.create_task(self._attempt(lane.number, row, receiver, self._clock(), data)))

    async def _attempt(self, number: int, row: DueRow, receiver: Receiver, at: int, data: str) -> None:
        try:
            sender = self._sender.sender or await self._sender.opened()
        except Exception as error:  # the dispatcher starts anew from the rows, else this delivery would never be sent
            log.exception("the webhook sender can't be opened")
            self._host.fail(error)
            return
        # signed in the task, because the dispatcher may begin many attempts with long bodies in one step
        body = body_of(row.event_id, row.type, row.created_at, data)
        headers = self._signer.headers(receiver.keys, at, row.event_id, row.type, row.id, body)
        outcome = await sender.post(receiver.user_id, receiver.url, headers, body)
        self._host.tell_self(AttemptEnded(number, row, receiver, at, outcome))
        # done here, because a callback would cost one more turn of the loop
        self._tasks.discard(cast(asyncio.Task[None], asyncio.current_task()))

    def given_up(self, lane: Lane, row: DueRow) -> None:
        """End an attempt that was not sent, because its data or its receiver is gone."""
        lane.open.discard(row.position)
        lane.expect(row.due)
        self.ended(lane)

    def ended(self, lane: Lane) -> None:
        """Count an attempt as ended."""
        lane.sending -= 1
        self._count(-1)

    def _count(self, by: int) -> None:
        by = max(by, -self.in_flight)
        self.in_flight += by
        self._counts.in_flight += by

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work in a task that ends with the attempts."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cut_off(self) -> None:
        """Cancel attempts under way; their rows make them due again."""
        for task in self._tasks:
            task.cancel()
        self._count(-self.in_flight)

    async def close(self) -> None:
        """Cancel attempts under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._count(-self.in_flight)
