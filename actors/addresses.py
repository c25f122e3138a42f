"""Networks of callers, which limits count as places (docs/contract.md, "Users and passwords")."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address


def network_of(address: str) -> str:
    """Return the network by which limits count an address: an IPv4 address itself, or the /64 of an IPv6 address.

    A host of IPv6 can take any address of its /64, so a single address identifies nobody. An IPv4-mapped address counts
    as IPv4. A text that is not an address (of a call by the gateway itself) is a network of its own.
    """
    try:
        parsed = plain_address(ip_address(address))
    except ValueError:
        return address
    return str(parsed) if isinstance(parsed, IPv4Address) else str(IPv6Network((int(parsed), 64), strict=False))


def home_of(address: str) -> str:
    """Return the key whose shard is the home of an address, where requests without a credential run and are counted.

    The key is made of the network, so all its addresses have one home. It doesn't end in digits, because the last two
    hex digits of a key choose its shard, and every /64 ends alike.
    """
    return f"{network_of(address)} (place)"


def plain_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address of an IPv4-mapped one, and an IPv6 address without its zone id."""
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address))
