"""Skills for the tests: texts, zips of any kind."""

import stat
import zipfile
from io import BytesIO

MINIMAL = "---\nname: skill-name\ndescription: A description of what this skill does and when to use it.\n---\n"


def skill_md(front: str, body: str = "Do it well.") -> str:
    """Return a SKILL.md with this YAML."""
    return f"---\n{front}\n---\n{body}\n"


def named(name: str, description: str = "Does something. Use when asked to.", body: str = "Do it well.") -> str:
    """Return a valid SKILL.md."""
    return skill_md(f"name: {name}\ndescription: {description}", body)


def zipped(*entries: tuple[str | zipfile.ZipInfo, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Pack entries unchanged, with any names."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", method) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)
    return packed.getvalue()


def entry(name: str, mode: int, *, method: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    """Return an entry with a Unix mode."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    info.compress_type = method
    return info


def link(name: str) -> zipfile.ZipInfo:
    """Return the entry of a symbolic link; its content is the target."""
    return entry(name, stat.S_IFLNK | 0o777)


def encrypted(packed: bytes) -> bytes:
    """Mark the entry of a zip with one entry as encrypted."""
    made = bytearray(packed)
    made[6] |= 1
    made[packed.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(made)


def lying(packed: bytes, size: int) -> bytes:
    """Set the unpacked size in the directory of a zip with one entry."""
    made = bytearray(packed)
    made[22:26] = size.to_bytes(4, "little")
    place = packed.rindex(b"PK\x01\x02") + 24
    made[place : place + 4] = size.to_bytes(4, "little")
    return bytes(made)
