"""Runs as the store has them: a user's message, and the reply to it once there is one (`conversations.reply_to`)."""

from typing import NamedTuple

from persistence.conversations import MessageRow
from persistence.store import Query


class RunRow(NamedTuple):
    """A run: the number of its conversation, its agent, the user's message."""

    conversation: int
    agent_id: str
    message: MessageRow


def of_message(user_id: str, message_id: str) -> Query[RunRow]:
    """Read the run of one of a user's messages; a message that was imported has none."""
    return Query(
        "SELECT conversations.id, agent_id, seq, messages.id, role, name, content, sources, at, mark"
        " FROM messages JOIN conversations ON conversations.id = conversation_id"
        " WHERE messages.id = ?2 AND role = 'user' AND (mark IS NULL OR mark = 'cancelled') AND user_id = ?1",
        (user_id, message_id),
        lambda row: RunRow(row[0], row[1], MessageRow(*row[2:])),
    )
