"""Watches: the changes that clients of MCP (docs/mcp.md, "Subscriptions") and pages of the console are told of.

A watch says only that something may have changed. So changes in quick succession are one, none is lost for good, and
nothing needs to be kept for a client that is away.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from actors.calls.call import Call
from actors.commands import resources
from actors.commands.resources import Watched
from actors.domains.streams import Block, Reader, Streams
from actors.errors import NotFound, NotPermitted, ServiceError, StateConflict
from actors.sessions.open_streams import PeriodicUse, use_every_s
from persistence import zones
from persistence.store import StoreUnavailable

LISTS_S = 5.0
"""Seconds between two looks at the lists; changes by the user's own commands are looked at at once."""

PAUSE_S = 0.1
"""Seconds that a change waits for others, to be told with them."""

AGAIN_S = 1.0
"""The pause before a look that failed is made again, in seconds."""

MAX_SUBSCRIPTIONS = 100
"""The largest number of resources of one watch."""

LISTED = 1_000
"""The number of banks and of zones, and so of resources, at whose names the watch of a list looks."""

log = logging.getLogger("parley.mcp")


class Change(NamedTuple):
    """A change of a resource (`updated`), or of the list of `resources` or `prompts`."""

    kind: str
    uri: str = ""


RESOURCES, PROMPTS = Change("resources"), Change("prompts")


class ZoneWatcher(Reader):
    """A reader of a zone that only notes that there is something to read."""

    def __init__(self, streams: Streams, found: Watched, call: Call, changed: Callable[[], None]) -> None:
        user = call.user
        super().__init__(streams, found.key, found.zone_id or "", user.user_id, user.credential_id)
        self._changed = changed
        self.ended = False

    def offer(self, block: Block) -> None:
        """Note that there are events; those of memberships are not of the zone."""
        fresh = [event for event in block.events if event.number > self.last]
        self.last = max(self.last, block.events[-1].number)
        if any(event.zone_id is not None for event in fresh):
            self._changed()

    def fall_behind(self) -> None:
        """Note that events were missed."""
        self._changed()

    def end(self, reason: str, after: int | None = None) -> None:
        """Note that the reader was put out, or that the zone is gone."""
        self.ended = True
        self._changed()


@dataclass(slots=True)
class _Subscription:
    """A resource of a watch."""

    kind: str
    names: tuple[str, ...]
    found: Watched
    leave: Callable[[], None]
    reader: ZoneWatcher | None = None


class Watch:
    """Watches resources for one caller, wherever the caller is; `next` waits for changes. To be closed.

    Args:
        call: makes a call of the caller.
        lists: the changes of lists that are watched, of `RESOURCES` and `PROMPTS`.
        counts_as_use: whether the watch keeps its session alive.
        connected: whether it is a reader's stream; else one passes its changes on.

    Raises:
        StateConflict: the caller's credential has too many streams.
        Overloaded: the gateway is stopping.
    """

    def __init__(
        self, call: Callable[[], Call], lists: frozenset[Change], *, counts_as_use: bool, connected: bool
    ) -> None:
        self._call = call
        first = call()
        self._core = first.core
        self.user_id, self.credential_id = first.user.user_id, first.user.credential_id
        self._lists = lists
        self._seen: dict[Change, int] = {}
        self._subscribed: dict[str, _Subscription] = {}
        self._hinted: set[str] = set()
        self._redacted: set[str] = set()
        self._told: dict[Change, None] = {}
        self._look_at_lists = bool(lists)
        self._woken = asyncio.Event()
        self._reason: str | None = None
        self._interrupted = False
        self._now = asyncio.get_running_loop().time
        self._looked = self._now()
        every_s = use_every_s(self._core.session_ttl_ms)
        self._uses = PeriodicUse(self, first.user, self._core.directory, every_s, counts=counts_as_use)
        self._core.open_streams.add(self, connected=connected, limited=True)
        self._leave_user = self._core.changes.watch(self.user_id, self._user_changed) if lists else _nothing

    @property
    def reason(self) -> str:
        """Why the watch has ended; empty while it goes on."""
        return self._reason or ""

    @property
    def uris(self) -> list[str]:
        """The resources that are watched."""
        return list(self._subscribed)

    def redacted(self, uri: str) -> bool:
        """Return whether messages of a zone may have been redacted since the last call, for readers of its stream."""
        was_redacted = uri in self._redacted
        self._redacted.discard(uri)
        return was_redacted

    async def start(self) -> None:
        """Look at the lists as they are now; later changes of them are told, and so is the end of the credential.

        Raises:
            InvalidCredential: the caller's credential has ended meanwhile.
        """
        await self._call().require_credential()
        await self._core.changes.in_force()
        await self._changed_lists()

    async def subscribe(self, uri: str, kind: str, names: tuple[str, ...]) -> None:
        """Watch a resource; every change after this is told.

        Raises:
            NotFound, NotPermitted: there is none that the caller may read.
            StateConflict: there are too many.
        """
        if uri in self._subscribed:
            return
        if len(self._subscribed) >= MAX_SUBSCRIPTIONS:
            raise StateConflict(f"{MAX_SUBSCRIPTIONS} resources are watched here, which is the limit; end some first.")
        found = await resources.watched(self._call(), kind, names)
        subscription = _Subscription(kind, names, found, _nothing)
        if self._subscribed.setdefault(uri, subscription) is subscription:
            try:
                await self._attach(uri, subscription)
            except BaseException:
                self.unsubscribe(uri)
                raise
        await self._core.changes.in_force()

    def unsubscribe(self, uri: str) -> None:
        """Watch a resource no more."""
        subscription = self._subscribed.pop(uri, None)
        if subscription is not None:
            subscription.leave()
            self._hinted.discard(uri)
            self._redacted.discard(uri)
            self._told.pop(Change("updated", uri), None)

    async def _attach(self, uri: str, subscription: _Subscription) -> None:
        """Have changes of a resource hinted at from now on."""

        def changed() -> None:
            self._hinted.add(uri)
            self._woken.set()

        found = subscription.found
        if found.zone_id is None:
            subscription.leave = self._core.changes.watch(found.key, changed)
            return

        def redacted() -> None:
            self._redacted.add(uri)
            changed()

        reader = ZoneWatcher(self._core.streams, found, self._call(), changed)
        self._core.streams.add(reader)
        redactions = self._core.changes.watch(found.key, redacted)  # these are no events

        def leave() -> None:
            redactions()
            reader.close()

        subscription.reader, subscription.leave = reader, leave
        (newest,) = await self._core.store.fetch(zones.last_number(found.key))
        reader.last = max(reader.last, newest)

    def _user_changed(self) -> None:
        self._look_at_lists = True
        self._woken.set()

    # what has changed

    async def next(self, timeout_s: float) -> list[Change] | None:
        """Wait for the next changes; none if there were none in time, None once the watch has ended."""
        until = self._now() + timeout_s
        while self._reason is None:
            changes = await self._look()
            if changes or self._interrupted or self._now() >= until:
                self._interrupted = False
                return changes
            self._woken.clear()
            if self._hinted or self._look_at_lists:
                await asyncio.sleep(PAUSE_S)
                continue
            soon = min(until, self._uses.due_at)
            if self._lists:
                soon = min(soon, self._looked + LISTS_S)
            try:
                await asyncio.wait_for(self._woken.wait(), max(soon - self._now(), 0))
            except TimeoutError:
                continue
            await asyncio.sleep(PAUSE_S)
        return None

    async def _look(self) -> list[Change]:
        """Return what has changed since the last look."""
        hinted, self._hinted = self._hinted, set()
        try:
            used = self._uses.due
            if used:
                await self._uses.use()
            for uri in list(self._subscribed) if used else sorted(hinted):
                if uri in self._subscribed and await self._has_changed(uri, hinted=uri in hinted):
                    self._told[Change("updated", uri)] = None
            if self._look_at_lists or (self._lists and self._now() >= self._looked + LISTS_S):
                self._told.update(dict.fromkeys(await self._changed_lists()))
        except (ServiceError, StoreUnavailable):
            self._hinted |= hinted
            self._look_at_lists = bool(self._lists)
            log.debug("a watch can't look now", exc_info=True)
            await asyncio.sleep(AGAIN_S)
        told, self._told = list(self._told), {}
        return told

    async def _has_changed(self, uri: str, *, hinted: bool) -> bool:
        """Return whether a resource has to be read again; one that may not be read any more is told once and left."""
        subscription = self._subscribed[uri]
        try:
            found = await resources.watched(self._call(), subscription.kind, subscription.names)
        except (NotFound, NotPermitted):
            self.unsubscribe(uri)
            return True
        before, reader = subscription.found, subscription.reader
        subscription.found = found
        if found[:2] != before[:2] or (reader is not None and reader.ended):
            subscription.leave()
            await self._attach(uri, subscription)
            if self._subscribed.get(uri) is not subscription:  # it was unsubscribed meanwhile
                subscription.leave()
            return True
        return found.stamp != before.stamp or (hinted and found.stamp is None)

    async def _changed_lists(self) -> list[Change]:
        """Return the lists that have changed since the last call."""
        self._look_at_lists, self._looked = False, self._now()
        changed: list[Change] = []
        for listed in sorted(self._lists):
            seen = await (self._resources() if listed == RESOURCES else self._prompts())
            if self._seen.setdefault(listed, seen) != seen:
                self._seen[listed] = seen
                changed.append(listed)
        return changed

    async def _resources(self) -> int:
        call = self._call()
        banks = await resources.readable_banks(call, "", LISTED)
        listed = await resources.readable_zones(call, ("", ""), LISTED)
        return hash((tuple((bank.name, bank.description) for bank in banks), tuple(listed)))

    async def _prompts(self) -> int:
        skills = await resources.skills_of(self._call())
        return hash(tuple((skill.name, skill.description, skill.installed_at) for skill in skills))

    def interrupt(self) -> None:
        """Have a call of `next` that waits return now."""
        self._interrupted = True
        self._woken.set()

    # the end

    def end(self, reason: str) -> None:
        """End the watch; the first reason counts."""
        self._reason = self._reason or reason
        self._woken.set()

    def close(self) -> None:
        """Leave everything that is watched."""
        self.end("closed")
        self._core.open_streams.discard(self)
        self._leave_user()
        for uri in self.uris:
            self.unsubscribe(uri)


def watch_of(
    call: Call, lists: frozenset[Change] = frozenset(), *, counts_as_use: bool = True, connected: bool = True
) -> Watch:
    """Return a new watch for the caller of a request.

    Raises:
        StateConflict: the caller's credential has too many.
    """
    user, core = call.user, call.core

    def again() -> Call:
        made = Call(core, call.request_id, call.address, call.service)
        made.sent_by(user)
        return made

    return Watch(again, lists, counts_as_use=counts_as_use, connected=connected)


def _nothing() -> None:
    pass
