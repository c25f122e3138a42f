"""The histories that clients send along: how they are compared with what is stored, and what they repeat of it."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise

from actors.conversations.place import Earlier
from actors.slices import Steps
from persistence import quotes
from persistence.censoring import REDACTED
from persistence.store import Store

_MANY_MARKS = re.compile(r"([^\w\s\x00-\x7f]{31,})")
"""A run of more combining marks than any language has (UAX #15, "Stream-Safe Text Format"), or of emoji."""


def compared(messages: Iterable[tuple[str, str]]) -> Steps[list[tuple[str, str]]]:
    """Return roles and texts as they are compared."""
    found: list[tuple[str, str]] = []
    for role, text in messages:
        found.append((role, plain(text)))
        yield
    return found


def plain(text: str) -> str:
    """Return a text as it is compared: in NFC, but for long runs of marks, whose time would grow with their square."""
    parts = _MANY_MARKS.split(text.strip())
    parts[::2] = [unicodedata.normalize("NFC", part) for part in parts[::2]]
    return "".join(parts)


def redacted(stored: Sequence[tuple[str, str]], told: Sequence[tuple[str, str]]) -> bool:
    """Return whether messages, as `compared` returns them, are those of a history but for what a censoring redacted."""
    return len(stored) == len(told) and all(map(_stands_for, stored, told))


def _stands_for(stored: tuple[str, str], told: tuple[str, str]) -> bool:
    (role, text), (told_role, told_text) = stored, told
    return stored == told or (role == told_role == "agent" and _is_redacted_from(text, told_text))


def _is_redacted_from(reply: str, text: str) -> bool:
    """Return whether a reply is a text with some of its words redacted: what is left is in there, in this order."""
    if REDACTED not in reply:
        return False
    first, *others, last = reply.split(REDACTED)  # an expression's time would grow with the power of their number
    if not text.startswith(first):
        return False
    place = len(first)
    for part in others:
        found = text.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return len(text) - place >= len(last) and text.endswith(last)


Quoted = tuple[tuple[int, int], ...]
"""The places of messages, each with the position of a memory that it repeats."""


async def as_imported(store: Store, user_id: str, earlier: Sequence[Earlier]) -> tuple[tuple[Earlier, ...], Quoted]:
    """Return a user's history with what a censoring has redacted, and the memories that it repeats from replies."""
    told = await _with_redactions(store, user_id, earlier)
    return told, await _quoted_in(store, user_id, told)


async def _quoted_in(store: Store, user_id: str, earlier: Sequence[Earlier]) -> Quoted:
    """Return the memories, by position, that a user's history repeats from replies, each with its message's place.

    Without them a censoring would not reach the copies of such replies that an edited or regenerated message makes.
    """
    replies: dict[str, list[int]] = {}
    for place, (role, text) in enumerate(earlier):
        if role == "agent":
            replies.setdefault(text.strip(), []).append(place)
    found = await store.fetch(quotes.repeated(user_id, list(replies))) if replies else []
    return tuple([(place, memory) for text, memory in found for place in replies[text]])


async def _with_redactions(store: Store, user_id: str, earlier: Sequence[Earlier]) -> tuple[Earlier, ...]:
    """Return a user's history with the replies that a censoring has redacted, as they are stored now.

    A reply is known by the message before it, and by what is left of its words.
    """
    places: dict[str, list[int]] = {}
    for place, (before, (role, _)) in enumerate(pairwise(earlier), 1):
        if role == "agent":
            places.setdefault(before.text.strip(), []).append(place)
    found = await store.fetch(quotes.redacted(user_id, list(places))) if places else []
    told = list(earlier)
    for answered, reply in sorted(found, key=lambda row: len(row[1])):  # of several, the one with most words left
        for place in places[answered]:
            if _is_redacted_from(plain(reply), plain(earlier[place].text)):
                told[place] = Earlier("agent", reply)
    return tuple(told)
