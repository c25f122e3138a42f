"""The settings: every variable with its default, its allowed and refused values, and its error messages."""

import base64
import datetime
import ipaddress
import re
import tomllib
import traceback
from collections.abc import Mapping
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pydantic import SecretBytes, SecretStr, ValidationError

from config.master_key import MasterKeyError, load_master_key
from config.settings import VARIABLES, Settings, SettingsError, load_settings
from config.values import CHECKOUT

KEY = bytes(range(32))
DEFAULTS_FILE = CHECKOUT / "config" / "defaults.toml"

DEFAULTS: dict[str, object] = {
    "PARLEY_HOST": "127.0.0.1",
    "PARLEY_PORT": 8000,
    "PARLEY_DATA_DIR": Path("data"),
    "PARLEY_BRAND": "Svc",
    "PARLEY_HEADER_BRAND": "Service",
    "PARLEY_MASTER_KEY": None,
    "INTERNAL_SECRET": None,
    "DEV_MOCKS_ENABLED": False,
    "PARLEY_SANDBOX_KEYS_ENABLED": False,
    "PARLEY_SANDBOX_KEYS_PER_HOUR": 20,
    "PARLEY_REGISTRATION": "open",
    "PARLEY_REGISTRATIONS_PER_HOUR": 100,
    "PARLEY_TRUSTED_PROXIES": (),
    "PARLEY_CONNECTIONS_PER_ADDRESS": 0,
    "PARLEY_PUBLIC_URL": None,
    "PARLEY_CORS_ORIGINS": (),
    "PARLEY_CONSOLE_ENABLED": True,
    "PARLEY_OPERATORS": (),
    "PARLEY_DEFAULT_PLAN": "free",
    "PARLEY_SESSION_TTL_S": 86400,
    "PARLEY_MAX_BODY_BYTES": 1048576,
    "PARLEY_WEBHOOKS_ALLOW_INSECURE": False,
    "PARLEY_WEBHOOKS_RETRY_DELAYS_S": (5, 300, 1800, 7200, 18000, 36000, 36000),
    "PARLEY_WEBHOOKS_TIMEOUT_S": 15,
    "PARLEY_WEBHOOKS_CA_FILE": None,
    "PARLEY_WEBHOOKS_LOG_DAYS": 30,
    "PARLEY_CHAT_ENGINE": "recall",
    "PARLEY_OPENAI_BASE_URL": None,
    "PARLEY_OPENAI_API_KEY": None,
    "PARLEY_OPENAI_MODEL": None,
    "PARLEY_MCP_CATALOG": CHECKOUT / "config" / "mcp-catalog.toml",
    "PARLEY_SKILLS_DIR": CHECKOUT / "config" / "skills",
    "PARLEY_LOG_LEVEL": "info",
    "PARLEY_LOG_FORMAT": "console",
    "PARLEY_STORE_URL": None,
    "PARLEY_NATS_URL": None,
    "PARLEY_NODE_NAME": None,
    "PARLEY_CLUSTER_LEASE_S": 3,
}

GOOD: list[tuple[str, str, object]] = [
    ("PARLEY_HOST", "0.0.0.0", "0.0.0.0"),
    ("PARLEY_HOST", "::1", "::1"),
    ("PARLEY_HOST", "gateway-1.example.org", "gateway-1.example.org"),
    ("PARLEY_HOST", "3f2a9c", "3f2a9c"),
    ("PARLEY_PORT", "1", 1),
    ("PARLEY_PORT", "65535", 65535),
    ("PARLEY_PORT", "0", 0),
    ("PARLEY_DATA_DIR", "/var/lib/parley", Path("/var/lib/parley")),
    ("PARLEY_BRAND", "Acme_2-x.y", "Acme_2-x.y"),
    ("PARLEY_BRAND", "b" * 32, "b" * 32),
    ("PARLEY_HEADER_BRAND", "Acme-2", "Acme-2"),
    ("PARLEY_MASTER_KEY", base64.b64encode(KEY).decode(), SecretBytes(KEY)),
    ("INTERNAL_SECRET", "correct horse 16", SecretStr("correct horse 16")),
    ("DEV_MOCKS_ENABLED", "true", True),
    ("DEV_MOCKS_ENABLED", "1", True),
    ("DEV_MOCKS_ENABLED", "Yes", True),
    ("DEV_MOCKS_ENABLED", "ON", True),
    ("PARLEY_SANDBOX_KEYS_ENABLED", "false", False),
    ("PARLEY_SANDBOX_KEYS_ENABLED", "0", False),
    ("PARLEY_SANDBOX_KEYS_ENABLED", "no", False),
    ("PARLEY_SANDBOX_KEYS_ENABLED", "off", False),
    ("PARLEY_CONSOLE_ENABLED", "no", False),
    ("PARLEY_SANDBOX_KEYS_PER_HOUR", "0", 0),
    ("PARLEY_REGISTRATION", "closed", "closed"),
    ("PARLEY_REGISTRATIONS_PER_HOUR", "7", 7),
    (
        "PARLEY_TRUSTED_PROXIES",
        "10.0.0.0/8, 192.0.2.7,fd00::/8",
        tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "192.0.2.7/32", "fd00::/8"))),
    ),
    ("PARLEY_CONNECTIONS_PER_ADDRESS", "100", 100),
    ("PARLEY_PUBLIC_URL", "https://parley.example.org/", "https://parley.example.org"),
    ("PARLEY_PUBLIC_URL", "http://10.0.0.5:8000/parley", "http://10.0.0.5:8000/parley"),
    ("PARLEY_OPERATORS", "lovelace, Grace.H-1", ("lovelace", "Grace.H-1")),
    (
        "PARLEY_CORS_ORIGINS",
        "https://App.example.org, http://localhost:5173,https://b.example:443/,http://[::1]:80",
        ("https://app.example.org", "http://localhost:5173", "https://b.example", "http://[::1]"),
    ),
    ("PARLEY_DEFAULT_PLAN", "builder", "builder"),
    ("PARLEY_DEFAULT_PLAN", "scale", "scale"),
    ("PARLEY_DEFAULT_PLAN", "enterprise", "enterprise"),
    ("PARLEY_SESSION_TTL_S", "1", 1),
    ("PARLEY_MAX_BODY_BYTES", "4096", 4096),
    ("PARLEY_WEBHOOKS_ALLOW_INSECURE", "yes", True),
    ("PARLEY_WEBHOOKS_RETRY_DELAYS_S", "0, 0.5,5", (0, 0.5, 5)),
    ("PARLEY_WEBHOOKS_RETRY_DELAYS_S", "5", (5,)),
    ("PARLEY_WEBHOOKS_TIMEOUT_S", "0.25", 0.25),
    ("PARLEY_WEBHOOKS_LOG_DAYS", "15", 15),
    ("PARLEY_CHAT_ENGINE", "recall", "recall"),
    ("PARLEY_OPENAI_BASE_URL", "http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
    ("PARLEY_OPENAI_BASE_URL", "https://llm.example.org", "https://llm.example.org"),
    ("PARLEY_OPENAI_API_KEY", "sk-1", SecretStr("sk-1")),
    ("PARLEY_OPENAI_MODEL", "llama3.2:latest", "llama3.2:latest"),
    ("PARLEY_MCP_CATALOG", "/etc/parley/mcp.toml", Path("/etc/parley/mcp.toml")),
    ("PARLEY_MCP_CATALOG", "etc/mcp.toml", CHECKOUT / "etc/mcp.toml"),
    ("PARLEY_SKILLS_DIR", str(CHECKOUT / "docs"), CHECKOUT / "docs"),
    ("PARLEY_SKILLS_DIR", "config", CHECKOUT / "config"),
    ("PARLEY_LOG_LEVEL", "debug", "debug"),
    ("PARLEY_LOG_LEVEL", "warning", "warning"),
    ("PARLEY_LOG_LEVEL", "error", "error"),
    ("PARLEY_LOG_FORMAT", "json", "json"),
    ("PARLEY_STORE_URL", "sqlite:////var/lib/p.db", "sqlite:////var/lib/p.db"),
    ("PARLEY_STORE_URL", "postgresql://me:pw@db:5433/parley", "postgresql://me:pw@db:5433/parley"),
    ("PARLEY_STORE_URL", "postgresql:///parley?host=%2Frun%2Fpg", "postgresql:///parley?host=%2Frun%2Fpg"),
    ("PARLEY_NODE_NAME", "gateway-1", "gateway-1"),
    ("PARLEY_NODE_NAME", "n" * 32, "n" * 32),
    ("PARLEY_CLUSTER_LEASE_S", "1.5", 1.5),
    ("PARLEY_CLUSTER_LEASE_S", "60", 60),
]

BAD: list[tuple[str, str, str]] = [
    ("PARLEY_HOST", "not a host", "an IP address"),
    ("PARLEY_HOST", "256.1.1.1", "an IP address"),
    ("PARLEY_HOST", "http://localhost", "an IP address"),
    ("PARLEY_PORT", "65536", "1 to 65535, or 0"),
    ("PARLEY_PORT", "-1", "1 to 65535, or 0"),
    ("PARLEY_PORT", "80.5", "a whole number"),
    ("PARLEY_PORT", "http", "a whole number"),
    ("PARLEY_PORT", "8_000", "a whole number"),
    ("PARLEY_PORT", "\u0668\u0660", "a whole number"),
    ("PARLEY_DATA_DIR", __file__, "a directory"),
    ("PARLEY_DATA_DIR", "  ", "a directory"),
    ("PARLEY_DATA_DIR", "~/parley", "write out a home directory, ~ is not expanded"),
    ("PARLEY_DATA_DIR", "~lovelace", "write out a home directory, ~ is not expanded"),
    ("PARLEY_BRAND", "a/b", "1 to 32 letters"),
    ("PARLEY_BRAND", "..", "not beginning with '.'"),
    ("PARLEY_BRAND", "b" * 33, "1 to 32 letters"),
    ("PARLEY_BRAND", "Svc\n", "1 to 32 letters"),
    ("PARLEY_BRAND", "Größe", "1 to 32 letters"),
    ("PARLEY_HEADER_BRAND", "Two Words", "an HTTP token"),
    ("PARLEY_HEADER_BRAND", "A:B", "an HTTP token"),
    ("PARLEY_HEADER_BRAND", "A\r\nB", "an HTTP token"),
    ("PARLEY_MASTER_KEY", base64.b64encode(KEY[:31]).decode(), "base64 of exactly 32 bytes"),
    ("PARLEY_MASTER_KEY", base64.b64encode(KEY + b"x").decode(), "base64 of exactly 32 bytes"),
    ("PARLEY_MASTER_KEY", "not base64!", "base64 of exactly 32 bytes"),
    ("INTERNAL_SECRET", "two lines\nof a text", "printable ASCII"),
    ("INTERNAL_SECRET", " padded on the left", "no space at either end"),
    ("INTERNAL_SECRET", "x" * 15, "16 or more characters"),
    ("INTERNAL_SECRET", "x", "16 or more characters"),
    ("DEV_MOCKS_ENABLED", "maybe", "true or false (in the environment also 1/0, yes/no, on/off)"),
    ("DEV_MOCKS_ENABLED", "2", "true or false"),
    ("PARLEY_SANDBOX_KEYS_ENABLED", "t", "true or false"),
    ("PARLEY_CONSOLE_ENABLED", "2", "true or false"),
    ("PARLEY_SANDBOX_KEYS_PER_HOUR", "-1", "0 is no limit"),
    ("PARLEY_REGISTRATION", "invite", "open or closed"),
    ("PARLEY_REGISTRATIONS_PER_HOUR", "many", "0 is no limit"),
    ("PARLEY_TRUSTED_PROXIES", "10.0.0.1,proxy.local", "IP addresses or CIDR networks"),
    ("PARLEY_TRUSTED_PROXIES", "10.0.0.1/8", "no bit set beyond the prefix"),
    ("PARLEY_TRUSTED_PROXIES", "10.0.0.1,", "separated by commas"),
    ("PARLEY_CONNECTIONS_PER_ADDRESS", "-1", "0 is no limit"),
    ("PARLEY_PUBLIC_URL", "parley.example.org", "an http or https URL"),
    ("PARLEY_PUBLIC_URL", "https://parley.example.org/?a=b", "without credentials, query or fragment"),
    ("PARLEY_CORS_ORIGINS", "*", "origins such as https://app.example.org"),
    ("PARLEY_CORS_ORIGINS", "https://app.example.org/path", "no path"),
    ("PARLEY_CORS_ORIGINS", "https://app.example.org,", "separated by commas"),
    ("PARLEY_CORS_ORIGINS", "app.example.org", "origins such as"),
    ("PARLEY_OPERATORS", "lovelace,", "names of users, separated by commas"),
    ("PARLEY_OPERATORS", "ada lovelace", "names of users"),
    ("PARLEY_OPERATORS", "ab", "3 to 64 letters"),
    ("PARLEY_DEFAULT_PLAN", "gold", "free, builder, scale or enterprise"),
    ("PARLEY_SESSION_TTL_S", "0", "seconds, 1 to 315360000"),
    ("PARLEY_MAX_BODY_BYTES", "0", "bytes, 1 to 1073741824"),
    ("PARLEY_MAX_BODY_BYTES", "1MiB", "a whole number of bytes"),
    ("PARLEY_WEBHOOKS_ALLOW_INSECURE", "nope", "true or false"),
    ("PARLEY_WEBHOOKS_RETRY_DELAYS_S", "5,-1", "each 0 to 2592000"),
    ("PARLEY_WEBHOOKS_RETRY_DELAYS_S", "5;300", "separated by commas"),
    ("PARLEY_WEBHOOKS_RETRY_DELAYS_S", "5,,300", "separated by commas"),
    ("PARLEY_WEBHOOKS_RETRY_DELAYS_S", "nan", "numbers of seconds"),
    ("PARLEY_WEBHOOKS_TIMEOUT_S", "0", "more than 0"),
    ("PARLEY_WEBHOOKS_TIMEOUT_S", "1_5", "more than 0"),
    ("PARLEY_WEBHOOKS_LOG_DAYS", "14", "15"),
    ("PARLEY_WEBHOOKS_LOG_DAYS", "3651", "3650"),
    ("PARLEY_WEBHOOKS_TIMEOUT_S", "inf", "at most 3600"),
    ("PARLEY_WEBHOOKS_CA_FILE", "/no/such/ca.pem", "a readable PEM file"),
    ("PARLEY_WEBHOOKS_CA_FILE", __file__, "a readable PEM file"),
    ("PARLEY_CHAT_ENGINE", "eliza", "recall or openai"),
    ("PARLEY_OPENAI_BASE_URL", "ftp://llm.example.org", "an http or https URL"),
    ("PARLEY_OPENAI_BASE_URL", "llm.example.org/v1", "an http or https URL"),
    ("PARLEY_OPENAI_BASE_URL", "https://me:pw@llm.example.org", "without credentials"),
    ("PARLEY_OPENAI_BASE_URL", "https://llm.example.org/?key=k", "without credentials, query"),
    ("PARLEY_OPENAI_API_KEY", "clé", "printable ASCII"),
    ("PARLEY_OPENAI_MODEL", "two words", "the name of a model"),
    ("PARLEY_MCP_CATALOG", "a\0b", "a path"),
    ("PARLEY_MCP_CATALOG", " ", "a path"),
    ("PARLEY_SKILLS_DIR", "a\0b", "a directory"),
    ("PARLEY_SKILLS_DIR", "/no/such/skills", "a directory"),
    ("PARLEY_SKILLS_DIR", __file__, "a directory"),
    ("PARLEY_LOG_LEVEL", "loud", "debug, info, warning or error"),
    ("PARLEY_LOG_FORMAT", "xml", "console or json"),
    ("PARLEY_STORE_URL", "mysql://db/parley", "sqlite:///relative.db"),
    ("PARLEY_STORE_URL", "postgresql://db", "postgresql://user:password@host:port/database"),
    ("PARLEY_STORE_URL", "postgresql://db:port/parley", "postgresql://user:password@host:port/database"),
    ("PARLEY_STORE_URL", "postgresql://me:p@w@db/parley", "with %40 for an @ in the password"),
    ("PARLEY_STORE_URL", "postgresql://db/par/ley", "postgresql://user:password@host:port/database"),
    ("PARLEY_STORE_URL", "sqlite:///", "sqlite:///relative.db"),
    ("PARLEY_STORE_URL", "sqlite:///~/parley.db", "~ is not expanded"),
    ("PARLEY_STORE_URL", "sqlite:///:memory:", "sqlite:///relative.db"),
    ("PARLEY_STORE_URL", "sqlite:///p.db?mode=ro", "sqlite:///relative.db"),
    ("PARLEY_NATS_URL", "nats://127.0.0.1:4222", "needs PARLEY_STORE_URL=postgresql://"),
    ("PARLEY_NATS_URL", "http://127.0.0.1:4222", "nats://host:port"),
    ("PARLEY_NATS_URL", "127.0.0.1", "nats://host:port"),
    ("PARLEY_NODE_NAME", "gateway.1", "letters, digits, '_' or '-'"),
    ("PARLEY_NODE_NAME", "-", "beginning with a letter or digit"),
    ("PARLEY_NODE_NAME", "n" * 33, "1 to 32"),
    ("PARLEY_CLUSTER_LEASE_S", "0.5", "1 to 60"),
    ("PARLEY_CLUSTER_LEASE_S", "61", "1 to 60"),
    ("PARLEY_CLUSTER_LEASE_S", "nan", "1 to 60"),
]
HIDDEN = {"PARLEY_MASTER_KEY", "INTERNAL_SECRET", "PARLEY_OPENAI_API_KEY"}


def problems(environ: Mapping[str, str]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    return caught.value.problems


def value_of(settings: Settings, variable: str) -> object:
    return getattr(settings, VARIABLES[variable])


@pytest.fixture
def toml(tmp_path: Path) -> Path:
    return tmp_path / "parley.toml"


def test_every_variable_of_the_contract_is_known_and_no_other():
    assert set(VARIABLES) == set(DEFAULTS)


@pytest.mark.parametrize(("variable", "default"), DEFAULTS.items())
def test_an_unset_variable_has_the_default_of_the_contract(variable: str, default: object):
    assert value_of(load_settings({}), variable) == default


@pytest.mark.parametrize("variable", DEFAULTS)
def test_an_empty_variable_counts_as_unset(variable: str):
    assert load_settings({variable: ""}) == load_settings({})


@pytest.mark.parametrize(("variable", "text", "value"), GOOD)
def test_a_good_value_is_taken(variable: str, text: str, value: object):
    assert value_of(load_settings({variable: text}), variable) == value


@pytest.mark.parametrize(("variable", "text", "allowed"), BAD)
def test_a_wrong_value_is_named_with_what_it_was_and_what_is_allowed(variable: str, text: str, allowed: str):
    (problem,) = problems({variable: text})
    name, _, rest = problem.partition(" is ")
    was, _, advice = rest.partition("; allowed: ")
    assert name == variable
    assert allowed in advice
    assert "\n" not in problem
    if variable in HIDDEN:
        assert was == "(hidden)"
    elif "://" not in text:
        assert was == repr(text)


def test_every_variable_has_a_good_and_a_bad_value_in_these_tables():
    assert {row[0] for row in GOOD} | {"PARLEY_WEBHOOKS_CA_FILE", "PARLEY_NATS_URL"} == set(DEFAULTS)
    assert {row[0] for row in BAD} == set(DEFAULTS)


def test_a_file_of_certificate_authorities_is_taken(tmp_path: Path):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "ca.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    assert load_settings({"PARLEY_WEBHOOKS_CA_FILE": str(path)}).webhooks_ca_file == path


def test_all_problems_are_told_at_once_one_a_line():
    told = problems({"PARLEY_PORT": "x", "PARLEY_LOG_LEVEL": "x", "PARLEY_NOPE": "x", "PARLEY_CONFIG": "/no/file"})
    assert [line.split()[0] for line in told] == [
        "PARLEY_CONFIG",
        "PARLEY_NOPE",
        "PARLEY_PORT",
        "PARLEY_LOG_LEVEL",
    ]


def test_the_message_of_the_error_is_its_problems_line_by_line():
    with pytest.raises(SettingsError) as caught:
        load_settings({"PARLEY_PORT": "x", "PARLEY_BRAND": "/"})
    assert isinstance(caught.value, ValueError)
    assert str(caught.value).splitlines() == list(caught.value.problems)


def test_a_list_with_several_wrong_items_is_one_problem():
    assert len(problems({"PARLEY_WEBHOOKS_RETRY_DELAYS_S": "a,b,c"})) == 1


def test_the_openai_engine_needs_a_base_url_and_a_model():
    told = problems({"PARLEY_CHAT_ENGINE": "openai", "PARLEY_PORT": "x"})
    assert [line.split(";")[0] for line in told] == [
        "PARLEY_PORT is 'x'",
        "PARLEY_OPENAI_BASE_URL is not set",
        "PARLEY_OPENAI_MODEL is not set",
    ]
    assert told[1].endswith("the openai engine needs it")


def test_the_openai_engine_needs_no_key():
    settings = load_settings(
        {"PARLEY_CHAT_ENGINE": "openai", "PARLEY_OPENAI_BASE_URL": "http://h/v1", "PARLEY_OPENAI_MODEL": "m"}
    )
    assert settings.chat_engine == "openai"
    assert settings.openai_api_key is None


@pytest.mark.parametrize(
    ("unknown", "nearest"),
    [
        ("PARLEY_PROT", "PARLEY_PORT"),
        ("PARLEY_INTERNAL_SECRET", "INTERNAL_SECRET"),
        ("PARLEY_DEV_MOCKS_ENABLED", "DEV_MOCKS_ENABLED"),
        ("PARLEY_WEBHOOK_TIMEOUT", "PARLEY_WEBHOOKS_TIMEOUT_S"),
        ("PARLEY_CONFIGS", "PARLEY_CONFIG"),
        ("parley_port", "PARLEY_PORT"),
    ],
)
def test_an_unknown_variable_stops_the_start_and_the_nearest_name_is_suggested(unknown: str, nearest: str):
    assert problems({unknown: "1"}) == (f"{unknown} is unknown; did you mean {nearest}?",)


@pytest.mark.parametrize("name", ["PARLEY_URL", "PARLEY_API_KEY", "PARLEY_PASSWORD", "PARLEY_PROFILE"])
def test_a_setting_of_the_client_is_named_as_such(name: str) -> None:
    told = f"{name} is unknown; it is a setting of the client `parley`, so unset it for the gateway"
    assert problems({name: "plk_secret"}) == (told,)


def test_an_unknown_variable_like_no_other_points_to_the_file_of_defaults():
    assert problems({"PARLEY_ZZZ": ""}) == ("PARLEY_ZZZ is unknown; config/defaults.toml lists every setting",)


def test_variables_of_other_programs_are_left_alone():
    assert load_settings({"PATH": "/bin", "PORT": "x", "PARLEYVOUS": "x"}) == load_settings({})


def test_the_environment_wins_over_the_file(toml: Path):
    toml.write_text('port = 1\nbrand = "File"\n')
    settings = load_settings({"PARLEY_CONFIG": str(toml), "PARLEY_PORT": "2"})
    assert (settings.port, settings.brand) == (2, "File")


def test_an_empty_variable_leaves_the_value_of_the_file(toml: Path):
    toml.write_text("port = 1\n")
    assert load_settings({"PARLEY_CONFIG": str(toml), "PARLEY_PORT": ""}).port == 1


def test_an_empty_name_of_the_file_counts_as_unset():
    assert load_settings({"PARLEY_CONFIG": ""}) == load_settings({})


def test_an_empty_string_in_the_file_counts_as_unset(toml: Path):
    toml.write_text('host = ""\ninternal_secret = ""\n')
    assert load_settings({"PARLEY_CONFIG": str(toml)}) == load_settings({})


def test_the_file_takes_arrays_and_the_unprefixed_names(toml: Path):
    toml.write_text(
        'webhooks_retry_delays_s = [1, 2.5]\ntrusted_proxies = ["10.0.0.0/8"]\n'
        'internal_secret = "s3cret of the file"\ndev_mocks_enabled = true\n'
    )
    settings = load_settings({"PARLEY_CONFIG": str(toml)})
    assert settings.webhooks_retry_delays_s == (1, 2.5)
    assert settings.trusted_proxies == (ipaddress.ip_network("10.0.0.0/8"),)
    assert settings.internal_secret == SecretStr("s3cret of the file")
    assert settings.dev_mocks_enabled is True


def test_the_file_takes_lists_as_text_too(toml: Path):
    toml.write_text('webhooks_retry_delays_s = "1,2"\n')
    assert load_settings({"PARLEY_CONFIG": str(toml)}).webhooks_retry_delays_s == (1, 2)


def test_an_empty_array_of_delays_means_no_retries(toml: Path):
    toml.write_text("webhooks_retry_delays_s = []\n")
    assert load_settings({"PARLEY_CONFIG": str(toml)}).webhooks_retry_delays_s == ()


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("port = true", "True"),
        ("port = 80.0", "80.0"),
        ("host = 1", "1"),
        ("dev_mocks_enabled = 1", "1"),
        ("webhooks_timeout_s = true", "True"),
        ("webhooks_timeout_s = nan", "nan"),
        ("webhooks_timeout_s = 1" + "0" * 400, "1" + "0" * 99 + "..."),
        ("webhooks_retry_delays_s = 5", "5"),
        ("webhooks_retry_delays_s = [true]", "[True]"),
        ("trusted_proxies = [1]", "[1]"),
        ("data_dir = 1", "1"),
        ("brand = { x = 1 }", "{'x': 1}"),
        ("master_key = 12345", "(hidden)"),
        ("internal_secret = [12345]", "(hidden)"),
    ],
)
def test_a_wrong_type_in_the_file_is_told_with_key_and_file(toml: Path, line: str, shown: str):
    toml.write_text(line)
    (problem,) = problems({"PARLEY_CONFIG": str(toml)})
    assert problem.startswith(f"{line.split(maxsplit=1)[0]} in {toml} is {shown}; allowed: ")


def test_an_unknown_key_in_the_file_stops_the_start_and_the_nearest_is_suggested(toml: Path):
    toml.write_text('prot = 1\nPARLEY_PORT = 2\n"zz\\nz" = 3\n')
    assert problems({"PARLEY_CONFIG": str(toml)}) == (
        f"prot in {toml} is unknown; did you mean port?",
        f"PARLEY_PORT in {toml} is unknown; did you mean port?",
        f"zz\\nz in {toml} is unknown; config/defaults.toml lists every setting",
    )


def test_a_missing_file_is_told(toml: Path):
    (problem,) = problems({"PARLEY_CONFIG": str(toml)})
    assert problem == (
        f"PARLEY_CONFIG is '{toml}' (No such file or directory); allowed: the path of a readable TOML file"
    )


def test_a_directory_instead_of_a_file_is_told(tmp_path: Path):
    assert "Is a directory" in problems({"PARLEY_CONFIG": str(tmp_path)})[0]


def test_a_syntax_error_in_the_file_is_told_with_its_line(toml: Path):
    toml.write_text("port = 1\nhost = = 2\n")
    (problem,) = problems({"PARLEY_CONFIG": str(toml)})
    assert problem.startswith(f"PARLEY_CONFIG is '{toml}' (")
    assert "line 2" in problem


def test_a_file_that_is_not_utf_8_is_told(toml: Path):
    toml.write_bytes(b'brand = "\xff"')
    assert "utf-8" in problems({"PARLEY_CONFIG": str(toml)})[0]


def test_an_unreadable_file_makes_no_other_value_count_as_missing(toml: Path):
    assert len(problems({"PARLEY_CONFIG": str(toml), "PARLEY_CHAT_ENGINE": "openai"})) == 1


def test_no_secret_shows_in_the_settings():
    key = base64.b64encode(KEY).decode()
    secret = "hunter2-" * 2
    settings = load_settings({"PARLEY_MASTER_KEY": key, "INTERNAL_SECRET": secret, "PARLEY_OPENAI_API_KEY": "sk-77"})
    for shown in (repr(settings), str(settings), repr(settings.model_dump()), settings.model_dump_json()):
        for secret in (key, repr(KEY)[2:-1], "hunter2", "sk-77"):
            assert secret not in shown


def test_no_secret_shows_in_an_error_or_its_traceback(toml: Path):
    toml.write_text('openai_api_key = "sk-\\u0001leak"\n')
    environ = {
        "PARLEY_CONFIG": str(toml),
        "PARLEY_MASTER_KEY": "leak-key",
        "INTERNAL_SECRET": "leak\x01secret",
        "PARLEY_MASTER_KEI": "leak-mistyped",
        "PARLEY_STORE_URL": "postgresql://me:leak@db/par/ley?password=leak",
        "PARLEY_OPENAI_BASE_URL": "https://me:leak@h/v1?key=leak",
    }
    with pytest.raises(SettingsError) as caught:
        load_settings(environ)
    assert len(caught.value.problems) == 6
    assert "leak" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def test_settings_made_directly_hide_a_wrong_value_and_refuse_an_unknown_one():
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"internal_secret": "leak\n", "nope": "leak"})
    assert "leak" not in str(caught.value)
    assert caught.value.error_count() == 2


def test_the_password_in_a_store_url_is_hidden_and_the_rest_is_told():
    (problem,) = problems({"PARLEY_STORE_URL": "postgresql://me:p?w/@x@db/parley?password=pw"})
    assert problem.startswith("PARLEY_STORE_URL is 'postgresql://(hidden)@db/parley?(hidden)'; ")


def test_the_password_in_a_right_store_url_is_not_in_the_settings_as_text():
    settings = load_settings({"PARLEY_STORE_URL": "postgresql://me:leak@db/parley?password=leak"})
    assert "leak" not in repr(settings) + str(settings)
    assert settings.postgres_url == "postgresql://me:leak@db/parley?password=leak"


def test_a_folder_whose_name_begins_with_a_tilde_is_taken_if_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An earlier version made it, and it may hold the data."""
    (tmp_path / "~" / "parley").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    settings = load_settings({"PARLEY_DATA_DIR": "~/parley"})
    assert settings.database_path == Path("~/parley/parley.db")
    settings = load_settings({"PARLEY_STORE_URL": "sqlite:///~/parley/own.db"})
    assert settings.database_path == Path("~/parley/own.db")


def test_with_postgresql_the_master_key_must_be_set(tmp_path: Path):
    environ = {"PARLEY_STORE_URL": "postgresql://db/parley", "PARLEY_DATA_DIR": str(tmp_path)}
    with pytest.raises(MasterKeyError, match="set it as PARLEY_MASTER_KEY"):
        load_master_key(load_settings(environ), first_start=True)
    with pytest.raises(MasterKeyError, match=r"set the key that this database was sealed with .* in master\.key\) as"):
        load_master_key(load_settings(environ), first_start=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "garbage!", "AAAA"])
def test_an_unusable_key_file_is_refused_with_what_to_do(tmp_path: Path, content: str):
    (tmp_path / "master.key").write_text(content)
    with pytest.raises(MasterKeyError, match="from your backup, or set PARLEY_MASTER_KEY"):
        load_master_key(load_settings({"PARLEY_DATA_DIR": str(tmp_path)}), first_start=False)


def test_a_sqlite_store_has_no_postgres_url():
    assert load_settings({}).postgres_url is None
    assert load_settings({"PARLEY_STORE_URL": "sqlite:///p.db"}).postgres_url is None


POSTGRES = {"PARLEY_STORE_URL": "postgresql://db/parley"}


@pytest.mark.parametrize(
    "url", ["nats://127.0.0.1:4222", "nats://me:pw@nats", "tls://[::1]:4222/", "nats://token@nats"]
)
def test_nodes_find_each_other_by_a_nats_server_and_one_database(url: str):
    assert load_settings(POSTGRES | {"PARLEY_NATS_URL": url}).nats_url == url


@pytest.mark.parametrize(
    "url", ["nats://", "nats://db:port", "nats://db/path", "nats://me:p@w@db", "nats://a b", "nats://db?x=1"]
)
def test_a_wrong_url_of_nats_is_refused_whatever_the_store(url: str):
    (problem,) = problems(POSTGRES | {"PARLEY_NATS_URL": url})
    assert problem.startswith("PARLEY_NATS_URL is 'nats://")


@pytest.mark.parametrize("store", ["", "sqlite:///p.db"])
def test_several_nodes_on_sqlite_are_refused(store: str):
    (problem,) = problems({"PARLEY_STORE_URL": store, "PARLEY_NATS_URL": "nats://me:leak@nats"})
    assert problem.startswith("PARLEY_NATS_URL is 'nats://(hidden)@nats'; allowed: ")
    assert problem.endswith("needs PARLEY_STORE_URL=postgresql://...")


def test_a_wrong_store_url_is_the_only_problem_of_several_nodes():
    (problem,) = problems({"PARLEY_STORE_URL": "postgresql://db", "PARLEY_NATS_URL": "nats://nats"})
    assert problem.startswith("PARLEY_STORE_URL is ")


def test_the_password_in_a_right_url_of_nats_is_not_in_the_settings_as_text():
    settings = load_settings(POSTGRES | {"PARLEY_NATS_URL": "nats://me:leak@nats"})
    assert "leak" not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    ("host", "name"),
    [("web-1", "web-1"), ("web-1.example.org", "web-1"), ("wéb", "w-b"), ("n" * 40, "n" * 32), ("", "node")],
)
def test_a_node_is_named_for_its_host_unless_it_has_a_name(monkeypatch: pytest.MonkeyPatch, host: str, name: str):
    monkeypatch.setattr("config.settings.gethostname", lambda: host)
    assert load_settings({}).node == name
    assert load_settings({"PARLEY_NODE_NAME": "mine"}).node == "mine"


def test_a_long_value_is_shortened():
    assert problems({"PARLEY_BRAND": "b" * 5000})[0].startswith(f"PARLEY_BRAND is '{'b' * 100}...'; ")


def test_settings_are_frozen():
    with pytest.raises(ValidationError):
        load_settings({}).port = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_settings_tell_what_was_given_from_what_is_default():
    assert load_settings({"PARLEY_PORT": "8000", "PARLEY_BRAND": ""}).model_fields_set == {"port"}


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, "data/parley.db"),
        ({"PARLEY_DATA_DIR": "/srv/p"}, "/srv/p/parley.db"),
        ({"PARLEY_STORE_URL": "sqlite:///state/p.db"}, "state/p.db"),
        ({"PARLEY_STORE_URL": "sqlite:////srv/p.db", "PARLEY_DATA_DIR": "/x"}, "/srv/p.db"),
    ],
)
def test_the_database_is_in_the_data_directory_unless_the_store_url_names_it(environ: dict[str, str], path: str):
    assert load_settings(environ).database_path == Path(path)


def test_the_file_of_defaults_gives_the_defaults_of_the_code():
    assert load_settings({"PARLEY_CONFIG": str(DEFAULTS_FILE)}) == load_settings({})


def test_the_file_of_defaults_holds_every_key_and_comments_out_those_without_default():
    text = DEFAULTS_FILE.read_text()
    commented = set(re.findall(r"^# ([a-z_]+) = ", text, re.MULTILINE))
    without_default = {key for variable, key in VARIABLES.items() if DEFAULTS[variable] is None}
    assert commented == without_default
    assert set(tomllib.loads(text)) == set(Settings.model_fields) - without_default


def test_the_examples_in_the_file_of_defaults_are_good_values(toml: Path):
    examples = re.sub(r"^# ([a-z_]+ = )", r"\1", DEFAULTS_FILE.read_text(), flags=re.MULTILINE)
    toml.write_text("\n".join(line for line in examples.splitlines() if not line.startswith("webhooks_ca_file")))
    load_settings({"PARLEY_CONFIG": str(toml)})
