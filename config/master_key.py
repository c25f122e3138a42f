"""The master key: from the settings, else from a key file in the data directory, made on the first start."""

import base64
import binascii
import os
import secrets
from contextlib import suppress
from pathlib import Path

from config.settings import Settings

KEY_BYTES = 32
FILE = "master.key"


class MasterKeyError(Exception):
    """There is no usable master key; the message names the remedy."""


def load_master_key(settings: Settings, *, first_start: bool) -> bytes:
    """Return the master key: 32 bytes.

    `first_start`: whether the database holds nothing that a key has sealed, so that a new one may be made.

    Raises:
        MasterKeyError: the key file is gone, unreadable or no key.
    """
    if settings.master_key is not None:
        return settings.master_key.get_secret_value()
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
    try:
        key = base64.b64decode(path.read_bytes().strip(), validate=True)
    except FileNotFoundError:
        raise
    except (OSError, binascii.Error) as error:
        raise MasterKeyError(f"{path} can't be read as a master key: {error}") from error
    if len(key) != KEY_BYTES:
        raise MasterKeyError(f"{path} is no master key: it has to hold base64 of {KEY_BYTES} bytes")
    return key


def _make(path: Path) -> bytes:
    """Make a key and its file, durable before anything is sealed with it, readable by its owner alone.

    The file gets its name when it is whole: half a key from a crash here would stop every later start.
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
