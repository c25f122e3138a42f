"""A zone in memory, whose last messages are read when something is first said there."""

from __future__ import annotations

import logging
from collections.abc import Callable

from actors.conversations.archive import Archive
from actors.conversations.host import ChatHost
from actors.conversations.loading import read_or_error
from actors.conversations.reading import NOTHING, ZONE, Newest, read_window
from actors.engines.window import Window
from actors.errors import Overloaded, ServiceError
from actors.runtime.future import AsyncFuture
from actors.runtime.mailbox import MAILBOX_LIMIT, OwnTell
from persistence.domains import ZoneRow
from persistence.store import Store

log = logging.getLogger("parley.domain")


class Zone:
    """A zone with its last messages and its archive.

    What is said there waits until it is `loaded`, and while it is `storing` messages that the store may refuse.
    """

    __slots__ = ("archive", "loaded", "row", "storing", "waiting", "window")

    def __init__(self, row: ZoneRow, store: Store) -> None:
        self.row = row
        self.waiting: list[Callable[[ServiceError | None], None]] = []
        self.loaded = self.storing = False
        self.take(store, NOTHING)
        self.loaded = not row.last_seq

    def take(self, store: Store, newest: Newest) -> None:
        """Take the last messages."""
        self.window = Window(newest.messages, keeps_left=True)
        self.archive = Archive(store, ZONE, self.row.id, self.window, newest.collection)
        self.loaded = True

    def wait(self, go_on: Callable[[ServiceError | None], None]) -> None:
        """Call back once the zone is loaded, or with the error if it can't be.

        Raises:
            Overloaded: too many wait already.
        """
        if len(self.waiting) >= MAILBOX_LIMIT:
            raise Overloaded("Too many messages wait in this zone already; try again in a second.")
        self.waiting.append(go_on)

    def go_on(self, error: ServiceError | None) -> None:
        """Call back those that wait, in order, as long as they need not wait again."""
        while self.waiting and not self.storing:
            self.waiting.pop(0)(error)


class ZoneLoaded(OwnTell, frozen=True):
    """The last messages of a zone were read; `error` if they could not be.

    The same is told, without `newest`, once the store has taken messages that it may refuse. `CensoredMeanwhile` means
    that it did not.
    """

    zone: Zone
    newest: Newest | None = None
    error: ServiceError | None = None


async def load(host: ChatHost, zone: Zone, stored: AsyncFuture[None]) -> None:
    """Read the last messages of a zone, once all that was said there is `stored`, and tell the actor."""

    async def read() -> Newest:
        await stored
        return await read_window(host.store, ZONE, zone.row.id, zone.row.last_seq)

    found = await read_or_error("zone", read(), host.actor_urn, log)
    host.tell_self(ZoneLoaded(zone, error=found) if isinstance(found, ServiceError) else ZoneLoaded(zone, newest=found))
