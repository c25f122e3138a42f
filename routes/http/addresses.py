"""The client's address of a request, behind trusted and other proxies."""

from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from actors.addresses import plain_address

Network = IPv4Network | IPv6Network


def client_address(peer: str, header: Callable[[str], str | None], trusted: Sequence[Network]) -> str:
    """Return the client's address of a request from `peer`: the nearest address that is not a trusted proxy.

    `Forwarded` (RFC 7239) or else `X-Forwarded-For` is read from its end, and only as far as trusted proxies wrote it;
    `header` returns one, its lines joined by commas. Text that is no address (`unknown`, a name) ends the search:
    the client is then the proxy that wrote it.
    """
    address = _parse(peer.partition("%")[0]) if ":" in peer else peer  # one caller for all spellings of an address
    if not trusted or not is_trusted(address, trusted):
        return str(address or peer)
    for hop in reversed(_hops(header("forwarded"), header("x-forwarded-for"))):
        sender = _parse(hop)
        if sender is None:
            break
        address = sender
        if not is_trusted(sender, trusted):
            break
    return str(address)


def _hops(forwarded: str | None, forwarded_for: str | None) -> list[str]:
    """Return the addresses in the forwarding headers, nearest last."""
    if forwarded:
        hops: list[str] = []
        for element in forwarded.split(","):
            for pair in element.split(";"):
                name, _, value = pair.strip().partition("=")
                if name.lower() == "for":
                    hops.append(_without_port(value.strip('"')))
        return hops
    return [_without_port(hop.strip()) for hop in (forwarded_for or "").split(",") if hop.strip()]


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop


def is_trusted(address: str | IPv4Address | IPv6Address | None, trusted: Sequence[Network]) -> bool:
    """Return whether an address is a trusted proxy's."""
    parsed = _parse(address) if isinstance(address, str) else address
    return parsed is not None and any(parsed in network for network in trusted)


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    if "%" in address:  # a zone id is arbitrary text with a meaning on the sender's machine only
        return None
    try:
        return plain_address(ip_address(address))
    except ValueError:
        return None
