"""The histories that clients send along: how they are compared with what is stored, and what they repeat of it."""

import unicodedata
from collections.abc import Iterable, Sequence

from actors.conversations.place import Earlier
from persistence import quotes
from persistence.store import Store


def compared(messages: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return roles and texts as they are compared."""
    return [(role, plain(text)) for role, text in messages]


def plain(text: str) -> str:
    """Return a text as it is compared."""
    return unicodedata.normalize("NFC", text.strip())


async def quoted_in(store: Store, user_id: str, earlier: Sequence[Earlier]) -> tuple[tuple[int, int], ...]:
    """Return the memories, by position, that a user's history repeats from replies, each with its message's place.

    Without them a censoring would not reach the copies of such replies that an edited or regenerated message makes.
    """
    replies: dict[str, list[int]] = {}
    for place, (role, text) in enumerate(earlier):
        if role == "agent":
            replies.setdefault(text.strip(), []).append(place)
    found = await store.fetch(quotes.repeated(user_id, list(replies))) if replies else []
    return tuple([(place, memory) for text, memory in found for place in replies[text]])
