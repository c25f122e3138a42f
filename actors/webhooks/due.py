"""What the dispatcher reads of the store: new deliveries, those that are due, a recovery's next ones."""

from dataclasses import dataclass, field

from actors.runtime.mailbox import OwnTell
from actors.webhooks.lanes import LOADED
from persistence import deliveries, endpoints
from persistence.deliveries import DueRow, Recovery
from persistence.endpoints import EndpointRow
from persistence.store import Store


@dataclass(frozen=True, slots=True)
class DueQuery:
    """What one read is to find.

    Args:
        lanes: the endpoints whose deliveries are to be loaded, each with its lane's version.
        unknown: those of them whose rows are needed, too.
        new_after: the position after which deliveries are new; None where nobody asks for new ones.
        recover: how many deliveries of a recovery to list; 0 where nobody asks.
    """

    lanes: tuple[tuple[int, int], ...]
    unknown: list[int]
    new_after: int | None
    recover: int


@dataclass(frozen=True, slots=True)
class DueDeliveries(OwnTell):
    """What a read of the store found; `error` where it failed.

    `made` has an endpoint, when its first new delivery is due, and the greatest new position, for each endpoint.
    """

    made: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    lanes: tuple[tuple[int, int], ...] = ()
    rows: dict[int, list[DueRow]] = field(default_factory=dict[int, list[DueRow]])
    receivers: dict[int, EndpointRow] = field(default_factory=dict[int, EndpointRow])
    recovery: Recovery | None = None
    to_recover: list[int] = field(default_factory=list[int])
    error: Exception | None = None


async def find(store: Store, asked: DueQuery) -> DueDeliveries:
    """Read what is asked for; whatever goes wrong is told as an error."""
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
