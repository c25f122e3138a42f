"""The archive of a conversation or zone: its messages in the full-text index of the store, from the first one on.

What leaves the window stays there until a batch of it is indexed, in a unit of its own and off the way of any chat.
"""

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from actors.conversations.stored import from_row
from actors.engines import dialogue_acts
from actors.engines.message import A_PRIVATE_TURN, Utterance, turn_of
from actors.engines.window import CAPACITY, IN_CONTEXT, MAX_POSTINGS, FoundUtterance, Window
from actors.ids import new_number
from actors.retrieval import stored
from actors.retrieval.found import Found
from actors.retrieval.question import Question
from actors.slices import Steps, sliced
from actors.text import tokenizer
from persistence import conversations, search_index, zones
from persistence.conversations import MessageRow
from persistence.search_index import IndexedText
from persistence.store import FOREIGN_KEY, ROWS, Query, Reads, Store, StoreUnavailable, Unit, Write, rows_of

BATCH = 64
"""The number of messages that left the window and are indexed together."""

BATCH_CHARS = 32_000
"""The number of characters after which a batch takes no further message, so that no unit is long."""

MAX_READ = 400
"""The number of messages before the window that are read for it where they are not indexed yet; a job does the rest."""

MAX_KEPT = 1_600
"""The number of indexed statements of one conversation in use that stay in memory, so that they need no look-up.

These are about 5,000 messages of everyday talk, because questions and most replies state nothing and take no room.
"""

MAX_KEPT_IN_ALL = 100_000
"""The same for all conversations of this process together; a longer one counts once more for each 250 characters."""

log = logging.getLogger("parley.archive")

_turns: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Lets one batch of a process be indexed at a time, so that chats never wait for the units of many conversations."""

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


class _Moved(Exception):
    """The index or the messages changed since they were read."""


class _Kept:
    """Counts the indexed statements that the archives of this process keep in memory, long ones several times."""

    count = 0


def kept_in_all() -> int:
    """Return the number of indexed statements that archives of this process keep in memory; long ones count more."""
    return _Kept.count


class Archive(Generic[S]):
    """The archive of one conversation or zone in use.

    The newest messages that are indexed and state something stay in memory while there is room for them in the process.
    Where these are all that left the window, no look-up is needed.

    Its units change nothing in memory that an answer shows, so they need no fence: one of an actor that was replaced
    meanwhile is stored only if it is still right. The store compares each text with the stored one, so that the terms
    of a text that was censored meanwhile never come back.
    """

    __slots__ = ("_collection", "_kept", "_of", "_store", "_stream", "_task", "_tries_at", "_window")

    def __init__(
        self, store: Store, of: Stream[S], stream: S, window: Window, collection: search_index.Collection | None = None
    ) -> None:
        self._store = store
        self._of = of
        self._stream = stream
        self._window = window
        self._collection = collection
        self._task: asyncio.Task[None] | None = None
        self._tries_at = 0  # the last seq of the window from which on indexing is tried again
        self._kept = 0

    def __del__(self) -> None:
        _Kept.count -= self._kept

    @property
    def is_empty(self) -> bool:
        """Whether all messages that state something are in memory, where searches of the window find them."""
        window = self._window
        return window.oldest_seq == 1 or (self._collection is None and not (window.left or window.archived))

    async def _drop(self, upto_seq: int) -> None:
        """Drop indexed messages, up to a seq, that state nothing, and the oldest others for which there is no room."""
        window = self._window
        await sliced(window.archiving(upto_seq))
        window.drop_archived(keep=MAX_KEPT, room=max(MAX_KEPT_IN_ALL - _Kept.count + self._kept, 0))
        _Kept.count += window.archived_weight - self._kept
        self._kept = window.archived_weight

    # indexing

    def tend(self) -> None:
        """Index what left the window, in a task, if a batch of it is there."""
        window = self._window
        if window.left >= BATCH and self._task is None and window.last_seq >= self._tries_at:
            self._task = asyncio.create_task(self._index())

    @property
    def indexing(self) -> asyncio.Task[None] | None:
        """The task that indexes what left the window, while there is one."""
        return self._task

    async def _index(self) -> None:
        try:
            while self._window.left >= BATCH:
                async with _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
                    going_on = await self._index_batch()
                if not going_on:
                    self._try_later()
                    break
        except StoreUnavailable as error:
            self._try_later()
            log.warning("messages are not indexed yet: %s", error)
        except Exception:
            self._try_later()
            log.exception("messages can't be indexed")
        finally:
            self._task = None

    def _try_later(self) -> None:
        self._tries_at = self._window.last_seq + BATCH

    async def _index_batch(self) -> bool:
        """Index the oldest messages that left the window, and drop them; return whether to go on.

        Nothing is done where messages before them are not indexed yet; a job does so (actors/jobs/indexing.py).
        """
        collection = self._collection
        if self._is_behind or (collection is not None and collection.version != tokenizer.VERSION):
            await self._read()
            collection = self._collection
        if collection is None and self._window.oldest_seq == 1:
            collection = search_index.Collection(new_number(), tokenizer.VERSION, 0, 0, 0)
        if collection is None or collection.version != tokenizer.VERSION:
            return False
        await self._drop(collection.reached)
        if not self._window.left:  # the job has indexed all of them
            return True
        if self._window.leaving_seq != collection.reached + 1:
            return False
        batch = await sliced(self._window.leaving(BATCH, BATCH_CHARS))
        to = batch[-1][0].seq
        stating = [(utterance, terms) for utterance, terms in batch if is_indexed(utterance, terms)]
        texts = [indexed(utterance, terms, self._of.a_turn) for utterance, terms in stating]
        writes: list[Write] = []
        if self._collection is None:
            writes.append(self._of.begin(collection.number, self._stream, collection.version))
        if texts:
            said = [(utterance.seq, utterance.content) for utterance, _ in stating]
            writes += (self._of.unchanged(self._stream, said), *search_index.add(collection.number, texts))
        writes.append(search_index.advance(collection.number, collection.reached, to))
        try:
            await self._store.commit(Unit(tuple(writes), (), {ROWS: _Moved, FOREIGN_KEY: _Moved}))
        except _Moved:
            await self._read()
            return self._collection is not None and self._collection.reached > collection.reached
        words = collection.words + sum(len(terms) for _, terms in stating)
        self._collection = collection._replace(reached=to, texts=collection.texts + len(texts), words=words)
        await self._drop(to)
        return True

    @property
    def _is_behind(self) -> bool:
        """Whether messages before those in memory are not known to be indexed."""
        return (0 if self._collection is None else self._collection.reached) + 1 < self._window.oldest_seq

    async def _read(self) -> None:
        """Read the collection anew, because a job may have indexed messages."""
        self._collection = next(iter(await self._store.fetch(self._of.collection(self._stream))), None)

    # searching

    async def answers(self, question: Question, limit: int) -> list[FoundUtterance]:
        """Find indexed messages that answer a question; see `engines.turn.Archive`."""
        try:
            return await self._search_store(question, limit, lambda hit: hit.answers)
        except Exception as error:
            _not_searched(error)
            return []

    async def best(self, question: Question, before: int, limit: int) -> list[FoundUtterance]:
        """Find messages, those in memory included; see `engines.turn.Archive`."""
        if not question.terms:
            return []
        await sliced(self._window.indexing())
        inside = self._window.search(question, limit + 1)  # one more, because the message to answer may be in there
        found = {one.utterance.seq: one for one in inside if one.utterance.seq < before}
        try:
            for one in await self._search_store(
                question, limit, lambda hit: hit.number < before and hit.number not in found
            ):
                found[one.utterance.seq] = one
        except Exception as error:
            _not_searched(error)
        return sorted(found.values(), key=lambda one: (one.score, one.utterance.seq), reverse=True)[:limit]

    async def _search_store(
        self, question: Question, limit: int, wanted: Callable[[Found], bool]
    ) -> list[FoundUtterance]:
        if self._is_behind:
            await self._read()
        collection = self._collection
        if collection is None or not collection.texts:
            return []
        return await sliced(_with_terms(await self._store.read(self._looked_up(collection, question, limit, wanted))))

    def _looked_up(
        self, collection: search_index.Collection, question: Question, limit: int, wanted: Callable[[Found], bool]
    ) -> Reads[list[tuple[MessageRow, Found]]]:
        """Find messages and read those that are wanted, the best first."""
        ranked = yield from stored.ranked(collection, question, limit, context=IN_CONTEXT, postings=MAX_POSTINGS)
        found = {hit.number: hit for hit in ranked if wanted(hit)}
        rows = (yield from rows_of(self._of.at(self._stream, list(found)))) if found else []
        messages = {row.seq: row for row in rows}
        return [(messages[seq], hit) for seq, hit in found.items() if seq in messages]


def _not_searched(error: Exception) -> None:
    """Log that a reply is made without older messages."""
    if isinstance(error, StoreUnavailable):
        log.warning("older messages can't be searched: %s", error)
    else:
        log.error("older messages can't be searched", exc_info=error)


def _with_terms(found: list[tuple[MessageRow, Found]]) -> Steps[list[FoundUtterance]]:
    complete: list[FoundUtterance] = []
    for row, one in found:
        utterance = from_row(row)
        terms = (yield from dialogue_acts.finding_facts(utterance)) if one.answers else ()
        complete.append(FoundUtterance(utterance, one.score, one.share, one.answers, tuple(dict.fromkeys(terms))))
        yield
    return complete


def is_indexed(utterance: Utterance, terms: Sequence[str]) -> bool:
    """Return whether a message with these terms (of `dialogue_acts.facts`) gets a row in the index."""
    return bool(terms) and "\0" not in utterance.content  # which the store can't compare


def indexed(utterance: Utterance, terms: Sequence[str], a_turn: int) -> IndexedText:
    """Return a message as the index takes it; for `a_turn` see `turn_of`."""
    return IndexedText(utterance.seq, "", turn_of(utterance.seq, a_turn), terms)


class Newest(NamedTuple):
    """The newest messages of a conversation or zone, oldest first, and its collection if older ones are indexed."""

    messages: Sequence[Utterance]
    collection: search_index.Collection | None


NOTHING = Newest((), None)
"""What a new conversation or zone has."""


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
