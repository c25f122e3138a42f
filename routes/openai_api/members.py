"""Members of a request's body, read one by one; those that are not asked for are ignored."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from routes.openai_api.refusals import MISSING, TOO_LONG, BadRequest

N = TypeVar("N", int, float)

MAX_TEXT = 32_000
"""The longest text of a message, in characters, as on the command bus."""


class Members:
    """The members of a JSON object; null ones count as absent. `path` is the object's own, for errors."""

    __slots__ = ("_path", "any")

    def __init__(self, value: Mapping[str, Any], path: str = "") -> None:
        self._path = path
        self.any: Callable[[str], Any] = value.get
        """Returns a member of any type."""

    def path(self, name: str) -> str:
        """Return the path of a member."""
        return f"{self._path}.{name}" if self._path else name

    def text(self, name: str, most: int = MAX_TEXT) -> str | None:
        """Return a string of at most that many characters.

        Raises:
            BadRequest: it is of another type, too long, or has a NUL.
        """
        value = self.any(name)
        return None if value is None else checked_text(value, self.path(name), most)

    def required_text(self, name: str) -> str:
        """Return a string that must be there.

        Raises:
            BadRequest: it is missing or wrong.
        """
        value = self.text(name)
        if not value:
            raise missing(self.path(name))
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean.

        Raises:
            BadRequest: it is of another type.
        """
        value = self.any(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise wrong_type(self.path(name), "true or false")
        return value

    def whole(self, name: str, low: int, high: int) -> int | None:
        """Return a whole number from `low` to `high`.

        Raises:
            BadRequest: it is of another type or out of range.
        """
        value = self.any(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong_type(self.path(name), "a whole number")
        return _in_range(value, self.path(name), low, high)

    def number(self, name: str, low: float, high: float) -> float | None:
        """Return a number from `low` to `high`.

        Raises:
            BadRequest: it is of another type or out of range.
        """
        value = self.any(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise wrong_type(self.path(name), "a number")
        return _in_range(value, self.path(name), low, high)

    def mapping(self, name: str) -> "Members | None":
        """Return the members of an object.

        Raises:
            BadRequest: it is no object.
        """
        value = self.any(name)
        return None if value is None else members(value, self.path(name))

    def items(self, name: str) -> list[Any] | None:
        """Return an array.

        Raises:
            BadRequest: it is no array.
        """
        value = self.any(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise wrong_type(self.path(name), "an array")
        return cast(list[Any], value)


def members(value: Any, path: str) -> Members:
    """Return the members of an object.

    Raises:
        BadRequest: it is no object.
    """
    if not isinstance(value, dict):
        raise wrong_type(path, "an object")
    return Members(cast(dict[str, Any], value), path)


def checked_text(value: Any, path: str, most: int = MAX_TEXT) -> str:
    """Return a string of at most that many characters.

    Raises:
        BadRequest: it is of another type, too long, or has a NUL.
    """
    if not isinstance(value, str):
        raise wrong_type(path, "a string")
    if len(value) > most:
        raise BadRequest(f"{path} has {len(value):,} characters, and {most:,} are allowed; shorten it.", path, TOO_LONG)
    if "\0" in value:
        raise BadRequest(f"Invalid value of {path}: it has a NUL character.", path)
    return value


def wrong_type(path: str, wanted: str) -> BadRequest:
    """Make the error for a member of another type."""
    return BadRequest(f"Invalid type of {path}: send {wanted}.", path, "invalid_type")


def missing(path: str) -> BadRequest:
    """Make the error for a member that is absent, null or blank."""
    return BadRequest(f"Missing required parameter: {path}.", path, MISSING)


def _in_range(value: N, path: str, low: N, high: N) -> N:
    if not low <= value <= high:
        raise BadRequest(f"Invalid value of {path}: send {low:,} to {high:,}.", path)
    return value
