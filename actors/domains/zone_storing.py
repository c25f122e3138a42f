"""Stores the messages in the zones of one domain; where the store may refuse them, the zone waits for its answer."""

from __future__ import annotations  # nested functions would build theirs at each call

from collections.abc import Iterable
from typing import Any

from actors.conversations.records import message_record
from actors.conversations.stored import CensoredMeanwhile, censored_meanwhile, columns_of
from actors.domains.host import DomainHost
from actors.domains.messages import DOMAIN_GONE, Said
from actors.domains.streams import Feed, event
from actors.domains.zone import Zone, ZoneLoaded
from actors.engines.message import Utterance
from actors.runtime.durable import ConstraintErrors
from actors.runtime.future import AsyncFuture
from persistence import quotes, zones
from persistence.domains import ZoneRow
from persistence.store import Write

Line = tuple[Utterance, str | None]
"""A message to store, and the id of the agent that says it."""

_MAY_BE_REFUSED: ConstraintErrors = {**DOMAIN_GONE, quotes.CENSORED_IN_ZONE: censored_meanwhile}


class ZoneStoring:
    """Adds messages to a zone in memory and, with their other writes, as one unit in the store."""

    __slots__ = ("_host", "_streams")

    def __init__(self, host: DomainHost, streams: Feed) -> None:
        self._host, self._streams = host, streams

    def store(
        self, zone: Zone, *lines: Line, beside: Iterable[Write], said: Said | None = None, may_be_refused: bool = False
    ) -> AsyncFuture[Any]:
        """Store messages; the future resolves to `said`.

        If they `may_be_refused` because they draw on memories, nothing else is said in the zone until that is known.
        """
        host, row = self._host, zone.row
        zone_id, name = row.id, row.name
        if lines:
            zone.row = ZoneRow(zone_id, name, row.created_at, lines[-1][0].seq)
        writes: list[Write] = []
        numbered: list[tuple[int, Utterance]] = []
        for message, agent_id in lines:
            zone.window.append(message)
            number = host.next_number()
            numbered.append((number, message))
            writes.append(zones.append(zone_id, number, *columns_of(message), agent_id))

        def applied() -> None:
            if self._streams.is_read(host.key):
                for number, message in numbered:
                    record = message_record(message, name)
                    self._streams.publish(host.key, event(number, zone_id, "message", record))
            zone.archive.tend()

        constraint_errors = _MAY_BE_REFUSED if may_be_refused else DOMAIN_GONE
        stored = host.commit(*writes, *beside, reply=lambda: said, applied=applied, constraint_errors=constraint_errors)
        if may_be_refused:
            zone.storing = True
            stored.then(lambda done: self._settled(zone, row, done.error))
        return stored

    def _settled(self, zone: Zone, before: ZoneRow, error: BaseException | None) -> None:
        """Let the zone go on; if its messages were refused, with the row from `before` them."""
        refused = error if isinstance(error, CensoredMeanwhile) else None
        found = self._host.zones.get(zone.row.id)
        if refused is not None and found is not None:  # another one if a censoring had it loaded anew
            found.row = before
        self._host.tell_self(ZoneLoaded(zone, error=refused))
