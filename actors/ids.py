"""Identifiers and times as they stand on the wire (product 1, "Wire rules")."""

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache

Clock = Callable[[], int]
"""The time now in milliseconds since the epoch; a parameter, so that tests can move it."""


def system_clock() -> int:
    """Read the machine's clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000


_last = 0
_entropy = b""
_used = 0


def random_bytes(count: int) -> bytes:
    """Return random bytes of the system's, fetched a page at a time.

    Each fetch lets go of the interpreter lock, which under load costs more than the bytes (docs/performance.md).
    Good for ids; tokens and salts take theirs from `secrets`.
    """
    global _entropy, _used
    if _used + count > len(_entropy):
        _entropy, _used = os.urandom(4096), 0
    taken = _entropy[_used : _used + count]
    _used += count
    return taken


def new_id(prefix: str) -> str:
    """Make an identifier: the prefix and a UUIDv7 in hex, so that ids sort in order of creation.

    The time field counts up within a process even where the clock stands still or goes back (RFC 9562, 6.2).
    """
    global _last
    ticks = max(time.time_ns() >> 8, _last + 1)  # a quarter microsecond each
    _last = ticks
    ms, fraction = divmod(ticks << 8, 1_000_000)
    rand_a = fraction >> 8  # 3,906 steps in a millisecond fit the 12 bits
    rand_b = int.from_bytes(random_bytes(8)) >> 2
    return f"{prefix}_{ms:012x}7{rand_a:03x}{0x8000000000000000 | rand_b:016x}"


@lru_cache(maxsize=8_192)
def _second_text(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def iso(at: int) -> str:
    """Write ms since the epoch as ISO 8601 UTC with milliseconds and `Z`."""
    return f"{_second_text(at // 1000)}.{at % 1000:03d}Z"
