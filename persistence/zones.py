"""What is said in zones."""

from persistence.conversations import MessageRow
from persistence.store import Query, Write

_COLUMNS = "seq, id, role, name, content, sources, at"
_INTO = "INSERT INTO zone_messages (zone_id, number, seq, id, role, name, content, sources, at)"
_APPEND = f"{_INTO} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_APPEND_MANY = f"{_INTO} SELECT " + (
    ", ".join(f"json_extract(value, '$[{place}]')" for place in range(9)) + " FROM json_each(?)"
)


def append(
    zone_id: str, number: int, seq: int, id: str, role: str, name: str, content: str, sources: str | None, at: int
) -> Write:
    """Add a message (see `MessageRow`), at its number in the domain's sequence."""
    return Write(_APPEND, (zone_id, number, seq, id, role, name, content, sources, at), None, _APPEND_MANY)


def page_before(zone_id: str, before_seq: int, limit: int) -> Query[MessageRow]:
    """Read the last messages before a seq, newest first."""
    return Query(
        f"SELECT {_COLUMNS} FROM zone_messages WHERE zone_id = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (zone_id, before_seq, limit),
        lambda row: MessageRow(*row),
    )


def last_number(domain_id: str) -> Query[int]:
    """Find the last number of a domain's sequence, 0 where nothing happened yet."""
    return Query(
        "SELECT max(coalesce((SELECT max(number) FROM membership_events WHERE domain_id = :domain), 0),"
        " coalesce((SELECT max(last) FROM (SELECT (SELECT number FROM zone_messages WHERE zone_id = zones.id"
        " ORDER BY seq DESC LIMIT 1) AS last FROM zones WHERE domain_id = :domain)), 0))",
        {"domain": domain_id},
        lambda row: row[0],
    )


def membership_changed(domain_id: str, number: int, record: str) -> Write:
    """Keep that a membership changed; `record` is its JSON, with the state `none` where it is gone."""
    return Write(
        "INSERT INTO membership_events (domain_id, number, record) VALUES (?, ?, ?)", (domain_id, number, record)
    )
