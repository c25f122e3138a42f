"""Identifiers and times as they stand on the wire (product 1, "Wire rules")."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], int]
"""The time now in milliseconds since the epoch; a parameter, so that tests can move it."""


def system_clock() -> int:
    """Read the machine's clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000


_last = 0


def new_id(prefix: str) -> str:
    """Make an identifier: the prefix and a UUIDv7 in hex, so that ids sort in order of creation.

    The time field counts up within a process even where the clock stands still or goes back (RFC 9562, 6.2).
    """
    global _last
    ticks = max(time.time_ns() >> 8, _last + 1)  # a quarter microsecond each
    _last = ticks
    ms, fraction = divmod(ticks << 8, 1_000_000)
    rand_a = fraction >> 8  # 3,906 steps in a millisecond fit the 12 bits
    rand_b = int.from_bytes(os.urandom(8)) >> 2
    return f"{prefix}_{ms:012x}7{rand_a:03x}{0x8000000000000000 | rand_b:016x}"


_second = -1
_second_text = ""


def iso(at: int) -> str:
    """Write ms since the epoch as ISO 8601 UTC with milliseconds and `Z`."""
    global _second, _second_text
    second, ms = divmod(at, 1000)
    if second != _second:
        _second_text = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        _second = second
    return f"{_second_text}.{ms:03d}Z"
