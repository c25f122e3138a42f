"""Messages in zones, and the events of their domains: one sequence of numbers for each domain."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from persistence.agents import is_destroyed
from persistence.conversations import MessageRow, marked_row
from persistence.store import Query, Write

_COLUMNS = "seq, id, role, name, content, sources, at"
_READ = f"{_COLUMNS}, NULL, {is_destroyed('zone_messages.agent_id')}"
_INTO = "INSERT INTO zone_messages (zone_id, number, seq, id, role, name, content, sources, at, agent_id)"
_APPEND = f"{_INTO} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_APPEND_MANY = (
    f"{_INTO} SELECT * FROM @rows(?, zone_id text, number bigint, seq bigint, id text, role text, name text,"
    " content text, sources text, at bigint, agent_id text) AS made"
)


def append(
    zone_id: str,
    number: int,
    seq: int,
    id: str,
    role: str,
    name: str,
    content: str,
    sources: str | None,
    at: int,
    agent_id: str | None = None,
) -> Write:
    """Add a message (see `MessageRow`), at its number in the domain's sequence; an agent's with the agent's id."""
    return Write(_APPEND, (zone_id, number, seq, id, role, name, content, sources, at, agent_id), None, _APPEND_MANY)


def page_before(zone_id: str, before_seq: int, limit: int) -> Query[MessageRow]:
    """Read the last messages before a seq, newest first."""
    return Query(
        f"SELECT {_READ} FROM zone_messages WHERE zone_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (zone_id, before_seq, limit),
        marked_row,
    )


def page_after(zone_id: str, after_seq: int, limit: int) -> Query[MessageRow]:
    """Read the first messages after a seq, oldest first."""
    return Query(
        f"SELECT {_READ} FROM zone_messages WHERE zone_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (zone_id, after_seq, limit),
        marked_row,
    )


def unchanged(zone_id: str, texts: Sequence[tuple[int, str]]) -> Write:
    """Change nothing; refused as `ROWS` unless the messages with these seqs still have these texts."""
    return Write(
        "UPDATE zones SET name = name WHERE id = ? AND NOT EXISTS (SELECT 1"
        " FROM @rows(?, seq bigint, content text) AS given WHERE NOT EXISTS (SELECT 1 FROM zone_messages"
        " WHERE zone_id = ? AND zone_messages.seq = given.seq AND zone_messages.content = given.content))",
        (zone_id, json.dumps(texts, ensure_ascii=False), zone_id),
        rows=1,
    )


def at(zone_id: str, seqs: Sequence[int]) -> Query[MessageRow]:
    """Read the messages with these seqs."""
    return Query(
        f"SELECT {_COLUMNS} FROM zone_messages WHERE zone_id = ? AND seq IN @list_int(?)",
        (zone_id, json.dumps(seqs)),
        lambda row: MessageRow(*row),
    )


def message(zone_id: str, message_id: str) -> Query[MessageRow]:
    """Read one message of a zone."""
    return Query(
        f"SELECT {_COLUMNS} FROM zone_messages WHERE zone_id = ? AND id = ? ORDER BY seq DESC LIMIT 1",
        (zone_id, message_id),
        lambda row: MessageRow(*row),
    )


def last_number(domain_id: str) -> Query[int]:
    """Find the last number of a domain's sequence, 0 before the first event; destroyed zones count, too."""
    return Query(
        "SELECT @greatest(coalesce((SELECT numbered FROM domains WHERE id = :domain), 0),"
        " coalesce((SELECT max(number) FROM membership_events WHERE domain_id = :domain), 0),"
        " coalesce((SELECT max(last) FROM (SELECT (SELECT number FROM zone_messages WHERE zone_id = zones.id"
        " ORDER BY seq DESC LIMIT 1) AS last FROM zones WHERE domain_id = :domain) AS lasts), 0))",
        {"domain": domain_id},
        lambda row: row[0],
    )


def last_numbers(domain_ids: Sequence[str]) -> Query[tuple[str, int]]:
    """Find the last numbers of several domains' sequences, as `last_number` does of one; gone ones are left out."""
    return Query(
        "SELECT id, @greatest(numbered,"
        " coalesce((SELECT max(number) FROM membership_events WHERE domain_id = domains.id), 0),"
        " coalesce((SELECT max(last) FROM (SELECT (SELECT number FROM zone_messages WHERE zone_id = zones.id"
        " ORDER BY seq DESC LIMIT 1) AS last FROM zones WHERE domain_id = domains.id) AS lasts), 0))"
        " FROM domains WHERE id IN @list_text(?)",
        (json.dumps(domain_ids),),
        lambda row: (row[0], row[1]),
    )


def membership_changed(domain_id: str, number: int, record: str) -> Write:
    """Add the change of a membership; `record` is its JSON, with the state `none` if it has ended."""
    return Write(
        "INSERT INTO membership_events (domain_id, number, record) VALUES (?, ?, ?)", (domain_id, number, record)
    )


@dataclass(frozen=True, slots=True)
class StreamEventRow:
    """An event of a zone or its domain: a message, or the JSON of a membership's record."""

    number: int
    message: MessageRow | None
    membership: str | None


def events_after(domain_id: str, zone_id: str, number: int, limit: int) -> Query[StreamEventRow]:
    """Read the messages of a zone and the membership changes of its domain after a number, in order."""
    return Query(
        f"SELECT number, NULL, {_READ} FROM zone_messages WHERE zone_id = :zone AND number > :number"
        f" UNION ALL SELECT number, record, {', '.join(['NULL'] * len(MessageRow._fields))} FROM membership_events"
        " WHERE domain_id = :domain AND number > :number ORDER BY 1 LIMIT :limit",
        {"domain": domain_id, "zone": zone_id, "number": number, "limit": limit},
        lambda row: StreamEventRow(row[0], None if row[1] is not None else marked_row(row[2:]), row[1]),
    )
