"""The dispatcher's reads of the store: endpoints with waiting deliveries, due ones, the next ones of a recovery."""

import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import field

from actors.runtime.mailbox import OwnTell
from actors.webhooks.lanes import LOADED
from persistence import deliveries, endpoints
from persistence.deliveries import DueRow, Recovery, Waiting
from persistence.endpoints import EndpointRow
from persistence.store import Store, StoreUnavailable

log = logging.getLogger("parley.webhooks")


class NextRecovery(NamedTuple):
    """Asks for up to `limit` deliveries of a recovery of the next user after `after_user`."""

    limit: int
    after_user: str


@dataclass(frozen=True, slots=True)
class DueQuery:
    """The question of one read.

    Args:
        lanes: the endpoints whose deliveries are to be loaded, each with its lane's version.
        unknown: the endpoints among them whose rows are needed, too.
        woken: the users whose endpoints are looked at.
        look_after: the number of the endpoint after which the next page of endpoints is looked at; None for none.
        recover: whose recovery's deliveries to list, and how many; None for none.
        shard: the shard whose recoveries are taken, as two hex digits; None takes all.
    """

    lanes: tuple[tuple[int, int], ...]
    unknown: list[int]
    woken: list[str]
    look_after: int | None
    recover: NextRecovery | None
    shard: str | None = None


class DueDeliveries(OwnTell, frozen=True):
    """The result of one read; `error` if it failed.

    `looked_to` is the last endpoint of the page, 0 after the last page, None if there was none to read.
    """

    waiting: Waiting = field(default_factory=list[tuple[int, int]])
    looked_to: int | None = None
    lanes: tuple[tuple[int, int], ...] = ()
    rows: dict[int, list[DueRow]] = field(default_factory=dict[int, list[DueRow]])
    receivers: dict[int, EndpointRow] = field(default_factory=dict[int, EndpointRow])
    recovery: Recovery | None = None
    to_recover: list[int] = field(default_factory=list[int])
    error: Exception | None = None


PAGE = 1_000
"""The number of endpoints that one read looks at, beside those of the users woken."""


async def waiting(store: Store, shard: str | None) -> AsyncGenerator[tuple[int, int]]:
    """Read the endpoints with waiting deliveries, each with the due time of the first, of one shard or of all.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    if shard is not None:
        for found in (await store.fetch(deliveries.waiting_in_shard(shard)))[0]:
            yield found
        return
    last = 0
    while page := (await store.fetch(deliveries.waiting_endpoints(last, PAGE)))[0]:
        for found in page:
            yield found
        last = page[-1][0]


async def find(store: Store, asked: DueQuery) -> DueDeliveries:
    """Read the deliveries of a query; return failures in `error`."""
    fetch = store.fetch
    try:
        waiting, looked_to = await _look(store, asked)
        receivers = {row.number: row for row in await fetch(endpoints.numbered(asked.unknown))} if asked.unknown else {}
        rows: dict[int, list[DueRow]] = {}
        if asked.lanes:
            (due,) = await fetch(deliveries.due_first([number for number, _ in asked.lanes], LOADED))
            for row in due:
                rows.setdefault(row.endpoint, []).append(row)
        recovery, positions = None, list[int]()
        if asked.recover is not None:
            limit, after_user = asked.recover
            for recovery in await fetch(deliveries.next_recovery(asked.shard, after_user)):
                positions = await fetch(deliveries.to_recover(recovery, limit))
    except StoreUnavailable as error:
        return DueDeliveries(error=error)
    except Exception as error:
        log.exception("a read of due deliveries failed")
        return DueDeliveries(error=error)
    return DueDeliveries(waiting, looked_to, asked.lanes, rows, receivers, recovery, positions)


async def _look(store: Store, asked: DueQuery) -> tuple[Waiting, int | None]:
    """Find the endpoints with waiting deliveries: those of the users woken, and the next page of all."""
    waiting: Waiting = []
    if asked.woken:
        (waiting,) = await store.fetch(deliveries.waiting_of(asked.woken))
    if asked.look_after is None:
        return waiting, None
    (page,) = await store.fetch(deliveries.waiting_endpoints(asked.look_after, PAGE))
    return waiting + page, page[-1][0] if len(page) == PAGE else 0
