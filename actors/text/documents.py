"""Documents as texts for memories: HTML without tags, split into parts of limited size.

The time is proportional to the length of the text, whatever its content.
"""

import html
import re
from collections.abc import Iterator

PART_CHARS = 2_000
"""The longest part, in characters; shorter documents are not split (docs/contract.md, "Loading")."""

_BREAKS = ("\n\n", "\n", ". ", " ", ",")
"""The separators at which a text is cut, best first; without any, it is cut within a word."""

_BEFORE_CELL = "\n|"

_block = re.compile(
    r"/?(address|article|aside|blockquote|body|br|caption|dd|details|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]"
    r"|header|hr|html|li|main|nav|ol|option|p|pre|section|summary|table|tbody|tfoot|thead|title|tr|ul)\b",
    re.IGNORECASE,
)
_cell = re.compile(r"t[dh]\b", re.IGNORECASE)
_untold = re.compile(r"(script|style|template|noscript|svg|math|iframe|object)\b", re.IGNORECASE)
_tag_part = re.compile(r"[>\"']")
_space = re.compile(r"\s+")
_spaces = re.compile(r" {2,}")
_lines = re.compile(r"\s*\n\s*\n\s*")  # linear, because each run of white space is one blank or has two line breaks
_huge_reference = re.compile(r"&#[xX]?[0-9a-fA-F]{9,};?")


def text_of(media_type: str, content: str) -> str:
    """Return the plain text of a document; "" if it has none."""
    if media_type == "text/html":
        content = html_text(content)
    return content.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").strip()


def split(text: str) -> list[str]:
    """Cut a text into parts of up to `PART_CHARS` characters, at the best separators."""
    parts: list[str] = []
    start = 0
    while len(text) - start > PART_CHARS:
        end = _cut(text, start)
        if part := text[start:end].strip():
            parts.append(part)
        start = end
    if part := text[start:].strip():
        parts.append(part)
    return parts


def _cut(text: str, start: int) -> int:
    """Find the end of the part that begins at `start`: the last separator, but not before the part's middle."""
    limit = start + PART_CHARS
    for mark in _BREAKS:
        found = text.rfind(mark, start + PART_CHARS // 2, limit)
        if found >= 0:
            return found + len(mark)
    return limit


def html_text(source: str) -> str:
    """Remove tags, scripts and styles from HTML: blocks and rows of tables become lines, references are resolved."""
    pieces: list[str] = []
    begun = cell = False  # whether the line has text, and whether a further cell begins
    for piece in _html_pieces(source):
        if piece == "\n":
            pieces.append("\n\n")
            begun = cell = False
        elif piece == _BEFORE_CELL:
            cell = begun
        else:
            resolved = _space.sub(" ", html.unescape(_huge_reference.sub("\ufffd", piece)))
            if resolved.strip():
                pieces.append(" | " if cell else "")
                begun, cell = True, False
            pieces.append(resolved)
    return _lines.sub("\n\n", _spaces.sub(" ", "".join(pieces))).strip()


def _html_pieces(source: str) -> Iterator[str]:
    """Yield the texts between tags, a line break for a tag that begins or ends a block, and a mark before a cell."""
    position = 0
    while (open_at := source.find("<", position)) >= 0:
        yield source[position:open_at]
        if source.startswith("<!--", open_at):
            end = source.find("-->", open_at + 4)
            position = end + 3
        elif _begins_tag(source, open_at + 1):
            end = _tag_end(source, open_at + 1)
            position = end + 1
            if end >= 0 and _block.match(source, open_at + 1):
                yield "\n"
            elif end >= 0 and _cell.match(source, open_at + 1):
                yield _BEFORE_CELL
            elif end >= 0 and (untold := _untold.match(source, open_at + 1)) and source[end - 1] != "/":
                closing = re.compile(rf"</{untold[1]}\b", re.IGNORECASE).search(source, position)
                end = position = -1 if closing is None else closing.start()
        else:
            yield "<"
            end = position = open_at + 1
        if end < 0:  # the tag never ends, so the rest is no text
            return
    yield source[position:]


def _begins_tag(source: str, position: int) -> bool:
    following = source[position : position + 1]
    return following in ("/", "!", "?") or (following.isascii() and following.isalpha())


def _tag_end(source: str, position: int) -> int:
    """Find the `>` of a tag, past the quoted values of its attributes; -1 if there is none."""
    while (found := _tag_part.search(source, position)) is not None:
        if found[0] == ">":
            return found.start()
        closing = source.find(found[0], found.end())
        if closing < 0:  # an apostrophe, not a quote; happens once, because no other follows
            return source.find(">", found.end())
        position = closing + 1
    return -1
