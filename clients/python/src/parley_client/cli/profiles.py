"""Profiles: a gateway's address and a credential under a name, kept in a file that only the user reads."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Profile:
    """A gateway's address and a credential, each None where it is not set."""

    url: str | None = None
    key: str | None = None


def folder() -> Path:
    """Return the folder of the file with profiles."""
    return Path(typer.get_app_dir("parley"))


def read(name: str) -> Profile:
    """Return a profile, an empty one if there is none of that name."""
    return Profile(**_all().get(name, {}))


def names(incomplete: str) -> list[str]:
    """Return the names of the profiles that begin so, for completion."""
    return [name for name in _all() if name.startswith(incomplete)]


def write(name: str, profile: Profile) -> Path:
    """Keep a profile; return the file, which nobody else may read."""
    kept = _all() | {name: asdict(profile)}
    path = folder() / "profiles.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(kept, file, indent=2)
    new.replace(path)
    return path


def _all() -> dict[str, dict[str, Any]]:
    path = folder() / "profiles.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
