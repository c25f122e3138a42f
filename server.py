"""Parley's composition root: settings, store, actors, routes; stopped in reverse.

Run it as `python server.py`; `make run` does the set-up first and starts it for development.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

import uvloop

from actors.commands.tools import UserToolbox
from actors.core import Core
from actors.engines.openai.tools import NoTools, UsesTools
from actors.engines.turn import Closing, Engine
from actors.ids import Clock, system_clock
from actors.jobs.delivering import keep_delivering, keep_delivery_log
from actors.jobs.erasing import keep_erasing
from actors.jobs.expiry import keep_house
from actors.jobs.indexing import keep_indexing
from actors.jobs.ingestion import keep_ingesting
from actors.jobs.pushing import keep_pushing
from actors.jobs.unending import unending
from actors.runtime.local_directory import IDLE_S
from actors.sealing import Sealer, WrongMasterKey
from actors.users.passwords import PasswordHasher
from config.catalogs_digest import catalogs_digest
from config.command_line import WrongUsage, parse_arguments
from config.development import for_development
from config.greeting import development_lines, development_plan_lines, greeting
from config.master_key import FILE as MASTER_KEY_FILE
from config.master_key import MasterKeyError, load_master_key
from config.mcp_catalog import CatalogError
from config.settings import Settings, SettingsError, load_settings
from config.tuning import allow_many_connections, open_standard_streams, tune
from config.version import VERSION
from options import chat_engine, core_options, http_options
from persistence import master_key, users
from persistence.opening import open_ledger, open_store
from persistence.sqlite.unusable import not_allowed
from persistence.store import Store, StoreError, Unit
from routes.app import HttpOptions, build_app
from routes.http.access_log import AccessLog, JsonFormatter, log_what_nobody_catches, refuse, tell
from routes.listener import CannotListen, Listener

if TYPE_CHECKING:
    from actors.node import ClusterNode

GRACE_S = 10.0
"""Seconds that a stop waits for requests under way, and then for actors."""

NAMES_TOLD = 5
"""The largest number of users with a development start's plan that the start names."""

log = logging.getLogger("parley")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Parts of a gateway that tests replace (tests/gateways/); production runs with the defaults."""

    engine: Callable[[Settings, Store], Engine] | None = None
    """Makes the chat engine; None makes the one that the settings name."""
    before_commit: Callable[[], None] | None = None
    """Runs before each commit, in the writer's thread; may raise."""
    clock: Clock = system_clock
    ticks: Callable[[], float] = monotonic
    """The seconds that throttles count."""
    hasher: Callable[[], PasswordHasher] = PasswordHasher
    access_log: type[AccessLog] = AccessLog
    idle_s: float = IDLE_S
    http: Callable[[HttpOptions], HttpOptions] | None = None
    """Changes the settings that the routes get."""
    grace_s: float = GRACE_S


class Gateway:
    """The running gateway: `start`, then `stop`.

    Args:
        settings: the operator's settings.
        developed: the keys of those settings that a development start has set; None for any other start.
        parts: other parts than production's, for tests.
    """

    def __init__(
        self, settings: Settings, developed: Collection[str] | None = None, parts: Parts | None = None
    ) -> None:
        self.settings = settings
        self.developed = developed
        self.parts = parts or Parts()
        self._tasks: list[asyncio.Task[None]] = []
        self.on_over: Callable[[str], None] = lambda _: None
        """Called with the reason if this node of a cluster may serve no more; then stop."""

    async def start(self) -> None:
        """Bring up store, actors and routes, in this order, and listen.

        Raises:
            StoreError: the database is in use, too new for this code, or its files can't be used.
            MasterKeyError: there is no master key, or not the one that the database was sealed with.
            CatalogError: the catalog of tool servers can't be used.
            CannotListen: the address is in use, or not this machine's.
            ConnectionError: NATS can't be reached, or its settings don't fit.
        """
        settings, parts = self.settings, self.parts
        options = core_options(settings, development_plan="default_plan" in (self.developed or ()))
        options = replace(options, idle_s=parts.idle_s)
        # Before a join, because a node that imports for long does not renew its lease.
        make_engine = chat_engine(settings) if parts.engine is None else partial(parts.engine, settings)
        async with AsyncExitStack() as undo:
            node = self.node = await self._join()
            if node is not None:
                undo.push_async_callback(node.leave)
            self.store = await open_store(
                settings.postgres_url,
                settings.database_path,
                parts.before_commit,
                cluster=node and node.row,
                on_over=node and node.ownership.end,
            )
            undo.push_async_callback(self.store.close)
            sealer = await prepare_sealer(self.store, settings)
            (self.on_development_plan,) = await self.store.fetch(users.on_development_plan(NAMES_TOLD))
            self.engine = make_engine(self.store)
            self.core = Core(
                self.store,
                self.engine,
                sealer,
                options,
                parts.clock,
                parts.ticks,
                parts.hasher(),
                directory=node and node.directory(self.store, parts.idle_s),
                feed=node and node.feed(self.store),
                changes=node and node.changes(),
                placement=node and node.placement,
            )
            self.core.cluster = node
            if node is not None:
                node.share_failures(self.core.attempts)
            undo.pop_all()
            undo.push_async_callback(self._stop_core)
            if isinstance(self.engine, UsesTools) and isinstance(self.engine.toolbox, NoTools):
                self.engine.toolbox = UserToolbox(self.core)
            stream = sys.stdout if settings.log_level in ("debug", "info") else None
            self.access_log = parts.access_log(stream, json=settings.log_format == "json")
            http = http_options(settings)
            app = build_app(self.core, parts.http(http) if parts.http else http, self.access_log)
            if node is not None:
                await node.start()
            self._begin_jobs()
            self.listener = await Listener.open(app, settings.host, settings.port)
            undo.pop_all()

    def _begin_jobs(self) -> None:
        jobs: dict[str, Callable[[], Awaitable[None]]] = {
            "passivation": self.core.directory.sweep,
            "housekeeping": partial(keep_house, self.core),
            "erasing": partial(keep_erasing, self.core),
            "delivering": partial(keep_delivering, self.core),
            "delivery log": partial(keep_delivery_log, self.core),
            "ingestion": partial(keep_ingesting, self.core),
            "pushing": partial(keep_pushing, self.core),
            "indexing": partial(keep_indexing, self.core),
        }
        self._tasks += [asyncio.create_task(unending(name, job), name=name) for name, job in jobs.items()]

    async def _join(self) -> "ClusterNode | None":
        """Join the cluster that the settings name, if any."""
        settings = self.settings
        if settings.nats_url is None:
            return None
        from actors.node import ClusterNode  # noqa: PLC0415 - only a node needs NATS's client

        assert settings.postgres_url is not None  # load_settings requires it
        lease_s = float(settings.cluster_lease_s)
        ledger = open_ledger(settings.postgres_url, lease_s)
        node = await ClusterNode.join(
            ledger, lease_s, settings.nats_url, settings.node, VERSION, catalogs_digest(settings)
        )
        node.ownership.on_over = self.on_over
        return node

    async def stop(self) -> int:
        """Refuse new work, answer requests under way, drain the actors, close the store.

        Returns the number of requests that were cut off at the end of the grace time.
        """
        async with AsyncExitStack() as rest:
            rest.callback(self.access_log.flush)
            rest.push_async_callback(self._stop_core)
            if self.node is not None:
                await self.node.hand_over()
            self.core.streams.close("gateway stops")
            self.core.open_streams.close("gateway stops")
            return await self.listener.drain(self.parts.grace_s)

    async def _stop_core(self) -> None:
        """Stop each part though another one fails: a store that stays open keeps the process alive."""
        for task in self._tasks:
            task.cancel()
        async with AsyncExitStack() as rest:
            if self.node is not None:
                rest.push_async_callback(self.node.leave)
            if isinstance(self.engine, Closing):
                rest.push_async_callback(self.engine.close)
            unfinished = await self.core.close(self.parts.grace_s)
            if unfinished:
                log.warning("%d actors were not done when the gateway stopped", unfinished)


async def prepare_sealer(store: Store, settings: Settings) -> Sealer:
    """Load the master key and check that it is the database's.

    Raises:
        MasterKeyError: it is gone, unusable, or another database's.
    """
    proofs = await store.fetch(master_key.PROOF)
    file = settings.data_dir / MASTER_KEY_FILE
    try:
        sealer = Sealer(load_master_key(settings, first_start=not proofs))
    except PermissionError as error:
        raise MasterKeyError(not_allowed(file, "read", "or set PARLEY_MASTER_KEY")) from error
    if not proofs:
        await store.commit(Unit((master_key.keep(sealer.prove()),)))
        proofs = await store.fetch(master_key.PROOF)  # another node may have started at the same time, and been first
    try:
        sealer.check(proofs[0])
    except WrongMasterKey:
        or_in = "" if settings.postgres_url else f" or in {file}"
        raise MasterKeyError(
            "the master key is not the one that this database was sealed with; give the right one as "
            f"PARLEY_MASTER_KEY{or_in}."
        ) from None
    return sealer


def set_up_logging(settings: Settings) -> None:
    """Send the log to stderr, as lines for people or as JSON objects."""
    handler = logging.StreamHandler()
    if settings.log_format == "json":
        handler.setFormatter(JsonFormatter())
        log_what_nobody_catches()
    else:
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    for library in ("aiosqlite", "openai", "httpx2", "httpcore2"):  # at debug they write every parameter and body
        logging.getLogger(library).setLevel(logging.WARNING)
    for library in ("mcp", "httpx2", "httpcore2"):  # they write URLs and texts; our own log reports failures
        logging.getLogger(library).setLevel(logging.CRITICAL)


def greet(gateway: Gateway) -> str:
    """Return the greeting: the addresses, the place of the data, and a first command to try."""
    listener, found = gateway.listener, gateway.on_development_plan
    if gateway.developed is None:
        more = development_plan_lines(found.count, found.names)
    else:
        more = development_lines(gateway.settings, gateway.developed)
    return greeting(
        gateway.settings,
        listener.urls,
        open_to_network=listener.open_to_network,
        store=gateway.store.description,
        more=more,
    )


async def run(gateway: Gateway) -> int:
    """Serve until SIGINT or SIGTERM; return the process's exit status."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    as_json = gateway.settings.log_format == "json"
    over: list[str] = []

    def end(reason: str) -> None:
        over.append(reason)
        stopping.set()

    gateway.on_over = end
    try:
        await gateway.start()
    except CannotListen as error:
        return refuse(f"Parley can't listen on {error}", as_json=as_json)
    except (StoreError, MasterKeyError, CatalogError, OSError) as error:
        return refuse(f"Parley can't start: {error}", as_json=as_json)
    tell(greet(gateway), as_json=as_json)
    await stopping.wait()
    cut_off = await gateway.stop()
    if over:
        return refuse(f"Parley has stopped: {over[0]}", as_json=as_json)
    cut = f"; {cut_off} request{'s were' if cut_off > 1 else ' was'} cut off." if cut_off else "."
    tell(f"Parley has stopped{cut}", as_json=as_json)
    return 0


def main(arguments: Sequence[str] = (), make: Callable[[Settings, Collection[str] | None], Gateway] = Gateway) -> int:
    """Read the command line and the settings, and serve with the gateway that `make` builds from them."""
    open_standard_streams()
    try:
        parsed = parse_arguments(arguments, VERSION)
    except WrongUsage as error:
        return refuse(f"Parley can't start: {error}", as_json=os.environ.get("PARLEY_LOG_FORMAT") == "json")
    developed: Collection[str] | None = None
    try:
        settings = load_settings(os.environ)
        if parsed.development:
            settings, developed = for_development(settings)
    except SettingsError as error:
        return refuse(f"Parley can't start, settings are wrong:\n{error}", as_json=error.as_json)
    set_up_logging(settings)
    os.umask(0o077)  # only this account may read what is stored
    tune()
    allow_many_connections()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run(make(settings, developed)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
