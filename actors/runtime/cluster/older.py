"""Messages of a newer version as this one reads them: msgspec ignores new members but for those of named tuples."""

import types
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Union, cast, get_args, get_origin, get_type_hints


def without_new_members(of: Any, value: Any) -> Any:
    """Return a value as msgpack has it, with the arrays in it cut to the members that a type declares."""
    origin, args = get_origin(of), get_args(of)
    if value is None:
        return None
    if origin in (Union, types.UnionType):
        records = [arg for arg in args if arg is not type(None)]
        return without_new_members(records[0], value) if len(records) == 1 else value
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return [
            without_new_members(item_of, item) for item_of, item in zip(_types_of(of, len(items)), items, strict=False)
        ]
    if isinstance(value, dict):
        members = cast("dict[Any, Any]", value)
        value = cast("Any", members)
        if is_dataclass(of) or hasattr(of, "__struct_fields__"):
            hints = _hints(of)
            return {name: without_new_members(hints.get(name, Any), member) for name, member in members.items()}
        if origin in (dict, Mapping):
            return {name: without_new_members(args[1], member) for name, member in members.items()}
    return value


def _types_of(of: Any, count: int) -> list[Any]:
    """Return the types of an array's items, as many as are read; `count` is the number of those received."""
    origin, args = get_origin(of), get_args(of)
    if hasattr(of, "_fields") or hasattr(of, "__struct_fields__"):
        return list(_hints(of).values())
    if origin is tuple and args[-1:] != (...,):
        return [*args, *[Any] * (count - len(args))]
    return [args[0] if args else Any] * count


@cache
def _hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of)
