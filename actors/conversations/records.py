"""Messages and conversations as clients see them."""

from actors.conversations.ids import began_at, conversation_id
from actors.engines.message import Utterance
from actors.wire import Record, iso
from persistence.conversations import ConversationRow


def message_record(message: Utterance, zone: str | None = None, conversation: str | None = None) -> Record:
    """Return the record of a message (docs/contract.md, "Records"); it is in a zone or in a conversation."""
    id, role, name, content, seq, at, sources, mark, of_destroyed = message
    record: Record = {
        "id": id,
        "role": role,
        "name": name,
        "content": content,
        "at": iso(at),
        "zone": zone,
        "conversation": conversation,
        "seq": seq,
        "mark": mark,
        "sources": [source.record() for source in sources],
    }
    if of_destroyed and role == "agent":
        record["destroyed_agent"] = name
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
