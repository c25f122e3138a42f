"""Pages of lists: the limit, and the cursors that lead from a page to the next."""

import base64
import binascii
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import orjson

from actors.calls.call import Call
from actors.errors import InvalidField

R = TypeVar("R")

DEFAULT_PAGE = 50


def page_limit(call: Call, default: int = DEFAULT_PAGE) -> int:
    """Return the number of entries for a page."""
    page = call.request.page
    return page.limit if page is not None and page.limit is not None else default


def cursor(call: Call, *kinds: type[R]) -> R | None:
    """Return the content of the command's cursor, or None on the first page.

    Raises:
        InvalidField: the command made no such cursor.
    """
    page = call.request.page
    if page is None or not page.cursor:
        return None
    try:
        service, value = orjson.loads(base64.urlsafe_b64decode(page.cursor.encode()))
    except (ValueError, TypeError, binascii.Error):
        service = value = None
    fits = isinstance(value, kinds) and (isinstance(value, str) or (type(value) is int and 0 <= value < 2**63))
    if service != call.service or not fits:
        raise InvalidField("Invalid value of page.cursor: send header.next of the page before, unchanged.")
    return value


def next_cursor(call: Call, value: str | int) -> str:
    """Make the cursor of the page after this one."""
    return base64.urlsafe_b64encode(orjson.dumps((call.service, value))).decode()


def page_of(call: Call, rows: list[R], limit: int, key: Callable[[R], str | int]) -> tuple[list[R], str | None]:
    """Return the rows of a page, and the cursor of the next one if there is a row beyond `limit`.

    `key` tells where a row is in the list; the next page begins after that.
    """
    return rows[:limit], next_cursor(call, key(rows[limit - 1])) if len(rows) > limit else None


def cursor_of(position: int, prefix: str = "") -> str:
    """Make the cursor of a gateway route's list, whose entries have positions."""
    return base64.urlsafe_b64encode(f"{prefix}{position}".encode()).decode()


def position_of(sent: str | None, newest: int, prefix: str = "") -> int:
    """Return the position that a gateway route's cursor holds, or `newest` where none was sent.

    Raises:
        InvalidField: the list made no such cursor.
    """
    if not sent:
        return newest
    try:
        text = base64.urlsafe_b64decode(sent.encode()).decode()
    except (ValueError, binascii.Error):
        text = ""
    position = text.removeprefix(prefix)
    if not text.startswith(prefix) or not position.isascii() or not position.isdecimal() or len(position) > 18:
        raise InvalidField("Invalid value of cursor: send `next` of the page before, unchanged.")
    return int(position)


def page_by_name(rows: list[R], limit: int, key: Callable[[R], str]) -> tuple[list[R], str | None]:
    """Return the rows of a gateway route's page in order of names, and the cursor of the next one, if there is one."""
    return rows[:limit], name_cursor(key(rows[limit - 1])) if len(rows) > limit else None


def name_cursor(key: str) -> str:
    """Make the cursor of a gateway route's list in order of names, after the key of one."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def name_after(sent: str | None) -> str:
    """Return the key that a cursor of `name_cursor` holds, or the one before all where none was sent.

    Raises:
        InvalidField: the list made no such cursor.
    """
    if not sent:
        return ""
    with suppress(ValueError, binascii.Error):
        key = base64.urlsafe_b64decode(sent.encode()).decode()
        if "\0" not in key and name_cursor(key) == sent:
            return key
    raise InvalidField("Invalid value of cursor: send `next` of the page before, unchanged.")
