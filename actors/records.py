"""Records: entities as they stand in answers (product 1, "Records")."""

from typing import Any, NamedTuple

from actors.ids import iso
from actors.plans import DAY_MS
from actors.quotas.actor import Standing
from persistence.agents import AgentRow
from persistence.banks import AttachmentRow, BankRow, MemoryRow
from persistence.credentials import SessionRow
from persistence.documents import DocumentRow
from persistence.domains import DomainRow, ZoneRow
from persistence.offers import OfferRow
from persistence.skills import SkillRow
from persistence.users import UserRow

Record = dict[str, Any]


def user_record(user: UserRow) -> Record:
    """Show a user as anyone may see it."""
    return {
        "id": user.id,
        "name": user.name,
        "description": user.description,
        "profile": user.profile,
        "plan": user.plan,
        "created_at": iso(user.created_at),
    }


class Owned(NamedTuple):
    """How much a user owns."""

    agents: int = 0
    domains: int = 0
    banks: int = 0
    api_keys: int = 0


def own_user_record(user: UserRow, owned: Owned, standing: Standing) -> Record:
    """Show a user to itself: with the day's quota and what it owns."""
    return user_record(user) | {"quota": quota_record(standing), "counts": owned._asdict()}


def quota_record(standing: Standing) -> Record:
    """Show where a user stands in its day."""
    return {
        "limit": standing.limit,
        "used": standing.used,
        "remaining": standing.remaining,
        "resets_at": iso(standing.resets_at),
        "window": window_of(standing),
    }


def window_of(standing: Standing) -> str:
    """Name the day that a standing is of."""
    return iso(standing.resets_at - DAY_MS)[:10]


def session_record(session: SessionRow, ttl_ms: int, current: bool) -> Record:
    """Show a session to its user."""
    return {
        "id": session.id,
        "created_at": iso(session.created_at),
        "last_used_at": iso(session.last_used_at),
        "expires_at": iso(session.last_used_at + ttl_ms),
        "current": current,
    }


def key_record(key: SessionRow) -> Record:
    """Show an API key to its user; never the key itself."""
    return {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "created_at": iso(key.created_at),
        "expires_at": None if key.expires_at is None else iso(key.expires_at),
    }


def agent_record(agent: AgentRow) -> Record:
    """Show an agent to one who may see it."""
    return {
        "id": agent.id,
        "name": agent.name,
        "owner": agent.owner,
        "description": agent.description,
        "profile": agent.profile,
        "access": agent.access,
        "state": "online" if agent.online else "offline",
        "created_at": iso(agent.created_at),
        "updated_at": iso(agent.updated_at),
    }


def domain_record(domain: DomainRow) -> Record:
    """Show a domain to one who may see it."""
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
    """Show where an agent stands in a domain."""
    return {"agent": agent, "state": state, "founder": founder, "since": iso(since)}


def zone_record(zone: ZoneRow, domain: str) -> Record:
    """Show a zone of a domain."""
    return {
        "id": zone.id,
        "name": zone.name,
        "domain": domain,
        "messages": zone.last_seq,
        "last_seq": zone.last_seq,
        "created_at": iso(zone.created_at),
    }


def bank_record(bank: BankRow) -> Record:
    """Show a bank to one who may see it."""
    return {
        "id": bank.id,
        "name": bank.name,
        "owner": bank.owner,
        "description": bank.description,
        "access": bank.access,
        "memories": bank.memories,
        "created_at": iso(bank.created_at),
        "updated_at": iso(bank.updated_at),
    }


def attachment_record(attachment: AttachmentRow) -> Record:
    """Show which agent is attached to a bank or offered it, and what it may do there then."""
    return {
        "agent": attachment.agent,
        "permission": attachment.permission,
        "state": attachment.state,
        "since": iso(attachment.since),
    }


def offer_record(offer: OfferRow) -> Record:
    """Show an agent's owner a bank that the agent is offered."""
    return {
        "bank": offer.bank,
        "owner": offer.owner,
        "permission": offer.permission,
        "since": iso(offer.since),
    }


def memory_record(memory: MemoryRow) -> Record:
    """Show a memory to one who may read its bank; a censored one has no text."""
    return {
        "id": memory.id,
        "name": memory.name,
        "text": memory.text,
        "author": memory.author,
        "censored": bool(memory.censored),
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
    }


def skill_record(skill: SkillRow) -> Record:
    """Show an installed skill to its user: what it is, not its body."""
    return {
        "name": skill.name,
        "description": skill.description,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": skill.metadata,
        "allowed_tools": skill.allowed_tools,
        "files": skill.files,
        "installed_at": iso(skill.installed_at),
    }


def document_record(document: DocumentRow) -> Record:
    """Show a document to its user: what became of it, not its text."""
    return {
        "id": document.id,
        "name": document.name,
        "media_type": document.media_type,
        "metadata": document.metadata,
        "size": document.size,
        "status": document.status,
        "error": document.error,
        "parts": document.parts,
        "created_at": iso(document.created_at),
        "updated_at": iso(document.updated_at),
    }
