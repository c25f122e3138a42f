"""Routes for event types, endpoints and deliveries (docs/contract.md, "Webhooks")."""

from actors.commands import webhooks
from actors.commands.webhooks import Changes, ListDeliveries
from actors.webhooks.event_types import EVENT_TYPES
from actors.webhooks.messages import TestSent
from actors.wire import Record
from routes.gateway import own_events
from routes.gateway.route import Route, RouteCall, RouteReply
from routes.gateway.webhook_schemas import (
    DeliveriesAsked,
    EndpointChanges,
    HowToDelete,
    NewEndpoint,
    RecoverySince,
    TestEvent,
)
from routes.openapi.schemas import array, nullable, number, record, ref, text


async def list_event_types(_: RouteCall) -> RouteReply:
    """Return the catalog of event types."""
    return RouteReply(
        {
            "events": [
                {"type": kind.type, "group": kind.group, "description": kind.description, "schema": kind.schema}
                for kind in EVENT_TYPES.values()
            ]
        }
    )


async def create_endpoint(request: RouteCall) -> RouteReply:
    """Create an endpoint."""

    def answer(record: Record) -> RouteReply:
        return RouteReply(record, 201, shows=(record["id"],))

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
    """Disable an endpoint, or delete it permanently."""
    id = request.params["id"]
    if not request.query.hard:
        return await webhooks.disable_endpoint(request.call, id, RouteReply)

    def gone(_: None) -> RouteReply:
        return RouteReply(status=204)

    return await webhooks.delete_endpoint(request.call, id, gone)


async def recover_endpoint(request: RouteCall) -> RouteReply:
    """Queue failed deliveries again."""

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
    """Emit a test event with the given data."""

    def answer(sent: TestSent) -> RouteReply:
        return RouteReply({"event_id": sent.event_id, "deliveries": sent.deliveries}, 202)

    return await webhooks.send_test(request.call, request.body.event_type, request.body.data or {}, answer)


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
        errors=(404, 409),
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
    own_events.ROUTE,
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
