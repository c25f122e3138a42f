"""Places: where a caller is, as far as limits go (product 2)."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address


def place_of(address: str) -> str:
    """Return the key that limits count an address by: an IPv4 address itself, an IPv6 address's /64.

    A host of IPv6 has a whole /64 to take addresses from, so one address of it says nothing. An IPv4 address that is
    written as IPv6 is IPv4. Text that is no address (a call that the gateway makes itself) is a place of its own.
    """
    try:
        parsed = plain_address(ip_address(address))
    except ValueError:
        return address
    return str(parsed) if isinstance(parsed, IPv4Address) else str(IPv6Network((int(parsed), 64), strict=False))


def plain_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return an IPv4 address for one that is written as IPv6, and an IPv6 address without its zone id."""
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address))
