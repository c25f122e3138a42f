"""A digest of this machine's catalogues, by which the nodes of a cluster see whether they have the same."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from config.settings import Settings


def catalogs_digest(settings: Settings) -> str:
    """Return a digest of the files of skills and of the catalogue of tool servers: 16 hex digits."""
    digest = hashlib.sha256()
    for name, file in _files(settings):
        content = file.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]


def _files(settings: Settings) -> Iterator[tuple[str, Path]]:
    """Return the files that exist, each under a name that does not depend on its place on this machine."""
    if settings.mcp_catalog.is_file():
        yield "tool servers", settings.mcp_catalog
    skills = settings.skills_dir
    for file in sorted(skills.rglob("*")):
        if file.is_file():
            yield file.relative_to(skills).as_posix(), file
