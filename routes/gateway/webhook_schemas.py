"""Bodies, queries and records of the webhook routes."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema

from actors.calls.request import BlankIsMissing, Body
from actors.webhooks.messages import Failure
from routes.gateway.route import Query
from routes.openapi.schemas import TIME, array, flag, ident, nullable, number, record, text

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
    raise ValueError('it must be true or "now"')  # the default note of a union would name both branches


Rotation = Annotated[
    Literal[True, "now"] | None,
    BeforeValidator(_true_or_now),
    BlankIsMissing,
    WithJsonSchema({"anyOf": [{"type": "boolean", "nullable": True}, {"type": "string", "enum": ["now"]}]}),
]
State = Literal["pending", "retrying", "succeeded", "exhausted", "cancelled"]


class NewEndpoint(Body):
    """Body of a new endpoint."""

    url: Annotated[_Address, StringConstraints(min_length=1), BlankIsMissing] = Field(
        description="Where events go: https, without credentials, reachable from the Internet."
    )
    events: Events = Field(
        None, description="Types, or patterns such as `quota.*`; absent or empty: all. See GET /api/webhooks/events."
    )
    active: bool | None = Field(None, description="Whether events go to it; true when absent.")
    description: Description = Field(None, description="What it is, for people.")


class EndpointChanges(Body):
    """Body of a change of an endpoint; absent members stay unchanged."""

    url: Annotated[_Address | None, BlankIsMissing] = Field(None, description="Where events go from now on.")
    events: Events = Field(None, description="Types and patterns; empty: all.")
    active: bool | None = Field(None, description="False cancels what waits for it.")
    description: Description = Field(None, description="What it is, for people.")
    rotate_secret: Rotation = Field(
        None,
        description='Makes a new secret. true: for 24 hours deliveries are signed with the old one, too. "now": the old'
        " one signs nothing more. Nothing else is taken.",
    )


def _read_truth(text: Any) -> Any:
    return {"true": True, "false": False}.get(text, text)


class HowToDelete(Query):
    """Query parameters of the deletion of an endpoint."""

    hard: Annotated[bool, BeforeValidator(_read_truth), Field(strict=True)] = Field(
        False, description="True deletes it for good; otherwise it is disabled."
    )


class RecoverySince(Body):
    """Body of a recovery."""

    since: RequiredWord = Field(description="A time (ISO 8601; UTC where it names no zone), 14 days ago at most.")


class DeliveriesAsked(Query):
    """Query parameters of the list of deliveries."""

    endpoint_id: Word = Field(None, description="Only those to this endpoint.")
    event_type: Word = Field(None, description="Only those of events of this type.")
    state: Annotated[State | None, BlankIsMissing] = Field(None, description="Only those in this state.")
    limit: int = Field(50, ge=1, le=200, description="Entries on a page.")
    cursor: Word = Field(None, description="`next` of the page before.")


class TestEvent(Body):
    """Body of a test event."""

    event_type: RequiredWord = Field(description="A type of the catalog, such as `webhook.test`.")
    data: dict[str, Any] | None = Field(None, description="The event's data, as it is sent; its body takes 256 KiB.")


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
                        enum=[*get_args(Failure), None],
                    )
                ),
                response=nullable(text("The beginning of the answer's body.")),
            )
        ),
    ),
}
"""Schemas of these routes in the OpenAPI document, by name."""
