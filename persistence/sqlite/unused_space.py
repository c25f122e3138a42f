"""The unused space of the pages of a database file, where SQLite leaves copies of rows that moved to other pages.

`secure_delete` overwrites a row where it is deleted. But where SQLite splits, joins or balances pages, the space
between a page's cell pointers and its cells keeps what was there before, and a later deletion of that row doesn't
reach it.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import unpack_from

from persistence.sqlite.beside import beside

_BLOCK_PAGES = 256
_HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}
"""The size of a b-tree page's header by its first byte, the kind of the page (sqlite.org/fileformat.html, 1.6)."""

_MAX_PAGES = 1 << 25
"""With this number of pages, the first byte of other pages, part of a page's number, could be a kind of b-tree page."""


class UnusedSpace:
    """Clears the unused space of a database's pages, unless other pages could look like b-tree pages.

    They could in a database of `_MAX_PAGES` pages, or of auto_vacuum, which has pages of pointers; Parley makes none.

    It holds the file open as long as the store: a process that closes a file lets go of all its locks on it, SQLite's
    included.
    """

    def __init__(self, path: Path) -> None:
        self._wal = beside(path, "-wal")
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115 - held until close

    def close(self) -> None:
        """Close the file, after all connections."""
        self._file.close()

    def find(self) -> list[int]:
        """Return the numbers of the pages whose unused space is not zeros; takes 1 to 2 s for a gigabyte.

        Raises:
            OSError: the file can't be read.
        """
        size = self._page_size()
        zeros = bytes(size)
        found: list[int] = []
        if not self._kinds_are_certain(size):
            return found
        for first, block in self._blocks(size):
            for place in range(len(block) // size):
                page = block[place * size : (place + 1) * size]
                begin, end = _unused(page, first + place)
                if page[begin:end] != zeros[: end - begin]:
                    found.append(first + place)
        return found

    def clear(self, connection: sqlite3.Connection, pages: Sequence[int]) -> bool:
        """Clear the unused space of these pages; return False if the file is not all of the database just now.

        Run it in the thread of the only connection that writes, outside of a transaction. A crash in between does no
        harm, because nothing but unused bytes is written.

        Raises:
            sqlite3.Error: the log can't be folded into the file.
            OSError: the file can't be written.
        """
        ((busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            return False
        connection.execute("BEGIN IMMEDIATE")  # no other process writes meanwhile
        try:
            if self._wal.stat().st_size:
                return False
            self._clear(pages)
        finally:
            connection.execute("ROLLBACK")
            connection.execute("PRAGMA shrink_memory")  # else its copies of these pages would be written again
        return True

    def _clear(self, pages: Sequence[int]) -> None:
        size = self._page_size()
        if not self._kinds_are_certain(size):
            return
        for number in pages:
            page = os.pread(self._file.fileno(), size, (number - 1) * size)
            if len(page) == size:
                begin, end = _unused(page, number)
                os.pwrite(self._file.fileno(), bytes(end - begin), (number - 1) * size + begin)
        os.fsync(self._file.fileno())

    def _page_size(self) -> int:
        (size,) = unpack_from(">H", os.pread(self._file.fileno(), 18, 0), 16)
        return 65_536 if size == 1 else size

    def _kinds_are_certain(self, size: int) -> bool:
        (largest_root,) = unpack_from(">I", os.pread(self._file.fileno(), 56, 0), 52)  # not 0: auto_vacuum
        return not largest_root and os.fstat(self._file.fileno()).st_size < _MAX_PAGES * size

    def _blocks(self, size: int) -> Iterator[tuple[int, bytes]]:
        for first in range(1, _MAX_PAGES, _BLOCK_PAGES):
            block = os.pread(self._file.fileno(), _BLOCK_PAGES * size, (first - 1) * size)
            if not block:
                return
            yield first, block


def _unused(page: bytes, number: int) -> tuple[int, int]:
    """Return where the unused space of a page begins and ends; an empty range for a page of another kind."""
    header = 100 if number == 1 else 0
    bytes_of_header = _HEADER_BYTES.get(page[header])
    if bytes_of_header is None:
        return 0, 0
    cells, content = unpack_from(">HH", page, header + 3)
    begin, end = header + bytes_of_header + 2 * cells, content or 65_536
    return (begin, end) if begin <= end <= len(page) else (0, 0)
