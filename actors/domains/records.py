"""Domains, memberships and zones as clients see them."""

from actors.wire import Record, iso
from persistence.domains import DomainRow, ZoneRow


def domain_record(domain: DomainRow) -> Record:
    """Return the record of a domain, for a user who may see it."""
    return {
        "id": domain.id,
        "name": domain.name,
        "owner": domain.owner,
        "founder": domain.founder,
        "description": domain.description,
        "profile": domain.profile,
        "access": domain.access,
        "created_at": iso(domain.created_at),
        "updated_at": iso(domain.updated_at),
    }


def membership_record(agent: str, state: str, since: int, *, founder: bool) -> Record:
    """Return the record of an agent's membership in a domain."""
    return {"agent": agent, "state": state, "founder": founder, "since": iso(since)}


def zone_record(zone: ZoneRow, domain: str) -> Record:
    """Return the record of a zone."""
    return {
        "id": zone.id,
        "name": zone.name,
        "domain": domain,
        "messages": zone.last_seq,
        "last_seq": zone.last_seq,
        "created_at": iso(zone.created_at),
    }
