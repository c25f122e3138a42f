"""The files that lie beside a database."""

import os
from pathlib import Path


def beside(path: Path, ending: str) -> Path:
    """Name a file beside a database, such as its log with `-wal`.

    SQLite follows a symbolic link to a database, so these files lie beside the one that it leads to.
    """
    return Path(os.path.realpath(path) + ending)
