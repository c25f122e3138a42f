"""The core: what the flows of the commands work with, put together in one place."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from actors.agent import AgentActor, Engine
from actors.bank import BankActor
from actors.credentials import Credentials
from actors.directory import IDLE_S, LocalDirectory
from actors.domain import DomainActor
from actors.idempotency import Idempotency
from actors.ids import Clock, system_clock
from actors.library import LibraryActor
from actors.names import Names
from actors.outbox import Outbox
from actors.passwords import PasswordHasher
from actors.quota import QuotaActor
from actors.sealing import Sealer
from actors.session import KeyActor, SessionActor
from actors.streams import Streams
from actors.throttle import Throttle, Tries
from actors.user import UserActor
from persistence.store import Store


@dataclass(frozen=True, slots=True)
class CoreOptions:
    """What the operator decides of the core; see the settings of the same names."""

    registration_open: bool = True
    sandbox_keys: bool = False
    sandbox_keys_per_hour: int = 20
    registrations_per_hour: int = 100
    default_plan: str = "free"
    session_ttl_s: int = 86_400
    idle_s: float = IDLE_S
    skills_dir: Path = Path("config/skills")


class Core:
    """The actors' side of the gateway: directory, store, credentials, throttles."""

    def __init__(
        self, store: Store, engine: Engine, sealer: Sealer, options: CoreOptions, clock: Clock = system_clock
    ) -> None:
        self.store = store
        self.sealer = sealer
        self.outbox = Outbox(clock)
        self.options = options
        self.clock = clock
        self.streams = Streams()
        self.session_ttl_ms = options.session_ttl_s * 1000

        def session(key: str) -> SessionActor:
            return SessionActor(key, store, clock, self.session_ttl_ms)

        def api_key(key: str) -> KeyActor:
            return KeyActor(key, store, clock, self.session_ttl_ms)

        def user(key: str) -> UserActor:
            return UserActor(key, store, clock, self.directory, self.outbox)

        def agent(key: str) -> AgentActor:
            return AgentActor(key, store, clock, engine)

        def domain(key: str) -> DomainActor:
            return DomainActor(key, store, clock, engine, self.streams)

        def bank(key: str) -> BankActor:
            return BankActor(key, store, clock, self.directory)

        def quota(key: str) -> QuotaActor:
            return QuotaActor(key, store, clock, self.outbox)

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
            "library": library,
        }
        self.directory = LocalDirectory(kinds, idle_s=options.idle_s)
        self.credentials = Credentials(self.directory, store)
        self.idempotency = Idempotency(store, sealer, clock)
        self.names = Names(store)
        self.ingestion = asyncio.Event()  # set when a document was queued; see actors/ingestion.py
        self.erasure = asyncio.Event()  # set when something was censored; see actors/housekeeping.py
        self.hasher = PasswordHasher()

        def seconds() -> float:
            return clock() / 1000

        self.registrations = Throttle(options.registrations_per_hour, 3600, seconds)
        self.sandbox_keys = Throttle(options.sandbox_keys_per_hour, 3600, seconds)
        self.logons_of_user = Tries(Throttle(10, 300, seconds))
        self.logons_of_address = Tries(Throttle(30, 300, seconds))

    async def close(self, grace_s: float) -> int:
        """Let what is under way end, stop every actor, close the store; return how many were cut off."""
        unfinished = await self.directory.close(grace_s)
        self.hasher.close()
        await self.store.close()
        return unfinished
