"""Copies of conversations (CV_Fork): made in several units, and not seen by anyone before the last one.

While a copy is made, its column `copying` has the number of its source, with which it goes if that is erased.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

from persistence import censoring
from persistence.store import Query, Write


class Copied(NamedTuple):
    """A message that is to be copied: its seq, id and sources, and the id and sources of the copy."""

    seq: int
    id: str
    sources: str | None
    new_id: str
    new_sources: str | None


def begin(number: int, source: int, user_id: str, title: str | None) -> Write:
    """Add the copy of one of a user's conversations, without messages; refused as `ROWS` when that is gone."""
    return Write(
        "INSERT INTO conversations (id, user_id, agent_id, is_default, title, opening, cut, scope, copying)"
        " SELECT @typed(?, bigint), user_id, agent_id, 0, @typed(?, text), opening, cut, scope, id"
        " FROM conversations WHERE id = ? AND user_id = ? AND copying IS NULL",
        (number, title, source, user_id),
        rows=1,
    )


def to_copy(source: int, after: int, upto: int, limit: int) -> Query[tuple[int, str, str | None]]:
    """List messages after a seq and up to another, oldest first: seq, id and sources of each."""
    return Query(
        "SELECT seq, id, sources FROM messages WHERE conversation_id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
        (source, after, upto, limit),
        lambda row: (row[0], row[1], row[2]),
    )


def add(number: int, source: int, messages: Sequence[Copied]) -> tuple[Write, ...]:
    """Copy successive messages as they are now, with the errors of their runs and the notes of what they quote.

    By the notes censoring finds the copies.

    Refused as `ROWS` if one of them is gone, or if one's sources were censored since they were read; as `FOREIGN_KEY`
    when the copy is gone.
    """
    return (
        Write(
            "INSERT INTO messages (conversation_id, seq, id, role, name, content, sources, at, mark, answers)"
            " SELECT @typed(?, bigint), messages.seq, given.new_id, role, name, content, given.new_sources, at, mark,"
            " answers FROM @rows(?, place bigint, id text, old_sources text, new_id text, new_sources text) AS given"
            " @seek(messages, messages.conversation_id = ? AND messages.seq = given.place)"
            " WHERE messages.id = given.id AND messages.sources IS NOT DISTINCT FROM given.old_sources",
            (number, json.dumps(messages, ensure_ascii=False), source),
            rows=len(messages),
        ),
        Write(
            "INSERT INTO quotes (memory, conversation_id, seq, source, whole)"
            " SELECT memory, @typed(?, bigint), seq, source, whole FROM quotes"
            " WHERE conversation_id = ? AND seq BETWEEN ? AND ?",
            (number, source, messages[0].seq, messages[-1].seq),
        ),
        Write(
            "INSERT INTO failed_runs (message_id, conversation_id, internal_code, http_code, note, at)"
            " SELECT copy.id, copy.conversation_id, internal_code, http_code, note, failed_runs.at FROM failed_runs"
            " JOIN messages AS said ON said.id = failed_runs.message_id AND said.role = 'user'"
            " JOIN messages AS copy ON copy.conversation_id = ? AND copy.seq = said.seq"
            " WHERE failed_runs.conversation_id = ? AND said.conversation_id = failed_runs.conversation_id"
            " AND said.seq BETWEEN ? AND ?",
            (number, source, messages[0].seq, messages[-1].seq),
        ),
    )


def cut_off(number: int, source: int, upto: int, working: Sequence[str]) -> Write:
    """Mark the copies of messages up to a seq whose runs, by their messages' ids, are under way in the source."""
    return Write(
        "UPDATE messages SET mark = 'cancelled' WHERE conversation_id = ? AND role = 'user' AND mark IS NULL AND seq IN"
        " (SELECT seq FROM messages WHERE conversation_id = ? AND seq <= ? AND id IN @list_text(?))",
        (number, source, upto, json.dumps(list(working))),
    )


def finish(number: int) -> Write:
    """Show a copy, which is complete now; refused as `ROWS` when it is gone."""
    return Write("UPDATE conversations SET copying = NULL WHERE id = ? AND copying IS NOT NULL", (number,), rows=1)


def drop(number: int) -> tuple[Write, ...]:
    """Remove a copy that is not complete, if it is there."""
    return Write("DELETE FROM conversations WHERE id = ? AND copying IS NOT NULL", (number,)), censoring.DUE


def left_before(number: int) -> Query[int]:
    """List the copies with smaller numbers, and so older ones, that are not complete."""
    return Query("SELECT id FROM conversations WHERE copying IS NOT NULL AND id < ?", (number,), lambda row: row[0])
