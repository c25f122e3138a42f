"""Documents that users have sent: the queue of those to be split, and their parts."""

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from persistence.store import Params, Query, Write


class DocumentRow(NamedTuple):
    """A document as stored, without its text; `size` in characters, times in ms since the epoch."""

    position: int
    id: str
    user_id: str
    name: str
    media_type: str
    metadata: dict[str, Any] | None
    size: int
    status: str
    error: str | None
    parts: int
    erased: int
    created_at: int
    updated_at: int


class Waiting(NamedTuple):
    """A document that waits to be split into parts."""

    id: str
    user_id: str
    media_type: str
    content: str


_SELECT = (
    "SELECT place, id, user_id, name, media_type, metadata, size, status, error, parts, erased, created_at, updated_at"
    " FROM documents"
)


def add(document: DocumentRow, content: str) -> tuple[Write, ...]:
    """Queue a document, replacing the user's document of that name; refused as `FOREIGN_KEY` without the user."""
    return (
        Write("DELETE FROM documents WHERE user_id = ? AND name = ?", (document.user_id, document.name)),
        Write(
            "INSERT INTO documents (place, id, user_id, name, media_type, metadata, content, size, status, created_at,"
            " updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?)",
            (
                document.position,
                document.id,
                document.user_id,
                document.name,
                document.media_type,
                None if document.metadata is None else json.dumps(document.metadata, ensure_ascii=False),
                content,
                document.size,
                document.created_at,
                document.updated_at,
            ),
        ),
    )


def by_id(user_id: str, document_id: str) -> Query[DocumentRow]:
    """Read a user's document."""
    return Query(f"{_SELECT} WHERE id = ? AND user_id = ?", (document_id, user_id), _row)


def by_name(user_id: str, name: str) -> Query[DocumentRow]:
    """Read a user's document of exactly that name."""
    return Query(f"{_SELECT} WHERE user_id = ? AND name = ?", (user_id, name), _row)


def listed(user_id: str, after: str, limit: int) -> Query[DocumentRow]:
    """List a user's documents by name, from the first one after a name."""
    return Query(f"{_SELECT} WHERE user_id = ? AND name > ? ORDER BY name LIMIT ?", (user_id, after, limit), _row)


def remove(user_id: str, document_id: str) -> Write:
    """Remove a user's document with its parts; refused as `ROWS` if there is none. What was loaded of it stays."""
    return Write("DELETE FROM documents WHERE id = ? AND user_id = ?", (document_id, user_id), rows=1)


def parts_of(document_id: str) -> Query[str | None]:
    """Read the texts of a document's parts, in order; None for one that was censored."""
    return Query(
        "SELECT text FROM document_parts WHERE document_id = ? ORDER BY number", (document_id,), lambda row: row[0]
    )


def still_whole(document_id: str) -> Write:
    """Require that a document exists and no part of it was censored; else refused as `ROWS`."""
    return Write("UPDATE documents SET erased = 0 WHERE id = ? AND erased = 0", (document_id,), rows=1)


# the queue


def next_waiting(shards: Collection[int] | None = None, after_user: str = "") -> Query[Waiting]:
    """Read a document that waits, also one that a crash interrupted: the oldest of the first user after `after_user`.

    The users' order has no end: the first one comes after the last. `shards` are those whose users' documents are
    read; None reads all.
    """
    of_shards = " AND substr(user_id, length(user_id) - 1) IN (SELECT value FROM @list_text(?) AS shards)"
    return Query(
        "SELECT id, user_id, media_type, content FROM documents WHERE place = (SELECT place FROM documents"
        f" WHERE status IN ('queued', 'processing'){'' if shards is None else of_shards}"
        " ORDER BY user_id <= ?, user_id, place LIMIT 1)",
        (*(() if shards is None else (json.dumps([f"{shard:02x}" for shard in shards]),)), after_user),
        lambda row: Waiting(*row),
    )


def begin(document_id: str, at: int) -> Write:
    """Mark a document as being split."""
    return Write(
        "UPDATE documents SET status = 'processing', updated_at = ? WHERE id = ? AND status = 'queued'",
        (at, document_id),
    )


def finish(document_id: str, parts: list[str], at: int) -> tuple[Write, ...]:
    """Keep a document's parts in place of its text; refused as `ROWS` when it is gone."""
    return (
        Write(
            "UPDATE documents SET status = 'ready', content = NULL, parts = ?, updated_at = ?"
            " WHERE id = ? AND content IS NOT NULL",
            (len(parts), at, document_id),
            rows=1,
        ),
        Write(
            "INSERT INTO document_parts (document_id, number, text) SELECT ?, number, text"
            " FROM @rows(?, number bigint, text text) AS made",
            (document_id, json.dumps(list(enumerate(parts, 1)))),
        ),
    )


def fail(document_id: str, error: str, at: int) -> Write:
    """Store the reason that a document can't be split, and drop its text."""
    return Write(
        "UPDATE documents SET status = 'failed', content = NULL, error = ?, updated_at = ?"
        " WHERE id = ? AND content IS NOT NULL",
        (error, at, document_id),
    )


def _row(row: Params) -> DocumentRow:
    position, id, user_id, name, media_type, metadata, *rest = row
    return DocumentRow(position, id, user_id, name, media_type, metadata and json.loads(metadata), *rest)
