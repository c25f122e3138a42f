"""The dispatcher's reads of the store: new deliveries, due ones, and the next ones of a recovery."""

from dataclasses import dataclass, field

from actors.runtime.mailbox import OwnTell
from actors.webhooks.lanes import LOADED
from persistence import deliveries, endpoints
from persistence.deliveries import DueRow, Recovery
from persistence.endpoints import EndpointRow
from persistence.store import Store


@dataclass(frozen=True, slots=True)
class DueQuery:
    """The question of one read.

    Args:
        lanes: the endpoints whose deliveries are to be loaded, each with its lane's version.
        unknown: the endpoints among them whose rows are needed, too.
        new_after: the position after which deliveries are new; None to read no new ones.
        recover: the number of a recovery's deliveries to list; may be 0.
    """

    lanes: tuple[tuple[int, int], ...]
    unknown: list[int]
    new_after: int | None
    recover: int


@dataclass(frozen=True, slots=True)
class DueDeliveries(OwnTell):
    """The result of one read; `error` if it failed.

    `made` lists, for each endpoint, its number, the due time of its first new delivery, and the greatest new position.
    """

    made: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    lanes: tuple[tuple[int, int], ...] = ()
    rows: dict[int, list[DueRow]] = field(default_factory=dict[int, list[DueRow]])
    receivers: dict[int, EndpointRow] = field(default_factory=dict[int, EndpointRow])
    recovery: Recovery | None = None
    to_recover: list[int] = field(default_factory=list[int])
    error: Exception | None = None


async def find(store: Store, asked: DueQuery) -> DueDeliveries:
    """Read the deliveries of a query; return failures in `error`."""
    fetch = store.fetch
    try:
        made = [] if asked.new_after is None else await fetch(deliveries.made_after(asked.new_after))
        receivers = {row.number: row for row in await fetch(endpoints.numbered(asked.unknown))} if asked.unknown else {}
        rows: dict[int, list[DueRow]] = {}
        if asked.lanes:
            (due,) = await fetch(deliveries.due_first([number for number, _ in asked.lanes], LOADED))
            for row in due:
                rows.setdefault(row.endpoint, []).append(row)
        recovery = next(iter(await fetch(deliveries.NEXT_RECOVERY)), None) if asked.recover else None
        positions = await fetch(deliveries.to_recover(recovery, asked.recover)) if recovery is not None else []
    except Exception as error:
        return DueDeliveries(error=error)
    return DueDeliveries(made, asked.lanes, rows, receivers, recovery, positions)
