"""The messages that the dispatcher and a user's webhooks actor take, and their replies."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from actors.errors import Gone, NotFound, Overloaded, StateConflict
from actors.runtime.cluster.shards import shard_of
from actors.runtime.mailbox import Ask, Tell
from actors.wire import Record
from persistence.delivery_log import DeliveryRow
from persistence.store import ROWS

WEBHOOKS = "webhooks"
"""The kind of users' webhooks actors."""

DISPATCHER, DISPATCHER_KEY = "dispatcher", "webhooks"
"""The kind of dispatchers, and the address of a single gateway's only one."""


def one_dispatcher(_: str) -> str:
    """Return the key of the dispatcher of a user's endpoints, on a gateway that is alone."""
    return DISPATCHER_KEY


def dispatcher_of_shard(user_id: str) -> str:
    """Return the key of the dispatcher of a user's endpoints, on several nodes: the two hex digits of its shard."""
    return f"{shard_of(user_id):02x}"


def events_hint(user_id: str) -> str:
    """Return the key of the hints that events of a user were stored (`actors/runtime/changes.py`)."""
    return f"{user_id}-events"


MAX_ENDPOINTS = 50
"""The largest number of endpoints of one user; each event goes to all of them."""


Rotation = Literal[True, "now"] | None
"""The rotation of a secret: `True` lets the old one sign for another day, `"now"` ends it at once."""

CHUNK = 1_000
"""The number of rows that one unit cancels or queues again; few, so that other units wait little."""


class Wake(Ask[None], frozen=True):
    """Read due deliveries; starts the dispatcher if it is not running.

    The only dispatcher looks for them itself. That of a shard gets the endpoints with the times of their first ones.
    """

    due: tuple[tuple[int, int], ...] = ()


class Woken(Tell, frozen=True):
    """Deliveries to a user's endpoints were stored."""

    user_id: str


class EndpointChanged(Tell, frozen=True):
    """An endpoint's row was changed, or its deliveries were."""

    number: int


class RecoveryBegun(Tell, frozen=True):
    """A recovery was stored."""


class EndpointsGone(Tell, frozen=True):
    """A user was destroyed, with its endpoints and deliveries, or suspended, or let in again: look at them anew."""

    user_id: str


class ListEndpoints(Ask[list[Record]], frozen=True):
    """Return the records of the user's endpoints, oldest first."""


class FindEndpoint(Ask[int], frozen=True):
    """Return the number of one of this user's endpoints."""

    endpoint_id: str


class CreateEndpoint(Ask[Record], frozen=True):
    """Create an endpoint; return its record with the secret."""

    url: str
    events: tuple[str, ...]
    active: bool
    description: str | None


class ChangeEndpoint(Ask[Record], frozen=True):
    """Change the given members; return the record, with the secret if it was rotated."""

    endpoint_id: str
    url: str | None = None
    events: tuple[str, ...] | None = None
    active: bool | None = None
    description: str | None = None
    rotate_secret: Rotation = None


class DeleteEndpoint(Ask[None], frozen=True):
    """Delete an endpoint for good."""

    endpoint_id: str


class RetryDelivery(Ask[Record], frozen=True):
    """Make a new delivery of the event of one of the user's deliveries; return its record."""

    delivery: DeliveryRow


class FindRecoveries(Ask[str], frozen=True):
    """Return a name that changes with each recovery of the user, once the last one is stored."""


class Recover(Ask[int], frozen=True):
    """Queue an endpoint's failed deliveries since a time again, `count` up to a position; return `count`.

    `counted_at`: what `FindRecoveries` returned before they were counted. If another recovery has begun since,
    `RecoveredMeanwhile` is raised.
    """

    endpoint_id: str
    since: int
    upto: int
    count: int
    counted_at: str | None = None


@dataclass(frozen=True, slots=True)
class TestSent:
    """A test event was stored; `deliveries` is the number of its endpoints."""

    event_id: str
    deliveries: int


class SendTest(Ask[TestSent], frozen=True):
    """Emit an event with the user's data."""

    event_type: str
    data: dict[str, Any]

    def __repr__(self) -> str:
        """Show the message without the user's data."""
        return f"SendTest({self.event_type!r})"


class RecoveredMeanwhile(Overloaded):
    """Another request has begun a recovery at the same time."""


def recovered_meanwhile() -> RecoveredMeanwhile:
    """Make the error for deliveries that were counted before another recovery began."""
    return RecoveredMeanwhile("Another request recovers deliveries at the same time; try again.")


def no_such_endpoint() -> NotFound:
    """Make the error for an endpoint that does not exist or is another user's."""
    return NotFound("You have no such webhook endpoint; list yours with GET /api/webhooks/endpoints.")


ENDPOINT_GONE = {ROWS: lambda: Gone(no_such_endpoint().note)}
"""The refusal of a change of an endpoint that is gone. Its other changes have the same fate, so none needs a fence."""


def no_such_delivery() -> NotFound:
    """Make the error for a delivery that does not exist or is another user's."""
    return NotFound("You have no such delivery; list yours with GET /api/webhooks/deliveries.")


def too_many_endpoints() -> StateConflict:
    """Make the error for a user with the largest number of endpoints."""
    return StateConflict(
        f"You have {MAX_ENDPOINTS} webhook endpoints, the limit for each user; delete one first with"
        " DELETE /api/webhooks/endpoints/{id}?hard=true."
    )


def not_active() -> StateConflict:
    """Make the error for a delivery to an endpoint that is disabled or deleted."""
    return StateConflict("The endpoint is disabled or deleted; enable it with PATCH first (active: true).")


Failure = Literal[
    "address_refused",
    "dns_failure",
    "connection_refused",
    "connection_reset",
    "connection_failed",
    "tls_error",
    "timeout",
    "invalid_response",
    "redirect",
    "http_status",
]
"""Why an attempt failed: a stable code in the log. `http_status`: the receiver's answer was not 2xx."""


class Outcome(NamedTuple):
    """The result of an attempt; `error` is None exactly if the receiver answered 2xx."""

    status: int | None
    latency_ms: int
    error: Failure | None
    response: str | None
    retry_after: str | None = None
