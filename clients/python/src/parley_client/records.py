# Made by `make client` from the gateway's schemas: don't edit.
"""The records of the gateway's answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """Requests of this UTC day; null where the plan has no limit."""

    limit: int | None
    used: int
    remaining: int | None
    resets_at: datetime
    window: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """The numbers of entities that the user owns."""

    agents: int
    domains: int
    banks: int
    api_keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnUser:
    """A user as it sees itself."""

    id: str
    name: str
    description: str | None
    profile: str | None
    plan: Literal["free", "builder", "scale", "enterprise"]
    created_at: datetime
    quota: Quota
    """Requests of this UTC day; null where the plan has no limit."""
    counts: Counts
    """The numbers of entities that the user owns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A log-on of a user."""

    id: str
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    current: bool
    """Whether it is the session of this request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A session token; only this answer shows it."""

    token: str = field(repr=False)
    """Send it as `Authorization: Bearer ...`."""
    token_type: Literal["Bearer"]
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent."""

    id: str
    name: str
    owner: str
    """The owner's name."""
    description: str
    profile: str | None
    access: Literal["public", "domain", "bank", "agent"]
    """`public`: everyone; `domain`, `bank`: those who share one; `agent`: the owner alone."""
    state: Literal["online", "offline"]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A bank offered to the agent; MB_Accept accepts it, MB_Unload declines it."""

    bank: str
    owner: str
    """The name of the bank's owner."""
    permission: Literal["read", "write", "admin"]
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStanding:
    """The state of an agent, and its domains and banks."""

    state: Literal["online", "offline"]
    domains: tuple[str, ...]
    banks: tuple[str, ...]
    offers: tuple[Offer, ...]
    """Banks offered to it; shown to its owner only, else empty."""
    messages: int
    """Messages in its conversations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A workspace of agents."""

    id: str
    name: str
    owner: str
    """The name of the founder's owner."""
    founder: str
    """The name of the agent that founded it."""
    description: str
    profile: str | None
    access: Literal["public", "domain", "bank", "agent"]
    """`public`: everyone; `domain`, `bank`: those who share one; `agent`: the owner alone."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The membership of an agent in a domain."""

    agent: str
    """The agent's name."""
    state: Literal["invited", "member", "banned"]
    founder: bool
    """Whether the agent founded the domain."""
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Zone:
    """A stream of messages in a domain."""

    id: str
    name: str
    domain: str
    """The domain's name."""
    messages: int
    """Messages in it."""
    last_seq: int
    """The seq of the last message, 0 without messages."""
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """A memory bank."""

    id: str
    name: str
    owner: str
    """The owner's name."""
    description: str | None
    access: Literal["public", "domain", "bank", "agent"]
    """`public`: everyone; `domain`, `bank`: those who share one; `agent`: the owner alone."""
    memories: int
    """How many it holds."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """An agent's permission in a bank, or the one offered to it."""

    agent: str
    """The agent's name."""
    permission: Literal["none", "read", "write", "admin"]
    state: Literal["offered", "attached"]
    """`offered` until the agent's owner accepts it."""
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedMemories:
    """The result of a removal."""

    memories: int
    """The number of memories removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A named text in a bank."""

    id: str
    name: str
    text: str | None
    """Null when censored."""
    author: str | None
    """The agent that loaded it; null once that is destroyed."""
    censored: bool
    created_at: datetime
    updated_at: datetime
    destroyed_agent: str | None = None
    """The agent that it is from, by name; present only if that has been destroyed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledMemory:
    """A memory that was found."""

    id: str
    name: str
    text: str | None
    """Null when censored."""
    author: str | None
    """The agent that loaded it; null once that is destroyed."""
    censored: bool
    created_at: datetime
    updated_at: datetime
    score: float
    """Higher fits better; orders the memories of one answer."""
    answers: bool
    """Whether it answers the text as a question; a chat quotes only such memories."""
    destroyed_agent: str | None = None
    """The agent that it is from, by name; present only if that has been destroyed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The source of a reply: a bank's memory, a message, or the profile."""

    bank: str | None = None
    """The bank's name."""
    conversation: str | None = None
    """Whose conversation it is of."""
    profile: str | None = None
    """The agent's name."""
    name: str | None = None
    """The memory's name."""
    id: str | None = None
    """The message's or agent's id."""
    quote: str
    """The words that were used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message of a conversation or of a zone."""

    id: str
    role: Literal["user", "agent"]
    name: str
    """The name of its author at that time."""
    content: str
    at: datetime
    zone: str | None
    """The zone's name; null in a conversation."""
    conversation: str | None
    seq: int
    """Its number in the conversation, without gaps."""
    mark: str | None
    """`cancelled`: a reply that is not whole, or a message whose reply was cancelled before it began. `imported`:
    from a client's history."""
    sources: tuple[Source, ...]
    destroyed_agent: str | None = None
    """The agent that it is from, by name; present only if that has been destroyed since."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A private conversation of the user with an agent."""

    id: str
    agent: str
    """The agent's name."""
    title: str | None
    default: bool
    """Whether AP_Chat goes on with it if no other is named."""
    messages: int
    """How many it has."""
    last_seq: int
    """The seq of its last message."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The outcome. Errors have a `note` with the remedy."""

    success: bool
    internal_code: int
    """0, or what went wrong."""
    http_code: int
    """The precise HTTP code."""
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The names selected after the command."""

    user: str | None
    agent: str | None
    domain: str | None
    zone: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The request of this answer."""

    service: str | None
    request_id: str
    """`X-Request-Id` of the request, or one that was made."""
    time: datetime
    context: Context
    """The names selected after the command."""
    next: str | None
    """Cursor of the next page, on lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """An AP_Chat on its way, or after its end."""

    id: str
    conversation: str
    state: Literal["working", "completed", "failed", "cancelled"]
    message: Message
    reply: Message | None
    """What the agent said; null until it is stored."""
    error: Status | None
    """Why it ended without a reply; null if it has one or is working."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEndpoint:
    """Where a user's events go."""

    id: str
    url: str
    events: tuple[str, ...]
    active: bool
    description: str | None
    created_at: datetime
    updated_at: datetime
    disabled_reason: str | None
    """Why the gateway disabled it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWebhookEndpoint:
    """An endpoint as created."""

    id: str
    url: str
    events: tuple[str, ...]
    active: bool
    description: str | None
    created_at: datetime
    updated_at: datetime
    disabled_reason: str | None
    """Why the gateway disabled it."""
    secret: str = field(repr=False)
    """Verifies deliveries; shown this once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedWebhookEndpoint:
    """An endpoint as changed; with `secret` where that was rotated."""

    id: str
    url: str
    events: tuple[str, ...]
    active: bool
    description: str | None
    created_at: datetime
    updated_at: datetime
    disabled_reason: str | None
    """Why the gateway disabled it."""
    secret: str | None = field(default=None, repr=False)
    """Verifies deliveries; shown this once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt."""

    at: datetime
    status: int | None
    """The receiver's HTTP status."""
    latency_ms: int
    error: (
        Literal[
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
        | None
    )
    """Why it failed; null after success."""
    response: str | None
    """The beginning of the answer's body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDelivery:
    """An event on its way to an endpoint."""

    id: str
    endpoint_id: str
    event_id: str
    event_type: str
    state: Literal["pending", "retrying", "succeeded", "exhausted", "cancelled"]
    next_attempt_at: datetime | None
    created_at: datetime
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the gateway is."""

    status: Literal["ok", "degraded", "draining", "unavailable"]
    version: str
    uptime_s: float
    storage: Literal["ok", "unavailable"]
    actors: int
    note: str | None = None
    """What is wrong; absent if nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestedDocument:
    """A document that was handed in."""

    id: str
    name: str
    media_type: Literal["text/plain", "text/markdown", "application/json", "text/html"]
    metadata: Mapping[str, Any] | None
    size: int
    """Number of characters as sent."""
    status: Literal["queued", "processing", "ready", "failed"]
    error: str | None
    """Why it failed."""
    parts: int
    """Number of memories that MB_Load makes of it; known once it is ready."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user as operators see it."""

    id: str
    name: str
    description: str | None
    profile: str | None
    plan: Literal["free", "builder", "scale", "enterprise"]
    created_at: datetime
    quota: Quota
    """Requests of this UTC day; null where the plan has no limit."""
    counts: Counts
    """The numbers of entities that the user owns."""
    role: Literal["user", "auditor", "operator"]
    """The role that counts: that of PARLEY_OPERATORS before the stored one."""
    state: Literal["active", "suspended"]
    suspended_at: datetime | None
    last_used_at: datetime | None
    """When one of its credentials was last used, to the minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownScopes:
    """What a key may do, with the names as they were given; null is no restriction."""

    services: tuple[str, ...] | None
    agents: tuple[str, ...] | None
    banks: tuple[str, ...] | None
    domains: tuple[str, ...] | None
    read_only: bool
    admin: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key."""

    id: str
    name: str
    prefix: str
    """Its first characters, to recognize it."""
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    scopes: ShownScopes | None = None
    """Shown if they were given."""
    limit: int | None = None
    """Requests a day; shown if it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApiKey:
    """An API key; only this answer shows it."""

    id: str
    name: str
    prefix: str
    """Its first characters, to recognize it."""
    created_at: datetime
    expires_at: datetime | None
    key: str = field(repr=False)
    """The key; only this answer shows it."""
    scopes: ShownScopes | None = None
    """Shown if they were given."""
    limit: int | None = None
    """Requests a day; shown if it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxKey:
    """A sandbox key."""

    id: str
    key: str = field(repr=False)
    """The key; only this answer shows it."""
    plan: Literal["free", "builder", "scale", "enterprise"]
    limit: int
    """Requests a day."""
    window: str
    """The day that counts now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestEvent:
    """Accepted."""

    event_id: str
    deliveries: int
    """Endpoints it goes to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetAccount:
    """The user, with its new password."""

    id: str
    name: str
    description: str | None
    profile: str | None
    plan: Literal["free", "builder", "scale", "enterprise"]
    created_at: datetime
    quota: Quota
    """Requests of this UTC day; null where the plan has no limit."""
    counts: Counts
    """The numbers of entities that the user owns."""
    role: Literal["user", "auditor", "operator"]
    """The role that counts: that of PARLEY_OPERATORS before the stored one."""
    state: Literal["active", "suspended"]
    suspended_at: datetime | None
    last_used_at: datetime | None
    """When one of its credentials was last used, to the minute."""
    secret: str = field(repr=False)
    """The password; only this answer shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorsAgent:
    """An agent; the operator's switch is apart from its state."""

    id: str
    name: str
    owner: str
    """The owner's name."""
    description: str
    profile: str | None
    access: Literal["public", "domain", "bank", "agent"]
    """`public`: everyone; `domain`, `bank`: those who share one; `agent`: the owner alone."""
    state: Literal["online", "offline"]
    created_at: datetime
    updated_at: datetime
    stopped: bool
    """Whether an operator has stopped it, so that chats with it are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorsAuditEntry:
    """An entry."""

    user: str | None
    """Whose act it was."""
    time: datetime
    credential_id: str
    """The session or API key of the request."""
    address: str
    service: str
    """The service, or the operation of a gateway route."""
    target: Mapping[str, Any]
    """The names or ids of its targets."""
    internal_code: int
    """0 for success."""
    request_id: str
