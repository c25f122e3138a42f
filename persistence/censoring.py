"""Censoring: permanent erasure of memories, also in messages that quote them and in documents that they come from."""

from persistence.memories import Choice, condition_of, out_of_index
from persistence.quotes import NOTED_IN
from persistence.store import Params, Query, Write

REDACTED = "[censored]"
"""The text in place of the quote of a censored memory."""

_MAX_SOURCES = 3
_QUOTING = (("messages", *NOTED_IN["conversation"]), ("zone_messages", *NOTED_IN["zone"]))


DUE = Write("UPDATE erasure SET due = due + 1", ())
"""Counts one erasure as due, in a unit that removes texts for good: the files hold them until `erased`."""


def censor(bank_id: str, choice: Choice, at: int) -> tuple[Write, ...]:
    """Erase the text of memories and their terms, also in messages that quote them and in their documents.

    The unit also counts one erasure as due, because the files still hold the text. The last write touches the memories
    themselves, so that the rows it touches are the memories censored.
    """
    condition, params = condition_of(bank_id, choice)
    chosen = f"{condition} AND censored = 0"
    return (
        *_in_messages(f"SELECT place FROM memories WHERE {chosen}", params),
        *_in_own_documents(f"FROM memories WHERE {chosen} AND document_id IS NOT NULL", params),
        *_in_like_documents(bank_id, f"FROM memories WHERE {chosen} AND document_part IS NOT NULL", params, at),
        DUE,
        *out_of_index(bank_id, choice),
        Write(f"UPDATE memories SET text = NULL, censored = 1, updated_at = ? WHERE {chosen}", (at, *params)),
    )


def _in_messages(chosen: str, params: Params) -> list[Write]:
    """Redact messages that quote chosen memories, and drop the kept answers that do."""
    parts = [
        Write(
            f"UPDATE {messages} SET content = replace(content, @quote_in(sources, {source}), ?),"
            f" sources = @with_quote_in(sources, {source}, ?) WHERE ({stream}, seq) IN"
            f" (SELECT {stream}, seq FROM {quotes} WHERE source = {source} AND whole = 0 AND memory IN ({chosen}))",
            (REDACTED, REDACTED, *params),
        )
        for messages, quotes, stream in _QUOTING
        for source in range(_MAX_SOURCES)
    ]
    wholes = [
        Write(
            f"UPDATE {messages} SET content = ?, sources = @with_quotes(sources, ?) WHERE ({stream}, seq) IN"
            f" (SELECT {stream}, seq FROM {quotes} WHERE whole = 1 AND memory IN ({chosen}))",
            (REDACTED, REDACTED, *params),
        )
        for messages, quotes, stream in _QUOTING
    ]
    kept = Write(
        "UPDATE kept_answers SET answer = NULL WHERE (credential_id, key_hash) IN"
        f" (SELECT credential_id, key_hash FROM kept_quotes WHERE memory IN ({chosen}))",
        params,
    )
    return [*parts, *wholes, kept]


def _in_own_documents(from_chosen: str, params: Params) -> list[Write]:
    """Erase the parts of documents that became chosen memories."""
    return [
        Write(
            "UPDATE document_parts SET text = NULL WHERE (document_id, number) IN"
            f" (SELECT document_id, document_part {from_chosen})",
            params,
        ),
        Write(f"UPDATE documents SET erased = 1 WHERE id IN (SELECT document_id {from_chosen})", params),
    ]


def _in_like_documents(bank_id: str, from_chosen: str, params: Params, at: int) -> list[Write]:
    """Erase the texts of chosen memories in other documents of the same owners.

    A document that was sent again is another row; its text, owner and name identify it as the same.
    """
    whose = (
        "documents.user_id IN (SELECT owner_id FROM banks WHERE id = ?"
        f" UNION SELECT owner_id FROM agents WHERE id IN (SELECT author_id {from_chosen}))"
    )
    # only these are compared, else each part of many documents would be with all memories of the choice
    of_this_name = "{} = (SELECT documents.name FROM documents WHERE documents.id = document_parts.document_id)".format
    of_its_name = f"documents.name IN (SELECT coalesce(part_of, name) {from_chosen})"
    return [
        Write(
            f"UPDATE document_parts SET text = NULL WHERE document_id IN (SELECT id FROM documents WHERE {whose})"
            f" AND text IN (SELECT text {from_chosen})",
            (bank_id, *params, *params),
        ),
        Write(
            "UPDATE document_parts SET text = NULL"
            f" WHERE document_id IN (SELECT id FROM documents WHERE {whose} AND {of_its_name}) AND text IS NOT NULL"
            f" AND (EXISTS (SELECT 1 {from_chosen} AND {of_this_name('part_of')}"
            " AND @contains(document_parts.text, memories.text))"
            f" OR EXISTS (SELECT 1 {from_chosen} AND part_of IS NULL AND {of_this_name('memories.name')}"
            " AND @contains(document_parts.text, memories.text)))",
            (bank_id, *params, *params, *params, *params),
        ),
        Write(
            f"UPDATE documents SET erased = 1 WHERE erased = 0 AND {whose}"
            " AND EXISTS (SELECT 1 FROM document_parts WHERE document_id = documents.id AND text IS NULL)",
            (bank_id, *params),
        ),
        # a document that is not split yet may hold the text in another form, so its name counts, too
        Write(
            "UPDATE documents SET status = 'failed', content = NULL, erased = 1, updated_at = ?,"
            " error = 'a text of it was censored meanwhile'"
            f" WHERE status IN ('queued', 'processing') AND {whose}"
            f" AND ({of_its_name} OR EXISTS (SELECT 1 {from_chosen} AND @contains(documents.content, memories.text)))",
            (at, bank_id, *params, *params, *params),
        ),
    ]


def quoted_by(bank_id: str, choice: Choice) -> Query[tuple[str, str, str]]:
    """List the actors, by kind and key, in whose messages such memories are quoted, and the conversations or zones."""
    condition, params = condition_of(bank_id, choice)
    chosen = f"(SELECT place FROM memories WHERE {condition})"
    return Query(
        "SELECT DISTINCT 'agent', agent_id, CAST(conversations.id AS TEXT)"
        " FROM quotes JOIN conversations ON conversations.id = quotes.conversation_id"
        f" WHERE quotes.memory IN {chosen}"
        " UNION SELECT 'domain', domain_id, zone_id FROM zone_quotes JOIN zones ON zones.id = zone_quotes.zone_id"
        f" WHERE zone_quotes.memory IN {chosen}",
        (*params, *params),
        lambda row: (row[0], row[1], row[2]),
    )


ERASURES_DUE: Query[int] = Query("SELECT due FROM erasure", (), lambda row: row[0])


def erased(count: int) -> Write:
    """Note that the files are clear of `count` erasures."""
    return Write("UPDATE erasure SET due = due - ?", (count,))
