"""The gateway's settings, read once at the start and frozen.

A setting comes from an environment variable or from the TOML file named by ``PARLEY_CONFIG``. The environment
takes precedence, and an empty string counts as unset in both. ``defaults.toml`` documents every key with its
unit; a field's ``description`` names the allowed values in error messages.
"""

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from socket import gethostname
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from config.values import (
    CHECKOUT,
    POSTGRES_URL,
    SQLITE_URL,
    BaseUrl,
    Catalog,
    CertificateFile,
    Delays,
    Directory,
    Flag,
    HeaderSecret,
    Host,
    InternalSecret,
    MasterKey,
    Names,
    NatsUrl,
    Networks,
    Number,
    Origins,
    PerHour,
    StoreUrl,
    Whole,
)

CONFIG_VARIABLE = "PARLEY_CONFIG"
OF_THE_CLIENT = frozenset({"PARLEY_URL", "PARLEY_API_KEY", "PARLEY_PASSWORD", "PARLEY_PROFILE"})
"""Variables of the Python client and its command line, which a shell may have set."""
UNPREFIXED = frozenset({"internal_secret", "dev_mocks_enabled"})
WITH_PASSWORD = frozenset({"store_url", "nats_url"})


class SettingsError(ValueError):
    """The settings are invalid; the message has one line per problem, without any secret.

    `as_json`: whether the log, and so this message, has to be JSON.
    """

    def __init__(self, problems: Sequence[str], *, as_json: bool = False) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.as_json = as_json


class Settings(BaseModel):
    """All settings of the gateway, validated and frozen. Durations are in seconds.

    Secrets are pydantic's secret types: neither ``repr`` nor ``str`` shows them. ``model_fields_set`` holds
    the keys that the operator gave, which differ from defaults.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, validate_default=True, hide_input_in_errors=True
    )

    host: Host = Field(
        "127.0.0.1", description="an IP address (0.0.0.0 is every IPv4 one, :: every IPv6 and IPv4 one) or a host name"
    )
    port: Whole = Field(8000, ge=0, le=65535, description="a whole number 1 to 65535, or 0 for any free port")
    data_dir: Directory = Field(
        Path("data"),
        description="the path of a directory, made at the start if there is none; write out a home directory,"
        " ~ is not expanded",
    )
    brand: str = Field(
        "Svc",
        pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,31}$",
        description="1 to 32 letters, digits, '_', '-' or '.', not beginning with '.'",
    )
    header_brand: str = Field(
        "Service",
        pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$",
        description="1 to 64 characters of an HTTP token: letters, digits or !#$%&'*+-.^_`|~",
    )
    master_key: MasterKey | None = Field(
        None, repr=False, description="base64 of exactly 32 bytes, as 'openssl rand -base64 32' prints"
    )
    internal_secret: InternalSecret = None
    dev_mocks_enabled: Flag = False

    sandbox_keys_enabled: Flag = False
    sandbox_keys_per_hour: PerHour = 20
    registration: Literal["open", "closed"] = Field("open", description="open or closed")
    registrations_per_hour: PerHour = 100
    trusted_proxies: Networks = Field(
        (),
        description="IP addresses or CIDR networks (no bit set beyond the prefix), separated by commas",
    )
    connections_per_address: Whole = Field(
        0, ge=0, le=1_000_000, description="a whole number 0 to 1000000; 0 is no limit"
    )
    public_url: BaseUrl | None = Field(None, description="an http or https URL without credentials, query or fragment")
    cors_origins: Origins = Field(
        (),
        description="origins such as https://app.example.org (scheme, host, port if it is not the default; no path),"
        " separated by commas",
    )
    console_enabled: Flag = True
    operators: Names = Field(
        (), description="names of users, separated by commas: 3 to 64 letters, digits, '_', '-' or '.' each"
    )
    default_plan: Literal["free", "builder", "scale", "enterprise"] = Field(
        "free", description="free, builder, scale or enterprise"
    )
    session_ttl_s: Whole = Field(
        86400, ge=1, le=315_360_000, description="a whole number of seconds, 1 to 315360000 (ten years)"
    )
    max_body_bytes: Whole = Field(
        1_048_576, ge=1, le=1_073_741_824, description="a whole number of bytes, 1 to 1073741824 (1 GiB)"
    )

    webhooks_allow_insecure: Flag = False
    webhooks_retry_delays_s: Delays = Field(
        (5, 300, 1800, 7200, 18000, 36000, 36000),
        max_length=100,
        description="up to 100 numbers of seconds, each 0 to 2592000 (30 days), separated by commas",
    )
    webhooks_timeout_s: Number = Field(
        15, gt=0, le=3600, description="a number of seconds, more than 0 and at most 3600"
    )
    webhooks_ca_file: CertificateFile | None = Field(
        None, description="the path of a readable PEM file of certificates"
    )
    webhooks_log_days: Whole = Field(
        30, ge=15, le=3650, description="a number of days, 15 (one more than can be recovered) to 3650"
    )

    chat_engine: Literal["recall", "openai"] = Field("recall", description="recall or openai")
    openai_base_url: BaseUrl | None = Field(
        None,
        description="an http or https URL without credentials, query or fragment; the openai engine needs it",
    )
    openai_api_key: HeaderSecret = None
    openai_model: str | None = Field(
        None, pattern=r"^\S+$", description="the name of a model, without spaces; the openai engine needs it"
    )

    mcp_catalog: Catalog = Path("config/mcp-catalog.toml")
    skills_dir: Catalog = Field(
        Path("config/skills"), description="the path of a directory; a relative one is taken from the checkout"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="debug, info, warning or error")
    log_format: Literal["console", "json"] = Field("console", description="console or json")
    store_url: StoreUrl | None = Field(
        None,
        description="sqlite:///relative.db, sqlite:////absolute.db (~ is not expanded) or"
        " postgresql://user:password@host:port/database,"
        " with %40 for an @ in the password, %2F for a / and %23 for a #",
    )
    nats_url: NatsUrl | None = Field(
        None,
        description="nats://host:port or tls://host:port, with user:password@ before the host if the server needs it;"
        " needs PARLEY_STORE_URL=postgresql://...",
    )
    node_name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$",
        description="1 to 32 letters, digits, '_' or '-', beginning with a letter or digit; unset: from the host name",
    )
    cluster_lease_s: Number = Field(3, ge=1, le=60, description="a number of seconds, 1 to 60")

    @field_validator("openai_base_url", "openai_model")
    @classmethod
    def _openai_engine_needs(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("chat_engine") == "openai":
            raise ValueError("the openai engine needs it")
        return value

    @field_validator("skills_dir")
    @classmethod
    def _is_a_folder(cls, value: Path) -> Path:
        # The default may be absent, as the default catalog of tool servers may.
        if not value.is_dir() and value != CHECKOUT / "config/skills":
            raise ValueError("not a directory")
        return value

    @field_validator("nats_url")
    @classmethod
    def _several_nodes_need_postgresql(cls, value: str | None, info: ValidationInfo) -> str | None:
        # A store_url that is wrong itself is missing here, and reported by its own problem.
        if value is not None and not str(info.data.get("store_url", POSTGRES_URL)).startswith(POSTGRES_URL):
            raise ValueError("nodes share a PostgreSQL database")
        return value

    @property
    def node(self) -> str:
        """The name of this node: ``node_name``, else the host name without its domain."""
        return self.node_name or re.sub(r"[^A-Za-z0-9_-]", "-", gethostname().partition(".")[0])[:32] or "node"

    @property
    def database_path(self) -> Path:
        """The SQLite file of ``store_url``, else ``parley.db`` in the data directory."""
        if self.store_url is None:
            return self.data_dir / "parley.db"
        return Path(self.store_url.removeprefix(SQLITE_URL))

    @property
    def postgres_url(self) -> str | None:
        """The ``store_url`` if it names a PostgreSQL database."""
        return self.store_url if (self.store_url or "").startswith(POSTGRES_URL) else None

    def __repr_args__(self) -> Iterator[tuple[str | None, object]]:
        """Hide the passwords in ``store_url`` and ``nats_url``."""
        for name, value in super().__repr_args__():
            yield name, _without_secrets(value) if name in WITH_PASSWORD and isinstance(value, str) else value


def variable(key: str) -> str:
    """Return the environment variable of a settings key, e.g. ``PARLEY_PORT`` for ``port``."""
    return key.upper() if key in UNPREFIXED else f"PARLEY_{key.upper()}"


VARIABLES: Mapping[str, str] = {variable(key): key for key in Settings.model_fields}
_KEYS = {key: key for key in Settings.model_fields}
_NAMES = {key: variable(key) for key in Settings.model_fields} | {"config": CONFIG_VARIABLE}


def load_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings from the environment and the TOML file of ``PARLEY_CONFIG``, if any.

    Raises SettingsError with every wrong value, unknown name and unreadable file.
    """
    return _Sources(environ).settings()


class _Sources:
    """The operator's values, the source of each, and the problems found."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.values: dict[str, object] = {}
        self.places: dict[str, str] = {}
        self.problems: list[str] = []
        self.complete = True
        if environ.get(CONFIG_VARIABLE):
            self._add_file(environ[CONFIG_VARIABLE])
        self._add_environment(environ)

    def settings(self) -> Settings:
        settings = None
        try:
            settings = Settings.model_validate(self.values)
        except ValidationError as error:
            wrong = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors(include_input=False))
            # Without the file missing values can't be reported, only wrong ones.
            self.problems += [self._wrong(key) for key in wrong if self.complete or key in self.values]
        # Raised outside the except clause, so that no traceback holds pydantic's error and with it a secret.
        if settings is None or self.problems:
            raise SettingsError(self.problems, as_json=self.values.get("log_format") == "json")
        return settings

    def _add_file(self, path: str) -> None:
        table: dict[str, object] = {}
        try:
            with open(path, "rb") as file:
                table = tomllib.load(file)
        except OSError as error:
            self._unusable(path, error.strerror or str(error))
        except ValueError as error:
            self._unusable(path, str(error))
        for key, value in table.items():
            if key in Settings.model_fields:
                self._add(key, f"{key} in {path}", value)
            else:
                self._unknown(f"{key} in {path}", _nearest(key, _KEYS))

    def _add_environment(self, environ: Mapping[str, str]) -> None:
        for name, value in environ.items():
            if name in VARIABLES:
                self._add(VARIABLES[name], name, value)
            elif name.upper().startswith("PARLEY_") and name != CONFIG_VARIABLE:
                self._unknown(name, _nearest(name, _NAMES))

    def _add(self, key: str, place: str, value: object) -> None:
        if value != "":
            self.values[key] = value
            self.places[key] = place

    def _unusable(self, path: str, reason: str) -> None:
        self.complete = False
        self.problems.append(f"{CONFIG_VARIABLE} is {path!r} ({reason}); allowed: the path of a readable TOML file")

    def _unknown(self, place: str, nearest: str | None) -> None:
        # The value is not shown, because it may be a secret under a mistyped name.
        hint = f"did you mean {nearest}?" if nearest else "config/defaults.toml lists every setting"
        if place in OF_THE_CLIENT:
            hint = "it is a setting of the client `parley`, so unset it for the gateway"
        self.problems.append(f"{_one_line(place)} is unknown; {hint}")

    def _wrong(self, key: str) -> str:
        field = Settings.model_fields[key]
        place = self.places.get(key, variable(key))
        shown = "not set"
        if key in self.values:
            shown = _shown(self.values[key]) if field.repr else "(hidden)"
        return f"{_one_line(place)} is {shown}; allowed: {field.description}"


def _nearest(name: str, known: Mapping[str, str]) -> str | None:
    """Return the known name closest to a wrong one, in any case and with or without the prefix."""
    matches = difflib.get_close_matches(name.lower().removeprefix("parley_"), known, n=1)
    return known[matches[0]] if matches else None


def _shown(value: object) -> str:
    """Return a value as one short line, without a password or token in a URL."""
    text = _without_secrets(value if isinstance(value, str) else repr(value))
    text = text if len(text) <= 100 else f"{text[:100]}..."
    return repr(text) if isinstance(value, str) else text


def _without_secrets(text: str) -> str:
    text = re.sub(r"(?s)(:/*).*@", r"\1(hidden)@", text)
    return re.sub(r"(?s)(://[^?]*\?).*", r"\1(hidden)", text)


def _one_line(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")
