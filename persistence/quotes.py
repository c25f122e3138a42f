"""Quotes: notes of the messages that quote memories or may repeat such quotes, for censoring to redact."""

import json
from collections.abc import Sequence
from typing import Literal

from persistence.store import Query, Write, not_null

Talk = Literal["conversation", "zone"]
"""The kind of stream that has a message: a private conversation, or a zone of a domain."""

NOTED_IN: dict[Talk, tuple[str, str]] = {
    "conversation": ("quotes", "conversation_id"),
    "zone": ("zone_quotes", "zone_id"),
}
"""The table with the quotes of such messages, and its column with the stream."""

CENSORED = not_null("quotes.memory")
"""The constraint that refuses a message which draws on a memory that was censored meanwhile."""

CENSORED_IN_ZONE = not_null("zone_quotes.memory")
"""The same for a message in a zone."""

UNSEEN = -1
"""The number of a source that the message does not show."""

# the messages of conversations that quote memories of one kind
_QUOTING = (
    "@seek(quotes, quotes.conversation_id = conversations.id)"
    " @seek(memories, memories.place = quotes.memory AND memories.censored = {censored})"
    " @seek(messages, messages.conversation_id = quotes.conversation_id AND messages.seq = quotes.seq)"
)
_WHITE_SPACE = "".join(char for char in map(chr, range(0x3001)) if char.isspace())


def quote(position: int, conversation_id: int, seq: int, source: int, *, whole: bool = False) -> Write:
    """Note that a message quotes a memory; refused as `CENSORED` if that was censored since the read, not if removed.

    `whole`: a censoring redacts the whole message, because the memory's words may be anywhere in it.
    """
    return _quote("quotes (memory, conversation_id, seq, source, whole)", conversation_id, seq, source, whole, position)


def quote_in_zone(position: int, zone_id: str, seq: int, source: int, *, whole: bool = False) -> Write:
    """Note that a message in a zone quotes a memory; refused as `CENSORED_IN_ZONE`."""
    return _quote("zone_quotes (memory, zone_id, seq, source, whole)", zone_id, seq, source, whole, position)


def _quote(into: str, *params: int | str) -> Write:
    # a null for a censored one, which the column refuses
    return Write(
        f"INSERT INTO {into} SELECT CASE censored WHEN 0 THEN place END, ?, ?, ?, ? FROM memories WHERE place = ?",
        params,
    )


def pass_on(removed: Sequence[int], position: int) -> tuple[Write, ...]:
    """Give the notes of memories that are about to be removed to another memory, for the censoring of that one."""
    params = (position, json.dumps(removed))
    return (
        *[
            Write(
                f"INSERT INTO {table} (memory, {stream}, seq, source, whole)"
                f" SELECT @typed(?, bigint), {stream}, seq, source, max(whole) FROM {table}"
                f" WHERE memory IN @list_int(?) GROUP BY {stream}, seq, source"
                f" ON CONFLICT (memory, {stream}, seq, source)"
                f" DO UPDATE SET whole = @greatest({table}.whole, excluded.whole)",
                params,
            )
            for table, stream in NOTED_IN.values()
        ],
        Write(
            "INSERT INTO kept_quotes (memory, credential_id, key_hash)"
            " SELECT DISTINCT @typed(?, bigint), credential_id, key_hash FROM kept_quotes"
            " WHERE memory IN @list_int(?) ON CONFLICT DO NOTHING",
            params,
        ),
    )


def echo(conversation_id: int, seqs: Sequence[int], seq: int, since: int) -> Write:
    """Note that a message may repeat the quotes of these; refused as `CENSORED` if one was redacted since `since`."""
    return _echo("conversation", conversation_id, seqs, seq, since)


def echo_in_zone(zone_id: str, seqs: Sequence[int], seq: int, since: int) -> Write:
    """Note that a message in a zone may repeat the quotes of these messages; refused as `CENSORED_IN_ZONE`."""
    return _echo("zone", zone_id, seqs, seq, since)


def _echo(said_in: Talk, id: int | str, seqs: Sequence[int], seq: int, since: int) -> Write:
    table, stream = NOTED_IN[said_in]
    # a null where the engine may have read what is redacted now, which the column refuses
    return Write(
        f"INSERT INTO {table} (memory, {stream}, seq, source, whole) SELECT DISTINCT"
        f" CASE WHEN censored = 1 AND updated_at >= ? THEN NULL ELSE memory END, {stream}, @typed(?, bigint), 0, 1"
        f" FROM {table} JOIN memories ON place = memory WHERE {stream} = ? AND seq IN @list_int(?)"
        f" ON CONFLICT (memory, {stream}, seq, source) DO UPDATE SET whole = 1",
        (since, seq, id, json.dumps(seqs)),
    )


def quote_imported(position: int, conversation_id: int, seq: int, redacted: str) -> tuple[Write, ...]:
    """Note that an imported message quotes a memory; it becomes `redacted` if that was censored since the read."""
    return (
        Write(
            "INSERT INTO quotes (memory, conversation_id, seq, source, whole)"
            " SELECT place, ?, ?, ?, 1 FROM memories WHERE place = ?",
            (conversation_id, seq, UNSEEN, position),
        ),
        Write(
            "UPDATE messages SET content = ? WHERE conversation_id = ? AND seq = ?"
            " AND EXISTS (SELECT 1 FROM memories WHERE place = ? AND censored = 1)",
            (redacted, conversation_id, seq, position),
        ),
    )


def repeated(user_id: str, texts: Sequence[str]) -> Query[tuple[str, int]]:
    """List the memories that private messages of a user with one of these texts quote: the text, and the memory.

    Censored memories are left out. The texts are without outer white space, and messages are compared so.
    """
    return Query(
        "SELECT DISTINCT trim(messages.content, ?1) AS said, memory FROM conversations"
        f" {_QUOTING.format(censored=0)}"
        " WHERE conversations.user_id = ?2 AND trim(messages.content, ?1) IN @list_text(?3)",
        (_WHITE_SPACE, user_id, json.dumps(texts, ensure_ascii=False)),
        lambda row: (row[0], row[1]),
    )


def redacted(user_id: str, answered: Sequence[str]) -> Query[tuple[str, str]]:
    """List the redacted replies in a user's private conversations to one of these texts: the text, and the reply.

    The texts are compared as by `repeated`.
    """
    return Query(
        "SELECT DISTINCT trim(said.content, ?1) AS answered, messages.content FROM conversations"
        f" {_QUOTING.format(censored=1)}"
        " JOIN messages AS said ON said.conversation_id = quotes.conversation_id AND said.seq = quotes.seq - 1"
        " WHERE conversations.user_id = ?2 AND trim(said.content, ?1) IN @list_text(?3)",
        (_WHITE_SPACE, user_id, json.dumps(answered, ensure_ascii=False)),
        lambda row: (row[0], row[1]),
    )
