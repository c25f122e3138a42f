"""Banks, attachments, offers and memories as clients see them."""

from actors.banks.messages import RecalledMemory
from actors.wire import Record, iso
from persistence.banks import AttachmentRow, BankRow
from persistence.memories import MemoryRow
from persistence.offers import OfferRow


def bank_record(bank: BankRow) -> Record:
    """Return the record of a bank, for a user who may see it."""
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
    """Return the record of an agent that is attached to a bank or offered it, with its permission."""
    return {
        "agent": attachment.agent,
        "permission": attachment.permission,
        "state": attachment.state,
        "since": iso(attachment.since),
    }


def offer_record(offer: OfferRow) -> Record:
    """Return the record of an offer, for the agent's owner."""
    return {
        "bank": offer.bank,
        "owner": offer.owner,
        "permission": offer.permission,
        "since": iso(offer.since),
    }


def memory_record(memory: MemoryRow) -> Record:
    """Return the record of a memory, for a user who may read its bank; a censored one has no text."""
    record: Record = {
        "id": memory.id,
        "name": memory.name,
        "text": memory.text,
        "author": memory.author,
        "censored": bool(memory.censored),
        "created_at": iso(memory.created_at),
        "updated_at": iso(memory.updated_at),
    }
    if memory.destroyed_author is not None:
        record["destroyed_agent"] = memory.destroyed_author
    return record


def recalled_record(found: RecalledMemory) -> Record:
    """Return the record of a memory that was recalled, for a user who may read its bank."""
    record = memory_record(found.memory)
    record["score"] = found.score
    record["answers"] = found.answers
    return record
