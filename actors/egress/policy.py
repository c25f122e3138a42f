"""The egress policy: the URLs and addresses that the gateway may call for a user (docs/contract.md, "Webhooks").

Pure functions that return the reason for a refusal, or None. A URL is judged by its text. The opener of the
socket judges the address again (actors/egress/aiohttp_session.py for aiohttp), because a name may resolve to another
address each time.

The blocks are those of the IANA special-purpose address registries (RFC 6890) and of multicast (RFC 5771, 4291).
`ipaddress.is_global` is no help: it is true for NAT64 (64:ff9b::/96), 6to4 (2002::/16) and multicast.
"""

import ipaddress
import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import SplitResult, urlsplit

MAX_URL_CHARS = 2_048

Address = IPv4Address | IPv6Address

_NEVER_UNICAST: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "this network"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved or broadcast"),
    ("::/128", "unspecified"),
    ("ff00::/8", "multicast"),
)
"""Addresses on which nothing can listen; refused even where insecure receivers are allowed."""

_NOT_GLOBAL: tuple[tuple[str, str], ...] = (
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by carriers (CGNAT)"),
    ("127.0.0.0/8", "loopback"),
    ("168.63.129.16/32", "a cloud's metadata server"),
    ("169.254.0.0/16", "link-local, where clouds serve metadata"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "for protocol assignments"),
    ("192.0.2.0/24", "for documentation"),
    ("192.31.196.0/24", "for AS112"),
    ("192.52.193.0/24", "for AMT relays"),
    ("192.88.99.0/24", "a 6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "for AS112"),
    ("198.18.0.0/15", "for benchmarks"),
    ("198.51.100.0/24", "for documentation"),
    ("203.0.113.0/24", "for documentation"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "IPv4-mapped"),
    ("::ffff:0:0:0/96", "IPv4-translated"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "for discarding"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "for protocol assignments"),
    ("2001:db8::/32", "for documentation"),
    ("2002::/16", "6to4"),
    ("2620:4f:8000::/48", "for AS112"),
    ("3fff::/20", "for documentation"),
    ("5f00::/16", "for segment routing"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
)

Block = tuple[IPv4Network | IPv6Network, str]


def _blocks(table: tuple[tuple[str, str], ...], version: int) -> tuple[Block, ...]:
    networks = ((ipaddress.ip_network(block), reason) for block, reason in table)
    return tuple(pair for pair in networks if pair[0].version == version)


_REFUSED = {version: _blocks(_NEVER_UNICAST, version) for version in (4, 6)}
_REFUSED_UNLESS_INSECURE = {version: _blocks(_NOT_GLOBAL, version) for version in (4, 6)}
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 that is assigned for the Internet (RFC 4291)."""

_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_VISIBLE_ASCII = re.compile(r"[!-~]+")
NOT_PUBLIC = "its host must be a public name, one that resolves to globally routable unicast addresses only"
"""The same for names of private networks and names that resolve to refused addresses, because users must not learn the
answers of internal name servers."""

_LOCAL_NAMES = ("localhost", "local", "internal", "home.arpa")
"""Names of the local machine and network (RFC 6761, 6762, 8375, and ICANN's `internal`)."""


def address_refusal(address: str | Address, *, allow_insecure: bool = False) -> str | None:
    """Return why an address must not be connected to, or None if it is globally routable unicast.

    Args:
        address: as text or parsed; a scope (`%eth0`) is refused.
        allow_insecure: allow private, loopback and other special addresses, for development.
    """
    if isinstance(address, str):
        try:
            address = ipaddress.ip_address(address)
        except ValueError:
            return "it is not an IP address"
    if isinstance(address, IPv6Address) and address.scope_id is not None and not allow_insecure:
        return "an address with a scope is not globally routable"
    version = address.version
    tables = _REFUSED[version] if allow_insecure else _REFUSED[version] + _REFUSED_UNLESS_INSECURE[version]
    for network, reason in tables:
        if address in network:
            return f"{address} is {reason}, not a globally routable unicast address"
    if version == 6 and address not in _GLOBAL_UNICAST and not allow_insecure:
        return f"{address} is not a globally routable unicast address"
    return None


@lru_cache(maxsize=4_096)
def url_refusal(url: str, *, allow_insecure: bool = False) -> str | None:
    """Return why a URL must not be called, judged by its text alone, or None.

    Names are not resolved. A host must be an IP address in its usual form (no octal, hexadecimal, shortened or
    single-number one, which parsers read in different ways) or a name in ASCII.

    Args:
        url: the URL.
        allow_insecure: allow `http` and private addresses, for development.
    """
    if len(url) > MAX_URL_CHARS:
        return f"it is longer than {MAX_URL_CHARS} characters"
    if not _VISIBLE_ASCII.fullmatch(url) or "\\" in url:
        return "it has characters that are not allowed in URLs: write names in Punycode and others as %XX"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "it is not a URL"
    if parts.scheme not in (("https", "http") if allow_insecure else ("https",)):
        return "it must begin with https://" + (" or http://" if allow_insecure else "")
    if "@" in parts.netloc:
        return "it must not hold credentials"
    if port == 0 or parts.netloc.endswith(":"):
        return "its port must be from 1 to 65535"
    if parts.fragment or url.endswith("#"):
        return "it must not have a fragment"
    return _host_refusal(parts, allow_insecure)


def _host_refusal(parts: SplitResult, allow_insecure: bool) -> str | None:
    host = parts.hostname or ""
    if parts.netloc.startswith("["):
        literal = parts.netloc[1:].partition("]")
        if literal[2] and not re.fullmatch(r":[0-9]+", literal[2]):
            return "it is not a URL"
        return address_refusal(host, allow_insecure=allow_insecure)
    if len(host) > 253 or not _HOST.fullmatch(host):
        return "its host is neither a name nor an address"
    name = host.removesuffix(".")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):  # by the WHATWG's rule, this is some form of an IPv4 address
        if host != name or not _is_usual_ipv4(name):
            return "its host must be a name, or an address of four decimal numbers"
        return address_refusal(name, allow_insecure=allow_insecure)
    if not allow_insecure:
        if any(name == local or name.endswith(f".{local}") for local in _LOCAL_NAMES):
            return NOT_PUBLIC
        if "." not in name:
            return "its host must be a full name, with a domain"
    return None


def _is_usual_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)  # also refuses leading zeros
    except ValueError:
        return False
    return True
