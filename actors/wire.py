"""The plain types of answers: records, and times in ISO 8601."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=8_192)
def _second_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=8_192)
def iso(at: int) -> str:
    """Write ms since the epoch as ISO 8601 UTC with milliseconds and `Z`."""
    return f"{_second_text(at // 1000)}.{at % 1000:03d}Z"


Record = dict[str, Any]
