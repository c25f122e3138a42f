"""Skills as packages: a zip that a user sends, a folder of the operator's catalog. Neither is trusted.

The limits apply to the bytes that are read, not to the sizes that an archive declares.
"""

import os
import re
import stat
import zipfile
import zlib
from io import BytesIO
from pathlib import Path, PurePosixPath

from actors.errors import NotFound
from actors.library.skill import SKILL_FILE, Skill, read_skill, refused, require_skill_name

MAX_ENTRIES = 128
MAX_FILE_BYTES = 524_288
MAX_TOTAL_BYTES = 2_097_152
MAX_RATIO = 100
MAX_PATH = 200
MAX_DEPTH = 8
"""The limits of a package: entries, bytes of a file and in total, compression ratio, and paths."""

_SMALL = 65_536  # bytes that any entry may unpack to, whatever its compression ratio
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_odd = re.compile(r"[\x00-\x1f\x7f-\x9f\\:*?\"<>|\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def from_zip(packed: bytes) -> Skill:
    """Read a skill from a zip that holds one folder with a SKILL.md in it.

    Raises:
        InvalidField: the archive is broken or unsafe, or its content breaks the format.
    """
    try:
        with zipfile.ZipFile(BytesIO(packed)) as archive:
            return _from_files(_unpack(archive))
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError, RuntimeError):
        raise refused("the file is not a sound zip archive") from None


def _unpack(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """Read every file of an archive within the limits; folders and macOS's extra files are left out."""
    entries = archive.infolist()
    if not entries:
        raise refused("the archive is empty")
    if len(entries) > MAX_ENTRIES:
        raise refused(f"the archive has more than {MAX_ENTRIES} entries")
    for entry in entries:
        _require_plain(entry)
    files: dict[str, bytes] = {}
    seen: set[str] = set()
    total = 0
    for entry in entries:
        path = _require_safe(entry.orig_filename.removesuffix("/"))
        if path.casefold() in seen:
            raise refused(f"the archive has {path!r} twice")
        seen.add(path.casefold())
        limit = min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - total, max(_SMALL, entry.compress_size * MAX_RATIO))
        with archive.open(entry) as file:
            content = file.read(limit + 1)
            if len(content) <= limit:
                content += file.read(1)  # reads to the end, which checks the checksum
        total += len(content)
        if len(content) > limit:
            raise refused(f"{path!r} unpacks to more than the {limit:,} bytes that it may")
        if entry.is_dir():
            if content:
                raise refused(f"{path!r} is a folder that has content")
        elif not _of_macos(path):
            files[path] = content
    return files


def _require_plain(entry: zipfile.ZipInfo) -> None:
    """Refuse entries that are encrypted, links, devices, or packed by an uncommon method."""
    name = entry.orig_filename[:80]
    if entry.flag_bits & _ENCRYPTED:
        raise refused(f"{name!r} is encrypted")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refused(f"{name!r} is packed by another method than store and deflate")
    mode = entry.external_attr >> 16
    kind = stat.S_IFMT(mode)
    if kind == stat.S_IFLNK:
        raise refused(f"{name!r} is a link")
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or mode & (stat.S_ISUID | stat.S_ISGID):
        raise refused(f"{name!r} is no plain file")


def _require_safe(path: str) -> str:
    """Check that a path stays in its folder, on every system."""
    shown = path[:80]
    if not path or path.startswith("/") or re.match(r"[A-Za-z]:", path):
        raise refused(f"the path {shown!r} is absolute or empty")
    parts = path.split("/")
    if ".." in parts:
        raise refused(f"the path {shown!r} leads out of the archive")
    if any(part in ("", ".") or part != part.strip() or part.endswith(".") for part in parts) or _odd.search(path):
        raise refused(f"the path {shown!r} has parts or characters that not every system takes")
    if len(path) > MAX_PATH or len(parts) > MAX_DEPTH:
        raise refused(f"the path {shown!r} is too long or too deep")
    return path


def _of_macos(path: str) -> bool:
    return path.startswith("__MACOSX/") or path == "__MACOSX" or PurePosixPath(path).name == ".DS_Store"


def _from_files(files: dict[str, bytes]) -> Skill:
    """Read a skill from the files of one folder."""
    folders = {path.partition("/")[0] for path in files}
    if SKILL_FILE in folders:
        raise refused("SKILL.md is not in a folder; put the skill in one folder of its name and pack that")
    if len(folders) != 1:
        raise refused("the archive has to hold exactly one folder, the skill's, and nothing beside it")
    (folder,) = folders
    inside = {path.partition("/")[2]: content for path, content in files.items()}
    return _from_folder(folder, inside)


def _from_folder(folder: str, files: dict[str, bytes]) -> Skill:
    if SKILL_FILE not in files:
        raise refused(f"there is no {SKILL_FILE} in the folder {folder[:80]!r}")
    return read_skill(files.pop(SKILL_FILE), folder=folder, files=files)


def from_catalog(catalog: Path, name: str) -> Skill:
    """Read a skill from the operator's catalog, a folder of skills' folders.

    Raises:
        NotFound: there is none of that name.
        InvalidField: it breaks the format, holds links, or is larger than a skill may be.
    """
    root = catalog / require_skill_name(name)
    if root.is_symlink() or not root.is_dir():
        raise NotFound(f"The operator's catalog has no skill {name}; send its SKILL.md as content, or a zip.")
    files: dict[str, bytes] = {}
    total = 0
    for folder, _, names in os.walk(root):
        for file in sorted(names):
            path = Path(folder, file)
            if path.is_symlink() or not path.is_file():
                raise refused(f"{file!r} is a link or no plain file")
            with path.open("rb") as opened:
                content = opened.read(min(MAX_FILE_BYTES, MAX_TOTAL_BYTES - total) + 1)
            total += len(content)
            if len(content) > MAX_FILE_BYTES or total > MAX_TOTAL_BYTES or len(files) >= MAX_ENTRIES:
                raise refused("it is larger than a skill may be")
            files[_require_safe(path.relative_to(root).as_posix())] = content
    return _from_folder(name, files)
