"""The commands of the webhook routes: endpoints, deliveries, recovery, tests, mock events."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from actors.calls.call import A, Call
from actors.calls.paging import cursor_of, position_of
from actors.errors import InvalidField, NotFound
from actors.webhooks.event_types import EVENT_TYPES, FILTERS
from actors.webhooks.messages import (
    WEBHOOKS,
    ChangeEndpoint,
    CreateEndpoint,
    DeleteEndpoint,
    FindEndpoint,
    FindRecoveries,
    ListEndpoints,
    Recover,
    RecoveredMeanwhile,
    RetryDelivery,
    Rotation,
    SendTest,
    TestSent,
    no_such_delivery,
    no_such_endpoint,
)
from actors.webhooks.outbox import check_size
from actors.webhooks.records import delivery_record
from actors.wire import Record
from persistence import deliveries, delivery_log, endpoints, users
from persistence.delivery_log import AttemptRow
from persistence.store import Unit

RECOVERABLE_MS = 14 * 86_400 * 1000
"""The age of the oldest deliveries that a recovery takes."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

NEWEST = 2**63 - 1
"""Greater than the position of any delivery."""

_TRIES = 5

CURSOR = "dlv:"
"""The prefix of the cursors of deliveries."""


@dataclass(frozen=True, slots=True)
class ListDeliveries:
    """A filter of deliveries; None takes all."""

    endpoint_id: str | None
    event_type: str | None
    state: str | None
    limit: int
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that PATCH makes to an endpoint; None leaves a member as it is."""

    url: str | None
    events: Sequence[str] | None
    active: bool | None
    description: str | None
    rotate_secret: Rotation


async def list_endpoints(call: Call) -> list[Record]:
    """List the caller's endpoints."""
    return await call.ask(WEBHOOKS, call.user.user_id, ListEndpoints())


async def create_endpoint(
    call: Call,
    url: str,
    events: Sequence[str] | None,
    active: bool,
    description: str | None,
    answer: Callable[[Record], A],
) -> A:
    """Create an endpoint; its record has the secret."""
    await _check_url(call, url)
    message = CreateEndpoint(url, checked_filter(events or ()), active, description)
    return await call.carry_out(WEBHOOKS, call.user.user_id, message, answer)


async def change_endpoint(call: Call, endpoint_id: str, changes: Changes, answer: Callable[[Record], A]) -> A:
    """Change an endpoint, or rotate its secret."""
    user_id = call.user.user_id
    await call.ask(WEBHOOKS, user_id, FindEndpoint(endpoint_id))
    if changes.url is not None:
        await _check_url(call, changes.url)
    events = None if changes.events is None else checked_filter(changes.events)
    message = ChangeEndpoint(
        endpoint_id, changes.url, events, changes.active, changes.description, changes.rotate_secret
    )
    return await call.carry_out(WEBHOOKS, user_id, message, answer)


async def delete_endpoint(call: Call, endpoint_id: str, answer: Callable[[None], A]) -> A:
    """Delete an endpoint for good."""
    gone = await call.carry_out(WEBHOOKS, call.user.user_id, DeleteEndpoint(endpoint_id), answer)
    call.core.erasure.wake()
    return gone


async def disable_endpoint(call: Call, endpoint_id: str, answer: Callable[[Record], A]) -> A:
    """Disable an endpoint; no effect on a disabled one."""
    message = ChangeEndpoint(endpoint_id, active=False)
    return await call.carry_out(WEBHOOKS, call.user.user_id, message, answer)


async def recover(call: Call, endpoint_id: str, since: str, answer: Callable[[int], A]) -> A:
    """Queue all failed deliveries of an endpoint since a time again; return their number."""
    user_id = call.user.user_id
    number = await call.ask(WEBHOOKS, user_id, FindEndpoint(endpoint_id))
    at, now = _moment("since", since), call.core.clock()
    if at < now - RECOVERABLE_MS:
        raise InvalidField("Invalid value of since: give a time within the last 14 days.")
    for attempt in range(_TRIES):
        counted_at = await call.ask(WEBHOOKS, user_id, FindRecoveries())
        ((count, upto),) = await call.core.store.fetch(deliveries.failed_since(number, at))
        try:
            return await call.carry_out(WEBHOOKS, user_id, Recover(endpoint_id, at, upto, count, counted_at), answer)
        except RecoveredMeanwhile:  # count again without what that recovery queues
            if attempt == _TRIES - 1:
                raise
    raise AssertionError("the last try answers or raises")


async def list_deliveries(call: Call, asked: ListDeliveries) -> tuple[list[Record], str | None]:
    """List the caller's deliveries with their attempts, newest first; and the cursor of the next page."""
    fetch, user_id = call.core.store.fetch, call.user.user_id
    number = None
    if asked.endpoint_id is not None:
        found = await fetch(endpoints.number_of(user_id, asked.endpoint_id))
        if not found:
            raise no_such_endpoint()
        (number,) = found
    if asked.event_type is not None and asked.event_type not in EVENT_TYPES:
        raise _unknown_type()
    before = position_of(asked.cursor, NEWEST, CURSOR)
    rows = await fetch(delivery_log.listed_for(user_id, number, asked.event_type, asked.state, before, asked.limit + 1))
    page = rows[: asked.limit]
    attempts: dict[int, list[AttemptRow]] = {row.position: [] for row in page}
    for attempt in await fetch(delivery_log.attempts_of(list(attempts))):
        attempts[attempt.delivery].append(attempt)
    cursor = cursor_of(page[-1].position, CURSOR) if len(rows) > asked.limit else None
    return [delivery_record(row, attempts[row.position]) for row in page], cursor


async def retry_delivery(call: Call, delivery_id: str, answer: Callable[[Record], A]) -> A:
    """Make a new delivery of the same event to the same endpoint."""
    user_id = call.user.user_id
    found = await call.core.store.fetch(delivery_log.of_user(user_id, delivery_id))
    if not found:
        raise no_such_delivery()
    return await call.carry_out(WEBHOOKS, user_id, RetryDelivery(found[0]), answer)


async def send_test(call: Call, event_type: str, data: dict[str, Any], answer: Callable[[TestSent], A]) -> A:
    """Emit an event with the caller's data."""
    if event_type not in EVENT_TYPES:
        raise _unknown_type()
    check_size(event_type, data)
    return await call.carry_out(WEBHOOKS, call.user.user_id, SendTest(event_type, data), answer)


async def emit_deployment(call: Call, user_id: str, deployment_id: str, action: str, data: dict[str, Any]) -> str:
    """Emit a deployment event of a user without a deployment, and return the id of the event.

    Raises:
        InvalidField: the data is too large for an event.
        NotFound: there is no such user.
    """
    core, kind = call.core, f"agent.deployment.{action}"
    told = {"user_id": user_id, "deployment_id": deployment_id, "action": action, "agent": None, "data": data}
    check_size(kind, told)
    if not await core.store.fetch(users.by_id(user_id)):
        raise NotFound("There is no user of this id; `user_id` is the `usr_` id that US_Read answers, not the name.")
    event_id = str(uuid.uuid4())
    await core.store.commit(Unit(core.outbox.emit(user_id, kind, told, event_id=event_id)))
    core.directory.deliver((core.outbox.woken(user_id),))
    return event_id


async def _check_url(call: Call, url: str) -> None:
    refused = await call.core.outbound.refusal(call.user.user_id, url)
    if refused is not None:
        raise InvalidField(f"Invalid value of url: {refused}.")


def checked_filter(events: Sequence[str]) -> tuple[str, ...]:
    """Check a filter and remove duplicates from it.

    Raises:
        InvalidField: an entry is neither a type nor a group's pattern.
    """
    for position, wanted in enumerate(events):
        if wanted not in FILTERS:
            raise InvalidField(f"Invalid value of events.{position}: allowed are {', '.join(FILTERS)}.")
    return tuple(dict.fromkeys(events))


def _moment(path: str, text: str) -> int:
    """Read a time as ms since the epoch; UTC if it names no time zone.

    Raises:
        InvalidField: it is not ISO 8601.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidField(
            f"Invalid value of {path}: give a time in ISO 8601, such as 2026-11-20T10:00:00.000Z."
        ) from None
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)


def _unknown_type() -> InvalidField:
    return InvalidField("Invalid value of event_type: GET /api/webhooks/events lists the types.")
