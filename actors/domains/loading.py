"""Reads the state of a domain's actor in one transaction, because the domain may be destroyed meanwhile."""

from collections.abc import Sequence
from typing import NamedTuple

from persistence import domains, zones
from persistence.domains import DomainRow, MembershipRow, ZoneRow
from persistence.store import Reads, rows_of


class StoredDomain(NamedTuple):
    """A domain as stored; `last_number` is that of the last event in its sequence."""

    row: DomainRow
    memberships: Sequence[MembershipRow]
    zones: Sequence[ZoneRow]
    last_number: int


def stored_domain(domain_id: str) -> Reads[StoredDomain | None]:
    """Read a domain; None if there is none."""
    found = yield from rows_of(domains.by_id(domain_id))
    if not found:
        return None
    memberships = yield from rows_of(domains.memberships(domain_id))
    its_zones = yield from rows_of(domains.zones(domain_id))
    (last_number,) = yield from rows_of(zones.last_number(domain_id))
    return StoredDomain(found[0], memberships, its_zones, last_number)
