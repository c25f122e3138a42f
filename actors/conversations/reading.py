"""Reads the messages of private conversations and zones, which are stored in tables of their own."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

from actors.conversations.stored import from_row
from actors.engines.message import A_PRIVATE_TURN, Utterance
from actors.engines.window import CAPACITY
from persistence import conversations, search_index, zones
from persistence.conversations import MessageRow
from persistence.store import Query, Store, Write

MAX_READ = 400
"""The number of messages before the window that are read for it where they are not indexed yet; a job does the rest."""

S = TypeVar("S", int, str)


class Stream(NamedTuple, Generic[S]):
    """How the messages of private conversations, or of zones, are read and indexed; `S` is the id of one."""

    collection: Callable[[S], Query[search_index.Collection]]
    begin: Callable[[int, S, str], Write]
    page_before: Callable[[S, int, int], Query[MessageRow]]
    at: Callable[[S, Sequence[int]], Query[MessageRow]]
    unchanged: Callable[[S, Sequence[tuple[int, str]]], Write]
    a_turn: int
    """See `turn_of`."""


CONVERSATION = Stream[int](
    search_index.of_conversation,
    search_index.begin_for_conversation,
    conversations.page_before,
    conversations.at,
    conversations.unchanged,
    A_PRIVATE_TURN,
)
ZONE = Stream[str](search_index.of_zone, search_index.begin_for_zone, zones.page_before, zones.at, zones.unchanged, 1)


class Newest(NamedTuple):
    """The newest messages of a conversation or zone, oldest first, and its collection if older ones are indexed."""

    messages: Sequence[Utterance]
    collection: search_index.Collection | None


NOTHING = Newest((), None)
"""The messages of a new conversation or zone: none."""


async def read_window(store: Store, of: Stream[S], stream: S, last_seq: int) -> Newest:
    """Read the newest messages of a conversation or zone, and those before them that are not indexed yet.

    Raises:
        StoreUnavailable: the store can't be read.
    """
    collection, count = None, CAPACITY
    if last_seq > CAPACITY:
        collection = next(iter(await store.fetch(of.collection(stream))), None)
        reached = 0 if collection is None else collection.reached
        count = min(max(CAPACITY, last_seq - reached), CAPACITY + MAX_READ)
    rows = await store.fetch(of.page_before(stream, last_seq + 1, count))
    return Newest([from_row(row) for row in reversed(rows)], collection)
