"""Attempts: each delivery is sent in its own task, which reports the outcome to the dispatcher."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from actors.ids import Clock
from actors.runtime.mailbox import OwnTell, Tell
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.lanes import Lane, Receiver
from actors.webhooks.messages import Outcome
from actors.webhooks.signing import Signer
from actors.wire import iso
from persistence import deliveries
from persistence.deliveries import DueRow
from persistence.store import Store, StoreUnavailable

if TYPE_CHECKING:
    from actors.webhooks.sender import Sender

IN_FLIGHT = 512
"""The number of attempts under way; beyond it, each endpoint has only one."""


log = logging.getLogger("parley.webhooks")

OpenSender = Callable[[], Awaitable["Sender"]]
"""Opens the sender, with its connections."""


@dataclass(frozen=True, slots=True)
class BodyRead(OwnTell):
    """The data of a long event was read; None if it is gone."""

    number: int
    row: DueRow
    data: str | None


@dataclass(frozen=True, slots=True)
class AttemptEnded(OwnTell):
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

    __slots__ = ("_clock", "_counts", "_host", "_open_sender", "_opening", "_sender", "_signer", "_tasks", "in_flight")

    def __init__(
        self,
        host: AttemptsHost,
        clock: Clock,
        signer: Signer,
        open_sender: OpenSender,
        counts: DeliveryCounts,
    ) -> None:
        self._host = host
        self._clock = clock
        self._signer = signer
        self._open_sender = open_sender
        self._counts = counts
        self._sender: Sender | None = None
        self._opening = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.in_flight = 0

    @property
    def full(self) -> bool:
        """Whether the largest number of attempts is under way."""
        return self.in_flight >= IN_FLIGHT

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
            sender = self._sender or await self._opened()
        except Exception as error:  # the dispatcher starts anew from the rows, else this delivery would never be sent
            log.exception("the webhook sender can't be opened")
            self._host.fail(error)
            return
        # signed in the task, because the dispatcher may begin many attempts with long bodies in one step
        body = (
            f'{{"id":"{row.event_id}","type":"{row.type}","created_at":"{iso(row.created_at)}","data":{data}}}'
        ).encode()
        headers = self._signer.headers(receiver.keys, at, row.event_id, row.type, row.id, body)
        outcome = await sender.post(receiver.user_id, receiver.url, headers, body)
        self._host.tell_self(AttemptEnded(number, row, receiver, at, outcome))
        # done here, because a callback would cost one more turn of the loop
        self._tasks.discard(cast(asyncio.Task[None], asyncio.current_task()))

    async def _opened(self) -> "Sender":
        """Open the sender at the first attempt."""
        async with self._opening:
            if self._sender is None:
                self._sender = await self._open_sender()
            return self._sender

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
        self.in_flight = self._counts.in_flight = max(0, self.in_flight + by)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run work in a task that ends with the attempts."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cut_off(self) -> None:
        """Cancel attempts under way; their rows make them due again."""
        for task in self._tasks:
            task.cancel()
        self.in_flight = 0

    async def close(self) -> None:
        """Cancel attempts under way and close all connections."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._counts.in_flight = 0
        if self._sender is not None:
            await self._sender.close()
