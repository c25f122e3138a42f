"""The master key, from the settings or from a key file that the first start makes in the data directory."""

import base64
import binascii
import os
import secrets
from contextlib import suppress
from pathlib import Path

from config.settings import Settings

KEY_BYTES = 32
FILE = "master.key"

_REMEDY = "put the file back from your backup, or set PARLEY_MASTER_KEY."


class MasterKeyError(Exception):
    """The master key is missing or unusable; the message has the remedy."""


def load_master_key(settings: Settings, *, first_start: bool) -> bytes:
    """Return the master key of 32 bytes.

    `first_start`: whether the database holds no sealed data, so that a new key may be made.

    Raises:
        MasterKeyError: the key file is missing, unreadable or invalid.
        PermissionError: this user may not read it.
    """
    if settings.master_key is not None:
        return settings.master_key.get_secret_value()
    if settings.postgres_url is not None:
        remedy = "make one with 'openssl rand -base64 32', keep it safe and set it as PARLEY_MASTER_KEY."
        if not first_start:
            sealed = f"the key that this database was sealed with (after a move it may be in {FILE})"
            remedy = f"set {sealed} as PARLEY_MASTER_KEY."
        raise MasterKeyError(
            "the master key has to be set with PostgreSQL, because the database may outlive this machine's files: "
            + remedy
        )
    path = settings.data_dir / FILE
    with suppress(FileNotFoundError):
        return _read(path)
    if not first_start:
        raise MasterKeyError(
            f"the master key is gone: {path} is not there, but the database was sealed with it. Put the file back from "
            "your backup, or set PARLEY_MASTER_KEY."
        )
    return _make(path)


def _read(path: Path) -> bytes:
    """Read a key file; a FileNotFoundError or PermissionError is the caller's."""
    try:
        key = base64.b64decode(path.read_bytes().strip(), validate=True)
    except (FileNotFoundError, PermissionError):
        raise
    except (OSError, binascii.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise MasterKeyError(f"{path} can't be read as a master key ({reason}): {_REMEDY}") from error
    if len(key) != KEY_BYTES:
        raise MasterKeyError(f"{path} is no master key, which is base64 of {KEY_BYTES} bytes: {_REMEDY}")
    return key


def _make(path: Path) -> bytes:
    """Make a key and store it in a file, readable by its owner alone and durable before its first use.

    The file gets its name once it is complete, because a partial key left by a crash would stop every later start.
    """
    key = secrets.token_bytes(KEY_BYTES)
    beside = path.with_name(f"{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.unlink(missing_ok=True)
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(key) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise MasterKeyError(
            f"{path} can't be made ({error.strerror or error}): make {path.parent} a directory that this user can "
            "write, with some space left, or set another PARLEY_DATA_DIR."
        ) from error
    return key
