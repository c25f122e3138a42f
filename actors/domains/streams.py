"""Streams of a zone's events to its readers (docs/contract.md, "Streams").

An event of a domain is published here once it is stored, and passed to readers in ticks: with 1,000 readers a write for
each message and reader would cost more than all the rest. A reader subscribes first, then reads the events that it
missed from the store, and drops duplicates by their number. From then on a tick's events go straight to its connection,
the same bytes to all readers; only events that a slow connection refuses wait for the reader's task.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import orjson

from actors.errors import Overloaded
from actors.sessions.messages import SESSION_PREFIX
from actors.wire import json_event
from persistence.store import StoreUnavailable

AGAIN_S = 1.0
"""The pause before a read of missed events is tried again, in seconds."""

TICK_S = 0.05
"""Seconds that an event may wait for others, to be sent with them."""

MAX_BACKLOG_BYTES = 1_048_576
"""The largest number of bytes that may wait for a slow reader; one more event ends its stream."""


class StreamEvent(NamedTuple):
    """An event as sent: its number in the domain's sequence, its zone (None: the whole domain), and its bytes."""

    number: int
    zone_id: str | None
    data: bytes


def event(number: int, zone_id: str | None, kind: str, record: dict[str, Any]) -> StreamEvent:
    """Write a server-sent event (WHATWG HTML, 9.2) whose id is its number."""
    data = orjson.dumps({"type": kind, kind: record})
    return StreamEvent(number, zone_id, json_event(data, id=str(number)))


class Block(NamedTuple):
    """Events of one tick, and their bytes in one piece, which all readers of a zone share."""

    events: tuple[StreamEvent, ...]
    data: bytes


class Reader:
    """A reader of a zone's events. `last` is the number of the last event that it received."""

    def __init__(self, streams: "Streams", domain_id: str, zone_id: str, user_id: str, credential_id: str) -> None:
        self._streams = streams
        self.domain_id = domain_id
        self.zone_id = zone_id
        self.user_id = user_id
        self.credential_id = credential_id
        self.last = 0
        self._waiting: deque[Block] = deque()
        self._bytes = 0
        self._reason: str | None = None
        self._woken = asyncio.Event()
        self._pass_on: Callable[[bytes], bool] | None = None
        self._has_all = False  # a call of `next` waits, so its previous bytes are sent
        self._until: int | None = None  # the number of its last event, once it is to end
        self._behind = False
        self._catching_up: AsyncIterator[bytes] | None = None
        self.missed: Callable[[], AsyncIterator[bytes]] = _nothing_missed
        """Reads the events after `last` from the store, and moves `last`."""

    def may_have(self, number: int) -> bool:
        """Whether the stream goes on up to this event."""
        return self._until is None or number <= self._until

    def passes_to(self, pass_on: Callable[[bytes], bool]) -> None:
        """Pass events straight to the connection from now on while none waits; events that it refuses wait."""
        self._pass_on = pass_on

    def offer(self, block: Block) -> None:
        """Pass events on, or queue them; the stream ends if too many wait."""
        if self._reason is not None:
            return
        straight = self._pass_on if self._has_all and not self._waiting else None
        if straight is not None and block.events[0].number > self.last and straight(block.data):
            self.last = block.events[-1].number
            return
        self._bytes += len(block.data)
        if self._bytes > MAX_BACKLOG_BYTES:
            self._waiting.clear()
            self.end("too slow", block.events[-1].number)  # one that catches up goes on to here
            return
        self._waiting.append(block)
        self._woken.set()

    def fall_behind(self) -> None:
        """Have the reader read what it has not got from the store, before anything else."""
        self._behind = True
        self._has_all = False
        self._woken.set()

    def end(self, reason: str, after: int | None = None) -> None:
        """End the stream at once, or after the event with the number `after`; the first reason counts."""
        if after is None:
            self._until = self.last
        elif self._until is None:
            self._until = after
        if self._reason is None:
            self._reason = reason
        self._woken.set()

    async def next(self, timeout_s: float) -> bytes | None:
        """Wait for the next bytes to send: b"" if none came in time, None after the end."""
        while True:
            if (self._behind or self._catching_up is not None) and self.may_have(self.last + 1):
                data = await self._catch_up()
                if data is not None:
                    return data
            elif self._waiting:
                data = self._take()
                if data:
                    return data
            elif self._reason is not None:
                if not self._reason:
                    return None
                reason, self._reason = self._reason, ""
                return json_event(orjson.dumps({"reason": reason}), "end")
            else:
                self._woken.clear()
                self._has_all = True
                try:
                    await asyncio.wait_for(self._woken.wait(), timeout_s)
                except TimeoutError:
                    return b""
                finally:
                    self._has_all = False

    async def _catch_up(self) -> bytes | None:
        """Return the next events from the store, None after the last ones, b"" where it can't be read now."""
        if self._catching_up is None:
            self._behind = False
            self._catching_up = self.missed()
        try:
            return await anext(self._catching_up)
        except StopAsyncIteration:
            self._catching_up = None
            return None
        except StoreUnavailable:
            self._catching_up, self._behind = None, True
            await asyncio.sleep(AGAIN_S)
            return b""

    def _take(self) -> bytes:
        fresh: list[bytes] = []
        while self._waiting:
            for happened in self._waiting.popleft().events:
                if happened.number > self.last and self.may_have(happened.number):
                    self.last = happened.number
                    fresh.append(happened.data)
        self._bytes = 0
        return b"".join(fresh)

    def close(self) -> None:
        """Leave the streams."""
        self._streams.forget(self)


async def _nothing_missed() -> AsyncIterator[bytes]:
    return
    yield b""


class Stream(NamedTuple):
    """A stream at its beginning.

    `use` counts the stream as a use of its session. It is called every `use_every_s` seconds, and ends the stream if
    the session has ended.
    """

    reader: Reader
    use: Callable[[], Awaitable[None]]
    use_every_s: float


@dataclass(frozen=True, slots=True)
class Whom:
    """The readers whose streams end; a member that is None matches every reader.

    Plain data, so that it may be sent to the nodes that hold the readers.
    """

    domain_id: str | None = None
    zone_id: str | None = None
    user_id: str | None = None
    credential_ids: tuple[str, ...] | None = None
    but_credential_id: str | None = None
    sessions_only: bool = False

    def includes(self, reader: Reader) -> bool:
        """Return whether a reader matches."""
        credential_id = reader.credential_id
        return (
            self.domain_id in (None, reader.domain_id)
            and self.zone_id in (None, reader.zone_id)
            and self.user_id in (None, reader.user_id)
            and (self.credential_ids is None or credential_id in self.credential_ids)
            and credential_id != self.but_credential_id
            and (not self.sessions_only or credential_id.startswith(SESSION_PREFIX))
        )


EVERYBODY = Whom()


class Feed(Protocol):
    """The streams as actors use them, wherever their readers are."""

    def is_read(self, domain_id: str) -> bool:
        """Return whether an event of the domain has readers, and so is worth writing."""
        ...

    def publish(self, domain_id: str, happened: StreamEvent) -> None:
        """Send a stored event to the readers of its domain."""
        ...

    def end(self, reason: str, whom: Whom, after: int | None = None) -> None:
        """End the streams of this process's readers in `whom` at once, or after the event with the number `after`."""
        ...


class Streams:
    """Every reader of this process, by domain: the local `Feed`."""

    def __init__(self) -> None:
        self.on_read: Callable[[str], None] = lambda _: None
        """Called with a domain when it gets its first reader here."""
        self.on_unread: Callable[[str], None] = lambda _: None
        """Called with a domain when it has lost its last reader here."""
        self._readers: dict[str, set[Reader]] = {}
        self._pending: dict[str, list[StreamEvent]] = {}
        self._closing: str | None = None

    def __len__(self) -> int:
        """Return the number of readers."""
        return sum(map(len, self._readers.values()))

    def subscribe(self, domain_id: str, zone_id: str, user_id: str, credential_id: str) -> Reader:
        """Add a reader of the events that are published from now on.

        Raises:
            Overloaded: the gateway is stopping.
        """
        reader = Reader(self, domain_id, zone_id, user_id, credential_id)
        self.add(reader)
        return reader

    def add(self, reader: Reader) -> None:
        """Add a reader that was made for these streams; see `subscribe`.

        Raises:
            Overloaded: the gateway is stopping.
        """
        if self._closing is not None:
            raise Overloaded("The gateway is stopping; try again in a few seconds.", retry_after=5)
        self._readers.setdefault(reader.domain_id, set()).add(reader)
        if len(self._readers[reader.domain_id]) == 1:
            self.on_read(reader.domain_id)

    def forget(self, reader: Reader) -> None:
        """Remove a reader."""
        readers = self._readers.get(reader.domain_id)
        if readers is not None and reader in readers:
            readers.discard(reader)
            if not readers:
                del self._readers[reader.domain_id]
                self.on_unread(reader.domain_id)

    def is_read(self, domain_id: str) -> bool:
        """Return whether the domain has readers now."""
        return domain_id in self._readers

    def publish(self, domain_id: str, happened: StreamEvent) -> None:
        """Pass a stored event to the readers of its domain, within a tick."""
        if domain_id not in self._readers:
            return
        if not self._pending:
            asyncio.get_running_loop().call_later(TICK_S, self._flush)
        self._pending.setdefault(domain_id, []).append(happened)

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        for domain_id, events in pending.items():
            self._pass_on(domain_id, events)

    def pass_on(self, domain_id: str, events: Sequence[StreamEvent]) -> None:
        """Pass stored events to the readers of their domain at once."""
        if self._pending:
            self._flush()
        self._pass_on(domain_id, events)

    def _pass_on(self, domain_id: str, events: Sequence[StreamEvent]) -> None:
        blocks: dict[str, Block] = {}
        for reader in self._readers.get(domain_id, ()):
            block = blocks.get(reader.zone_id)
            if block is None:
                mine = tuple(one for one in events if one.zone_id in (None, reader.zone_id))
                block = blocks[reader.zone_id] = Block(mine, b"".join([one.data for one in mine]))
            if block.events:
                reader.offer(block)

    def end(self, reason: str, whom: Whom, after: int | None = None) -> None:
        """End the streams of some readers, who get what is published so far if they take it now; see `Feed.end`."""
        followed = self._readers.values() if whom.domain_id is None else [self._readers.get(whom.domain_id, set())]
        chosen = [reader for readers in followed for reader in readers if whom.includes(reader)]
        if chosen and self._pending:
            self._flush()
        for reader in chosen:
            reader.end(reason, after)

    def readers_of(self, domain_id: str) -> set[Reader]:
        """List the readers of a domain's zones."""
        return set(self._readers.get(domain_id, ()))

    def close(self, reason: str) -> None:
        """End all streams and take no more readers."""
        self._closing = reason
        self.end(reason, EVERYBODY)
