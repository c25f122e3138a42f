"""The webhooks actor: one user's endpoints, and commands on their deliveries (docs/contract.md, "Webhooks").

It owns the endpoints' rows. Only the dispatcher also writes them, when it disables one; it then restarts this actor.
"""

import uuid
from dataclasses import replace
from typing import Any

from actors.ids import Clock, new_id, new_number
from actors.names import no_such_user
from actors.runtime.actor import handles
from actors.runtime.durable import DurableActor
from actors.runtime.future import AsyncFuture
from actors.runtime.notices import Notice
from actors.sealing import Sealer
from actors.webhooks import event_types, signing
from actors.webhooks.event_types import endpoint_data
from actors.webhooks.messages import (
    CHUNK,
    ENDPOINT_GONE,
    MAX_ENDPOINTS,
    WEBHOOKS,
    ChangeEndpoint,
    CreateEndpoint,
    DeleteEndpoint,
    EndpointChanged,
    FindEndpoint,
    FindRecoveries,
    ListEndpoints,
    Recover,
    RecoveryBegun,
    RetryDelivery,
    SendTest,
    TestSent,
    no_such_endpoint,
    not_active,
    recovered_meanwhile,
    too_many_endpoints,
)
from actors.webhooks.outbox import Outbox
from actors.webhooks.records import delivery_record, endpoint_record
from actors.webhooks.signing import Secret, seal_purpose
from actors.wire import Record
from persistence import censoring, deliveries, endpoints, events, idempotency_records
from persistence.endpoints import EndpointRow
from persistence.store import FOREIGN_KEY, ROWS, Store, Write


class WebhooksActor(DurableActor):
    """Owns the endpoints of one user; its key is the user's id."""

    kind = WEBHOOKS
    __slots__ = ("_clock", "_endpoints", "_outbox", "_recoveries", "_sealer")

    def __init__(self, key: str, store: Store, clock: Clock, outbox: Outbox, sealer: Sealer) -> None:
        super().__init__(key, store)
        self._clock = clock
        self._outbox = outbox
        self._sealer = sealer
        self._endpoints: dict[str, EndpointRow] = {}
        self._recoveries = str(uuid.uuid4())

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
        now, secret, id = self._clock(), signing.new_secret(), new_id("whe", near=self.key)
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

        # The event's rows come first, so it goes only to the other endpoints. The store counts, because endpoints in
        # units under way are not in memory yet.
        return self.commit_or_refuse(
            *self._event_of("created", endpoint, now),
            endpoints.insert(endpoint, MAX_ENDPOINTS),
            reply=lambda: endpoint_record(endpoint) | {"secret": secret},
            applied=applied,
            constraint_errors={FOREIGN_KEY: no_such_user, ROWS: too_many_endpoints},
            notices=(self._outbox.woken(self.key),),
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
            # Disabled: cancel some waiting deliveries, the dispatcher cancels the rest. Enabled: cancel all left over.
            writes.append(deliveries.cancel(after.number, CHUNK if before.active else 2**62))
        return self.commit(
            *writes,
            *self._event_of("updated", after, now),
            reply=lambda: endpoint_record(after) | ({} if secret is None else {"secret": secret}),
            notices=self._changed(after.number),
            constraint_errors=ENDPOINT_GONE,
        )

    @handles(DeleteEndpoint)
    def _delete(self, message: DeleteEndpoint) -> AsyncFuture[None]:
        endpoint = self._find(message.endpoint_id)
        del self._endpoints[endpoint.id]
        now = self._clock()
        data = endpoint_data(endpoint.id, None, endpoint.events, active=False)
        return self.commit(
            endpoints.delete(endpoint.number, now),
            deliveries.cancel(endpoint.number, CHUNK),
            events.forget_url(self.key, endpoint.id),
            idempotency_records.redact_showing(endpoint.id),
            censoring.DUE,
            *self._outbox.emit(self.key, "webhook.endpoint.deleted", data, at=now),
            notices=self._changed(endpoint.number),
            constraint_errors=ENDPOINT_GONE,
        )

    @handles(RetryDelivery)
    def _retry(self, message: RetryDelivery) -> AsyncFuture[Record]:
        old = message.delivery
        self._active(old.endpoint_id)
        now = self._clock()
        new = old._replace(id=new_id("dlv", near=self.key), state="pending", due=now, created_at=now)
        return self.commit_or_refuse(
            deliveries.repeat(old.id, new.id, now),
            reply=lambda: delivery_record(new, []),
            constraint_errors={ROWS: not_active},
            notices=(self._outbox.woken(self.key),),
        )

    @handles(Recover)
    def _recover(self, message: Recover) -> AsyncFuture[int] | int:
        endpoint = self._active(message.endpoint_id)
        if not message.count:
            return 0
        if message.counted_at not in (None, self._recoveries):
            raise recovered_meanwhile()
        self._recoveries = str(uuid.uuid4())
        return self.commit(  # not `commit_or_refuse`, so that whoever counts next waits for it
            deliveries.begin_recovery(endpoint.number, message.since, message.upto),
            reply=lambda: message.count,
            notices=(self._outbox.told(self.key, RecoveryBegun()),),
        )

    @handles(FindRecoveries)
    def _find_recoveries(self, _: FindRecoveries) -> str:
        return self._recoveries

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
            notices=(self._outbox.woken(self.key),),
        )

    def _active(self, endpoint_id: str) -> EndpointRow:
        """Find an active endpoint; a deleted one counts as not active."""
        endpoint = self._endpoints.get(endpoint_id)
        if endpoint is None or not endpoint.active:
            raise not_active()
        return endpoint

    def _sealed(self, endpoint_id: str, secrets: tuple[Secret, ...]) -> bytes:
        return self._sealer.seal(signing.pack(secrets), seal_purpose(endpoint_id))

    def _event_of(self, what: str, endpoint: EndpointRow, at: int) -> tuple[Write, ...]:
        data = endpoint_data(endpoint.id, endpoint.url, endpoint.events, active=endpoint.active)
        return self._outbox.emit(self.key, f"webhook.endpoint.{what}", data, at=at)

    def _changed(self, number: int) -> tuple[Notice, ...]:
        return self._outbox.told(self.key, EndpointChanged(number)), self._outbox.woken(self.key)

    def concerns(self, user_id: str) -> bool:
        """Return whether the endpoints belong to this user."""
        return user_id == self.key

    def snapshot(self) -> dict[str, Any]:
        """Show the endpoints, without secrets and URLs, which may contain secrets."""
        shown = [endpoint_record(endpoint) for endpoint in self._endpoints.values()]
        return {"endpoints": [record | {"url": None} for record in shown]}
