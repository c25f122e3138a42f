"""GET /api/audit: the log of changes (docs/contract.md, "The audit log")."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import orjson
from pydantic import BeforeValidator, Field, StringConstraints

from actors.calls.paging import cursor_of, position_of
from actors.calls.request import BlankIsMissing
from actors.commands import audit
from actors.wire import Record, iso
from persistence.audit import AuditRow
from routes.gateway.route import Query, Route, RouteCall, RouteReply
from routes.openapi.schemas import TIME, array, nullable, number, record, text

NEWEST = 2**62
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _iso_only(value: Any) -> Any:
    """Refuse a bare number, which pydantic would read as seconds."""
    if isinstance(value, str) and not re.match(r"\d{4}-\d\d-\d\d", value):
        raise ValueError("send a time as 2026-11-20T10:00:00Z")
    return value


class AuditAsked(Query):
    """Query parameters of the audit log."""

    since: Annotated[datetime, BeforeValidator(_iso_only)] | None = Field(
        None, description="Only entries from this time on (ISO 8601; UTC if it names no zone)."
    )
    service: Annotated[Annotated[str, StringConstraints(max_length=100)] | None, BlankIsMissing] = Field(
        None, description="Only entries of this service or operation."
    )
    limit: int = Field(50, ge=1, le=200, description="Entries on a page.")
    cursor: str | None = Field(None, max_length=100, description="`next` of the page before.")

    @property
    def since_ms(self) -> int:
        """The time from which on entries are asked for, in ms since the epoch."""
        return 0 if self.since is None else _ms(self.since)

    @property
    def before(self) -> int:
        """The position before which the page begins.

        Raises:
            InvalidField: no list has made this cursor.
        """
        return position_of(self.cursor, NEWEST)


async def read(request: RouteCall) -> RouteReply:
    """Return a page of the log, newest first."""
    asked: AuditAsked = request.query
    rows = await audit.read(request.call, asked.since_ms, asked.service, asked.before, asked.limit)
    return audit_reply(rows, asked.limit, audit_record)


def audit_reply(rows: Sequence[AuditRow], limit: int, shown: Callable[[AuditRow], Record]) -> RouteReply:
    """Return a page of a log, of whose rows one more than fit was read."""
    page = rows[:limit]
    following = cursor_of(page[-1].position) if len(rows) > limit else None
    return RouteReply({"entries": [shown(row) for row in page], "next": following})


def audit_record(row: AuditRow) -> Record:
    """Return an entry as its user sees it."""
    return {
        "time": iso(row.at),
        "credential_id": row.credential_id,
        "address": row.address,
        "service": row.service,
        "target": orjson.loads(row.target),
        "internal_code": row.internal_code,
        "request_id": row.request_id,
    }


def _ms(at: datetime) -> int:
    """Convert to ms since the epoch; a time without a zone is UTC, not the machine's zone."""
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - EPOCH) // timedelta(milliseconds=1)


ENTRY = record(
    "A change, or an attempt at one.",
    time=TIME,
    credential_id=text("The session or API key of the request."),
    address=text(),
    service=text("The service, or the operation of a gateway route."),
    target={"type": "object", "description": "The names or ids of its targets."},
    internal_code=number("0 for success."),
    request_id=text(),
)

ROUTES = (
    Route(
        "GET",
        "/api/audit",
        "readAudit",
        "Gateway",
        "Read the audit log, newest first; on the plans scale and enterprise.",
        read,
        reply=record(
            "A page of the log.",
            entries=array(ENTRY),
            next=nullable(text("The cursor of the next page.")),
        ),
        query=AuditAsked,
        errors=(403,),
    ),
)
