"""Reads members of A2A's messages as ProtoJSON does (https://protobuf.dev/programming-guides/json/).

Unknown members are ignored, null is an absent member, and names may be written as in the .proto file, too.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, cast

from routes.a2a.errors import InvalidParams

Members = Mapping[str, Any]

_capital = re.compile(r"[A-Z]")


def member(of: Members, name: str) -> Any:
    """Return a member by its name in camelCase, None if it is absent or null."""
    value = of.get(name)
    return of.get(_as_in_the_proto(name)) if value is None else value


@cache
def _as_in_the_proto(name: str) -> str:
    return _capital.sub(lambda found: f"_{found[0].lower()}", name)


def text_at(of: Members, name: str, path: str = "", *, most: int = 256) -> str | None:
    """Return a string member, None if it is absent or empty, as ProtoJSON makes no difference there.

    Raises:
        InvalidParams: it is no string, longer than `most` characters, or has characters that can't be stored.
    """
    value = member(of, name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise InvalidParams(path + name, "must be a string")
    if len(value) > most:
        raise InvalidParams(path + name, f"must have up to {most:,} characters")
    if "\0" in value:
        raise InvalidParams(path + name, "must not contain NUL")
    return value


def needed_text(of: Members, name: str, path: str = "", *, most: int = 256) -> str:
    """Return a string member that must not be empty.

    Raises:
        InvalidParams: it is absent or not as `text_at` takes it.
    """
    value = text_at(of, name, path, most=most)
    if value is None:
        raise InvalidParams(path + name, "is required")
    return value


def whole_number(of: Members, name: str, path: str = "", *, least: int = 0, most: int = 2**31 - 1) -> int | None:
    """Return an int32 member, also one that is written as a string, as in a query.

    Raises:
        InvalidParams: it is no whole number, or out of range.
    """
    value = member(of, name)
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,10}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidParams(path + name, "must be a whole number")
    if not least <= value <= most:
        raise InvalidParams(path + name, f"must be from {least} to {most}, got {value}")
    return value


def truth(of: Members, name: str, path: str = "") -> bool:
    """Return a bool member, False if it is absent; in a query it is written `true` or `false`.

    Raises:
        InvalidParams: it is something else.
    """
    value = member(of, name)
    value = {None: False, "true": True, "false": False}.get(value, value) if not isinstance(value, list | dict) else 0
    if not isinstance(value, bool):
        raise InvalidParams(path + name, "must be true or false")
    return value


def object_at(of: Members, name: str, path: str = "") -> Members | None:
    """Return a member that is an object.

    Raises:
        InvalidParams: it is something else.
    """
    value = member(of, name)
    if value is not None and not isinstance(value, dict):
        raise InvalidParams(path + name, "must be an object")
    return cast(Members | None, value)


def list_at(of: Members, name: str, path: str = "") -> list[Any]:
    """Return a member that is an array; it is empty if absent.

    Raises:
        InvalidParams: it is something else.
    """
    value = member(of, name)
    if value is not None and not isinstance(value, list):
        raise InvalidParams(path + name, "must be an array")
    return cast(list[Any], value or [])


def time_at(of: Members, name: str, path: str = "") -> int | None:
    """Return a timestamp in ms since the epoch.

    Raises:
        InvalidParams: it is not written by RFC 3339, with an offset.
    """
    value = text_at(of, name, path)
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
        if at.tzinfo is None:
            raise ValueError(value)
        return int(at.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise InvalidParams(path + name, "must be a time such as 2026-11-20T10:00:00.000Z") from None
