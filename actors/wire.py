"""The plain types of answers: records, and times in ISO 8601; server-sent events; the dates of HTTP's headers."""

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


_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


def json_event(data: bytes, name: str = "", id: str = "") -> bytes:
    """Write a server-sent event (WHATWG HTML, 9.2) of JSON in UTF-8, with an id and a name if it has them."""
    event = b"data: " + on_one_line(data) + b"\n\n"
    if name:
        event = b"event: " + name.encode() + b"\n" + event
    return b"id: " + id.encode() + b"\n" + event if id else event


def on_one_line(data: bytes) -> bytes:
    """Escape U+2028, U+2029 and U+0085 in JSON.

    JSON and server-sent events allow them, but many clients take them for the end of a line.
    """
    for character, escaped in _LINE_ENDS:
        data = data.replace(character, escaped)
    return data


Record = dict[str, Any]
