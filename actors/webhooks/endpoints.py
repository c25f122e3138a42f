"""The webhooks actor: one user's endpoints, and what the user asks of their deliveries (product 8 and 9).

It owns the endpoints' rows. Only the dispatcher writes them beside it, when it disables one; then it has this actor
start over.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from actors.errors import NotFound, StateConflict
from actors.ids import Clock, iso, new_id, new_number
from actors.runtime.actor import Ask, AsyncFuture, handles
from actors.runtime.durable import DurableActor
from actors.runtime.local_directory import Directory
from actors.sealing import Sealer
from actors.users.actor import no_such_user
from actors.webhooks import dispatcher, event_types, signing
from actors.webhooks.dispatcher import CHUNK, EndpointChanged, RecoveryBegun
from actors.webhooks.event_types import endpoint_data
from actors.webhooks.outbox import Outbox
from actors.webhooks.signing import Secret, seal_purpose
from persistence import deliveries, endpoints
from persistence.deliveries import AttemptRow, DeliveryRow
from persistence.endpoints import EndpointRow
from persistence.store import FOREIGN_KEY, ROWS, Store, Write

MAX_ENDPOINTS = 50
"""Endpoints of one user: each event goes to all of them."""

Record = dict[str, Any]
Rotation = Literal[True, "now"] | None
"""Makes a new secret: `True` lets the old one sign for a day more, `"now"` ends it at once."""


@dataclass(frozen=True, slots=True)
class ListEndpoints(Ask[list[Record]]):
    """Answer the records of the user's endpoints, oldest first."""


@dataclass(frozen=True, slots=True)
class FindEndpoint(Ask[int]):
    """Answer the number of an endpoint of this user's."""

    endpoint_id: str


@dataclass(frozen=True, slots=True)
class CreateEndpoint(Ask[Record]):
    """Make an endpoint; the answer is its record with the secret."""

    url: str
    events: tuple[str, ...]
    active: bool
    description: str | None


@dataclass(frozen=True, slots=True)
class ChangeEndpoint(Ask[Record]):
    """Change the members given; the answer has the secret where that was rotated."""

    endpoint_id: str
    url: str | None = None
    events: tuple[str, ...] | None = None
    active: bool | None = None
    description: str | None = None
    rotate_secret: Rotation = None


@dataclass(frozen=True, slots=True)
class DeleteEndpoint(Ask[None]):
    """Delete an endpoint for good."""

    endpoint_id: str


@dataclass(frozen=True, slots=True)
class RetryDelivery(Ask[Record]):
    """Make a new delivery of the event of one that the user has; the answer is its record."""

    delivery: DeliveryRow


@dataclass(frozen=True, slots=True)
class Recover(Ask[int]):
    """Queue again what failed at an endpoint since a time, `count` deliveries up to a place; answer `count`."""

    endpoint_id: str
    since: int
    upto: int
    count: int


@dataclass(frozen=True, slots=True)
class TestSent:
    """A test event was stored; `deliveries` is how many endpoints it goes to."""

    event_id: str
    deliveries: int


@dataclass(frozen=True, slots=True)
class SendTest(Ask[TestSent]):
    """Emit an event with data that the user gives."""

    event_type: str
    data: dict[str, Any] = field(repr=False)


class WebhooksActor(DurableActor):
    """Owns the endpoints of one user; its key is the user's id."""

    kind = "webhooks"
    __slots__ = ("_clock", "_directory", "_endpoints", "_outbox", "_sealer")

    def __init__(
        self, key: str, store: Store, clock: Clock, directory: Directory, outbox: Outbox, sealer: Sealer
    ) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._directory = directory
        self._outbox = outbox
        self._sealer = sealer
        self._endpoints: dict[str, EndpointRow] = {}

    async def on_begin(self) -> None:
        """Load the endpoints."""
        self._endpoints = {row.id: row for row in await self.store.fetch(endpoints.of_user(self.key))}

    def _find(self, endpoint_id: str) -> EndpointRow:
        endpoint = self._endpoints.get(endpoint_id)
        if endpoint is None:
            raise no_such_endpoint()
        return endpoint

    @handles(ListEndpoints)
    def _list(self, _: ListEndpoints) -> list[Record]:
        return [endpoint_record(endpoint) for endpoint in self._endpoints.values()]

    @handles(FindEndpoint)
    def _number_of(self, message: FindEndpoint) -> int:
        return self._find(message.endpoint_id).number

    @handles(CreateEndpoint)
    def _create(self, message: CreateEndpoint) -> AsyncFuture[Record]:
        now, secret, id = self._clock(), signing.new_secret(), new_id("whe")
        endpoint = EndpointRow(
            number=new_number(),
            id=id,
            user_id=self.key,
            url=message.url,
            events=message.events,
            active=message.active,
            deleted=False,
            description=message.description,
            secrets=self._sealed(id, (Secret(secret),)),
            disabled_reason=None,
            failing_since=None,
            created_at=now,
            updated_at=now,
        )

        def applied() -> None:
            self._endpoints[id] = endpoint
            self._outbox.stored()

        # The event's rows come first, so it goes to the other endpoints only. The store counts: endpoints whose units
        # are under way are not in memory yet.
        return self.commit(
            *self._tell_of("created", endpoint, now),
            endpoints.insert(endpoint, MAX_ENDPOINTS),
            reply=lambda: endpoint_record(endpoint) | {"secret": secret},
            applied=applied,
            refusals={FOREIGN_KEY: no_such_user, ROWS: too_many_endpoints},
        )

    @handles(ChangeEndpoint)
    def _change(self, message: ChangeEndpoint) -> AsyncFuture[Record] | Record:
        before = self._find(message.endpoint_id)
        secret = signing.new_secret() if message.rotate_secret else None
        active = before.active if message.active is None else message.active
        after = replace(
            before,
            url=message.url or before.url,
            events=before.events if message.events is None else message.events,
            active=active,
            description=message.description or before.description,
            disabled_reason=None if active else before.disabled_reason,
        )
        if after == before and secret is None:
            return endpoint_record(before)
        now = self._clock()
        if secret is not None:
            held: tuple[Secret, ...] = ()
            if message.rotate_secret != "now":
                held = signing.unpack(self._sealer.open(before.secrets, seal_purpose(before.id)))
            after = replace(after, secrets=self._sealed(before.id, signing.rotated(held, secret, now)))
        after = replace(after, updated_at=now)
        self._endpoints[after.id] = after
        writes = [endpoints.update(after, active_too=message.active is not None)]
        if before.active != after.active:
            # Disabled: what waits is cancelled, the dispatcher sees to more than this. Enabled: what that left over.
            writes.append(deliveries.cancel(after.number, CHUNK if before.active else 2**62))
        return self.commit(
            *writes,
            *self._tell_of("updated", after, now),
            reply=lambda: endpoint_record(after) | ({} if secret is None else {"secret": secret}),
            applied=self._changed(after.number),
        )

    @handles(DeleteEndpoint)
    def _delete(self, message: DeleteEndpoint) -> AsyncFuture[None]:
        endpoint = self._find(message.endpoint_id)
        del self._endpoints[endpoint.id]
        now = self._clock()
        return self.commit(
            endpoints.delete(endpoint.number, now),
            deliveries.cancel(endpoint.number, CHUNK),
            *self._tell_of("deleted", replace(endpoint, active=False), now),
            applied=self._changed(endpoint.number),
        )

    @handles(RetryDelivery)
    def _retry(self, message: RetryDelivery) -> AsyncFuture[Record]:
        old = message.delivery
        self._active(old.endpoint_id)
        now = self._clock()
        new = old._replace(id=new_id("dlv"), state="pending", due=now, created_at=now)
        return self.commit(
            deliveries.repeat(old.id, new.id, now),
            reply=lambda: delivery_record(new, []),
            applied=self._outbox.stored,
            refusals={ROWS: not_active},
        )

    @handles(Recover)
    def _recover(self, message: Recover) -> AsyncFuture[int] | int:
        endpoint = self._active(message.endpoint_id)
        if not message.count:
            return 0
        return self.commit(
            deliveries.begin_recovery(endpoint.number, message.since, message.upto),
            reply=lambda: message.count,
            applied=lambda: self._directory.tell(dispatcher.KIND, dispatcher.KEY, RecoveryBegun()),
            refusals={FOREIGN_KEY: no_such_endpoint},
        )

    @handles(SendTest)
    def _send_test(self, message: SendTest) -> AsyncFuture[TestSent]:
        event_id = str(uuid.uuid4())
        taken = [
            endpoint
            for endpoint in self._endpoints.values()
            if endpoint.active and event_types.takes(endpoint.events, message.event_type)
        ]
        return self.commit(
            *self._outbox.emit(self.key, message.event_type, message.data, event_id=event_id),
            reply=lambda: TestSent(event_id, len(taken)),
            applied=self._outbox.stored,
        )

    def _active(self, endpoint_id: str) -> EndpointRow:
        """Find an endpoint that deliveries can be made to; one that is deleted is like one that is not active."""
        endpoint = self._endpoints.get(endpoint_id)
        if endpoint is None or not endpoint.active:
            raise not_active()
        return endpoint

    def _sealed(self, endpoint_id: str, secrets: tuple[Secret, ...]) -> bytes:
        return self._sealer.seal(signing.pack(secrets), seal_purpose(endpoint_id))

    def _tell_of(self, what: str, endpoint: EndpointRow, at: int) -> tuple[Write, ...]:
        data = endpoint_data(endpoint.id, endpoint.url, endpoint.events, active=endpoint.active)
        return self._outbox.emit(self.key, f"webhook.endpoint.{what}", data, at=at)

    def _changed(self, number: int) -> Callable[[], None]:
        def applied() -> None:
            self._directory.tell(dispatcher.KIND, dispatcher.KEY, EndpointChanged(number))
            self._outbox.stored()

        return applied

    def concerns(self, user_id: str) -> bool:
        """Tell whether these are the user's endpoints."""
        return user_id == self.key

    def snapshot(self) -> dict[str, Any]:
        """Show the endpoints; never a secret, nor a URL, which may hold one."""
        shown = [endpoint_record(endpoint) for endpoint in self._endpoints.values()]
        return {"endpoints": [record | {"url": None} for record in shown]}


def endpoint_record(endpoint: EndpointRow) -> Record:
    """Show an endpoint to its user, without its secret."""
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "events": list(endpoint.events),
        "active": endpoint.active,
        "description": endpoint.description,
        "created_at": iso(endpoint.created_at),
        "updated_at": iso(endpoint.updated_at),
        "disabled_reason": endpoint.disabled_reason,
    }


def delivery_record(delivery: DeliveryRow, attempts: list[AttemptRow]) -> Record:
    """Show a delivery to its user, with the log of its attempts."""
    return {
        "id": delivery.id,
        "endpoint_id": delivery.endpoint_id,
        "event_id": delivery.event_id,
        "event_type": delivery.event_type,
        "state": delivery.state,
        "next_attempt_at": None if delivery.due is None else iso(delivery.due),
        "created_at": iso(delivery.created_at),
        "attempts": [
            {
                "at": iso(attempt.at),
                "status": attempt.status,
                "latency_ms": attempt.latency_ms,
                "error": attempt.error,
                "response": attempt.response,
            }
            for attempt in attempts
        ],
    }


def no_such_endpoint() -> NotFound:
    """Make the error for an endpoint that is not there, or is another user's."""
    return NotFound("You have no such webhook endpoint; list yours with GET /api/webhooks/endpoints.")


def no_such_delivery() -> NotFound:
    """Make the error for a delivery that is not there, or is another user's."""
    return NotFound("You have no such delivery; list yours with GET /api/webhooks/deliveries.")


def too_many_endpoints() -> StateConflict:
    """Make the error for a user with as many endpoints as it may have."""
    return StateConflict(
        f"You have {MAX_ENDPOINTS} webhook endpoints, the most that a user may have; delete one first with"
        " DELETE /api/webhooks/endpoints/{id}?hard=true."
    )


def not_active() -> StateConflict:
    """Make the error for a delivery to an endpoint that is disabled or deleted."""
    return StateConflict("The endpoint is disabled or deleted; enable it with PATCH first (active: true).")
