"""Bounds on what a server sends: the rate of its messages, and their values."""

import math
import re

LINE_END = re.compile(rb"\n")
EVENT_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
"""The end of a server-sent event."""

_STRING = re.compile(rb'"[^"\r\n]*"?')
"""A string without escapes. None goes on behind the end of a line, neither in JSON nor in an event's line of data."""


class Flooded(Exception):
    """A server sent more than it may."""


class TokenBucket:
    """Limits the rate of a server's messages, beyond a burst.

    Handling a message takes a step of the gateway's only event loop, so a flooding server is read slowly, and its pipe
    or socket fills up. A server that continues is cut off.
    """

    def __init__(self, rate: float, burst: float, most: float) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        self._debt = 0.0
        self._since = 0.0
        self._sum = 0.0

    def took(self, amount: float, now: float) -> float:
        """Count received messages at `now`, in seconds; return the seconds to wait before reading on.

        Raises:
            Flooded: too much came between two calls.
        """
        self._sum += amount
        if self._sum > self._most:
            raise Flooded("it sent too much")
        self._debt = max(0.0, self._debt - (now - self._since) * self._rate) + amount
        self._since = now
        return max(0.0, (self._debt - self._burst) / self._rate)

    def restart(self) -> None:
        """Start a new sum, because a call begins, which may take many messages."""
        self._sum = 0.0


class ValueCount:
    """Counts the values of JSON messages that come in pieces, without parsing: brackets and commas outside strings.

    Handling a value takes as long as a kilobyte of text, or longer.

    Args:
        most: the largest number of values of a message.
        end: the end of a message; None if there is only one.
        most_bytes: the largest size of a message, of which up to a piece more may come.
    """

    def __init__(self, most: int, end: re.Pattern[bytes] | None = None, most_bytes: float = math.inf) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._end = end
        self._bytes = 0
        self._count = 0
        self._rest = b""  # what the last piece left open: a string, an escape, the end of a message

    def took(self, piece: bytes) -> int:
        """Count the values of the next piece.

        Raises:
            Flooded: a message is too large.
        """
        text = (self._rest + piece).replace(b"\\\\", b"")
        escape = b"\\" if text.endswith(b"\\") else b""
        text = text.removesuffix(escape).replace(b'\\"', b"")
        line = text[max(text.rfind(b"\n"), text.rfind(b"\r")) + 1 :]
        string = b'"' if line.count(b'"') % 2 else b""
        outside = _STRING.sub(b"", text)
        ends = b"" if line else outside[len(outside.rstrip(b"\r\n")) :][-3:]
        self._rest = ends + string + escape
        found = 0
        parts = self._end.split(outside) if self._end else [outside]
        self._bytes = len(piece) if len(parts) > 1 else self._bytes + len(piece)
        if self._bytes > self._most_bytes:
            raise Flooded(f"it sent a message of more than {self._most_bytes:,} bytes")
        for number, part in enumerate(parts):
            if number:
                self._count = 0
            values = part.count(b",") + part.count(b"{") + part.count(b"[")
            self._count += values
            found += values
            if self._count > self._most:
                raise Flooded(f"it sent a message of more than {self._most:,} values")
        return found
