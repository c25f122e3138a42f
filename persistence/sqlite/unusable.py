"""Messages for the operator about a database that can't be opened: the reason and the remedy."""

import errno
import os
import pwd
import sqlite3
from pathlib import Path

from persistence.sqlite.beside import beside

ELSEWHERE = "or keep the data elsewhere (PARLEY_DATA_DIR, or PARLEY_STORE_URL for the database alone)"
ANOTHER = "name another file in PARLEY_STORE_URL, or another PARLEY_DATA_DIR if PARLEY_STORE_URL is not set"

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM)
_NOT_A_FOLDER = (errno.ENOTDIR, errno.EEXIST)
_PRIMARY_CODE = 0xFF
"""The mask for the lower byte of an SQLite result code, which is its kind."""


def unusable_file(path: Path, error: OSError) -> str:
    """Explain why a file or folder can't be used, and what to do."""
    if error.errno in _NO_SPACE:
        return f"there is no space left for {path}: free some, {ELSEWHERE}."
    if error.errno == errno.EROFS:
        return f"{path} is on a read-only file system: mount it so that it can be written, {ELSEWHERE}."
    if error.errno in _NOT_A_FOLDER:
        return f"{_file_on_the_way(path)} is a file where a directory is needed: move it away, {ELSEWHERE}."
    if error.errno == errno.EISDIR:
        return f"{path} is a directory where a file is needed: move it away, {ELSEWHERE}."
    if error.errno in _NOT_ALLOWED:
        return not_allowed(path)
    return f"{path} can't be used ({error.strerror or error}): mend that, {ELSEWHERE}."


def unusable_database(path: Path, error: sqlite3.Error) -> str:
    """Explain why SQLite can't use a database, and what to do."""
    code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN):
        for place in (path, beside(path, "-wal"), beside(path, "-shm"), beside(path, "").parent):
            if place.exists() and not os.access(place, os.W_OK):
                return not_allowed(place)
    if code == sqlite3.SQLITE_CANTOPEN and path.is_dir():
        return unusable_file(path, OSError(errno.EISDIR, ""))
    if code == sqlite3.SQLITE_FULL:
        return unusable_file(path, OSError(errno.ENOSPC, ""))
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"{path} is locked by another program, such as sqlite3 or a backup: end that one and start again."
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is not an SQLite database: move it away, {ELSEWHERE}."
    if code == sqlite3.SQLITE_CORRUPT:
        return f"{path} is damaged ({error}): put a backup in its place."
    return f"{path} can't be opened ({error}): mend that, {ELSEWHERE}."


def not_allowed(path: Path, act: str = "write", otherwise: str = ELSEWHERE) -> str:
    """Explain a missing permission, with the owner of the file or folder if known."""
    place = _nearest(path)
    me = _name_of(os.geteuid())
    try:
        owner = f"it belongs to the user {_name_of(place.stat().st_uid)}"
    except OSError:
        owner = "it may not even be looked at"
    return f"the user {me} may not {act} {place} ({owner}): let that user {act} it (chown or chmod), {otherwise}."


def _nearest(path: Path) -> Path:
    """Find the nearest existing part of a path, where the permission is missing."""
    while not os.path.lexists(path) and path != path.parent:
        path = path.parent
    return path


def _file_on_the_way(path: Path) -> Path:
    """Find the file in a path that should be a folder."""
    return next((place for place in (path, *path.parents) if place.is_file()), path)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
