"""From JSON to records and back."""

import json
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from parley_client.errors import UnexpectedAnswer

T = TypeVar("T")


def decode(kind: type[T], value: Any) -> T:
    """Return a JSON value as a record; members that the record does not know are left out.

    Raises:
        UnexpectedAnswer: a member is missing, or of another type.
    """
    return cast("T", _decode(kind, value, kind.__name__))


def member(kind: type[T], value: Any, name: str) -> T:
    """Return a member of a JSON object, as `decode` does.

    Raises:
        UnexpectedAnswer: it is no object, or has no such member of this type.
    """
    members: dict[str, Any] = _checked(dict, value, "the answer")
    if name not in members:
        raise UnexpectedAnswer(f"the answer has no member {name}")
    return cast("T", _decode(kind, members[name], name))


def json_of(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is none, or one that is nested too deeply.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def encode(value: Any) -> Any:
    """Return a record, or anything made of records, as JSON values."""
    if is_dataclass(value):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def _decode(kind: Any, value: Any, path: str) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        (kind,) = [member for member in get_args(kind) if member is not types.NoneType]
        return _decode(kind, value, path)
    if origin is Literal:  # a later gateway may know more values
        return _checked(str, value, path)
    if origin is tuple:
        items = _checked(list, value, path)
        return tuple(_decode(get_args(kind)[0], item, f"{path}[{number}]") for number, item in enumerate(items))
    if origin is not None:
        item = get_args(kind)[1]
        return {name: _decode(item, inner, f"{path}.{name}") for name, inner in _checked(dict, value, path).items()}
    if is_dataclass(kind):
        return _record(kind, _checked(dict, value, path), path)
    if kind is datetime:
        try:
            return datetime.fromisoformat(_checked(str, value, path))
        except ValueError:
            raise UnexpectedAnswer(f"{path} is no time: {value!r}") from None
    return float(_checked((int, float), value, path)) if kind is float else _checked(kind, value, path)


def _record(kind: Any, value: dict[str, Any], path: str) -> Any:
    made: dict[str, Any] = {}
    for name, (member, needed) in _members(kind).items():
        if name in value:
            made[name] = _decode(member, value[name], f"{path}.{name}")
        elif needed:
            raise UnexpectedAnswer(f"{path} has no member {name}")
    return kind(**made)


@cache
def _members(kind: Any) -> dict[str, tuple[Any, bool]]:
    hints = get_type_hints(kind)
    return {field.name: (hints[field.name], field.default is MISSING) for field in fields(kind)}


def _checked(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise UnexpectedAnswer(f"{path} is of an unexpected type: {type(value).__name__}")
    return value
