"""Responses whose ids their clients have deleted, while their messages stay."""

from persistence.store import Query, Write


def insert(message_id: str, conversation_id: int) -> Write:
    """Note that the response to a user's message was deleted; refused as `FOREIGN_KEY` without its conversation."""
    return Write(
        "INSERT INTO deleted_responses (message_id, conversation_id) VALUES (?, ?) ON CONFLICT (message_id) DO NOTHING",
        (message_id, conversation_id),
    )


def of_message(message_id: str) -> Query[int]:
    """Return one row if the response to a user's message was deleted, else none."""
    return Query("SELECT 1 FROM deleted_responses WHERE message_id = ?", (message_id,), lambda row: row[0])
