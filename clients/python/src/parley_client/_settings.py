"""What a client is made with: its address, its credential, and the defaults of its connections."""

import os
import platform
import ssl
from functools import cache
from urllib.parse import urlsplit

import httpx2

from parley_client._version import __version__
from parley_client.errors import InvalidSetting

URL = "http://127.0.0.1:8000"
HEADERS = {"User-Agent": f"parley-client/{__version__} Python/{platform.python_version()}"}


def url_of(given: str | None) -> str:
    """Return the gateway's address: the given one, else PARLEY_URL, else the default.

    Raises:
        InvalidSetting: it is no address of a web server, or holds a password. The message doesn't hold that.
    """
    url = (given or os.environ.get("PARLEY_URL") or URL).strip().rstrip("/")
    if "@" in url:
        raise InvalidSetting("the gateway's address must not hold a user or password; log on, or set an API key")
    if not is_web_address(url):
        raise InvalidSetting(f"the gateway's address must be like {URL}, not {url}")
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
    """Return the credential: the given one, else PARLEY_API_KEY, else None.

    Raises:
        InvalidSetting: it can't be sent in a header. The message doesn't hold it.
    """
    return _of_header(
        given or os.environ.get("PARLEY_API_KEY"), "the key has characters that no key has; is it an API key"
    )


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
