"""Notices that cross to other nodes: rows in the unit of their cause, read by every node with its heartbeat.

The table is there on PostgreSQL only, because a gateway on SQLite is alone.
"""

import json
from collections.abc import Sequence

from persistence.ledger import NoticeRow
from persistence.store import Query, Write


def insert(notices: Sequence[tuple[str, str, bytes]]) -> Write:
    """Add notices: of each the kind, the target in JSON, and the message.

    Its unit is alone in the database while it commits, so places are in the order of commits.
    """
    rows = [[kind, target, message.hex()] for kind, target, message in notices]
    return Write(
        "INSERT INTO notices (kind, target, message, at)"
        " SELECT kind, CAST(target AS jsonb), decode(message, 'hex'),"
        " CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)"
        " FROM @rows_in_order(?, kind text, target text, message text) AS made ORDER BY ordinal",
        (json.dumps(rows),),
    )


def notices_after(place: int, limit: int) -> Query[NoticeRow]:
    """Read the notices after a place, the oldest first."""
    return Query(
        "SELECT place, kind, CAST(target AS text), message, at FROM notices WHERE place > ? ORDER BY place LIMIT ?",
        (place, limit),
        lambda row: NoticeRow(*row),
    )


def forget() -> Write:
    """Delete the notices that all live nodes have acted on."""
    return Write("DELETE FROM notices WHERE place <= (SELECT min(seen) FROM nodes WHERE live)", ())
