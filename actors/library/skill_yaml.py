"""A strict reader of the YAML at the head of a SKILL.md: plain mappings, lists and texts.

YAML's own types are not guessed: `1.0`, `on` and `2026-11-20` are texts. The dangerous parts of YAML
(anchors, tags, several documents, merge keys) are refused.
"""

from collections.abc import Iterator

import yaml

from actors.errors import InvalidField

MAX_CHARS = 16_384
"""The largest number of characters of the YAML."""

MAX_DEPTH = 4
"""The deepest nesting of mappings and lists."""

Value = str | list["Value"] | dict[str, "Value"]

_NULLS = ("", "~", "null", "Null", "NULL")


def refused(why: str) -> InvalidField:
    """Make the error for a skill that breaks the format; `why` is a sentence without its full stop."""
    return InvalidField(f"This is not a valid skill: {why}.")


def split(text: str) -> tuple[str, str]:
    """Split a SKILL.md into its YAML and its body.

    Raises:
        InvalidField: there is no YAML between two lines of `---`.
    """
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        begins = "with a byte order mark; save it as UTF-8 without one" if text[:1] == "\ufeff" else "without it"
        raise refused(f"SKILL.md has to begin with a line `---` and YAML front matter, and this begins {begins}")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == "---":
            return "".join(lines[1:number]), "".join(lines[number + 1 :]).strip()
    raise refused("the front matter of SKILL.md has no closing line `---`")


def parse(source: str) -> dict[str, Value]:
    """Read the YAML as a mapping of texts, lists and mappings.

    Raises:
        InvalidField: it is no YAML, no mapping, or beyond the limits.
    """
    if len(source) > MAX_CHARS:
        raise refused(f"the front matter is longer than {MAX_CHARS:,} characters")
    try:
        events = yaml.parse(source, Loader=yaml.SafeLoader)
        value = _document(iter(events))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in its line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it can't be read"
        raise refused(f"the front matter is not YAML: {problem}{where}") from None
    except (ValueError, OverflowError):  # PyYAML asks for the character of any number
        raise _no_character() from None
    if not isinstance(value, dict):
        raise refused("the front matter is not a mapping of keys to values")
    return value


def _document(events: Iterator[yaml.Event]) -> Value:
    value: Value | None = None
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            if value is not None:
                raise refused("the front matter holds more than one YAML document")
            value = _value(next(events), events, 1)
    return "" if value is None else value


def _value(event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Value:
    """Build the value that begins with an event."""
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise refused("the front matter uses YAML anchors or aliases")
    if getattr(event, "tag", None) is not None:
        raise refused("the front matter uses YAML tags")
    if isinstance(event, yaml.ScalarEvent):
        return "" if event.style is None and event.value in _NULLS else _joined(event.value)
    if depth > MAX_DEPTH:
        raise refused("the front matter is nested too deeply")
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Value] = []
        while not isinstance(following := next(events), yaml.SequenceEndEvent):
            items.append(_value(following, events, depth + 1))
        return items
    mapping: dict[str, Value] = {}
    while not isinstance(following := next(events), yaml.MappingEndEvent):
        key = _value(following, events, depth + 1)
        if not isinstance(key, str) or not key:
            raise refused("a key of the front matter is not a text")
        if key in mapping:
            raise refused(f"the front matter has the key {key[:40]!r} twice")
        mapping[key] = _value(next(events), events, depth + 1)
    return mapping


def _joined(text: str) -> str:
    """Join the surrogate pairs of a text, which PyYAML leaves as two escapes wrote them."""
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise _no_character() from None


def _no_character() -> InvalidField:
    return refused(
        "the front matter has an escape, such as `\\ud800`, that is no character; write the character itself"
    )
