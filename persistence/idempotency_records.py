"""Idempotency records: the first answers to requests with an Idempotency-Key, sealed.

Triggers redact an answer when an agent, domain, zone or bank that `show` noted for it is destroyed, in whichever way.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from persistence.quotes import NOTED_IN, Talk
from persistence.store import Query, Write


@dataclass(frozen=True, slots=True)
class IdempotencyRow:
    """The record of a key: `answer` is sealed; None while the command is under way, or after redaction.

    `status` is the HTTP status, None while it is under way; `message_id` is a chat's message that awaits its reply.
    `conversation_id` is the number of the private conversation from which the answer has texts.
    """

    fingerprint: bytes
    status: int | None
    answer: bytes | None
    message_id: str | None
    conversation_id: int | None = None


_NOTED = "(noted_at = at OR conversation_id IS NOT NULL OR status NOT IN (200, 201))"
"""Whether an answer is redacted when what it shows is destroyed; see the migrations `unnoted_answers`."""


def of_key(credential_id: str, key_hash: bytes, since: int) -> Query[IdempotencyRow]:
    """Read the record of a key, if it is not older than `since`, in ms since the epoch.

    An answer that an older node kept, without notes of what it shows, counts as redacted.
    """
    return Query(
        f"SELECT fingerprint, status, CASE WHEN {_NOTED} THEN answer END, message_id FROM kept_answers"
        " WHERE credential_id = ? AND key_hash = ? AND at >= ?",
        (credential_id, key_hash, since),
        lambda row: IdempotencyRow(*row),
    )


_PUT = (
    "INSERT INTO kept_answers"
    " (credential_id, key_hash, user_id, fingerprint, at, status, answer, message_id, conversation_id, noted_at)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?5)"
    " ON CONFLICT (credential_id, key_hash) DO UPDATE SET user_id = excluded.user_id,"
    " fingerprint = excluded.fingerprint, at = excluded.at, status = excluded.status, answer = excluded.answer,"
    " message_id = excluded.message_id, conversation_id = excluded.conversation_id, noted_at = excluded.noted_at"
    " WHERE kept_answers.at < ?10 OR (kept_answers.status IS NULL"
)


def keep(credential_id: str, key_hash: bytes, user_id: str, at: int, since: int, kept: IdempotencyRow) -> Write:
    """Store an answer; refused as `ROWS` if the key has one that is not older than `since`."""
    params = (credential_id, key_hash, user_id, kept.fingerprint, at, kept.status, kept.answer, kept.message_id)
    return Write(f"{_PUT})", (*params, kept.conversation_id, since), rows=1)


def begin(
    credential_id: str, key_hash: bytes, user_id: str, at: int, since: int, kept: IdempotencyRow, seen: str | None
) -> Write:
    """Note that a command is under way; refused if the key has an answer, or another execution's message."""
    params = (credential_id, key_hash, user_id, kept.fingerprint, at, None, None, kept.message_id, None, since, seen)
    mine = "kept_answers.message_id IS NOT DISTINCT FROM ?11 OR kept_answers.message_id = excluded.message_id"
    return Write(f"{_PUT} AND ({mine}))", params, rows=1)


def forget_notes(credential_id: str, key_hash: bytes) -> tuple[Write, ...]:
    """Remove the notes of what a key's previous answer quoted and showed."""
    return tuple(
        Write(f"DELETE FROM {notes} WHERE credential_id = ? AND key_hash = ?", (credential_id, key_hash))
        for notes in ("kept_quotes", "kept_subjects")
    )


def delete_older(before: int) -> Write:
    """Remove the records from before a time."""
    return Write("DELETE FROM kept_answers WHERE at < ?", (before,))


def delete_of_user(user_id: str) -> Write:
    """Remove all records of a user."""
    return Write("DELETE FROM kept_answers WHERE user_id = ?", (user_id,))


def quote_alike(said_in: Talk, stream: int | str, seq: int, credential_id: str, key_hash: bytes) -> Write:
    """Note that the answer of a key, if there is one, quotes the same memories as a message."""
    table, of = NOTED_IN[said_in]
    return Write(
        "INSERT INTO kept_quotes (memory, credential_id, key_hash)"
        f" SELECT memory, ?1, ?2 FROM {table} WHERE {of} = ?3 AND seq = ?4"
        " AND EXISTS (SELECT 1 FROM kept_answers WHERE credential_id = ?1 AND key_hash = ?2)"
        " ON CONFLICT DO NOTHING",
        (credential_id, key_hash, stream, seq),
    )


def redact_of_conversation(conversation_id: int) -> Write:
    """Redact the answers that have texts of a private conversation."""
    return Write(
        "UPDATE kept_answers SET answer = NULL WHERE conversation_id = ? AND answer IS NOT NULL", (conversation_id,)
    )


def redact_if_erased(conversation_id: int, credential_id: str, key_hash: bytes) -> Write:
    """Redact an answer with texts of a private conversation, if that was erased while the answer was made."""
    return Write(
        "UPDATE kept_answers SET answer = NULL WHERE credential_id = ? AND key_hash = ?"
        " AND NOT EXISTS (SELECT 1 FROM conversations WHERE id = ?)",
        (credential_id, key_hash, conversation_id),
    )


def quote(quoted: Sequence[int], credential_id: str, key_hash: bytes) -> Write:
    """Note that the answer of a key quotes memories, as far as they still exist.

    One statement notes all: behind a unit's other changes SQLite takes up to 20 ms for each, however small it is.
    """
    return Write(
        "INSERT INTO kept_quotes (memory, credential_id, key_hash) SELECT place, ?2, ?3 FROM memories"
        " WHERE place IN (SELECT value FROM @list_int(?1) AS quoted) AND censored = 0 ON CONFLICT DO NOTHING",
        (json.dumps(quoted), credential_id, key_hash),
    )


def redact_if_censored(quoted: Sequence[int], credential_id: str, key_hash: bytes) -> Write:
    """Redact an answer with the texts of memories, if one of them was censored while the answer was made."""
    return Write(
        "UPDATE kept_answers SET answer = NULL WHERE credential_id = ? AND key_hash = ? AND EXISTS (SELECT 1"
        " FROM memories WHERE place IN (SELECT value FROM @list_int(?) AS quoted) AND censored = 1)",
        (credential_id, key_hash, json.dumps(quoted)),
    )


def show(subjects: Sequence[str], credential_id: str, key_hash: bytes) -> Write:
    """Note that the answer of a key has texts of these agents, domains, zones, banks or endpoints."""
    return Write(
        "INSERT INTO kept_subjects (subject, credential_id, key_hash)"
        " SELECT value, ?2, ?3 FROM @list_text(?1) AS shown WHERE true ON CONFLICT DO NOTHING",
        (json.dumps(subjects), credential_id, key_hash),
    )


def redact_if_destroyed(credential_id: str, key_hash: bytes) -> Write:
    """Redact the answer of a key if something that it shows was destroyed while the answer was made."""
    live = " UNION ALL ".join(
        f"SELECT 1 FROM {table} WHERE id = subject{condition}"
        for table, condition in (
            ("agents", " AND destroyed_at IS NULL"),
            ("domains", ""),
            ("zones", ""),
            ("banks", ""),
            ("endpoints", " AND deleted = 0"),
            ("documents", ""),
        )
    )
    return Write(
        "UPDATE kept_answers SET answer = NULL WHERE credential_id = ?1 AND key_hash = ?2 AND EXISTS (SELECT 1"
        f" FROM kept_subjects WHERE credential_id = ?1 AND key_hash = ?2 AND NOT EXISTS ({live}))",
        (credential_id, key_hash),
    )


def redact_showing(subject: str) -> Write:
    """Redact the answers that show something, where no trigger does."""
    return Write(
        "UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN"
        " (SELECT credential_id, key_hash FROM kept_subjects WHERE subject = ?)",
        (subject,),
    )
