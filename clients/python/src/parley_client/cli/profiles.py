"""Profiles: a gateway's address and a credential under a name, kept in a file that only the user reads."""

import json
import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import typer

from parley_client import InvalidSetting
from parley_client._decoding import json_of

if sys.platform != "win32":
    import fcntl

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Profile:
    """A gateway's address and a credential, each None where it is not set."""

    url: str | None = None
    key: str | None = None


def folder() -> Path:
    """Return the folder of the file with profiles, in the system's place for settings."""
    found = Path(typer.get_app_dir("parley"))
    if found.is_absolute():
        return found
    return Path.home() / ".config" / "parley"  # XDG has an empty or relative XDG_CONFIG_HOME count as unset


def read(name: str) -> Profile:
    """Return a profile, an empty one if there is none of that name.

    Raises:
        InvalidSetting: the file can't be read, or holds something else.
    """
    kept = _all().get(name, {})
    return Profile(kept.get("url"), kept.get("key"))


def names(incomplete: str) -> list[str]:
    """Return the names of the profiles that begin so, for completion."""
    try:
        return [name for name in _all() if name.startswith(incomplete)]
    except InvalidSetting:  # the command itself says so
        return []


def write(name: str, profile: Profile) -> Path:
    """Keep a profile; return the file, which nobody else may read.

    Raises:
        InvalidSetting: the file can't be written.
    """
    path = _file()
    with _writing(path):
        os.replace(_written(path.parent, _all() | {name: asdict(profile)}), path)
    return path


def check_writable() -> None:
    """Check that a profile can be kept, before there is one.

    Raises:
        InvalidSetting: the file can't be written.
    """
    path = _file()
    with _writing(path):
        os.unlink(_written(path.parent, _all()))


@contextmanager
def _writing(path: Path) -> Generator[None]:
    """Write the file while no other process does.

    Raises:
        InvalidSetting: it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as closing:
            if sys.platform != "win32":
                folder = os.open(path.parent, os.O_RDONLY)
                closing.callback(os.close, folder)
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(folder, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise InvalidSetting(f"{path} can't be written: {error.strerror}") from error


def _written(folder: Path, kept: dict[str, dict[str, str | None]]) -> str:
    """Return a new file beside the one with profiles, which holds these and which only the user reads."""
    descriptor, new = tempfile.mkstemp(".new", "profiles-", folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=2)
    except OSError:
        os.unlink(new)
        raise
    return new


def _file() -> Path:
    return folder() / "profiles.json"


def _all() -> dict[str, dict[str, str | None]]:
    path = _file()
    try:
        kept: Any = json_of(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidSetting(f"{path} can't be read: {error.strerror}") from error
    except ValueError:
        kept = None
    if not _holds_profiles(kept):
        raise InvalidSetting(f"{path} doesn't hold profiles; delete it, and log on again with `parley login USER`")
    return cast("dict[str, dict[str, str | None]]", kept)


def _holds_profiles(kept: Any) -> bool:
    if not isinstance(kept, dict):
        return False
    profiles = list(cast("dict[str, Any]", kept).values())
    return all(isinstance(of, dict) and _is_profile(cast("dict[str, Any]", of)) for of in profiles)


def _is_profile(of: dict[str, Any]) -> bool:
    return all(value is None or isinstance(value, str) for value in (of.get("url"), of.get("key")))
