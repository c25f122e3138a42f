"""Identifiers for clients, and internal numbers (docs/contract.md, "Identifiers, times, names")."""

import os
import random
import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns the current time in milliseconds since the epoch; a parameter, so that tests can move it."""


def system_clock() -> int:
    """Read the machine's clock, in ms since the epoch."""
    return time.time_ns() // 1_000_000


random_bits = random.Random(os.urandom(32)).getrandbits
"""Returns random bits for ids without a system call, which would release the interpreter lock.

Not for secrets: tokens and salts use `secrets`.
"""

_POOL = 4_096

_hex = ""
_hex_used = 0


def random_hex(digits: int) -> str:
    """Return up to `_POOL` random hex digits, cut from a pool that is made at once; only for ids, as `random_bits`."""
    global _hex, _hex_used
    start, _hex_used = _hex_used, _hex_used + digits
    if _hex_used > len(_hex):
        _hex = f"{random_bits(4 * _POOL):0{_POOL}x}"
        start, _hex_used = 0, digits
    return _hex[start:_hex_used]


_END = slice(-2, None)  # made once, because each [-2:] makes a new slice
_last_ms = 0
_in_ms = 0
_time_field = ""


def new_id(prefix: str, near: str | None = None) -> str:
    """Make an identifier: the prefix and a UUIDv7 in hex, so that ids sort in order of creation.

    The 12 bits after the version count the ids of a millisecond; where the clock stands still or goes back, or the
    bits run out, the time field runs ahead of it (RFC 9562, section 6.2, method 1). 60 bits are random.

    Args:
        prefix: the kind of the entity.
        near: the id of the owning user, or of another of its entities. The new id ends in the same two digits, which
            name the shard of the user and everything it owns; 52 bits are then random.
    """
    global _last_ms, _in_ms, _time_field
    ms = time.time_ns() // 1_000_000
    if ms <= _last_ms and _in_ms < 0xFFF:
        _in_ms += 1
    else:
        _last_ms, _in_ms = max(ms, _last_ms + 1), 0
        _time_field = f"{_last_ms:012x}7"
    if near is None:
        return f"{prefix}_{_time_field}{_in_ms:03x}8{random_hex(15)}"
    return f"{prefix}_{_time_field}{_in_ms:03x}8{random_hex(13)}{near[_END]}"


NODE_BITS = 8

_last_number = 0
_step = 1
_node = 0


def number_as(node: int) -> None:
    """Make this process's numbers those of a node, below 2**NODE_BITS, which no other live node has."""
    global _step, _node
    if not 0 <= node < 1 << NODE_BITS:
        raise ValueError(f"a node's number has {NODE_BITS} bits, so it can't be {node}")
    _step, _node = 1 << NODE_BITS, node


def new_number() -> int:
    """Make a number below 2**63, greater than all before in this process, for keys that no client sees.

    It consists of the milliseconds since the epoch and 22 random bits; the last 8 of these are the node's number, where
    several nodes make numbers for one database.
    """
    global _last_number
    number = max(_last_number + _step, system_clock() << 22 | random_bits(22))
    _last_number = number if _step == 1 else number & -_step | _node
    return _last_number
