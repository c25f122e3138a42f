"""Webhook endpoints and deliveries as clients see them."""

from actors.wire import Record, iso
from persistence.delivery_log import AttemptRow, DeliveryRow
from persistence.endpoints import EndpointRow


def endpoint_record(endpoint: EndpointRow) -> Record:
    """Return the record of an endpoint, without its secret."""
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
    """Return the record of a delivery, with the log of its attempts."""
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
