"""The core: what the flows of the commands work with, put together in one place."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from actors.agents.actor import AgentActor, Engine
from actors.banks.actor import BankActor
from actors.domains.actor import DomainActor
from actors.domains.streams import Streams
from actors.egress.aiohttp_session import Outbound
from actors.idempotency.once import Idempotency
from actors.ids import Clock, system_clock
from actors.library.actor import LibraryActor
from actors.names import Names
from actors.quotas.actor import QuotaActor
from actors.runtime.local_directory import IDLE_S, LocalDirectory
from actors.sealing import Sealer
from actors.sessions.actor import KeyActor, SessionActor
from actors.sessions.credentials import Credentials
from actors.throttle import Throttle
from actors.tools.actor import ToolServerActor
from actors.tools.catalog import ToolOptions, ToolServers
from actors.users.actor import UserActor
from actors.users.attempts import PasswordAttempts
from actors.users.passwords import PasswordHasher
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.dispatcher import WebhookDispatcher
from actors.webhooks.endpoints import WebhooksActor
from actors.webhooks.messages import DISPATCHER, DISPATCHER_KEY, StopDelivering, Woken
from actors.webhooks.outbox import Outbox
from actors.webhooks.schedule import RetrySchedule
from actors.webhooks.sender import Sender
from actors.webhooks.signing import Signer
from persistence.store import Store


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """What the operator decides of webhooks; see the settings of the same names. Times in seconds."""

    outbound: Outbound = field(default_factory=Outbound)
    header_brand: str = "Service"
    retry_delays_s: tuple[float, ...] = (5, 300, 1800, 7200, 18000, 36000, 36000)
    timeout_s: float = 15
    log_days: int = 30


@dataclass(frozen=True, slots=True)
class CoreOptions:
    """What the operator decides of the core; see the settings of the same names."""

    registration_open: bool = True
    sandbox_keys: bool = False
    sandbox_keys_per_hour: int = 20
    registrations_per_hour: int = 100
    default_plan: str = "free"
    development_plan: bool = False
    """Whether `default_plan` is that of a development start, which users are marked with."""
    session_ttl_s: int = 86_400
    idle_s: float = IDLE_S
    webhooks: WebhookOptions = field(default_factory=WebhookOptions)
    tools: ToolOptions = field(default_factory=ToolOptions)
    skills_dir: Path = Path("config/skills")


class Core:
    """The actors' side of the gateway: directory, store, credentials, throttles."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        sealer: Sealer,
        options: CoreOptions,
        clock: Clock = system_clock,
        ticks: Callable[[], float] = monotonic,
        hasher: PasswordHasher | None = None,
    ) -> None:
        self.store = store
        self.sealer = sealer
        self.outbox = Outbox(clock)
        self.options = options
        self.clock = clock
        self.streams = Streams()
        self.tool_servers = ToolServers(options.tools, sealer, options.webhooks.outbound)
        self.session_ttl_ms = options.session_ttl_s * 1000

        def session(key: str) -> SessionActor:
            return SessionActor(key, store, clock, self.session_ttl_ms)

        def api_key(key: str) -> KeyActor:
            return KeyActor(key, store, clock, self.session_ttl_ms)

        def user(key: str) -> UserActor:
            return UserActor(key, store, clock, self.directory, self.outbox)

        def agent(key: str) -> AgentActor:
            return AgentActor(key, store, clock, engine, self.outbox)

        def domain(key: str) -> DomainActor:
            return DomainActor(key, store, clock, engine, self.streams)

        def bank(key: str) -> BankActor:
            return BankActor(key, store, clock, self.directory)

        def quota(key: str) -> QuotaActor:
            return QuotaActor(key, store, clock, self.outbox)

        def webhooks(key: str) -> WebhooksActor:
            return WebhooksActor(key, store, clock, self.directory, self.outbox, sealer)

        sent = options.webhooks
        self.outbound = sent.outbound
        self.deliveries = DeliveryCounts()

        def webhook_dispatcher(key: str) -> WebhookDispatcher:
            return WebhookDispatcher(
                key,
                store,
                clock,
                self.directory,
                self.outbox,
                sealer,
                Signer(sent.header_brand),
                RetrySchedule(sent.retry_delays_s, random.random),
                lambda: Sender(sent.outbound, sent.timeout_s),
                self.deliveries,
            )

        def mcp(key: str) -> ToolServerActor:
            return ToolServerActor(key, store, self.tool_servers)

        def library(key: str) -> LibraryActor:
            return LibraryActor(key, store, clock)

        kinds = {
            "session": session,
            "key": api_key,
            "user": user,
            "quota": quota,
            "agent": agent,
            "domain": domain,
            "bank": bank,
            "webhooks": webhooks,
            DISPATCHER: webhook_dispatcher,
            "mcp": mcp,
            "library": library,
        }
        self.directory = LocalDirectory(kinds, idle_s=options.idle_s)
        self.outbox.woken = lambda: self.directory.tell(DISPATCHER, DISPATCHER_KEY, Woken())
        self.credentials = Credentials(self.directory, store)
        self.idempotency = Idempotency(store, sealer, clock)
        self.names = Names(store)
        self.ingestion = asyncio.Event()  # set when a document was queued; see actors/jobs/ingestion.py
        self.erasure = asyncio.Event()  # set when something was censored; see actors/jobs/expiry.py
        self.hasher = hasher or PasswordHasher()
        self.registrations = Throttle(options.registrations_per_hour, 3600, ticks)
        self.sandbox_keys = Throttle(options.sandbox_keys_per_hour, 3600, ticks)
        self.attempts = PasswordAttempts(ticks)

    async def close(self, grace_s: float) -> int:
        """Let what is under way end, stop every actor, close the store; return how many were cut off."""
        self.directory.tell(DISPATCHER, DISPATCHER_KEY, StopDelivering())
        self.tool_servers.close()
        unfinished = await self.directory.close(grace_s)
        self.hasher.close()
        await self.store.close()
        return unfinished
