"""Messages and conversations as clients see them."""

from actors.conversations.ids import began_at, conversation_id
from actors.engines.message import Utterance
from actors.wire import Record, iso
from persistence.conversations import ConversationRow


def message_record(message: Utterance, zone: str | None = None, conversation: str | None = None) -> Record:
    """Return the record of a message (docs/contract.md, "Records"); it is in a zone or in a conversation."""
    record: Record = {
        "id": message.id,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "at": iso(message.at),
        "zone": zone,
        "conversation": conversation,
        "seq": message.seq,
        "mark": message.mark,
        "sources": [source.record() for source in message.sources],
    }
    if message.of_destroyed and message.role == "agent":
        record["destroyed_agent"] = message.name
    return record


def conversation_record(row: ConversationRow) -> Record:
    """Return the record of a conversation (docs/contract.md, "Records")."""
    created_at = began_at(row.number) or row.first_at or 0
    return {
        "id": conversation_id(row.number, row.agent_id),
        "agent": row.agent,
        "title": row.title,
        "default": row.is_default,
        "messages": row.last_seq,
        "last_seq": row.last_seq,
        "created_at": iso(created_at),
        "updated_at": iso(max(created_at, row.titled_at or 0, row.last_at or 0)),
    }
