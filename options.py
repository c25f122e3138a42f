"""Makes the options of core and routes, and the chat engine, from the operator's settings."""

from collections.abc import Callable

from actors.core import CoreOptions, WebhookOptions
from actors.egress.outbound import Outbound
from actors.engines.recall import RecallEngine
from actors.engines.turn import Engine
from actors.library.skillbook import StoredSkills
from actors.tools.catalog import ToolOptions
from actors.tools.limits import ToolLimits
from actors.tools.stdio import StdioServer
from config.mcp_catalog import load_catalog
from config.settings import Settings
from config.version import VERSION
from persistence.store import Store
from persistence.users import name_key
from routes.app import HttpOptions


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
        operators=frozenset(map(name_key, settings.operators)),
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
        public_url=settings.public_url,
        cors_origins=settings.cors_origins,
        console_enabled=settings.console_enabled,
    )


def chat_engine(settings: Settings) -> Callable[[Store], Engine]:
    """Load the chat engine that the settings name; return what makes it."""
    if settings.chat_engine == "recall":
        return lambda _: RecallEngine()
    from actors.engines.openai.engine import OpenAIEngine  # noqa: PLC0415 - costs most of a second, and only this one needs it

    assert settings.openai_base_url is not None  # load_settings requires it
    assert settings.openai_model is not None
    url, model, key = settings.openai_base_url, settings.openai_model, settings.openai_api_key
    secret = None if key is None else key.get_secret_value()
    return lambda store: OpenAIEngine(url, secret, model, skillbook=StoredSkills(store))
