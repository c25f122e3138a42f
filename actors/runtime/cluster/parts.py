"""Bodies of any size as messages of bounded size: split by the sender, joined by the receiver.

Each message begins with five bytes: its kind, and its number in its sequence. So a message that was lost is noticed
before anything is put together wrongly.
"""

from collections.abc import Iterable, Iterator
from struct import Struct
from time import monotonic

PART_BYTES = 512 * 1024
"""The longest part of a body in one message."""

MORE = 0
"""The kind of a part that is not the last of its body; other kinds are the user's own."""

HEADER = Struct(">BI")
STALE_S = 60.0
"""Seconds after its last part after which an incomplete body is dropped."""


class Gap(Exception):
    """A message of the sequence was lost."""


def split(kind: int, body: bytes, first: int = 0) -> Iterable[bytes]:
    """Return the messages of a body, numbered from `first`; the last one is of `kind`."""
    if len(body) <= PART_BYTES:
        return (HEADER.pack(kind, first) + body,)
    return _parts(kind, body, first)


def _parts(kind: int, body: bytes, first: int) -> Iterator[bytes]:
    number = first
    start = 0
    while len(body) - start > PART_BYTES:
        yield HEADER.pack(MORE, number) + body[start : start + PART_BYTES]
        start += PART_BYTES
        number += 1
    yield HEADER.pack(kind, number) + body[start:]


class Joining:
    """Joins the messages of one sequence to bodies, in order."""

    __slots__ = ("_chunks", "_next", "heard")

    def __init__(self) -> None:
        self._next = 0
        self._chunks: list[bytes] = []
        self.heard = monotonic()

    def take(self, message: bytes) -> tuple[int, bytes] | None:
        """Return the kind and the body that a message completes; None if it completes none.

        Raises:
            Gap: it is not the next one.
        """
        kind, number = HEADER.unpack_from(message)
        if number != self._next:
            raise Gap
        self._next += 1
        body = message[HEADER.size :]
        if kind == MORE:
            self._chunks.append(body)
            self.heard = monotonic()
            return None
        if self._chunks:
            chunks, self._chunks = self._chunks, []
            body = b"".join([*chunks, body])
        return kind, body


class Joinings:
    """Joins the bodies of several senders; a sequence is one body, and has a key."""

    def __init__(self) -> None:
        self._by_key: dict[bytes, Joining] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    def take(self, key: bytes, message: bytes) -> bytes | None:
        """Return the body that a message of a key completes; None if it completes none.

        Raises:
            Gap: a message before it was lost; the body is given up.
        """
        joining = self._by_key.pop(key, None)
        if joining is None:
            kind, number = HEADER.unpack_from(message)
            if number == 0 and kind != MORE:
                return message[HEADER.size :]
            joining = Joining()
        taken = joining.take(message)
        if taken is not None:
            return taken[1]
        self._by_key[key] = joining
        self._drop_stale(joining.heard - STALE_S)
        return None

    def _drop_stale(self, before: float) -> None:
        for key in [key for key, joining in self._by_key.items() if joining.heard < before]:
            del self._by_key[key]

    def clear(self) -> None:
        """Give up all incomplete bodies."""
        self._by_key.clear()
