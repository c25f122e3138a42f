"""Finds the gaps of the full-text index: banks that are partly indexed, and conversations and zones that are behind."""

from collections.abc import Sequence
from typing import NamedTuple

from persistence.search_index import DONE, Collection
from persistence.store import Query, Write


class Stream(NamedTuple):
    """A private conversation (by its number) or a zone (by its id), its last seq, and its collection if it has one.

    `owner` is the id of the conversation's agent, or of the zone's domain.
    """

    id: int | str
    owner: str
    last_seq: int
    collection: Collection | None


def banks_to_do(version: str) -> Query[tuple[str, Collection]]:
    """List the banks that are not wholly indexed, or not by this version: the bank's id and its collection."""
    return Query(
        "SELECT bank_id, number, version, reached, texts, words FROM collections"
        " WHERE bank_id IS NOT NULL AND (reached < ? OR version <> ?) ORDER BY number",
        (DONE, version),
        lambda row: (row[0], Collection(*row[1:])),
    )


def are_as_read(bank_id: str, texts: Sequence[tuple[int, str]]) -> Write:
    """Require that the memories at these positions have these texts; else refused as `ROWS`."""
    given = ", ".join("(@typed(?, bigint), @typed(?, text))" for _ in texts)
    return Write(
        f"UPDATE banks SET name = name WHERE id = ? AND ? = (WITH given (place, text) AS (VALUES {given})"
        " SELECT count(*) FROM given"
        " @seek(memories, memories.place = given.place AND memories.text = given.text))",
        (bank_id, len(texts), *(value for pair in texts for value in pair)),
        rows=1,
    )


_LAST_SEQ = "coalesce((SELECT max(seq) FROM {messages} WHERE {stream} = {streams}.id), 0)"


def conversations_after(id: int, limit: int) -> Query[Stream]:
    """List private conversations by number, after one."""
    return _streams_after("conversations", "agent_id", "conversation_id", "messages", id, limit)


def zones_after(id: str, limit: int) -> Query[Stream]:
    """List zones by id, after one."""
    return _streams_after("zones", "domain_id", "zone_id", "zone_messages", id, limit)


def conversation(id: int) -> Query[Stream]:
    """Read one private conversation."""
    return _streams("conversations", "agent_id", "conversation_id", "messages", "conversations.id = ?", (id,))


def zone(id: str) -> Query[Stream]:
    """Read one zone."""
    return _streams("zones", "domain_id", "zone_id", "zone_messages", "zones.id = ?", (id,))


def _streams_after(streams: str, owner: str, stream: str, messages: str, id: int | str, limit: int) -> Query[Stream]:
    return _streams(streams, owner, stream, messages, f"{streams}.id > ? ORDER BY {streams}.id LIMIT ?", (id, limit))


def _streams(
    streams: str, owner: str, stream: str, messages: str, which: str, params: tuple[int | str, ...]
) -> Query[Stream]:
    last_seq = _LAST_SEQ.format(messages=messages, stream=stream, streams=streams)
    return Query(
        f"SELECT {streams}.id, {streams}.{owner}, {last_seq}, number, version, reached, texts, words"
        f" FROM {streams} LEFT JOIN collections ON collections.{stream} = {streams}.id WHERE {which}",
        params,
        lambda row: Stream(row[0], row[1], row[2], None if row[3] is None else Collection(*row[3:])),
    )
