"""Types of settings, with their parsing from text and their allowed values."""

import base64
import ipaddress
import os
import re
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, AnyHttpUrl, BeforeValidator, Field, SecretBytes, SecretStr

CHECKOUT = Path(__file__).resolve().parent.parent
SQLITE_URL = "sqlite:///"
POSTGRES_URL = "postgresql://"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z)(?:{_LABEL}\.)*(?![0-9]+\Z){_LABEL}")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)/?")
_USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{1,62}[A-Za-z0-9]")
_HEADER_TEXT = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_MAX_DELAY_S = 30 * 86400
SECRET_MIN = 16
"""Minimum length of INTERNAL_SECRET, because it opens everything and wrong guesses are not limited."""


def _text(parse: Callable[[str], object]) -> BeforeValidator:
    """Parse the text of an environment variable; TOML's own types pass to the strict model unchanged."""
    return BeforeValidator(lambda value: parse(value) if isinstance(value, str) else value)


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word in {"true", "1", "yes", "on"}:
        return True
    if word in {"false", "0", "no", "off"}:
        return False
    raise ValueError("not a boolean")


def _items(value: object) -> object:
    """Return a tuple from comma-separated text or a TOML array."""
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(","))
    return tuple(cast(list[object], value)) if isinstance(value, list) else value


def _host(text: str) -> str:
    if not _HOST_NAME.fullmatch(text):
        ipaddress.ip_address(text)
    return text


def _plain(text: str) -> str:
    """Refuse digits that only Python takes in numbers: 8_000, or those of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError("not a number as settings are written")
    return text


def _path(text: str) -> Path:
    if "\0" in text or not text.strip():
        raise ValueError("a path is not blank and holds no NUL")
    return Path(text)


def _directory(path: Path) -> Path:
    if os.path.exists(path) and not os.path.isdir(path):
        raise ValueError("not a directory")
    return _no_home(path)


def _no_home(folder: Path) -> Path:
    """Refuse to make a folder for a ~ that no shell has expanded; one that is there already is meant."""
    if str(folder).startswith("~") and not os.path.exists(folder):
        raise ValueError("only shells expand ~")
    return folder


def _certificates(path: Path) -> Path:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except OSError as error:
        raise ValueError("not a readable PEM file of certificates") from error
    return path


def _master_key(text: str) -> SecretBytes:
    key = base64.b64decode(text, validate=True)
    if len(key) != 32:
        raise ValueError("not 32 bytes")
    return SecretBytes(key)


def _header_text(secret: SecretStr) -> SecretStr:
    if not _HEADER_TEXT.fullmatch(secret.get_secret_value()):
        raise ValueError("can't stand in an HTTP header")
    return secret


def _not_short(secret: SecretStr) -> SecretStr:
    if len(secret.get_secret_value()) < SECRET_MIN:
        raise ValueError("easy to guess")
    return secret


def _base_url(text: str) -> str:
    url = AnyHttpUrl(text)
    if url.username or url.password or url.query is not None or url.fragment is not None:
        raise ValueError("holds more than scheme, host and path")
    return str(url).rstrip("/")


def _origin(text: str) -> str:
    match = _ORIGIN.fullmatch(text.lower())
    if match is None:
        raise ValueError("not an origin as browsers send it")
    scheme, authority = match[1], match[2]
    default = {"http": ":80", "https": ":443"}.get(scheme, "")  # which browsers leave out
    return f"{scheme}://{authority.removesuffix(default) if default else authority}"


def _user_name(text: str) -> str:
    if not _USER_NAME.fullmatch(text):
        raise ValueError("not a user's name")
    return text


def _store_url(text: str) -> str:
    if text.startswith(POSTGRES_URL):
        return _postgres_url(text)
    path = text.removeprefix(SQLITE_URL)
    if path in {text, ":memory:"} or not re.fullmatch(r"[^?#\0]*[^?#/\0]", path):
        raise ValueError("not a sqlite URL with the path of a file")
    _no_home(Path(path).parent)
    return text


def _postgres_url(text: str) -> str:
    parts = urlsplit(text)
    _ = parts.port  # raises ValueError for what is no port
    if not re.fullmatch(r"/[^/\s]+", parts.path) or parts.fragment or not text.isprintable():
        raise ValueError("not a postgresql URL with the name of a database")
    if parts.netloc.count("@") > 1:  # the host would begin in the password
        raise ValueError("an @ in the password is written %40")
    return text


def _nats_url(text: str) -> str:
    parts = urlsplit(text)
    _ = parts.port  # raises ValueError for what is no port
    if parts.scheme not in ("nats", "tls") or not parts.hostname or not re.fullmatch(r"[!-~]+", text):
        raise ValueError("not the URL of a NATS server")
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.netloc.count("@") > 1:
        raise ValueError("holds more than scheme, user, password, host and port")
    return text


Host = Annotated[str, AfterValidator(_host)]
Flag = Annotated[bool, _text(_flag), Field(description="true or false (in the environment also 1/0, yes/no, on/off)")]
Whole = Annotated[int, _text(lambda text: int(_plain(text)))]
Number = Annotated[float, _text(lambda text: float(_plain(text))), Field(allow_inf_nan=False)]
Delay = Annotated[Number, Field(ge=0, le=_MAX_DELAY_S)]
Network = Annotated[ipaddress.IPv4Network | ipaddress.IPv6Network, _text(ipaddress.ip_network)]
FsPath = Annotated[Path, _text(_path)]
Catalog = Annotated[
    FsPath,
    AfterValidator(lambda path: CHECKOUT / path),
    Field(description="a path; a relative one is taken from the checkout"),
]
PerHour = Annotated[Whole, Field(ge=0, le=1_000_000, description="a whole number 0 to 1000000; 0 is no limit")]
HeaderSecret = Annotated[
    Annotated[SecretStr, AfterValidator(_header_text)] | None,
    Field(repr=False, description="printable ASCII, with no space at either end"),
]

InternalSecret = Annotated[
    Annotated[SecretStr, AfterValidator(_header_text), AfterValidator(_not_short)] | None,
    Field(repr=False, description=f"{SECRET_MIN} or more characters of printable ASCII, with no space at either end"),
]
MasterKey = Annotated[SecretBytes, _text(_master_key)]
Directory = Annotated[FsPath, AfterValidator(_directory)]
CertificateFile = Annotated[FsPath, AfterValidator(_certificates)]
BaseUrl = Annotated[str, AfterValidator(_base_url)]
StoreUrl = Annotated[str, AfterValidator(_store_url)]
NatsUrl = Annotated[str, AfterValidator(_nats_url)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], BeforeValidator(_items)]
Names = Annotated[tuple[Annotated[str, AfterValidator(_user_name)], ...], BeforeValidator(_items)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(_items)]
Delays = Annotated[tuple[Delay, ...], BeforeValidator(_items)]
