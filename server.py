"""Parley's composition root: settings, store, actors, routes; stopped in reverse.

Run it as `python server.py`; `make run` does the set-up first and starts it for development.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from time import monotonic

import uvloop

from actors.commands.tools import UserToolbox
from actors.core import Core, CoreOptions, WebhookOptions
from actors.egress.outbound import Outbound
from actors.engines.openai.tools import NoTools, UsesTools
from actors.engines.recall import RecallEngine
from actors.engines.turn import Closing, Engine
from actors.ids import Clock, system_clock
from actors.jobs.delivering import keep_delivering, keep_delivery_log
from actors.jobs.erasing import keep_erasing
from actors.jobs.expiry import keep_house
from actors.jobs.indexing import keep_indexing
from actors.jobs.ingestion import keep_ingesting
from actors.library.skillbook import StoredSkills
from actors.runtime.local_directory import IDLE_S
from actors.sealing import Sealer, WrongMasterKey
from actors.tools.catalog import ToolOptions
from actors.tools.limits import ToolLimits
from actors.tools.stdio import StdioServer
from actors.users.passwords import PasswordHasher
from config.command_line import WrongUsage, parse_arguments
from config.development import for_development
from config.master_key import FILE as MASTER_KEY_FILE
from config.master_key import MasterKeyError, load_master_key
from config.mcp_catalog import CatalogError, load_catalog
from config.settings import Settings, SettingsError, load_settings, variable
from config.tuning import allow_many_connections, tune
from config.version import VERSION
from persistence import master_key, users
from persistence.opening import open_store
from persistence.store import Store, StoreError, Unit
from routes.app import HttpOptions, build_app
from routes.http.access_log import AccessLog, JsonFormatter, log_what_nobody_catches, refuse, tell
from routes.listener import CannotListen, Listener

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

    async def start(self) -> None:
        """Bring up store, actors and routes, in this order, and listen.

        Raises:
            StoreError: the database is in use, too new for this code, or its files can't be used.
            MasterKeyError: there is no master key, or not the one that the database was sealed with.
            CatalogError: the catalog of tool servers can't be used.
            CannotListen: the address is in use, or not this machine's.
        """
        settings, parts = self.settings, self.parts
        options = core_options(settings, development_plan="default_plan" in (self.developed or ()))
        options = replace(options, idle_s=parts.idle_s)
        self.store = await open_store(settings.postgres_url, settings.database_path, parts.before_commit)
        try:
            sealer = await prepare_sealer(self.store, settings)
            (self.on_development_plan,) = await self.store.fetch(users.on_development_plan(NAMES_TOLD))
        except BaseException:
            await self.store.close()
            raise
        self.engine = (parts.engine or chat_engine)(settings, self.store)
        self.core = Core(self.store, self.engine, sealer, options, parts.clock, parts.ticks, parts.hasher())
        if isinstance(self.engine, UsesTools) and isinstance(self.engine.toolbox, NoTools):
            self.engine.toolbox = UserToolbox(self.core)
        self._tasks = [
            asyncio.create_task(self.core.directory.sweep(), name="passivation"),
            asyncio.create_task(keep_house(self.core), name="housekeeping"),
            asyncio.create_task(keep_erasing(self.core), name="erasing"),
            asyncio.create_task(keep_delivering(self.core), name="delivering"),
            asyncio.create_task(keep_delivery_log(self.core), name="delivery log"),
            asyncio.create_task(keep_ingesting(self.core), name="ingestion"),
            asyncio.create_task(keep_indexing(self.core), name="indexing"),
        ]
        stream = sys.stdout if settings.log_level in ("debug", "info") else None
        self.access_log = parts.access_log(stream, json=settings.log_format == "json")
        http = http_options(settings)
        try:
            app = build_app(self.core, parts.http(http) if parts.http else http, self.access_log)
            self.listener = await Listener.open(app, settings.host, settings.port)
        except BaseException:
            await self._stop_core()
            raise

    async def stop(self) -> int:
        """Refuse new work, answer requests under way, drain the actors, close the store.

        Returns the number of requests that were cut off at the end of the grace time.
        """
        self.core.streams.close("gateway stops")
        cut_off = await self.listener.drain(self.parts.grace_s)
        unfinished = await self._stop_core()
        if unfinished:
            log.warning("%d actors were not done when the gateway stopped", unfinished)
        self.access_log.flush()
        return cut_off

    async def _stop_core(self) -> int:
        for task in self._tasks:
            task.cancel()
        unfinished = await self.core.close(self.parts.grace_s)
        if isinstance(self.engine, Closing):
            await self.engine.close()
        return unfinished


async def prepare_sealer(store: Store, settings: Settings) -> Sealer:
    """Load the master key and check that it is the database's.

    Raises:
        MasterKeyError: it is gone, unusable, or another database's.
    """
    proofs = await store.fetch(master_key.PROOF)
    sealer = Sealer(load_master_key(settings, first_start=not proofs))
    if not proofs:
        await store.commit(Unit((master_key.keep(sealer.prove()),)))
        return sealer
    try:
        sealer.check(proofs[0])
    except WrongMasterKey:
        file = "" if settings.postgres_url else f" or in {settings.data_dir / MASTER_KEY_FILE}"
        raise MasterKeyError(
            "the master key is not the one that this database was sealed with; give the right one as "
            f"PARLEY_MASTER_KEY{file}."
        ) from None
    return sealer


def core_options(settings: Settings, *, development_plan: bool = False) -> CoreOptions:
    """Return the settings that the core needs."""
    webhooks = WebhookOptions(
        outbound=Outbound(allow_insecure=settings.webhooks_allow_insecure, ca_file=settings.webhooks_ca_file),
        header_brand=settings.header_brand,
        retry_delays_s=settings.webhooks_retry_delays_s,
        timeout_s=settings.webhooks_timeout_s,
        log_days=settings.webhooks_log_days,
    )
    return CoreOptions(
        registration_open=settings.registration == "open",
        sandbox_keys=settings.sandbox_keys_enabled,
        sandbox_keys_per_hour=settings.sandbox_keys_per_hour,
        registrations_per_hour=settings.registrations_per_hour,
        default_plan=settings.default_plan,
        development_plan=development_plan,
        session_ttl_s=settings.session_ttl_s,
        webhooks=webhooks,
        tools=tool_options(settings),
        skills_dir=settings.skills_dir,
    )


def tool_options(settings: Settings) -> ToolOptions:
    """Read the operator's catalog of tool servers.

    Raises:
        CatalogError: it can't be used.
    """
    catalog = load_catalog(settings)
    return ToolOptions(
        catalog={
            name: StdioServer(tuple(entry.command), entry.description, entry.env, entry.cwd)
            for name, entry in catalog.servers.items()
        },
        limits=ToolLimits(**catalog.limits.model_dump()),
    )


def http_options(settings: Settings) -> HttpOptions:
    """Return the settings that the routes need."""
    secret = settings.internal_secret
    return HttpOptions(
        version=VERSION,
        brand=settings.brand,
        host=settings.host,
        internal_secret=None if secret is None else secret.get_secret_value(),
        dev_mocks_enabled=settings.dev_mocks_enabled,
        max_body_bytes=settings.max_body_bytes,
        trusted_proxies=settings.trusted_proxies,
        connections_per_address=settings.connections_per_address,
    )


def chat_engine(settings: Settings, store: Store) -> Engine:
    """Make the chat engine that the settings name."""
    if settings.chat_engine == "recall":
        return RecallEngine()
    from actors.engines.openai.engine import OpenAIEngine  # noqa: PLC0415 - costs most of a second, and only this one needs it

    assert settings.openai_base_url is not None  # load_settings requires it
    assert settings.openai_model is not None
    key = settings.openai_api_key
    return OpenAIEngine(
        settings.openai_base_url,
        None if key is None else key.get_secret_value(),
        settings.openai_model,
        skillbook=StoredSkills(store),
    )


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
    settings, listener = gateway.settings, gateway.listener
    base, *others = listener.urls
    open_to_all = ""
    if listener.open_to_network:
        also = f" It also answers at {', '.join(others)}" if others else ""
        open_to_all = f"\nIt is open to the network, without TLS: other machines can reach it.{also}"
    return f"""Parley {VERSION} listens on {base}{open_to_all}
Data is in {gateway.store.description}
Try first: curl {base}/demo/v1/{settings.brand}/tps/user/create -H 'Content-Type: application/json' \\
  -d '{{"vx": {{"name": "lovelace", "secret": "correct horse battery"}}}}'
All commands, with examples to send: {base}/docs{development_lines(gateway)}"""


def development_lines(gateway: Gateway) -> str:
    """Return the greeting's lines on a development start, or on users whose plan is from an earlier one."""
    settings = gateway.settings
    if gateway.developed is None:
        return development_plan_lines(gateway.on_development_plan)
    lines = "\nThis is a development start."
    if "default_plan" in gateway.developed:
        lines += f" New users have the plan {settings.default_plan} ({variable('default_plan')} sets another one)."
    if "sandbox_keys_enabled" in gateway.developed:
        lines += f" Sandbox keys are issued ({variable('sandbox_keys_enabled')}=false turns them off)."
    return lines


def development_plan_lines(found: users.OnDevelopmentPlan) -> str:
    """Return the greeting's lines on users whose plan is from a development start, and on changing it."""
    if not found.count:
        return ""
    whose = "1 user has its plan" if found.count == 1 else f"{found.count} users have their plan"
    more = f" and {found.count - len(found.names)} more" if found.count > len(found.names) else ""
    return (
        f"\n{whose} from a development start (make run): {', '.join(found.names)}{more}."
        "\nTo set a plan: PUT /api/admin/users/NAME/plan with X-Internal-Secret (docs/operations.md, Plans)."
    )


async def run(gateway: Gateway) -> int:
    """Serve until SIGINT or SIGTERM; return the process's exit status."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    as_json = gateway.settings.log_format == "json"
    try:
        await gateway.start()
    except CannotListen as error:
        return refuse(f"Parley can't listen on {error}", as_json=as_json)
    except (StoreError, MasterKeyError, CatalogError, OSError) as error:
        return refuse(f"Parley can't start: {error}", as_json=as_json)
    tell(greet(gateway), as_json=as_json)
    await stopping.wait()
    cut_off = await gateway.stop()
    cut = f"; {cut_off} request{'s were' if cut_off > 1 else ' was'} cut off." if cut_off else "."
    tell(f"Parley has stopped{cut}", as_json=as_json)
    return 0


def main(arguments: Sequence[str] = (), make: Callable[[Settings, Collection[str] | None], Gateway] = Gateway) -> int:
    """Read the command line and the settings, and serve with the gateway that `make` builds from them."""
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
