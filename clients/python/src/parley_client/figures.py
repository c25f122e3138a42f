"""The figures of GET /debug/stream, one second each (docs/operations.md, "Live figures")."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFigures:
    """A service's requests of a second: their rate, percentiles of their times in milliseconds, number by code."""

    rate: float
    p50: float
    p99: float
    codes: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mailbox:
    """An actor's mailbox, with the number of messages in it, and the node's id where there are several."""

    kind: str
    key: str
    name: str | None
    mailbox: int
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFigures:
    """Webhook attempts: under way now, begun a second, and failed a second."""

    in_flight: int
    attempts_s: float
    failed_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A gateway's figures of one second."""

    at: datetime
    requests_s: float
    services: Mapping[str, ServiceFigures]
    """The services that had requests."""
    loop_lag_ms: float
    """The largest delay of the event loop's timers in this second."""
    units_waiting: int
    commits_s: float
    actors: Mapping[str, int]
    """Live actors by kind."""
    mailboxes: tuple[Mailbox, ...]
    """The fullest."""
    memory_bytes: int
    readers: int
    """Readers of streams without end."""
    deliveries: DeliveryFigures
    node: str | None = None
    """The id of the node whose figures these are; None for those of the whole gateway."""
    name: str | None = None
    nodes: "tuple[Figures, ...] | None" = None
    """The same of each node, where there are several."""
    unreachable: tuple[str, ...] | None = None
    """Nodes that did not answer."""
