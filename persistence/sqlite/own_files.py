"""The files of an open database: whether each is in its place, so that no commit counts that is in a deleted one."""

import os
from collections.abc import Iterable
from pathlib import Path
from time import time_ns

_SETTLED_NS = 3_000_000_000
"""The age from which a folder's time of change shows every later change, also by a coarse clock of its file system."""


class OwnFiles:
    """Notices when a file is deleted, moved or replaced while its database is open.

    The names are looked up only after their folder has changed, so that a batch costs one system call more, not four.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        """Take the files as they are now; all lie in one folder."""
        self._files = {str(file): _identity(str(file)) for file in files}
        self._folder = os.path.dirname(next(iter(self._files)))
        self._seen: tuple[int, ...] | None = None

    def lost(self) -> str | None:
        """Return the path of a file that is no longer in its place, or None; takes some microseconds."""
        now = time_ns()
        try:
            folder = _identity(self._folder, changed=True)
            if folder is not None and folder == self._seen:
                return None
            for file, identity in self._files.items():
                if _identity(file) != identity:
                    return file
        except OSError:  # it can't be told now, for example because the folder may no longer be searched
            return None
        if folder is not None and folder[-1] < now - _SETTLED_NS:
            self._seen = folder
        return None


def _identity(path: str, *, changed: bool = False) -> tuple[int, ...] | None:
    """Return the device and number of a file, which no other has while it is open; None if there is none.

    `changed`: and the time when the names in a folder changed last.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns) if changed else (found.st_dev, found.st_ino)
