"""The archive of a conversation or zone: its messages in the full-text index of the store, from the first one on.

What leaves the window stays there until a batch of it is indexed, in a unit of its own and off the way of any chat.
"""

import asyncio
import logging
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial
from typing import Generic
from weakref import WeakKeyDictionary

from actors.conversations import room
from actors.conversations.indexed import found_messages, indexed_message, is_indexed
from actors.conversations.reading import S, Stream
from actors.conversations.room import Room
from actors.conversations.stored import from_row
from actors.engines.continuation import FOLLOWING
from actors.engines.message import FoundUtterance
from actors.engines.quote import MAX_SOURCES
from actors.engines.statements import MAX_POSTINGS, OlderStatements, in_context
from actors.engines.window import Window
from actors.ids import new_number
from actors.retrieval import stored
from actors.retrieval.found import Found
from actors.retrieval.question import Question
from actors.slices import sliced
from actors.text import tokenizer
from actors.text.answer_kinds import are_told
from persistence import search_index
from persistence.conversations import MessageRow
from persistence.store import FOREIGN_KEY, ROWS, Reads, Store, StoreUnavailable, Unit, Write, rows_of

BATCH, MAX_BATCH = 64, 256
"""The least and the largest number of messages that left the window and are indexed together."""

A_MESSAGE_FOR = 128
"""Between these, a batch has one message for this number of indexed statements.

A large index has a page of its own for each common word, so a batch of few messages writes many pages.
"""

BATCH_CHARS = 32_000
"""The number of characters after which a batch takes no further message, so that no unit is long."""

PAGE = 64
"""The number of older statements that are read into memory together."""

PAUSE_S = 0.03
"""Seconds between these reads, in which chats go on."""

LOOK_UP_COSTS, FIND_COSTS = 8, 24
"""The number of statements that are read into memory at the cost of a look-up without and with an answer."""

log = logging.getLogger("parley.archive")

_turns: WeakKeyDictionary[AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()
"""Lets one batch of a process be indexed or read at a time, so that chats never wait for many conversations."""


def _turn() -> asyncio.Lock:
    return _turns.setdefault(asyncio.get_running_loop(), asyncio.Lock())


class _Moved(Exception):
    """The index or the messages changed since they were read."""


class Archive(Generic[S]):
    """The archive of one conversation or zone in use.

    Messages that are indexed and state something stay in memory while there is room for them in the process. Where
    these are all that left the window, no look-up is needed. A conversation that was read from the store has only its
    newest messages in memory, until it has been asked so much that it pays to read the others, too.

    Its units change nothing in memory that an answer shows, so they need no fence: one of an actor that was replaced
    meanwhile is stored only if it is still right. The store compares each text with the stored one, so that the terms
    of a text that was censored meanwhile never come back.
    """

    __slots__ = (
        "_collection",
        "_of",
        "_older",
        "_reading",
        "_room",
        "_spent",
        "_store",
        "_stream",
        "_task",
        "_tries_at",
        "_window",
    )

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
        self._room = Room()
        self._spent = 0  # on look-ups
        self._older: OlderStatements | None = None  # those that are being read
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all messages that state something are in memory, where searches of the window find them."""
        window = self._window
        return window.oldest_seq == 1 or (self._collection is None and not (window.left or window.archived))

    async def _drop(self, upto_seq: int) -> None:
        """Drop indexed messages, up to a seq, that state nothing, and the oldest others for which there is no room."""
        window = self._window
        await sliced(window.archiving(upto_seq))
        if window.archived <= room.MAX_KEPT or not self._has_room:
            window.drop_archived(keep=room.MAX_KEPT, room=max(self._room.left, 0))
        self._count()

    def _count(self) -> None:
        """Count what is in memory, and all that is being read."""
        self._room.take(self._window.archived_weight if self._older is None else self._weight_of_all)

    @property
    def _weight_of_all(self) -> int:
        """The weight of all statements, those that are not in memory at their least."""
        weight, count = self._window.archived_weight, self._window.archived
        if self._older is not None:
            weight, count = weight + self._older.statements.weight, count + len(self._older.statements)
        return weight + max(self._texts - count, 0)

    @property
    def _texts(self) -> int:
        return 0 if self._collection is None else self._collection.texts

    @property
    def _has_room(self) -> bool:
        """Whether there is room in memory for all statements."""
        return self._room.holds_whole(self._texts, self._weight_of_all)

    # indexing

    @property
    def _batch(self) -> int:
        """The number of messages that are indexed together."""
        return min(max(BATCH, self._texts // A_MESSAGE_FOR), MAX_BATCH)

    def tend(self) -> None:
        """Index what left the window, in a task, if a batch of it is there."""
        window = self._window
        if window.left >= self._batch and self._task is None and window.last_seq >= self._tries_at:
            self._task = asyncio.create_task(self._index())

    @property
    def indexing(self) -> asyncio.Task[None] | None:
        """The task that indexes what left the window, while there is one."""
        return self._task

    async def _index(self) -> None:
        try:
            while self._window.left >= self._batch:
                async with _turn():
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
        self._tries_at = self._window.last_seq + self._batch

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
        batch = await sliced(self._window.leaving(self._batch, BATCH_CHARS))
        to = batch[-1][0].seq
        stating = [(utterance, terms) for utterance, terms in batch if is_indexed(utterance, terms)]
        texts = [indexed_message(utterance, terms, self._of.a_turn) for utterance, terms in stating]
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
            found = await self._search_store(question, limit, lambda hit: hit.answers, answering=True)
        except Exception as error:
            _not_searched(error)
            return []
        self._read_on(FIND_COSTS if found else LOOK_UP_COSTS)
        return found

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
        self, question: Question, limit: int, wanted: Callable[[Found], bool], *, answering: bool = False
    ) -> list[FoundUtterance]:
        if self._is_behind:
            await self._read()
        collection = self._collection
        if collection is None or not collection.texts or self.is_empty:
            return []
        looked_up = self._looked_up(collection, question, limit, wanted, answering=answering)
        return await sliced(found_messages(await self._store.read(looked_up)))

    def _looked_up(
        self,
        collection: search_index.Collection,
        question: Question,
        limit: int,
        wanted: Callable[[Found], bool],
        *,
        answering: bool,
    ) -> Reads[list[tuple[MessageRow, Found]]]:
        """Find messages and read those that are wanted, the best first; for answers, also those after the first few.

        For answers, a dialogue that was told is ranked as a bank's memories are (see `Window.answers`).
        """
        rank = partial(stored.ranked, collection, question, limit, postings=MAX_POSTINGS, answering=answering)
        hits = yield from rank(context=in_context(question))
        messages: dict[int, MessageRow] = {}
        if answering:
            messages = yield from self._messages_at([hit.number for hit in hits])
            if are_told([messages[hit.number].content for hit in hits if hit.number in messages]):
                hits = yield from rank(context=in_context(question, as_bank_of=collection.texts))
        found = {hit.number: hit for hit in hits if wanted(hit)}
        for seq in list(found)[: MAX_SOURCES if answering else 0]:
            for after in range(seq + 1, seq + FOLLOWING + 1):
                found.setdefault(after, Found(after, 0.0, 0.0, answers=False))
        messages |= yield from self._messages_at([seq for seq in found if seq not in messages])
        return [(messages[seq], hit) for seq, hit in found.items() if seq in messages]

    def _messages_at(self, seqs: list[int]) -> Reads[dict[int, MessageRow]]:
        return {row.seq: row for row in (yield from rows_of(self._of.at(self._stream, seqs)))} if seqs else {}

    # reading what is not in memory

    def _read_on(self, cost: int) -> None:
        """Count a look-up; read all statements into memory, in a task, once look-ups have cost as much as that."""
        self._spent += cost
        collection = self._collection
        if collection is None or self._spent < collection.texts or self._reading is not None:
            return
        if self._has_room and not self._is_behind:
            self._reading = asyncio.create_task(self._read_older(collection.number))

    async def _read_older(self, collection: int) -> None:
        window, older = self._window, OlderStatements(self._of.a_turn)
        self._older = older
        self._count()
        try:
            while self._has_room:
                before = window.oldest_seq
                async with _turn():
                    rows = await self._store.read(self._page(collection, older.upto_seq, before))
                    await sliced(older.adding(map(from_row, rows)))
                if len(rows) == PAGE:
                    await asyncio.sleep(PAUSE_S)
                    continue
                await sliced(window.indexing())
                if window.oldest_seq == before and window.is_indexed:  # else those that it dropped are read next
                    window.take_older(older)
                    break
        except StoreUnavailable as error:
            log.warning("older messages can't be read into memory: %s", error)
        except Exception:
            log.exception("older messages can't be read into memory")
        finally:
            self._older = self._reading = None
            self._spent = 0
            self._count()

    def _page(self, collection: int, after: int, before: int) -> Reads[list[MessageRow]]:
        """Read the first indexed messages between two seqs, oldest first."""
        seqs = yield from rows_of(search_index.documents_between(collection, after, before, PAGE))
        messages = yield from self._messages_at(seqs)
        return [messages[seq] for seq in seqs if seq in messages]


def _not_searched(error: Exception) -> None:
    """Log that a reply is made without older messages."""
    if isinstance(error, StoreUnavailable):
        log.warning("older messages can't be searched: %s", error)
    else:
        log.error("older messages can't be searched", exc_info=error)
