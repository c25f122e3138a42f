"""Private conversations of a user with an agent, and their messages."""

import json
from collections.abc import Sequence
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
_LAST_SEQ = "(SELECT coalesce(max(seq), 0) FROM messages WHERE conversation_id = conversations.id)"
"""Also the number of messages, because sequences have no gaps."""


def begin(conversation_id: int, user_id: str, agent_id: str) -> Write:
    """Add a conversation."""
    return Write(
        "INSERT INTO conversations (id, user_id, agent_id) VALUES (?, ?, ?)", (conversation_id, user_id, agent_id)
    )


def append(
    conversation_id: int, seq: int, id: str, role: str, name: str, content: str, sources: str | None, at: int
) -> Write:
    """Add a message (see `MessageRow`); refused as `FOREIGN_KEY` when the conversation is gone."""
    return Write(_APPEND, (conversation_id, seq, id, role, name, content, sources, at), None, _APPEND_MANY)


_APPEND = f"INSERT INTO messages (conversation_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_APPEND_MANY = (
    f"INSERT INTO messages (conversation_id, {_COLUMNS}) SELECT * FROM @rows(?, conversation_id bigint, seq bigint,"
    " id text, role text, name text, content text, sources text, at bigint) AS made"
)


def between(agent_id: str, user_id: str) -> Query[tuple[int, int]]:
    """Find the conversation of a user with an agent: its id and last seq."""
    return Query(
        f"SELECT id, {_LAST_SEQ} FROM conversations WHERE agent_id = ? AND user_id = ?",
        (agent_id, user_id),
        lambda row: (row[0], row[1]),
    )


def agent_summary(agent_id: str) -> Query[tuple[int, bool, bool, bool]]:
    """Count the messages of all conversations with an agent, with one seek for each, and look up its links.

    The links are whether it may read a bank, whether it is offered one, and whether it is a member of a domain.
    """
    return Query(
        f"SELECT CAST(coalesce(sum({_LAST_SEQ}), 0) AS BIGINT),"
        " EXISTS (SELECT 1 FROM attachments WHERE agent_id = :agent AND permission <> 'none'),"
        " EXISTS (SELECT 1 FROM offers WHERE agent_id = :agent),"
        " EXISTS (SELECT 1 FROM memberships WHERE agent_id = :agent AND state = 'member')"
        " FROM conversations WHERE agent_id = :agent",
        {"agent": agent_id},
        lambda row: (row[0], bool(row[1]), bool(row[2]), bool(row[3])),
    )


def page_before(conversation_id: int, before_seq: int, limit: int) -> Query[MessageRow]:
    """Read the last messages before a seq, newest first."""
    return Query(
        f"SELECT {_COLUMNS} FROM messages WHERE conversation_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (conversation_id, before_seq, limit),
        lambda row: MessageRow(*row),
    )


def unchanged(conversation_id: int, texts: Sequence[tuple[int, str]]) -> Write:
    """Change nothing; refused as `ROWS` unless the messages with these seqs still have these texts."""
    return Write(
        "UPDATE conversations SET user_id = user_id WHERE id = ? AND NOT EXISTS (SELECT 1"
        " FROM @rows(?, seq bigint, content text) AS given WHERE NOT EXISTS (SELECT 1 FROM messages"
        " WHERE conversation_id = ? AND messages.seq = given.seq AND messages.content = given.content))",
        (conversation_id, json.dumps(texts, ensure_ascii=False), conversation_id),
        rows=1,
    )


def at(conversation_id: int, seqs: Sequence[int]) -> Query[MessageRow]:
    """Read the messages with these seqs."""
    return Query(
        f"SELECT {_COLUMNS} FROM messages WHERE conversation_id = ? AND seq IN @list_int(?)",
        (conversation_id, json.dumps(seqs)),
        lambda row: MessageRow(*row),
    )


def page_after(conversation_id: int, after_seq: int, limit: int) -> Query[MessageRow]:
    """Read the first messages after a seq, oldest first."""
    return Query(
        f"SELECT {_COLUMNS} FROM messages WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (conversation_id, after_seq, limit),
        lambda row: MessageRow(*row),
    )


def message(agent_id: str, user_id: str, message_id: str) -> Query[MessageRow]:
    """Read one message of the conversation of a user with an agent."""
    return Query(
        f"SELECT {_COLUMNS} FROM messages WHERE id = ?3 AND conversation_id ="
        " (SELECT conversations.id FROM conversations WHERE agent_id = ?1 AND user_id = ?2)"
        " ORDER BY seq DESC LIMIT 1",
        (agent_id, user_id, message_id),
        lambda row: MessageRow(*row),
    )


def agents_met_by(user_id: str) -> Query[str]:
    """List the agents with which a user has a conversation."""
    return Query("SELECT agent_id FROM conversations WHERE user_id = ?", (user_id,), lambda row: row[0])
