"""The plain types of answers: records, and times in ISO 8601; the dates of HTTP's headers."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=8_192)
def _second_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=8_192)
def iso(at: int) -> str:
    """Write ms since the epoch as ISO 8601 UTC with milliseconds and `Z`."""
    return f"{_second_text(at // 1000)}.{at % 1000:03d}Z"


def http_date_s(text: str) -> float | None:
    """Read a date of an HTTP header in any of its forms (RFC 9110, 5.6.7), as seconds since the epoch; None for others.

    One of the forms names no time zone; it is in UTC.
    """
    try:
        at = parsedate_to_datetime(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


Record = dict[str, Any]
