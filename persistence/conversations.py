"""Private conversations of a user with an agent, and their messages."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence.agents import is_destroyed, name_shown
from persistence.store import Params, Query, Write


class MessageRow(NamedTuple):
    """A message as stored; `sources` is a JSON array or None, `at` in ms since the epoch.

    `mark` is "cancelled", "imported" or None. `of_destroyed`: its query tells of the agent, which has been destroyed.
    """

    seq: int
    id: str
    role: str
    name: str
    content: str
    sources: str | None
    at: int
    mark: str | None = None
    of_destroyed: bool = False


def marked_row(row: Params) -> MessageRow:
    """Make a message of a row whose last column is `is_destroyed` of its agent."""
    return MessageRow(*row[:-1], of_destroyed=bool(row[-1]))


class ConversationRow(NamedTuple):
    """A private conversation as stored, with its agent's name; times in ms since the epoch.

    `first_at` and `last_at` are the times of its first and last message, None without messages; `titled_at` is that of
    its title. `opening`, `cut` and `scope` say how it began (see `begin_other`).
    """

    number: int
    user_id: str
    agent_id: str
    agent: str
    is_default: bool
    title: str | None
    titled_at: int | None
    opening: str | None
    cut: int
    last_seq: int
    first_at: int | None
    last_at: int | None


_COLUMNS = "seq, id, role, name, content, sources, at"
_READ = f"{_COLUMNS}, mark"
LAST_SEQ = "(SELECT coalesce(max(seq), 0) FROM messages WHERE conversation_id = conversations.id)"
"""Also the number of messages, because sequences have no gaps."""


def begin(conversation_id: int, user_id: str, agent_id: str) -> Write:
    """Add a user's default conversation with an agent."""
    return Write(
        "INSERT INTO conversations (id, user_id, agent_id) VALUES (?, ?, ?)", (conversation_id, user_id, agent_id)
    )


def begin_other(
    conversation_id: int,
    user_id: str,
    agent_id: str,
    *,
    title: str | None = None,
    at: int | None = None,
    opening: str | None = None,
    cut: int = 0,
    scope: str = "",
) -> Write:
    """Add a conversation that is not the default.

    `opening` is the digest of the beginning by which `opened_with` finds it, of which the first `cut` messages are not
    stored; `scope` a digest of the end user for whom it is. `at` is the time of its title.
    """
    return Write(
        f"{_BEGIN_OTHER} VALUES (?, ?, ?, 0, ?, ?, ?, ?, ?)",
        (conversation_id, user_id, agent_id, title, at, opening, cut, scope),
        None,
        _BEGIN_MANY,
        before=True,
    )


_BEGIN_OTHER = "INSERT INTO conversations (id, user_id, agent_id, is_default, title, titled_at, opening, cut, scope)"
_BEGIN_MANY = (
    f"{_BEGIN_OTHER} SELECT id, user_id, agent_id, 0, title, titled_at, opening, cut, scope FROM @rows(?, id bigint,"
    " user_id text, agent_id text, title text, titled_at bigint, opening text, cut bigint, scope text) AS made"
)


def append_marked(
    conversation_id: int,
    seq: int,
    id: str,
    role: str,
    name: str,
    content: str,
    sources: str | None,
    at: int,
    mark: str | None,
    answers: int | None,
) -> Write:
    """Add a message with a mark, or a reply to the user's message with the seq `answers`; refused as by `append`."""
    return Write(
        f"INSERT INTO messages (conversation_id, {_COLUMNS}, mark, answers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (conversation_id, seq, id, role, name, content, sources, at, mark, answers),
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


def mark_cancelled(conversation_id: int, seq: int) -> Write:
    """Mark a user's message whose run was cancelled before the agent said anything."""
    return Write("UPDATE messages SET mark = 'cancelled' WHERE conversation_id = ? AND seq = ?", (conversation_id, seq))


def between(agent_id: str, user_id: str) -> Query[tuple[int, int]]:
    """Find the default conversation of a user with an agent: its id and last seq."""
    return Query(
        f"SELECT id, {LAST_SEQ} FROM conversations WHERE agent_id = ? AND user_id = ? AND is_default = 1",
        (agent_id, user_id),
        lambda row: (row[0], row[1]),
    )


def numbered(conversation_id: int, agent_id: str, user_id: str, copy_of: int | None = None) -> Query[tuple[int, int]]:
    """Read a conversation of a user with an agent, or a copy that nobody sees yet: its id and last seq."""
    return Query(
        f"SELECT id, {LAST_SEQ} FROM conversations WHERE id = ? AND agent_id = ? AND user_id = ?"
        " AND copying IS NOT DISTINCT FROM @typed(?, bigint)",
        (conversation_id, agent_id, user_id, copy_of),
        lambda row: (row[0], row[1]),
    )


_EDGE = "(SELECT at FROM messages WHERE conversation_id = conversations.id ORDER BY seq {order} LIMIT 1)"
_LAST_NAME = """coalesce((SELECT name FROM messages WHERE conversation_id = conversations.id AND role = 'agent'
    ORDER BY seq DESC LIMIT 1), agents.id)"""
"""The name that the agent had when it last answered; its id if it never did."""

SELECT = f"""
    SELECT conversations.id, conversations.user_id, conversations.agent_id,
           {name_shown("conversations.user_id", _LAST_NAME)}, conversations.is_default,
           conversations.title, conversations.titled_at, conversations.opening, conversations.cut,
           {LAST_SEQ}, {_EDGE.format(order="ASC")}, {_EDGE.format(order="DESC")}
    FROM conversations JOIN agents ON agents.id = conversations.agent_id
"""
"""Reads conversations; `row_of` makes a `ConversationRow` of what it finds."""


def row_of(row: Params) -> ConversationRow:
    """Make a conversation of a row that `SELECT` found."""
    return ConversationRow(*row)._replace(is_default=bool(row[4]))


def of_user(conversation_id: int, user_id: str) -> Query[ConversationRow]:
    """Read one of a user's conversations."""
    return Query(
        f"{SELECT} WHERE conversations.id = ? AND conversations.user_id = ? AND conversations.copying IS NULL",
        (conversation_id, user_id),
        row_of,
    )


def default_of(agent_id: str, user_id: str) -> Query[ConversationRow]:
    """Read the default conversation of a user with an agent."""
    return Query(
        f"{SELECT} WHERE conversations.agent_id = ? AND conversations.user_id = ? AND conversations.is_default = 1",
        (agent_id, user_id),
        row_of,
    )


def opened_with(user_id: str, agent_id: str, opening: str, scope: str, least: int, most: int) -> Query[ConversationRow]:
    """List the conversations that may have this beginning and have from `least` to `most` messages, the latest first.

    Those without a digest of their beginning, or with a beginning that is not wholly stored, are among them.
    """
    return Query(
        f"{SELECT} WHERE conversations.user_id = ?1 AND conversations.agent_id = ?2 AND conversations.scope = ?4"
        " AND (conversations.opening = ?3 OR conversations.cut > 0 OR conversations.opening IS NULL)"
        f" AND {LAST_SEQ} + conversations.cut BETWEEN ?5 AND ?6 AND conversations.copying IS NULL"
        " ORDER BY conversations.id DESC",
        (user_id, agent_id, opening, scope, least, most),
        row_of,
    )


# clients' own ids


def bound_to(user_id: str, agent_id: str, name: str) -> Query[int]:
    """Find the conversation that a client's own id is bound to."""
    return Query(
        "SELECT conversation_id FROM bindings WHERE user_id = ? AND agent_id = ? AND name = ?",
        (user_id, agent_id, name),
        lambda row: row[0],
    )


def place_bound_to(user_id: str, agent_id: str, name: str) -> Query[tuple[int, bool]]:
    """Find the number of the conversation that a client's own id is bound to, and whether that is the default one."""
    return Query(
        "SELECT conversations.id, is_default FROM bindings JOIN conversations ON conversations.id = conversation_id"
        " WHERE bindings.user_id = ? AND bindings.agent_id = ? AND name = ? AND copying IS NULL",
        (user_id, agent_id, name),
        lambda row: (row[0], bool(row[1])),
    )


INNER_NAME = "ag-ui cnv_"
"""The beginning of names that no client has given: those of AG-UI's threads whose id is a conversation's.

Such a thread has a name only since it goes on in a fork of that conversation.
"""


def bind(user_id: str, agent_id: str, name: str, conversation_id: int) -> Write:
    """Bind a client's own id to a conversation, from now on; refused as `FOREIGN_KEY` when that is gone."""
    return Write(
        "INSERT INTO bindings (user_id, agent_id, name, conversation_id) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (user_id, agent_id, name) DO UPDATE SET conversation_id = excluded.conversation_id",
        (user_id, agent_id, name, conversation_id),
    )


def agent_summary(agent_id: str) -> Query[tuple[int, bool, bool, bool]]:
    """Count the messages of all conversations with an agent, with one seek for each, and look up its links.

    The links are whether it may read a bank, whether it is offered one, and whether it is a member of a domain.
    """
    return Query(
        f"SELECT CAST(coalesce(sum({LAST_SEQ}), 0) AS BIGINT),"
        " EXISTS (SELECT 1 FROM attachments WHERE agent_id = :agent AND permission <> 'none'),"
        " EXISTS (SELECT 1 FROM offers WHERE agent_id = :agent),"
        " EXISTS (SELECT 1 FROM memberships WHERE agent_id = :agent AND state = 'member')"
        " FROM conversations WHERE agent_id = :agent AND copying IS NULL",
        {"agent": agent_id},
        lambda row: (row[0], bool(row[1]), bool(row[2]), bool(row[3])),
    )


def page_before(conversation_id: int, before_seq: int, limit: int) -> Query[MessageRow]:
    """Read the last messages before a seq, newest first."""
    return Query(
        f"SELECT {_READ} FROM messages WHERE conversation_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
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
        f"SELECT {_READ} FROM messages WHERE conversation_id = ? AND seq IN @list_int(?)",
        (conversation_id, json.dumps(seqs)),
        lambda row: MessageRow(*row),
    )


def page_after(conversation_id: int, after_seq: int, limit: int) -> Query[MessageRow]:
    """Read the first messages after a seq, oldest first."""
    return Query(
        f"SELECT {_READ} FROM messages WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (conversation_id, after_seq, limit),
        lambda row: MessageRow(*row),
    )


def message(user_id: str, message_id: str) -> Query[tuple[int, MessageRow]]:
    """Read one message of a user's, with the number of its conversation."""
    return Query(
        f"SELECT conversation_id, {_READ} FROM messages WHERE id = ?2 AND role = 'user'"
        " AND conversation_id IN (SELECT conversations.id FROM conversations WHERE user_id = ?1)",
        (user_id, message_id),
        lambda row: (row[0], MessageRow(*row[1:])),
    )


def reply_to(conversation_id: int, seq: int) -> Query[MessageRow]:
    """Read the reply to the user's message with a seq."""
    agent = "(SELECT agent_id FROM conversations WHERE conversations.id = conversation_id)"
    return Query(
        f"SELECT {_READ}, {is_destroyed(agent)} FROM messages WHERE conversation_id = ?1 AND role = 'agent'"
        " AND (answers = ?2 OR (answers IS NULL AND seq = ?2 + 1)) AND seq > ?2 ORDER BY seq LIMIT 1",
        (conversation_id, seq),
        marked_row,
    )


def replies_to(user_id: str, message_ids: Sequence[str]) -> Query[tuple[str, str, str]]:
    """List the replies to these messages of a user: the id, the agent's id, the text."""
    return Query(
        "SELECT replies.id, agent_id, replies.content FROM messages AS said"
        " JOIN conversations ON conversations.id = said.conversation_id AND user_id = ?1"
        " JOIN messages AS replies ON replies.conversation_id = said.conversation_id AND replies.role = 'agent'"
        " AND (replies.answers = said.seq OR (replies.answers IS NULL AND replies.seq = said.seq + 1))"
        " WHERE said.id IN @list_text(?2) AND said.role = 'user' AND replies.seq > said.seq",
        (user_id, json.dumps(message_ids)),
        lambda row: (row[0], row[1], row[2]),
    )


def agents_met_by(user_id: str) -> Query[str]:
    """List the agents with which a user has conversations."""
    return Query("SELECT DISTINCT agent_id FROM conversations WHERE user_id = ?", (user_id,), lambda row: row[0])
