"""The members that a request may have. Others are refused, because a misspelt member must not widen a command."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice
from re import compile as regex
from typing import Any, cast, get_args

import orjson
from pydantic import BaseModel

from actors.errors import InvalidField

MAX_NAMED = 10
"""The largest number of unknown members that one answer names."""

MAX_COMPARED = 64
"""Characters of an unknown member that are shown and compared: bounds the work on a hostile body."""

_CLOSE = 0.6

_OTHER_WORDS = {
    "password": "vx.secret",
    "message": "content",
    "text": "content",
    "query": "content",
    "prompt": "content",
    "command": "service",
}
"""Other programs' words for a member; they come before members that are merely spelt alike."""

_plain_name = regex(r"[A-Za-z0-9_-]+\Z")


class Members:
    """The known members of a body, as dotted paths. Names are compared exactly, case included."""

    __slots__ = ("_names", "_parts", "_paths")

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(dict.fromkeys(name for path in paths for name in (path.partition(".")[0], path)))
        self._names = frozenset(path.partition(".")[0] for path in self._paths)
        within = [path.partition(".") for path in self._paths]
        self._parts = tuple(
            (part, frozenset(member for of, _, member in within if of == part and member))
            for part in dict.fromkeys(of for of, dot, _ in within if dot)
        )

    def require_known(self, body: dict[str, Any]) -> None:
        """Refuse a body with a member that is not among these, null members included.

        Raises:
            InvalidField: the note names up to ten of them, each with the nearest known one.
        """
        known = body.keys() <= self._names
        for part, names in self._parts:
            given: Any = body.get(part, ())
            if given.__class__ is dict and not given.keys() <= names:
                known = False
        if not known:
            raise self._refusal(body)

    def _refusal(self, body: dict[str, Any]) -> InvalidField:
        unknown = list(islice(self._unknown(body), MAX_NAMED))
        more = sum(1 for _ in self._unknown(body)) - len(unknown)
        named = "; ".join(self._described(level, name) for level, name in unknown)
        return InvalidField(
            f"Unknown member{'s' if len(unknown) > 1 else ''} {named}{f'; and {more:,} more' if more else ''}. "
            f"Correct {'them or leave them' if len(unknown) > 1 else 'it or leave it'} out; nothing was done."
        )

    def _unknown(self, body: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """List the unknown members, each as its part of the body and its name."""
        for name in body:
            if name not in self._names:
                yield "", name
        for part, names in self._parts:
            given = body.get(part)
            if isinstance(given, dict):
                for name in cast(dict[str, Any], given):
                    if name not in names:
                        yield part, name

    def _described(self, level: str, name: str) -> str:
        shown = name if len(name) <= MAX_COMPARED else f"{name[:MAX_COMPARED]}..."
        if not _plain_name.match(shown):
            shown = orjson.dumps(shown).decode()
        nearest = self._nearest(level, name[:MAX_COMPARED].lower())
        hint = "no member is known here" if nearest is None else f"the nearest known one is {nearest}"
        if nearest == name:  # a path as one name
            hint += ", an object in an object"
        return f"{level}.{shown} ({hint})" if level else f"{shown} ({hint})"

    def _nearest(self, level: str, word: str) -> str | None:
        """Find the known member most like a word, in its part of the body unless another part has exactly that word."""
        own: dict[str, str] = {}
        every: dict[str, str] = {path: path for path in self._paths}
        for path in self._paths:
            part, _, member = path.rpartition(".")
            every.setdefault(member, path)
            if part == level:
                own[member] = path
        every |= own
        if word in every:
            return every[word]
        if (meant := _OTHER_WORDS.get(word)) in self._paths:
            return meant
        for choices, cutoff in ((own, _CLOSE), (every, _CLOSE), (own or every, 0.0)):
            if found := get_close_matches(word, choices, 1, cutoff):
                return choices[found[0]]
        return None


def nearest_name(word: str, names: Iterable[str]) -> str | None:
    """Return the name most like a word, in any case, or None if none is like it."""
    by_key = {name.lower(): name for name in names}
    found = get_close_matches(word[:MAX_COMPARED].lower(), by_key, 1)
    return by_key[found[0]] if found else None


def members_of(model: type[BaseModel], *others: str) -> Members:
    """Return the members of a model and of its nested models; `others` are known in addition."""
    return Members((*others, *_paths_of(model)))


def _paths_of(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name
        for part in (field.annotation, *get_args(field.annotation)):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from (f"{name}.{member}" for member in part.model_fields)
