"""Webhook routes: event types, endpoints, deliveries (product 8 and 9)."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, WithJsonSchema

from actors.calls.request import BlankIsMissing, Body
from actors.commands import webhooks
from actors.commands.webhooks import Changes, ListDeliveries
from actors.webhooks.event_types import EVENT_TYPES
from actors.webhooks.messages import TestSent
from actors.wire import Record
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.openapi.schemas import TIME, array, flag, ident, nullable, number, record, ref, text

_NO_NUL = r"^[^\x00]*$"
_Address = Annotated[str, StringConstraints(max_length=2_048)]
_Word = Annotated[str, StringConstraints(max_length=100)]
Events = Annotated[list[Annotated[str, StringConstraints(max_length=100)]], Field(max_length=100)] | None
Description = Annotated[Annotated[str, StringConstraints(max_length=8_000, pattern=_NO_NUL)] | None, BlankIsMissing]
Word = Annotated[_Word | None, BlankIsMissing]
RequiredWord = Annotated[_Word, StringConstraints(min_length=1), BlankIsMissing]


def _true_or_now(value: Any) -> Any:
    if value is True or value in ("now", None):
        return value
    raise ValueError('it must be true or "now"')  # a union's own note would name both of its branches


Rotation = Annotated[
    Literal[True, "now"] | None,
    BeforeValidator(_true_or_now),
    BlankIsMissing,
    WithJsonSchema({"anyOf": [{"type": "boolean", "nullable": True}, {"type": "string", "enum": ["now"]}]}),
]
State = Literal["pending", "retrying", "succeeded", "exhausted", "cancelled"]


class NewEndpoint(Body):
    """Body of the creation of an endpoint."""

    url: Annotated[_Address, StringConstraints(min_length=1), BlankIsMissing] = Field(
        description="Where events go: https, without credentials, reachable from the Internet."
    )
    events: Events = Field(
        None, description="Types, or patterns such as `quota.*`; absent or empty: all. See GET /api/webhooks/events."
    )
    active: bool | None = Field(None, description="Whether events go to it; true when absent.")
    description: Description = Field(None, description="What it is, for people.")


class EndpointChanges(Body):
    """Body of a change of an endpoint: what is absent stays as it is."""

    url: Annotated[_Address | None, BlankIsMissing] = Field(None, description="Where events go from now on.")
    events: Events = Field(None, description="Types and patterns; empty: all.")
    active: bool | None = Field(None, description="False cancels what waits for it.")
    description: Description = Field(None, description="What it is, for people.")
    rotate_secret: Rotation = Field(
        None,
        description='Makes a new secret. true: for 24 hours deliveries are signed with the old one, too. "now": the old'
        " one signs nothing more. Nothing else is taken.",
    )


class HowToDelete(BaseModel):
    """Query of the deletion of an endpoint."""

    hard: bool = Field(False, description="True deletes it for good; otherwise it is disabled.")


class RecoverySince(Body):
    """Body of a recovery."""

    since: RequiredWord = Field(description="A time (ISO 8601; UTC where it names no zone), 14 days ago at most.")


class DeliveriesAsked(BaseModel):
    """Query of the list of deliveries."""

    endpoint_id: Word = Field(None, description="Only those to this endpoint.")
    event_type: Word = Field(None, description="Only those of events of this type.")
    state: Annotated[State | None, BlankIsMissing] = Field(None, description="Only those in this state.")
    limit: int = Field(50, ge=1, le=200, description="Entries on a page.")
    cursor: Word = Field(None, description="`next` of the page before.")


class TestEvent(Body):
    """Body of a test."""

    event_type: RequiredWord = Field(description="A type of the catalog, such as `webhook.test`.")
    data: dict[str, Any] | None = Field(None, description="The event's data, as it is sent; its body takes 256 KiB.")


async def list_event_types(_: RouteCall) -> RouteReply:
    """Answer the catalog."""
    return RouteReply(
        {
            "events": [
                {"type": kind.type, "group": kind.group, "description": kind.description, "schema": kind.schema}
                for kind in EVENT_TYPES.values()
            ]
        }
    )


async def create_endpoint(request: RouteCall) -> RouteReply:
    """Make an endpoint."""

    def answer(record: Record) -> RouteReply:
        return RouteReply(record, 201)

    body: NewEndpoint = request.body
    active = body.active is not False
    return await webhooks.create_endpoint(request.call, body.url, body.events, active, body.description, answer)


async def list_endpoints(request: RouteCall) -> RouteReply:
    """List the caller's endpoints."""
    return RouteReply({"endpoints": await webhooks.list_endpoints(request.call)})


async def change_endpoint(request: RouteCall) -> RouteReply:
    """Change an endpoint or rotate its secret."""
    body: EndpointChanges = request.body
    changes = Changes(body.url, body.events, body.active, body.description, body.rotate_secret)
    return await webhooks.change_endpoint(request.call, request.params["id"], changes, RouteReply)


async def delete_endpoint(request: RouteCall) -> RouteReply:
    """Disable an endpoint, or delete it for good."""
    id = request.params["id"]
    if not request.query.hard:
        return await webhooks.disable_endpoint(request.call, id, RouteReply)

    def gone(_: None) -> RouteReply:
        return RouteReply(status=204)

    return await webhooks.delete_endpoint(request.call, id, gone)


async def recover_endpoint(request: RouteCall) -> RouteReply:
    """Queue again what failed."""

    def answer(count: int) -> RouteReply:
        return RouteReply({"deliveries": count}, 202)

    return await webhooks.recover(request.call, request.params["id"], request.body.since, answer)


async def list_deliveries(request: RouteCall) -> RouteReply:
    """List deliveries with their attempts."""
    query: DeliveriesAsked = request.query
    asked = ListDeliveries(query.endpoint_id, query.event_type, query.state, query.limit, query.cursor)
    found, cursor = await webhooks.list_deliveries(request.call, asked)
    return RouteReply({"deliveries": found, "next": cursor})


async def retry_delivery(request: RouteCall) -> RouteReply:
    """Deliver an event again."""

    def answer(record: Record) -> RouteReply:
        return RouteReply(record, 202)

    return await webhooks.retry_delivery(request.call, request.params["id"], answer)


async def send_test(request: RouteCall) -> RouteReply:
    """Emit an event with given data."""

    def answer(sent: TestSent) -> RouteReply:
        return RouteReply({"event_id": sent.event_id, "deliveries": sent.deliveries}, 202)

    return await webhooks.send_test(request.call, request.body.event_type, request.body.data or {}, answer)


_ENDPOINT = {
    "id": ident("whe"),
    "url": text(format="uri"),
    "events": array(text()),
    "active": flag(),
    "description": nullable(text()),
    "created_at": TIME,
    "updated_at": TIME,
    "disabled_reason": nullable(text("Why the gateway disabled it.")),
}
SECRET = text("Verifies deliveries; shown this once.", pattern="^whsec_[A-Za-z0-9+/]{43}=$")

SCHEMAS = {
    "WebhookEndpoint": record("Where a user's events go.", **_ENDPOINT),
    "NewWebhookEndpoint": record("An endpoint as created.", **_ENDPOINT, secret=SECRET),
    "ChangedWebhookEndpoint": {
        **record("An endpoint as changed; with `secret` where that was rotated.", **_ENDPOINT),
        "properties": {**_ENDPOINT, "secret": SECRET},
    },
    "WebhookDelivery": record(
        "An event on its way to an endpoint.",
        id=ident("dlv"),
        endpoint_id=ident("whe"),
        event_id=text(format="uuid"),
        event_type=text(),
        state=text(enum=["pending", "retrying", "succeeded", "exhausted", "cancelled"]),
        next_attempt_at=nullable(TIME),
        created_at=TIME,
        attempts=array(
            record(
                "One attempt.",
                at=TIME,
                status=nullable(number("The receiver's HTTP status.")),
                latency_ms=number(minimum=0),
                error=nullable(
                    text(
                        "Why it failed; null after success.",
                        title="Error",
                        enum=[
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
                            None,
                        ],
                    )
                ),
                response=nullable(text("The beginning of the answer's body.")),
            )
        ),
    ),
}
"""The schemas that these routes add to the document."""

_TAG = "Webhooks"
_ENDPOINTS = "/api/webhooks/endpoints"

ROUTES = (
    Route(
        "GET",
        "/api/webhooks/events",
        "listEventTypes",
        _TAG,
        "List the types of events that there are.",
        list_event_types,
        reply=record(
            "The catalog.",
            events=array(
                record(
                    "A type of event.",
                    type=text(),
                    group=text(),
                    description=text(),
                    schema={"type": "object", "description": "JSON Schema of its `data`."},
                )
            ),
        ),
        entrance="open",
    ),
    Route(
        "POST",
        _ENDPOINTS,
        "createWebhookEndpoint",
        _TAG,
        "Create a webhook endpoint; its secret is shown this once.",
        create_endpoint,
        reply=ref("NewWebhookEndpoint"),
        status=201,
        body=NewEndpoint,
        errors=(409,),
        mutates=True,
        example={"url": "https://example.com/webhooks", "events": ["quota.*", "webhook.test"]},
    ),
    Route(
        "GET",
        _ENDPOINTS,
        "listWebhookEndpoints",
        _TAG,
        "List your webhook endpoints.",
        list_endpoints,
        reply=record("Endpoints, oldest first.", endpoints=array(ref("WebhookEndpoint"))),
    ),
    Route(
        "PATCH",
        _ENDPOINTS + "/{id}",
        "changeWebhookEndpoint",
        _TAG,
        "Change a webhook endpoint, or rotate its secret.",
        change_endpoint,
        reply=ref("ChangedWebhookEndpoint"),
        body=EndpointChanges,
        errors=(404,),
        mutates=True,
        example={"rotate_secret": True},
    ),
    Route(
        "DELETE",
        _ENDPOINTS + "/{id}",
        "deleteWebhookEndpoint",
        _TAG,
        "Disable a webhook endpoint, or delete it for good (204).",
        delete_endpoint,
        reply=ref("WebhookEndpoint"),
        query=HowToDelete,
        may_be_empty=True,
        errors=(404,),
        mutates=True,
    ),
    Route(
        "POST",
        _ENDPOINTS + "/{id}/recover",
        "recoverWebhookEndpoint",
        _TAG,
        "Queue again all deliveries to an endpoint that failed since a time.",
        recover_endpoint,
        reply=record("Accepted.", deliveries=number("How many are queued again.", minimum=0)),
        status=202,
        body=RecoverySince,
        errors=(404, 409),
        mutates=True,
        example={"since": "2026-11-20T10:00:00.000Z"},
    ),
    Route(
        "GET",
        "/api/webhooks/deliveries",
        "listWebhookDeliveries",
        _TAG,
        "List deliveries with their attempts, newest first.",
        list_deliveries,
        reply=record(
            "A page of deliveries.",
            deliveries=array(ref("WebhookDelivery")),
            next=nullable(text("Cursor of the next page.")),
        ),
        query=DeliveriesAsked,
        errors=(404,),
    ),
    Route(
        "POST",
        "/api/webhooks/deliveries/{id}/retry",
        "retryWebhookDelivery",
        _TAG,
        "Deliver the event of a delivery again, as a new delivery.",
        retry_delivery,
        reply=ref("WebhookDelivery"),
        status=202,
        errors=(404, 409),
        mutates=True,
    ),
    Route(
        "POST",
        "/api/webhooks/test",
        "sendTestEvent",
        _TAG,
        "Emit an event of a type, with data that you give.",
        send_test,
        reply=record("Accepted.", event_id=text(format="uuid"), deliveries=number("Endpoints it goes to.")),
        status=202,
        body=TestEvent,
        mutates=True,
        example={"event_type": "webhook.test", "data": {"hello": "world"}},
    ),
)
