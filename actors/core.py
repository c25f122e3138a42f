"""The core: the actors' side of the gateway, wired in one place."""

import asyncio
import random
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from actors.agents.actor import AgentActor
from actors.agents.messages import AGENT, AgentsSilenced
from actors.agents.waiting_chats import RunsWaiting
from actors.banks.actor import BankActor
from actors.banks.messages import BANK
from actors.banks.resident import Residents
from actors.conversations import searching
from actors.domains.actor import DomainActor
from actors.domains.messages import DOMAIN
from actors.domains.replies_under_way import RepliesUnderWay
from actors.domains.stream_ends import end_streams
from actors.domains.streams import Feed, Streams
from actors.egress.outbound import Outbound
from actors.engines.turn import Engine
from actors.idempotency.once import Idempotency
from actors.ids import Clock, system_clock
from actors.library.actor import LibraryActor
from actors.library.messages import LIBRARY
from actors.names import Names
from actors.quotas.actor import QuotaActor
from actors.quotas.keys import KeyQuotaActor
from actors.quotas.messages import KEY_QUOTA, QUOTA
from actors.runtime.changes import Changes
from actors.runtime.cluster.places import Clustered
from actors.runtime.directory import Directory, Kind
from actors.runtime.local_directory import IDLE_S, LocalDirectory
from actors.runtime.placement import LocalPlacement, Placement
from actors.runtime.wakeups import LocalWakeup, Wakeup
from actors.sealing import Sealer
from actors.sessions.actor import KeyActor, SessionActor
from actors.sessions.credentials import Credentials
from actors.sessions.messages import KEY, SESSION, CredentialsEnded
from actors.sessions.open_streams import OpenStreams
from actors.throttle import AtOnce, CountedLock, Throttle
from actors.tools.actor import ToolServerActor
from actors.tools.catalog import ToolOptions, ToolServers
from actors.tools.messages import TOOL_SERVER
from actors.users.actor import UserActor
from actors.users.attempts import PasswordAttempts
from actors.users.held_credentials import tell_of_ended_sessions
from actors.users.messages import USER
from actors.users.passwords import PasswordHasher
from actors.webhooks.attempts import SharedSender
from actors.webhooks.counts import DeliveryCounts
from actors.webhooks.dispatcher import WebhookDispatcher
from actors.webhooks.endpoints import WebhooksActor
from actors.webhooks.messages import DISPATCHER, WEBHOOKS, dispatcher_of_shard, one_dispatcher
from actors.webhooks.outbox import Outbox
from actors.webhooks.schedule import RetrySchedule
from actors.webhooks.signing import Signer
from persistence.store import Store

if TYPE_CHECKING:
    from actors.webhooks.sender import Sender


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    """The operator's settings for webhooks, under the same names; times in seconds."""

    outbound: Outbound = field(default_factory=Outbound)
    header_brand: str = "Service"
    retry_delays_s: tuple[float, ...] = (5, 300, 1800, 7200, 18000, 36000, 36000)
    timeout_s: float = 15
    log_days: int = 30


@dataclass(frozen=True, slots=True)
class CoreOptions:
    """The operator's settings for the core, under the same names."""

    registration_open: bool = True
    sandbox_keys: bool = False
    sandbox_keys_per_hour: int = 20
    registrations_per_hour: int = 100
    default_plan: str = "free"
    operators: frozenset[str] = frozenset()
    """The keys of the names of users who are operators, whatever role is stored for them."""
    development_plan: bool = False
    """Whether `default_plan` is from a development start, with which users are marked."""
    session_ttl_s: int = 86_400
    idle_s: float = IDLE_S
    webhooks: WebhookOptions = field(default_factory=WebhookOptions)
    tools: ToolOptions = field(default_factory=ToolOptions)
    skills_dir: Path = Path("config/skills")


async def _open_sender(sent: WebhookOptions) -> "Sender":
    """Open the sender; imports aiohttp at the first use, in a thread because that takes long."""
    sender = await asyncio.to_thread(import_module, "actors.webhooks.sender")
    return sender.Sender(sent.outbound, sent.timeout_s)


def _dispatcher(core: "Core", key: str) -> WebhookDispatcher:
    sent = core.options.webhooks
    return WebhookDispatcher(
        key,
        core.store,
        core.clock,
        core.outbox,
        core.sealer,
        Signer(sent.header_brand),
        RetrySchedule(sent.retry_delays_s, random.random),
        core.sender,
        core.deliveries,
        core.changes,
    )


def _session(core: "Core", actor: type[SessionActor], key: str) -> SessionActor:
    return actor(key, core.store, core.clock, core.session_ttl_ms, core.operators)


KINDS: dict[str, Callable[["Core"], Kind]] = {
    SESSION: lambda core: Kind(lambda key: _session(core, SessionActor, key)),
    KEY: lambda core: Kind(lambda key: _session(core, KeyActor, key)),
    USER: lambda core: Kind(
        lambda key: UserActor(key, core.store, core.clock, core.outbox, core.changes), holds_users=False
    ),
    QUOTA: lambda core: Kind(lambda key: QuotaActor(key, core.store, core.clock, core.outbox)),
    KEY_QUOTA: lambda core: Kind(
        lambda key: KeyQuotaActor(key, core.store, core.clock, core.outbox), holds_users=False
    ),
    AGENT: lambda core: Kind(
        lambda key: AgentActor(key, core.store, core.clock, core.engine, core.outbox, core.runs_waiting)
    ),
    DOMAIN: lambda core: Kind(
        lambda key: DomainActor(key, core.store, core.clock, core.engine, core.feed, core.zone_replies),
        holds_agents=True,
    ),
    BANK: lambda core: Kind(
        lambda key: BankActor(key, core.store, core.clock, core.residents, core.changes),
        holds_agents=True,
        holds_names=True,
    ),
    WEBHOOKS: lambda core: Kind(lambda key: WebhooksActor(key, core.store, core.clock, core.outbox, core.sealer)),
    DISPATCHER: lambda core: Kind(
        partial(_dispatcher, core), holds_users=False, started_by_tells=not core.placement.alone
    ),
    TOOL_SERVER: lambda core: Kind(lambda key: ToolServerActor(key, core.store, core.tool_servers)),
    LIBRARY: lambda core: Kind(lambda key: LibraryActor(key, core.store, core.clock, core.changes)),
}
"""Every kind of actor; nothing else lists them."""


class Core:
    """The actors' side of the gateway, wired: directory, store, credentials, throttles."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        sealer: Sealer,
        options: CoreOptions,
        clock: Clock = system_clock,
        ticks: Callable[[], float] = monotonic,
        hasher: PasswordHasher | None = None,
        directory: Callable[[Mapping[str, Kind]], Directory] | None = None,
        placement: Placement | None = None,
        feed: Callable[[Streams], Feed] | None = None,
        changes: Changes | None = None,
    ) -> None:
        """Wire the core.

        `directory` makes the directory of the kinds of actors, `feed` the one of events for streams, and `changes`
        takes hints of changes; by default all are those of one process. `placement` tells what is this node's, by
        default everything.
        """
        self.store = store
        self.placement: Placement = placement or LocalPlacement()
        self.engine = engine
        self.sealer = sealer
        self.outbox = Outbox(clock, one_dispatcher if self.placement.alone else dispatcher_of_shard)
        self.options = options
        self.operators = options.operators
        self.clock = clock
        self.streams = Streams()
        self.feed: Feed = self.streams if feed is None else feed(self.streams)
        self.changes = changes or Changes()
        self.open_streams = OpenStreams()
        self.credential_watches = OpenStreams()
        """The watches over callers who hear runs: a stop lets the runs go on, and no limit counts the watches."""
        self.runs_waiting: RunsWaiting = {}
        self.zone_replies = RepliesUnderWay(store)
        self.outbound = options.webhooks.outbound
        self.tool_servers = ToolServers(options.tools, sealer, self.outbound)
        self.session_ttl_ms = options.session_ttl_s * 1000
        self.deliveries = DeliveryCounts()
        self.sender = SharedSender(partial(_open_sender, options.webhooks))
        self.residents = Residents()
        kinds = {kind: of(self) for kind, of in KINDS.items()}
        self.directory: Directory = (
            LocalDirectory(kinds, idle_s=options.idle_s) if directory is None else directory(kinds)
        )
        end_streams(self.directory, store, self.streams, self.feed)
        for streams in (self.open_streams, self.credential_watches):
            self.directory.listen(CredentialsEnded, streams.credentials_ended)
        tell_of_ended_sessions(self.directory)
        self.directory.listen(AgentsSilenced, self.zone_replies.agents_silenced)
        self.credentials = Credentials(self.directory, store)
        self.idempotency = Idempotency(store, sealer, clock)
        self.names = Names(store)
        self.ingestion: Wakeup = LocalWakeup()  # by queued documents; see actors/jobs/ingestion.py
        self.forked: asyncio.Queue[int] = asyncio.Queue()
        """The numbers of new copies of conversations, which actors/jobs/indexing.py indexes at once."""
        self.erasure: Wakeup = LocalWakeup()  # by censorings and ends; see actors/jobs/erasing.py
        self.pushing: Wakeup = LocalWakeup()  # by new push notification configs; see actors/jobs/pushing.py
        self.hasher = hasher or PasswordHasher()
        self.registrations = Throttle(options.registrations_per_hour, 3600, ticks)
        self.sandbox_keys = Throttle(options.sandbox_keys_per_hour, 3600, ticks)
        self.attempts = PasswordAttempts(ticks)
        self.searches = AtOnce(searching.AT_ONCE_OF_USER)
        self.acts_noted: OrderedDict[tuple[str, str], int] = OrderedDict()
        """When the audit log last got an entry of a read, by route and credential, or a refusal, by route and user."""
        self.saying: WeakValueDictionary[str, CountedLock] = WeakValueDictionary()
        """By clients' own ids of messages: held by a request that is about to store such a message."""
        self.cluster: Clustered | None = None
        """This node's place among several; None if there is only one."""

    async def close(self, grace_s: float) -> int:
        """Finish the work under way, stop every actor, close the store; return the number of actors cut off."""
        try:
            return await self.stop(grace_s)
        finally:
            await self.store.close()

    async def stop(self, grace_s: float) -> int:
        """Finish the work under way and stop every actor; return the number of actors cut off."""
        self.sender.stop()
        self.tool_servers.close()
        self.residents.close()
        unfinished = await self.directory.close(grace_s)
        self.hasher.close()
        return unfinished
