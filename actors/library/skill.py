"""A skill: the front matter and body of its SKILL.md and its files, checked against the Agent Skills format."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from actors.library.skill_yaml import Value, parse, refused, split

SKILL_FILE = "SKILL.md"

MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_COMPATIBILITY = 500
"""The specification's limits, in characters."""

MAX_SKILL_FILE_BYTES = 131_072
MAX_LICENSE = 500
MAX_METADATA = 32
MAX_METADATA_TEXT = 500
MAX_TOOLS = 64
"""This gateway's limits, where the specification has none."""

_KEYS = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
_name = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_control = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that conforms to the format. `body` is the Markdown after the YAML; `files` holds all other files."""

    name: str
    description: str
    body: str
    license: str | None = None
    compatibility: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    allowed_tools: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])


def read_skill(content: bytes, *, folder: str | None = None, files: Mapping[str, bytes] | None = None) -> Skill:
    """Read a SKILL.md and check it.

    Args:
        content: the file.
        folder: the name of its folder, if it has one.
        files: the other files of the folder, by path.

    Raises:
        InvalidField: the note says what breaks the format.
    """
    if len(content) > MAX_SKILL_FILE_BYTES:
        raise refused(f"SKILL.md is larger than {MAX_SKILL_FILE_BYTES:,} bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise refused(f"SKILL.md is not UTF-8 (byte {error.start})") from None
    if "\x00" in text:
        raise refused("SKILL.md contains NUL")
    yaml, body = split(text.replace("\r\n", "\n"))
    given = parse(yaml)
    unknown = [key for key in given if key not in _KEYS]
    if unknown:
        raise refused(f"the front matter has the unknown key {unknown[0][:40]!r}; allowed are {', '.join(_KEYS)}")
    name = require_skill_name(_text(given, "name", MAX_NAME) or "")
    if folder is not None and folder != name:
        raise refused(f"its name is {name!r} but its folder is {folder[:80]!r}; they have to be equal")
    description = _text(given, "description", MAX_DESCRIPTION)
    if not description:
        raise refused("the front matter has no description")
    return Skill(
        name=name,
        description=description,
        body=body,
        license=_text(given, "license", MAX_LICENSE),
        compatibility=_text(given, "compatibility", MAX_COMPATIBILITY),
        metadata=_metadata(given.get("metadata")),
        allowed_tools=_tools(given.get("allowed-tools")),
        files=files or {},
    )


def require_skill_name(name: str) -> str:
    """Check a skill's name and return it.

    Raises:
        InvalidField: the note says which rule it breaks.
    """
    if not name:
        raise refused("the front matter has no name")
    if len(name) > MAX_NAME:
        raise refused(f"its name is longer than {MAX_NAME} characters")
    if _name.fullmatch(name):
        return name
    if name.startswith("-") or name.endswith("-"):
        why = "begins or ends with a hyphen"
    elif "--" in name:
        why = "has two hyphens in a row"
    else:
        why = "has other characters than lower-case letters a-z, digits and hyphens"
    raise refused(f"its name {name!r} {why}")


def _text(given: Mapping[str, Value], key: str, limit: int) -> str | None:
    """Read a text member; None if the key is missing."""
    if key not in given:
        return None
    value = given[key]
    if not isinstance(value, str):
        raise refused(f"its {key} is not a text")
    value = value.strip()
    if not value:
        raise refused(f"its {key} is empty")
    if len(value) > limit:
        raise refused(f"its {key} is longer than {limit:,} characters")
    if _control.search(value):
        raise refused(f"its {key} contains control characters")
    return value


def _metadata(value: Value | None) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise refused("its metadata is not a mapping of texts to texts")
    if len(value) > MAX_METADATA:
        raise refused(f"its metadata has more than {MAX_METADATA} entries")
    for key, text in value.items():
        if not isinstance(text, str):
            raise refused(f"its metadata {key[:40]!r} is not a text")
        if len(key) > MAX_METADATA_TEXT or len(text) > MAX_METADATA_TEXT:
            raise refused(f"its metadata {key[:40]!r} is longer than {MAX_METADATA_TEXT} characters")
        if _control.search(key) or _control.search(text):
            raise refused("its metadata contains control characters")
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _tools(value: Value | None) -> tuple[str, ...]:
    """Read allowed-tools: texts, or one text of them with spaces between."""
    if value is None:
        return ()
    if isinstance(value, dict):
        raise refused("its allowed-tools is neither a text nor a list of texts")
    tools = value.split() if isinstance(value, str) else value
    if not tools:
        raise refused("its allowed-tools is empty")
    if len(tools) > MAX_TOOLS:
        raise refused(f"its allowed-tools names more than {MAX_TOOLS} tools")
    named: list[str] = []
    for tool in tools:
        if not isinstance(tool, str) or not tool.strip():
            raise refused("its allowed-tools is neither a text nor a list of texts")
        if len(tool) > MAX_METADATA_TEXT or _control.search(tool):
            raise refused("its allowed-tools names a tool of too long a name, or with control characters")
        named.append(tool.strip())
    return tuple(named)
