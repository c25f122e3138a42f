"""EVENT_TYPES: the catalog of webhook events (docs/contract.md, "Event data"), and filters over it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventType:
    """One type of event.

    Args:
        type: its name on the wire.
        group: the name of its group, for people.
        pattern: the filter for its whole group; empty for a type without a group.
        description: the cause of the event.
        schema: JSON Schema of its `data`.
    """

    type: str
    group: str
    pattern: str
    description: str
    schema: Schema


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_MAYBE_LIMIT: Schema = {"type": ["integer", "null"], "minimum": 1}
_PLAN: Schema = {"type": "string", "enum": ["free", "builder", "scale", "enterprise"]}
_SCOPE: Schema = {"type": "string", "enum": ["daily"]}
_DAY: Schema = {"type": "string", "format": "date", "description": "The UTC day."}


def _deployment(action: str) -> Schema:
    return _object(
        user_id=_TEXT,
        deployment_id={**_TEXT, "description": "The agent's id, or the mock's."},
        action={**_TEXT, "enum": [action]},
        agent={**_MAYBE_TEXT, "description": "The agent's name; null for a mock."},
        data={"type": "object"},
    )


_ENDPOINT = _object(
    endpoint_id=_TEXT,
    url={**_MAYBE_TEXT, "format": "uri", "description": "Null once the endpoint is deleted for good."},
    events={"type": "array", "items": _TEXT},
    active={"type": "boolean"},
    reason={**_MAYBE_TEXT, "description": "Why the gateway disabled it; else null."},
)

_ALL = (
    EventType(
        "billing.plan.changed",
        "billing",
        "billing.*",
        "The user's plan was changed.",
        _object(user_id=_TEXT, **{"from": _PLAN}, to=_PLAN, limit=_MAYBE_LIMIT),
    ),
    EventType(
        "quota.threshold.reached",
        "quota",
        "quota.*",
        "The user has used 80 or 100 percent of the day's requests; once a day for each.",
        _object(
            scope=_SCOPE,
            threshold={"type": "integer", "enum": [80, 100]},
            limit=_COUNT,
            count=_COUNT,
            plan=_PLAN,
            window=_DAY,
        ),
    ),
    EventType(
        "quota.request.rejected",
        "quota",
        "quota.*",
        "Requests were refused because the quota of the day is used up; at once, then up to once a minute.",
        _object(
            scope=_SCOPE,
            limit=_COUNT,
            count=_COUNT,
            plan=_PLAN,
            window=_DAY,
            rejected={**_COUNT, "description": "The number of requests refused since the last such event."},
        ),
    ),
    EventType(
        "agent.deployment.created",
        "deployments",
        "agent.deployment.*",
        "One of the user's agents was created.",
        _deployment("created"),
    ),
    EventType(
        "agent.deployment.updated",
        "deployments",
        "agent.deployment.*",
        "One of the user's agents was changed.",
        _deployment("updated"),
    ),
    EventType(
        "agent.deployment.deleted",
        "deployments",
        "agent.deployment.*",
        "One of the user's agents was destroyed.",
        _deployment("deleted"),
    ),
    EventType(
        "webhook.endpoint.created",
        "webhook management",
        "webhook.endpoint.*",
        "A webhook endpoint was created; goes to the user's other endpoints.",
        _ENDPOINT,
    ),
    EventType(
        "webhook.endpoint.updated",
        "webhook management",
        "webhook.endpoint.*",
        "A webhook endpoint was changed by the user, or by the gateway, which gives a reason.",
        _ENDPOINT,
    ),
    EventType(
        "webhook.endpoint.deleted",
        "webhook management",
        "webhook.endpoint.*",
        "A webhook endpoint was deleted for good; goes to the user's other endpoints.",
        _ENDPOINT,
    ),
    EventType("webhook.test", "test", "", "A test event that the user sent; `data` is the user's.", {"type": "object"}),
)

EVENT_TYPES: dict[str, EventType] = {kind.type: kind for kind in _ALL}

FILTERS: tuple[str, ...] = tuple(dict.fromkeys([kind.pattern for kind in _ALL if kind.pattern] + list(EVENT_TYPES)))
"""All valid entries of an endpoint's `events`: group patterns and types."""


def pattern_of(kind: str) -> str:
    """Return the group pattern that takes a type; empty for an unknown type and one without a group."""
    known = EVENT_TYPES.get(kind)
    return known.pattern if known is not None else ""


def takes(events: Iterable[str], kind: str) -> bool:
    """Return whether an endpoint with this filter gets events of a type; an empty filter takes all."""
    wanted = tuple(events)
    return not wanted or kind in wanted or (pattern_of(kind) or kind) in wanted


def types_taken(events: Iterable[str]) -> frozenset[str] | None:
    """Return the types that a filter takes; None for an empty one, which takes all."""
    wanted = tuple(events)
    return frozenset(kind for kind in EVENT_TYPES if takes(wanted, kind)) if wanted else None


def endpoint_data(
    endpoint_id: str, url: str | None, events: Iterable[str], *, active: bool, reason: str | None = None
) -> dict[str, Any]:
    """Make the data of a webhook.endpoint.* event; `reason`: why the gateway disabled the endpoint."""
    return {"endpoint_id": endpoint_id, "url": url, "events": list(events), "active": active, "reason": reason}
