"""The day's quota as clients see it."""

from actors.plans import DAY_MS
from actors.quotas.messages import QuotaStatus
from actors.wire import Record, iso


def quota_record(standing: QuotaStatus) -> Record:
    """Return the record of a user's quota."""
    return {
        "limit": standing.limit,
        "used": standing.used,
        "remaining": standing.remaining,
        "resets_at": iso(standing.resets_at),
        "window": window_of(standing),
    }


def window_of(standing: QuotaStatus) -> str:
    """Return the UTC day of a quota status, as a date."""
    return iso(standing.resets_at - DAY_MS)[:10]
