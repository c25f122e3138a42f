"""The settings of a client: its address, its credential, and the defaults of its connections."""

import os
import platform
import re
import ssl
import uuid
from collections.abc import Callable
from functools import cache
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from parley_client._version import __version__
from parley_client.errors import InvalidSetting

URL = "http://127.0.0.1:8000"
HEADERS = {"User-Agent": f"parley-client/{__version__} Python/{platform.python_version()}"}

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_IDEMPOTENCY_KEY = re.compile("[!-~]{1,255}")

Made = TypeVar("Made")


def url_of(given: str | None) -> str:
    """Return the gateway's address: the given one, else PARLEY_URL, else the default.

    Raises:
        InvalidSetting: it is no address of a web server, or holds a password, a query or a fragment. The message
            doesn't hold the password.
    """
    url = (given or os.environ.get("PARLEY_URL") or URL).strip().rstrip("/")
    if "@" in url:
        raise InvalidSetting("the gateway's address must not hold a user or password; log on, or set an API key")
    if not is_web_address(url):
        raise InvalidSetting(f"the gateway's address must be like {URL}, not {url}")
    if "?" in url or "#" in url:
        raise InvalidSetting(f"the gateway's address must have no query and no fragment: {url}")
    return url


def is_web_address(url: str) -> bool:
    """Whether a URL is one of a web server."""
    try:
        parts = urlsplit(url)
        httpx2.URL(url).raw_host.decode().encode("idna")
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx2.InvalidURL):  # such as a port beyond 65535, or an empty label of a name
        return False


def key_of(given: str | None) -> str | None:
    """Return the credential: the given one, else PARLEY_API_KEY; None where that is blank.

    Raises:
        InvalidSetting: it can't be sent in a header. The message doesn't hold it.
    """
    key = os.environ.get("PARLEY_API_KEY") if given is None else given
    return _of_header(key, "the key has characters that no key has; is it an API key")


def secret_of(given: str | None) -> str | None:
    """Return the internal secret, or None where it is absent or empty.

    Raises:
        InvalidSetting: it can't be sent in a header. The message doesn't hold it.
    """
    return _of_header(
        given, "the internal secret has characters that no header takes; is it the gateway's INTERNAL_SECRET"
    )


def _of_header(given: str | None, wrong: str) -> str | None:
    value = (given or "").strip()
    if not (value.isascii() and value.isprintable()):
        raise InvalidSetting(f"{wrong}, whole and alone?")
    return value or None


def idempotency_key_of(given: str | None) -> str:
    """Return an Idempotency-Key: the given one, else a new one.

    Raises:
        InvalidSetting: no header takes it.
    """
    if given is None:
        return uuid.uuid4().hex
    if not _IDEMPOTENCY_KEY.fullmatch(given):
        raise InvalidSetting("an idempotency key must have 1 to 255 visible ASCII characters")
    return given


def check_limits(timeout: float, tries: int) -> None:
    """Check how long an answer is waited for, and how often a call is tried.

    Raises:
        InvalidSetting: no call could succeed in this time, or with so few tries.
    """
    if not timeout > 0:
        raise InvalidSetting(f"the timeout must be a number of seconds above 0, not {timeout}")
    if tries < 1:
        raise InvalidSetting(f"the number of tries must be 1 or more, not {tries}")


def connections(make: Callable[[], Made]) -> Made:
    """Return the httpx2 client that `make` makes of certificates and proxies as the environment names them.

    Raises:
        InvalidSetting: the environment names something that can't be used. The message holds no value, because a
            proxy's may have a password.
    """
    try:
        return make()
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        named = [name for name in (*_CERTIFICATES, *_PROXIES) if os.environ.get(name) or os.environ.get(name.lower())]
        # httpx2 still names the extra of httpx
        why = error.msg.replace("httpx[", "httpx2[") if isinstance(error, ImportError) else type(error).__name__
        raise InvalidSetting(
            f"the environment's {' or '.join(named)} can't be used ({why}): certificates are a file or a folder, "
            "and a proxy is like http://proxy:3128"
        ) from None


def proxy_of(address: str) -> str | None:
    """Return the variable of the environment that names the proxy on the way to an address; None without one."""
    url, proxies = httpx2.URL(address), getproxies()
    if proxy_bypass(url.host):
        return None
    return next((f"{kind.upper()}_PROXY" for kind in (url.scheme, "all") if kind in proxies), None)


def tls(address: str) -> ssl.SSLContext:
    """Return the context for a gateway's address: httpx2's own for https, else one that trusts nobody."""
    return _trusting() if urlsplit(address).scheme == "https" else _distrusting()


@cache
def _trusting() -> ssl.SSLContext:
    """Return the context that httpx2 makes by default, made once: reading the certificates takes 30 ms."""
    return httpx2.create_ssl_context()


@cache
def _distrusting() -> ssl.SSLContext:
    """Return a context without certificates, for connections that have no TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
