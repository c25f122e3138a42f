"""The stream of a user's own events, signed like their deliveries (docs/contract.md, "The stream of events").

A stream reads the stored events in their order, after a hint that there are new ones, and holds one block of them at a
time. So it goes on after its last event from the store alone, through any node, and a slow reader costs no memory.
"""

import asyncio
import base64
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from actors.calls.call import Call
from actors.commands.webhooks import checked_filter
from actors.errors import InvalidField
from actors.sessions.open_streams import PeriodicUse, use_every_s
from actors.webhooks.event_types import types_taken
from actors.webhooks.messages import events_hint
from actors.webhooks.signing import PREFIX, Keys, Secret, Signer, body_of
from persistence import deliveries, events
from persistence.events import StreamedRow
from persistence.store import StoreUnavailable

LOOK_S = 5.0
"""Seconds after which a stream looks for events without a hint, because one may get lost."""

SETTLE_S = 0.05
"""The pause before a read that found unsettled events is repeated, in seconds."""

AGAIN_S = 1.0
"""The pause before a read that failed is tried again, in seconds."""

PAGE = 64
"""The number of events that one read returns."""

BLOCK_BYTES = 262_144
"""The size from which a block of bodies takes no further one, in bytes."""

_EVENT_ID = re.compile(r"(\d{1,18})\.(\d{1,15})\Z", re.ASCII)

log = logging.getLogger("parley.webhooks")


class Position(NamedTuple):
    """The place of an event in the store, and its time.

    The time finds the next event after this one was removed, because the store may give its place to another then.
    """

    place: int = 0
    created_at: int = 0

    def __str__(self) -> str:
        """Return it as the id of an event in a stream."""
        return f"{self.place}.{self.created_at}"


class SignedEvent(NamedTuple):
    """An event as a delivery would have it: headers and body; `position` goes on after it."""

    position: Position
    headers: dict[str, str]
    body: bytes


def position_of(event_id: str) -> Position:
    """Return the position that the id of an event in a stream names.

    Raises:
        InvalidField: it is no such id.
    """
    found = _EVENT_ID.match(event_id)
    if found is None:
        raise InvalidField("Invalid value of Last-Event-ID: send the id of an event of this stream.")
    return Position(int(found[1]), int(found[2]))


class EventStream:
    """One open stream of the caller's events: `begin` it, then call `next` until it returns None. To be closed.

    Args:
        call: the caller's request.
        wanted: the filter, as an endpoint's.

    Raises:
        InvalidField: the filter has an entry that is neither a type nor a group's pattern.
        StateConflict: the caller's credential has too many streams.
        Overloaded: the gateway is stopping.
    """

    def __init__(self, call: Call, wanted: Sequence[str]) -> None:
        core, user = call.core, call.user
        self._call = call
        self._types = types_taken(checked_filter(wanted))
        self._core = core
        self.user_id, self.credential_id = user.user_id, user.credential_id
        key = core.sealer.digest(user.credential_id, "events of a stream")
        self.secret = PREFIX + base64.b64encode(key).decode()
        """Signs the events, in all streams of the caller's credential."""
        self.reason: str | None = None
        """Why the stream has ended."""
        self._keys = (Keys.of(Secret(self.secret)),)
        self._signer = Signer(core.options.webhooks.header_brand)
        self._place = 0
        self._woken = asyncio.Event()
        self._now = asyncio.get_running_loop().time
        self._uses = PeriodicUse(self, user, core.directory, use_every_s(core.session_ttl_ms))
        core.open_streams.add(self, limited=True)
        self._leave = core.changes.watch(events_hint(user.user_id), self._woken.set)

    async def begin(self, after: Position | None) -> Position:
        """Begin after a position, or with the next event; return the position.

        Raises:
            InvalidCredential: the caller's credential has ended meanwhile.
            ServiceError, StoreUnavailable: it can't begin now.
        """
        await self._core.changes.in_force()
        await self._call.require_credential()
        fetch = self._core.store.fetch
        newest = [Position(*row) for row in await fetch(events.newest(self.user_id))]
        position = (newest or [Position()])[0] if after is None else after
        self._place = position.place
        if (
            after is not None
            and after.place
            and await fetch(events.created_at(self.user_id, after.place)) != [after.created_at]
        ):
            since = await fetch(events.first_since(self.user_id, after.created_at))
            self._place = since[0] - 1 if since else newest[0].place if newest else 0
        return position

    async def next(self, timeout_s: float) -> list[SignedEvent] | None:
        """Wait for the next events; none if none came in time, None after the end."""
        until = self._now() + timeout_s
        while self.reason is None:
            self._woken.clear()
            if self._uses.due:
                await self._uses.use()
            try:
                found = await self._read()
            except StoreUnavailable:
                log.debug("a stream of events can't be read now", exc_info=True)
                found = []
                await asyncio.sleep(AGAIN_S)
            now = self._now()
            if self.reason is None and (found or now >= until):
                return found
            await self._wait(min(until, now + LOOK_S, self._uses.due_at) - now)
        return None

    async def _wait(self, timeout_s: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), max(timeout_s, 0))

    async def _read(self) -> list[SignedEvent]:
        """Read and sign the next block of events."""
        rows = await self._core.store.fetch(events.after(self.user_id, self._place, PAGE))
        block: list[SignedEvent] = []
        size, place = 0, self._place
        for row in rows:
            if not row.settled:
                asyncio.get_running_loop().call_later(SETTLE_S, self._woken.set)
            if not row.settled or size >= BLOCK_BYTES:
                break
            if self._types is None or row.type in self._types:
                data = row.data if row.data is not None else await self._long_data(row)
                if data is not None:
                    block.append(self._signed(row, data))
                    size += len(block[-1].body)
            place = row.place
        self._place = place  # only now, because a read of long data that fails would lose the block
        if len(rows) == PAGE or size >= BLOCK_BYTES:
            self._woken.set()  # there may be more
        return block

    async def _long_data(self, row: StreamedRow) -> str | None:
        return next(iter(await self._core.store.fetch(deliveries.event_data(row.place))), None)

    def _signed(self, row: StreamedRow, data: str) -> SignedEvent:
        body = body_of(row.id, row.type, row.created_at, data)
        headers = self._signer.headers(self._keys, self._core.clock(), row.id, row.type, row.id, body)
        return SignedEvent(Position(row.place, row.created_at), headers, body)

    def end(self, reason: str) -> None:
        """End the stream; the first reason counts."""
        self.reason = self.reason or reason
        self._woken.set()

    def close(self) -> None:
        """Leave the hints and the open streams."""
        self.end("closed")
        self._core.open_streams.discard(self)
        self._leave()
