"""Which messages quote which memories, or may repeat such quotes: what a censoring has to redact."""

import json
from collections.abc import Sequence

from persistence.store import Write

UNSEEN = -1
"""The number of a source that the message does not show."""


def quote(place: int, conversation_id: int, seq: int, source: int, *, whole: bool = False) -> Write:
    """Note that a message quotes a memory; fails when that was censored since it was read, not when it was removed.

    `whole`: a censoring takes the whole message, for the memory's words may be anywhere in it.
    """
    return _quote("quotes (memory, conversation_id, seq, source, whole)", conversation_id, seq, source, whole, place)


def quote_in_zone(place: int, zone_id: str, seq: int, source: int, *, whole: bool = False) -> Write:
    """Note that a message in a zone quotes a memory; fails as `quote` does."""
    return _quote("zone_quotes (memory, zone_id, seq, source, whole)", zone_id, seq, source, whole, place)


def _quote(into: str, *params: int | str) -> Write:
    # a null for a censored one, which the column refuses
    return Write(
        f"INSERT INTO {into} SELECT CASE censored WHEN 0 THEN place END, ?, ?, ?, ? FROM memories WHERE place = ?",
        params,
    )


def echo(conversation_id: int, seqs: Sequence[int], seq: int) -> Write:
    """Note that a message may repeat what these messages quote."""
    return _echo("quotes", "conversation_id", conversation_id, seqs, seq)


def echo_in_zone(zone_id: str, seqs: Sequence[int], seq: int) -> Write:
    """Note that a message in a zone may repeat what these messages quote."""
    return _echo("zone_quotes", "zone_id", zone_id, seqs, seq)


def _echo(table: str, stream: str, id: int | str, seqs: Sequence[int], seq: int) -> Write:
    return Write(
        f"INSERT OR IGNORE INTO {table} (memory, {stream}, seq, source, whole) SELECT memory, {stream}, ?, 0, 1"
        f" FROM {table} WHERE {stream} = ? AND seq IN (SELECT value FROM json_each(?))",
        (seq, id, json.dumps(seqs)),
    )
