"""The day's quota as clients see it."""

from actors.plans import DAY_MS
from actors.quotas.messages import QuotaStatus
from actors.wire import Record, iso


def quota_record(status: QuotaStatus) -> Record:
    """Return the record of a user's quota."""
    return {
        "limit": status.limit,
        "used": status.used,
        "remaining": status.remaining,
        "resets_at": iso(status.resets_at),
        "window": window_of(status),
    }


def window_of(status: QuotaStatus) -> str:
    """Return the UTC day of a quota status, as a date."""
    return iso(status.resets_at - DAY_MS)[:10]
