"""Streams whose readers are on other nodes than the domain's actor (docs/architecture.md, "Streams").

The owner of a domain publishes its events, once a tick, to a topic that the nodes with readers follow. Such a message
may be lost or doubled. But a domain's numbers have no gaps, except where the store refused a unit. So a node notices by
the next message, or by the numbers in the store, which it reads every second, that events are missing. Its readers then
read these from the store, as a reader does who comes back; after such a gap they find no more than they have.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from actors.domains.streams import TICK_S, StreamEvent, Streams, Whom
from actors.runtime.cluster.post import Post
from actors.runtime.cluster.wire import decode_events, encode_events
from persistence import zones
from persistence.store import Store, StoreUnavailable

TOPIC = "z."
"""The beginning of a domain's topic; its id follows."""

CHECK_S = 1.0
"""Seconds between two looks at the store for events that did not arrive."""

MESSAGE_BYTES = 262_144
"""The approximate size of one message of many events, in bytes."""

log = logging.getLogger("parley.streams")


class Owners(Protocol):
    """The part of `Ownership` that the feed uses."""

    on_change: list[Callable[[Any], None]]

    @property
    def node(self) -> str:
        """The id of this node."""
        ...

    @property
    def nodes(self) -> Mapping[str, Any]:
        """All live nodes by id."""
        ...

    @property
    def valid(self) -> bool:
        """Whether this node holds its lease now."""
        ...


class _Followed:
    """A domain that has readers here: the end of its topic, and the number of the last event that they got."""

    __slots__ = ("behind_at", "last", "unfollow")

    def __init__(self, unfollow: Callable[[], None]) -> None:
        self.unfollow = unfollow
        self.last = 0
        self.behind_at = 0  # a number that the store had at the last look, and that had not arrived


class ClusterFeed:
    """A `Feed` to the readers of all nodes; run `keep_up` as a task."""

    def __init__(self, streams: Streams, owners: Owners, post: Post, store: Store) -> None:
        self._streams = streams
        self._owners = owners
        self._post = post
        self._store = store
        self._followed: dict[str, _Followed] = {}
        self._pending: dict[str, list[StreamEvent]] = {}
        self._look_now = asyncio.Event()
        streams.on_read, streams.on_unread = self._follow, self._unfollow
        owners.on_change.append(lambda _: self._look_now.set())
        post.on_reconnect.append(self._look_now.set)

    # the Feed interface

    def is_read(self, domain_id: str) -> bool:
        """Return whether an event may have readers: other nodes don't tell whether they have some."""
        return domain_id in self._followed or len(self._owners.nodes) > 1

    def publish(self, domain_id: str, happened: StreamEvent) -> None:
        """Send a stored event of a domain of this node to its readers on all nodes."""
        if len(self._owners.nodes) > 1:
            if not self._pending:
                asyncio.get_running_loop().call_later(TICK_S, self._flush)
            self._pending.setdefault(domain_id, []).append(happened)
        followed = self._followed.get(domain_id)
        if followed is not None:
            self._arrived(domain_id, followed, happened.number, happened.number)
            self._streams.publish(domain_id, happened)

    def end(self, reason: str, whom: Whom, after: int | None = None) -> None:
        """End the streams of readers here; see `Feed.end`."""
        followed = None if whom.domain_id is None else self._followed.get(whom.domain_id)
        if after is not None and followed is not None and followed.last < after:
            for reader in self._streams.readers_of(whom.domain_id or ""):
                if whom.includes(reader) and reader.last < after:
                    reader.fall_behind()  # the event has not arrived, but it is stored
        self._streams.end(reason, whom, after)

    def follows(self, domain_id: str) -> bool:
        """Return whether this node follows a domain for its readers."""
        return domain_id in self._followed

    # to other nodes

    def _flush(self) -> None:
        pending, self._pending = self._pending, {}
        for domain_id, events in pending.items():
            for some in _in_messages(events):
                self._post.publish(TOPIC + domain_id, encode_events(self._owners.node, some))

    # from other nodes

    def _follow(self, domain_id: str) -> None:
        unfollow = self._post.follow(TOPIC + domain_id, lambda body: self._hear(domain_id, body))
        self._followed[domain_id] = _Followed(unfollow)

    def _unfollow(self, domain_id: str) -> None:
        self._followed.pop(domain_id).unfollow()

    def _hear(self, domain_id: str, body: bytes) -> None:
        sender, events = decode_events(body)
        followed = self._followed.get(domain_id)
        if sender == self._owners.node or followed is None or not self._owners.valid:
            return  # without a lease this node would not learn that a reader was put out; it looks at the store later
        fresh = [StreamEvent(*event) for event in events if event[0] > followed.last]
        if fresh:
            self._arrived(domain_id, followed, fresh[0].number, fresh[-1].number)
            self._streams.pass_on(domain_id, fresh)

    def _arrived(self, domain_id: str, followed: _Followed, first: int, last: int) -> None:
        """Note that events have arrived; readers that miss earlier ones read those from the store first."""
        if first > followed.last + 1:
            self._fall_behind(domain_id, first - 1)
        followed.last = max(followed.last, last)

    def _fall_behind(self, domain_id: str, number: int) -> None:
        for reader in self._streams.readers_of(domain_id):
            if reader.last < number:
                reader.fall_behind()

    # what did not arrive

    async def keep_up(self) -> None:
        """Look for events that did not arrive, until cancelled; run it as a task."""
        while True:
            at_once = await self._pause()
            try:
                await self._look(at_once=at_once)
            except StoreUnavailable:
                log.debug("the numbers of streams can't be read now")

    async def _pause(self) -> bool:
        """Wait for the next look; return whether something has happened by which messages may have been lost."""
        try:
            await asyncio.wait_for(self._look_now.wait(), CHECK_S)
        except TimeoutError:
            return False
        self._look_now.clear()
        return True

    async def _look(self, *, at_once: bool) -> None:
        """Compare the followed domains with the store.

        An event that is in the store may be on its way here, so it is missing only if it was there at the last look.
        `at_once` takes it as missing now: that reads some events twice, which no reader sees.
        """
        for some in _parts(list(self._followed)):
            for domain_id, number in await self._store.fetch(zones.last_numbers(some)):
                followed = self._followed.get(domain_id)
                if followed is None:
                    continue
                missing = number if at_once else followed.behind_at
                if missing > followed.last:
                    self._fall_behind(domain_id, missing)
                    followed.last = missing
                followed.behind_at = number


def _parts(domain_ids: Sequence[str], size: int = 500) -> list[Sequence[str]]:
    return [domain_ids[at : at + size] for at in range(0, len(domain_ids), size)]


def _in_messages(events: Collection[StreamEvent]) -> list[list[StreamEvent]]:
    """Divide events into messages of about `MESSAGE_BYTES`."""
    messages: list[list[StreamEvent]] = [[]]
    size = 0
    for event in events:
        if messages[-1] and size + len(event.data) > MESSAGE_BYTES:
            messages.append([])
            size = 0
        messages[-1].append(event)
        size += len(event.data)
    return messages
