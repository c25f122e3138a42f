"""Parses request heads as strictly as RFC 9112 allows; an ambiguous head is refused.

Request smuggling needs two parsers that read a head differently (RFC 9112, 11.2). So each rule of RFC 9112 and
RFC 9110 that a server may enforce is enforced here, before Sanic or the fast path sees the head.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address

from actors.errors import MalformedBody

SHOWN_CHARACTERS = 64
"""Characters of a wrong header name that a note repeats."""

LINES_REMEMBERED = 512
"""Number of cached lines, because most clients send the same ones; up to 8 MiB, with heads up to 8 KiB."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # RFC 9110, 5.6.2
_REQUEST_LINE = re.compile(rf"({_TOKEN}) ([!-~]+) HTTP/1\.([01])")  # RFC 9112, 3: visible ASCII, single spaces
_FIELD = re.compile(rf"({_TOKEN}):([\t -~\x80-\xff]*)")  # RFC 9112, 5; RFC 9110, 5.5: no controls but HTAB
_NAME = re.compile(_TOKEN)
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::[0-9]{0,5})?")  # RFC 3986, 3.2.2


def _is_host(value: str) -> bool:
    """Return whether a value is a host with an optional port; in brackets stands an IPv6 address."""
    if not _HOST.fullmatch(value):
        return False
    if value[:1] == "[":
        try:
            IPv6Address(value[1 : value.index("]")])
        except ValueError:
            return False
    return True


_VALUES: dict[str, Callable[[str], object]] = {
    "host": _is_host,
    "content-length": re.compile(r"[0-9]{1,18}").fullmatch,  # RFC 9110, 8.6, for plausible lengths
    "transfer-encoding": re.compile("chunked").fullmatch,
}
_VALUE_FAULTS = {
    "host": "The header Host is not a host name or address with an optional port.",
    "content-length": "The header Content-Length is not a decimal number of bytes.",
    "transfer-encoding": "The only Transfer-Encoding that this gateway takes is chunked.",
}
_ABSOLUTE = re.compile(r"https?://([^/?#]+)(/[^?]*)?(\?.*)?", re.IGNORECASE)  # RFC 9112, 3.2.2
_BROKEN_LINE = re.compile(rb"\0|\r[^\n]|(?<!\r)\n")


class BadHead(MalformedBody):
    """The head of a request breaks RFC 9112."""


@dataclass(slots=True)
class Head:
    """An unambiguous head."""

    line: str
    """The request line: method, target in origin form (or `*`), version."""
    headers: dict[str, str]
    """Trimmed values by lower-case names; the last one of repeated headers."""
    fields: list[tuple[str, str]]
    """All headers in order."""

    def wire(self) -> bytes:
        """Return the head in one canonical form, never longer than received."""
        return "\r\n".join([self.line, *(f"{name}:{value}" for name, value in self.fields)]).encode("latin-1")


def read_head(head: bytes) -> Head:
    """Parse a whole head, given without the empty line at its end.

    Raises:
        BadHead: the head breaks the rule named in the note.
    """
    line, *rest = head.decode("latin-1").split("\r\n")
    begun = _request_line(line)
    if begun is None:
        raise BadHead("The request line is not `METHOD target HTTP/1.1` (or 1.0), in visible ASCII with single spaces.")
    fields: list[tuple[str, str]] = []
    for sent in rest:
        field = _field(sent)
        if field is None:
            raise BadHead(_fault(sent))
        fields.append(field)
    headers = dict(fields)
    if len(headers) != len(fields):
        _require_once(fields)
    method, target, minor = begun
    if minor == "1" and "host" not in headers:  # RFC 9112, 3.2
        raise BadHead("The header Host is missing; an HTTP/1.1 request needs exactly one.")
    if "transfer-encoding" in headers:
        _require_no_doubt_of_length(headers, minor)
    if target[0] != "/":
        line = _origin_form(method, target, minor, headers, fields)
    if "#" in target:
        raise BadHead("The request target holds a fragment (#...); send it without.")
    return Head(line, headers, fields)


def require_whole_lines(received: bytearray, start: int, end: int) -> None:
    """Check the line ends of a partial head, so that an invalid one is refused at once.

    Raises:
        BadHead: a CR or LF stands alone (RFC 9112, 2.2: both may be refused), or there is a NUL.
    """
    if _BROKEN_LINE.search(received, start, end):
        raise BadHead("The request's head holds a NUL, or a CR or LF that stands alone; end lines with CR LF.")


def target_of(head: bytes) -> str | None:
    """Return the request target in origin form of a refused head."""
    match = _REQUEST_LINE.match(head.decode("latin-1"))
    return match[2] if match and match[2][0] == "/" else None


@lru_cache(maxsize=LINES_REMEMBERED)
def _request_line(line: str) -> tuple[str, str, str] | None:
    """Parse a request line into method, target and minor version."""
    match = _REQUEST_LINE.fullmatch(line)
    return match and (match[1], match[2], match[3])


@lru_cache(maxsize=LINES_REMEMBERED)
def _field(line: str) -> tuple[str, str] | None:
    """Parse a header line; return None if the name or the value is invalid."""
    match = _FIELD.fullmatch(line)
    if match is None:
        return None
    name = match[1].lower()
    value = match[2].strip(" \t")  # RFC 9110, 5.5: white space around a value is not part of it
    is_allowed = _VALUES.get(name)
    return None if is_allowed and not is_allowed(value) else (name, value)


def _require_once(fields: list[tuple[str, str]]) -> None:
    """Refuse repeated headers that decide the target or the end of a request (RFC 9112, 3.2 and 6.3)."""
    names = [name for name, _ in fields]
    for name in _VALUES:
        if names.count(name) > 1:
            raise BadHead(f"The header {name} was sent more than once; send it once.")


def _require_no_doubt_of_length(headers: dict[str, str], minor: str) -> None:
    """Check the head of a chunked request (RFC 9112, 6.1)."""
    if "content-length" in headers:
        raise BadHead("Content-Length and Transfer-Encoding were both sent; send one of them.")
    if minor == "0":
        raise BadHead("HTTP/1.0 has no Transfer-Encoding; send Content-Length.")


def _origin_form(method: str, target: str, minor: str, headers: dict[str, str], fields: list[tuple[str, str]]) -> str:
    """Return the request line of an absolute target in origin form, with the target's Host (RFC 9112, 3.2.2)."""
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is not None and _is_host(absolute[1]):
        headers["host"] = absolute[1]
        fields[:] = [("host", absolute[1]), *(field for field in fields if field[0] != "host")]
        target = f"{absolute[2] or '/'}{absolute[3] or ''}"
    elif target != "*" or method != "OPTIONS":
        raise BadHead("The request target is not one that this gateway serves; send a path that begins with /.")
    return f"{method} {target} HTTP/1.{minor}"


def _fault(field: str) -> str:
    """Return the note for a header line that breaks a rule."""
    if field[:1] in (" ", "\t"):  # RFC 9112, 2.2 and 5.2
        return "A header line begins with white space; send each header on one line."
    name, colon, _ = field.partition(":")
    if not colon:
        return "A header line has no colon; send `Name: value`."
    if not _NAME.fullmatch(name):
        return "A header's name is not a token directly before its colon (RFC 9112, 5.1)."
    if _FIELD.fullmatch(field):
        return _VALUE_FAULTS[name.lower()]
    return f"The value of the header {name[:SHOWN_CHARACTERS]} holds a control character; send it without."
