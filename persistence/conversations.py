"""Private conversations of a user with an agent, and their messages."""

from typing import NamedTuple

from persistence.store import Query, Write


class MessageRow(NamedTuple):
    """A message as stored; `sources` is a JSON array or None, `at` in ms since the epoch."""

    seq: int
    id: str
    role: str
    name: str
    content: str
    sources: str | None
    at: int


_COLUMNS = "seq, id, role, name, content, sources, at"


def begin(conversation_id: str, user_id: str, agent_id: str, last_seq: int) -> Write:
    """Add a conversation with the number of messages that the same unit adds."""
    return Write(
        "INSERT INTO conversations (id, user_id, agent_id, last_seq) VALUES (?, ?, ?, ?)",
        (conversation_id, user_id, agent_id, last_seq),
    )


def advance(conversation_id: str, last_seq: int) -> Write:
    """Store the number of a conversation's messages after this unit."""
    return Write(
        "UPDATE conversations SET last_seq = max(last_seq, ?) WHERE id = ?",
        (last_seq, conversation_id),
        many=_ADVANCE_MANY,
    )


_ADVANCE_MANY = """
    UPDATE conversations SET last_seq = max(conversations.last_seq, new.last_seq)
    FROM (
        SELECT json_extract(value, '$[1]') AS id, max(json_extract(value, '$[0]')) AS last_seq
        FROM json_each(?) GROUP BY 1
    ) AS new
    WHERE conversations.id = new.id
"""


def append(conversation_id: str, message: MessageRow) -> Write:
    """Add a message at its own seq; refused as `FOREIGN_KEY` when the conversation is gone."""
    return Write(_APPEND, (conversation_id, *message), many=_APPEND_MANY)


_APPEND = f"INSERT INTO messages (conversation_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_APPEND_MANY = f"INSERT INTO messages (conversation_id, {_COLUMNS}) SELECT " + (
    ", ".join(f"json_extract(value, '$[{place}]')" for place in range(8)) + " FROM json_each(?)"
)


def between(agent_id: str, user_id: str) -> Query[tuple[str, int]]:
    """Find the conversation of a user with an agent: its id and last seq."""
    return Query(
        "SELECT id, last_seq FROM conversations WHERE agent_id = ? AND user_id = ?",
        (agent_id, user_id),
        lambda row: (row[0], row[1]),
    )


def message_count(agent_id: str) -> Query[int]:
    """Count the messages of all conversations with an agent."""
    return Query(
        "SELECT coalesce(sum(last_seq), 0) FROM conversations WHERE agent_id = ?",
        (agent_id,),
        lambda row: row[0],
    )


def page_before(conversation_id: str, before_seq: int, limit: int) -> Query[MessageRow]:
    """Read the last messages before a seq, newest first."""
    return Query(
        f"SELECT {_COLUMNS} FROM messages WHERE conversation_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (conversation_id, before_seq, limit),
        lambda row: MessageRow(*row),
    )


def agents_met_by(user_id: str) -> Query[str]:
    """List the agents with which a user has a conversation."""
    return Query("SELECT agent_id FROM conversations WHERE user_id = ?", (user_id,), lambda row: row[0])
