"""The URIs of what Parley holds, `parley://<kind>/<name>/<name>`, as MCP's resources and citations use them."""

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

SCHEME = "parley"

MAX_CHARS = 2_000
"""The largest number of characters of a URI that is read: two names of 200 characters, each of 4 bytes of UTF-8."""


class Place(NamedTuple):
    """The parts of a URI: a kind, names, and from where on a long one is read."""

    kind: str
    names: tuple[str, ...]
    cursor: str = ""


@lru_cache(maxsize=1_024)  # answers name the same few sources over and over
def uri(kind: str, *names: str, cursor: str = "") -> str:
    """Write a URI; every character of a name that is not unreserved (RFC 3986, 2.3) is percent-encoded."""
    path = "/".join(quote(name, safe="") for name in names)
    return f"{SCHEME}://{kind}/{path}" + (f"?cursor={quote(cursor, safe='')}" if cursor else "")


def place_of(text: str) -> Place | None:
    """Read a URI; None if it is none of Parley's.

    The last name may hold slashes that are not encoded, because a memory's name, and a file's path, may.
    """
    if len(text) > MAX_CHARS:
        return None
    try:
        parts = urlsplit(text)
        query = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query), errors="strict"))
        path = parts.path.removeprefix("/").split("/", 1)
        names = tuple(unquote(name, errors="strict") for name in path)
    except ValueError:
        return None
    cursor = query.pop("cursor", "")
    if parts.scheme != SCHEME or parts.fragment or query or not all(names) or any("\x00" in name for name in names):
        return None
    return Place(parts.netloc, names, cursor)
