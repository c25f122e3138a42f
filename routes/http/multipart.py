"""Parses multipart/form-data (RFC 7578, RFC 2046) in time linear in the body's length."""

import re
from dataclasses import dataclass

from actors.errors import MalformedBody

MAX_PARTS = 32
MAX_PART_HEAD_BYTES = 4_096
MAX_PARAMETERS = 16
"""Maximum number of parameters of a header: a part needs two or three, and many more would block the loop."""
MAX_PADDING_BYTES = 64
"""White space that may follow a boundary on its line (RFC 2046, 5.1.1)."""

_PARAMETER = re.compile(r';[ \t]*([A-Za-z0-9_*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;" \t]+))[ \t]*')
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")  # RFC 2046, 5.1.1


@dataclass(frozen=True, slots=True)
class FormPart:
    """One field of a form; `is_file` if it has a file name."""

    name: str
    is_file: bool
    content: bytes


def read_form(body: bytes, content_type: str) -> list[FormPart]:
    """Parse a form into its parts.

    Raises:
        MalformedBody: the form is malformed or has more than 32 parts.
    """
    delimiter = b"\r\n--" + _boundary_of(content_type)
    text = b"\r\n" + body  # so that the first delimiter looks like the others
    parts: list[FormPart] = []
    place = text.find(delimiter)
    while place >= 0:
        place += len(delimiter)
        if text.startswith(b"--", place):
            return parts
        if len(parts) == MAX_PARTS:
            raise _malformed(f"it has more than {MAX_PARTS} parts")
        head = text.find(b"\r\n", place, place + MAX_PADDING_BYTES)
        if head < 0 or text[place:head].strip(b" \t"):
            raise _malformed("a boundary does not end its line")
        content = text.find(b"\r\n\r\n", head, head + MAX_PART_HEAD_BYTES)
        if content < 0:
            raise _malformed(f"the head of a part does not end within {MAX_PART_HEAD_BYTES:,} bytes")
        place = text.find(delimiter, content + 2)
        name, is_file = _disposition(text[head + 2 : content])
        parts.append(FormPart(name, is_file, text[content + 4 : max(place, content + 4)]))
    raise _malformed("a boundary is missing")


def _boundary_of(content_type: str) -> bytes:
    boundary = _parameters(content_type).get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise MalformedBody("The Content-Type has no boundary of 1 to 70 characters as RFC 2046, 5.1.1 allows them.")
    return boundary.encode("ascii")


def _disposition(head: bytes) -> tuple[str, bool]:
    """Return the name of a part, and whether it has a file name."""
    for line in head.split(b"\r\n"):
        name, colon, value = line.decode("utf-8", errors="replace").partition(":")
        if not colon:
            raise _malformed("a header of a part has no colon")
        if name.strip().lower() == "content-disposition":
            parameters = _parameters(value)
            if "name" in parameters:
                return parameters["name"], not parameters.keys().isdisjoint(("filename", "filename*"))
    raise _malformed("a part has no name")


def _parameters(value: str) -> dict[str, str]:
    """Return the parameters of a header's value; of a repeated one, the first.

    Raises:
        MalformedBody: the header has more than 16.
    """
    found: dict[str, str] = {}
    for number, match in enumerate(_PARAMETER.finditer(value), 1):
        if number > MAX_PARAMETERS:
            raise _malformed(f"a header has more than {MAX_PARAMETERS} parameters")
        text = match[3] if match[2] is None else re.sub(r"\\(.)", r"\1", match[2])
        found.setdefault(match[1].lower(), text)
    return found


def _malformed(why: str) -> MalformedBody:
    return MalformedBody(f"The body is not well-formed multipart/form-data: {why}.")
