"""Indexing: indexes stored texts anew where the index lacks them, beside the requests.

It takes banks that were stored by 0.2.0, everything that was indexed by another version of the tokenizer, and
conversations and zones whose older messages are not indexed (from before this version, or after a crash). Each batch is
a unit, which notes how far the index has come, so a crash loses at most one batch of work. A unit is refused if another
has moved that mark, so the actor that owns a conversation and this job never index a message twice; nor do two nodes,
of which each takes what is in its own shards.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar

from actors.banks.loading import indexed, memory_terms
from actors.conversations import reading
from actors.conversations.indexed import indexed_message, is_indexed
from actors.conversations.stored import from_row
from actors.core import Core
from actors.engines import dialogue_acts
from actors.engines.window import CAPACITY
from actors.ids import new_number
from actors.slices import Steps, sliced
from actors.text import tokenizer
from persistence import conversations, memories, memories_not_moved, reindexing, search_index, zones
from persistence.conversations import MessageRow
from persistence.memories import MemoryRow
from persistence.reindexing import Stream
from persistence.search_index import DONE, Collection, IndexedText
from persistence.store import FOREIGN_KEY, ROWS, Query, Store, StoreUnavailable, Unit, Write

BEHIND = 2 * CAPACITY
"""The number of messages without index from which this job takes a conversation; its actor indexes fewer by itself."""

BATCH = 16
"""The largest number of texts of one unit."""

BATCH_CHARS = 16_000
"""The number of characters after which a unit takes no further text."""

PAUSE_S = 0.01
"""The shortest pause after each unit, in seconds; it is also at least as long as the unit took."""

LOOK_EVERY_S = 300.0
"""Interval of the search for what lacks in the index."""

RETRY_AFTER_S = 3.0
"""The pause while the store takes no writes, in seconds."""

_STREAMS_AT_ONCE = 200

log = logging.getLogger("parley.indexing")

T = TypeVar("T")

Mine = Callable[[str], bool]
"""Returns whether a bank, an agent's conversations or a domain's zones are this node's."""


def all_mine(_: str) -> bool:
    """Return True."""
    return True


class _Moved(Exception):
    """Another moved the mark, changed a text or removed the collection meanwhile."""


class _Talks(NamedTuple):
    """The statements for private conversations, or for zones."""

    first: int | str
    after: Callable[[Any, int], Query[Stream]]
    one: Callable[[Any], Query[Stream]]
    messages_after: Callable[[Any, int, int], Query[MessageRow]]
    of: reading.Stream[Any]


_CONVERSATIONS = _Talks(
    0,
    reindexing.conversations_after,
    reindexing.conversation,
    conversations.page_after,
    reading.CONVERSATION,
)
_TALKS = (_CONVERSATIONS, _Talks("", reindexing.zones_after, reindexing.zone, zones.page_after, reading.ZONE))


async def keep_indexing(core: Core) -> None:
    """Index what the index lacks, at once and then every five minutes; run it as a task."""
    while True:
        try:
            await index_banks(core.store, core.placement.mine)
            await index_talks(core.store, core.placement.mine)
        except StoreUnavailable as error:
            log.warning("stored texts wait to be indexed because the store takes no writes: %s", error)
            await asyncio.sleep(RETRY_AFTER_S)
            continue
        await _index_forks(core, LOOK_EVERY_S)


async def _index_forks(core: Core, for_s: float) -> None:
    """Index new copies of conversations as they come, for some time."""
    until = monotonic() + for_s
    while (left := until - monotonic()) > 0:
        with suppress(TimeoutError, StoreUnavailable):  # the next look finds what is left
            number = await asyncio.wait_for(core.forked.get(), left)
            await index_conversation(core.store, number, core.placement.mine)


async def _pause(began: float) -> None:
    await asyncio.sleep(max(PAUSE_S, perf_counter() - began))


# banks


async def index_banks(store: Store, mine: Mine = all_mine) -> None:
    """Index all memories of this node's banks that are not in the index, or were indexed by another version.

    Raises:
        StoreUnavailable: the store can't be read or written.
    """
    for bank_id, _ in await store.fetch(reindexing.banks_to_do(tokenizer.VERSION)):
        if mine(bank_id):
            await _tried(store, bank_id, _index_bank(store, bank_id, mine))


async def _index_bank(store: Store, bank_id: str, mine: Mine) -> None:
    while mine(bank_id) and (found := await store.fetch(search_index.of_bank(bank_id))):
        began = perf_counter()
        try:
            if await _index_some(store, bank_id, found[0]):
                return
        except _Moved:
            pass  # a memory was replaced or removed: read it again
        await _pause(began)


async def _index_some(store: Store, bank_id: str, collection: Collection) -> bool:
    """Index some memories of a bank; return whether it is done."""
    number, version, reached, *_ = collection
    if version != tokenizer.VERSION:
        await _commit(store, search_index.begin_anew(number, version, reached, tokenizer.VERSION))
        return False
    if reached == DONE:
        return True
    rows = await store.fetch(memories.page_after(bank_id, None, reached, BATCH))
    if not rows:
        await _commit(store, search_index.advance(number, reached, DONE))
        return True
    rows = _first(rows, lambda row: len(row.text or ""))
    texts = await sliced(_of_memories(rows))
    writes = [search_index.advance(number, reached, rows[-1].position)]
    if texts:
        read = [(row.position, row.text) for row in rows if row.text is not None]
        writes.append(reindexing.are_as_read(bank_id, read))
        writes += search_index.add(number, texts)
        if store.has_index_of_0_2_0:
            writes.append(memories_not_moved.remove([text.document for text in texts]))
    await _commit(store, *writes)
    return False


def _of_memories(rows: Sequence[MemoryRow]) -> Steps[list[IndexedText]]:
    texts: list[IndexedText] = []
    for row in rows:
        if row.text is not None:
            texts.append(indexed(row, (yield from memory_terms(row.name, row.text))))
            yield
    return texts


# conversations and zones


async def index_talks(store: Store, mine: Mine = all_mine) -> None:
    """Index older messages of this node's conversations and zones that are far behind, or of another version.

    Raises:
        StoreUnavailable: the store can't be read or written.
    """
    for talks in _TALKS:
        await _index_talks(store, talks, mine)


async def index_conversation(store: Store, number: int, mine: Mine = all_mine) -> None:
    """Index a conversation's older messages, if they are far behind.

    Raises:
        StoreUnavailable: the store can't be read or written.
    """
    for stream in await store.fetch(reindexing.conversation(number)):
        if _is_behind(stream) and mine(stream.owner):
            await _tried(store, number, _index_talk(store, _CONVERSATIONS, stream, mine))


async def _index_talks(store: Store, talks: _Talks, mine: Mine) -> None:
    after = talks.first
    while streams := await store.fetch(talks.after(after, _STREAMS_AT_ONCE)):
        for stream in streams:
            if _is_behind(stream) and mine(stream.owner):
                await _tried(store, stream.id, _index_talk(store, talks, stream, mine))
        after = streams[-1].id
        await asyncio.sleep(PAUSE_S)


def _is_behind(stream: Stream) -> bool:
    collection = stream.collection
    if collection is None:
        return stream.last_seq > BEHIND
    return stream.last_seq - collection.reached > BEHIND or collection.version != tokenizer.VERSION


async def _index_talk(store: Store, talks: _Talks, stream: Stream, mine: Mine) -> None:
    """Index all messages of a stream but the newest, which its actor keeps in memory."""
    while mine(stream.owner) and (found := await store.fetch(talks.one(stream.id))):
        began = perf_counter()
        try:
            if await _index_messages(store, talks, found[0]):
                return
        except _Moved:
            pass  # its actor was faster
        await _pause(began)


async def _index_messages(store: Store, talks: _Talks, stream: Stream) -> bool:
    """Index some messages of a stream; return whether it is done."""
    collection = stream.collection
    writes: list[Write] = []
    if collection is None:
        collection = Collection(new_number(), tokenizer.VERSION, 0, 0, 0)
        writes.append(talks.of.begin(collection.number, stream.id, collection.version))
    number, version, reached, *_ = collection
    if version != tokenizer.VERSION:
        await _commit(store, search_index.begin_anew(number, version, reached, tokenizer.VERSION))
        return False
    left = stream.last_seq - CAPACITY - reached
    if left <= 0:
        return True
    rows = await store.fetch(talks.messages_after(stream.id, reached, min(left, BATCH)))
    if not rows:
        return True
    rows = _first(rows, lambda row: len(row.content))
    texts = await sliced(_of_messages(rows, talks.of.a_turn))
    writes.append(search_index.advance(number, reached, rows[-1].seq))
    if texts:
        stated = {text.document for text in texts}
        writes.append(talks.of.unchanged(stream.id, [(row.seq, row.content) for row in rows if row.seq in stated]))
        writes += search_index.add(number, texts)
    await _commit(store, *writes)
    return False


def _of_messages(rows: Sequence[MessageRow], a_turn: int) -> Steps[list[IndexedText]]:
    texts: list[IndexedText] = []
    for row in rows:
        utterance = from_row(row)
        terms = yield from dialogue_acts.finding_facts(utterance)
        if is_indexed(utterance, terms):
            texts.append(indexed_message(utterance, terms, a_turn))
        yield
    return texts


# both


async def _tried(store: Store, of: int | str, work: Coroutine[Any, Any, None]) -> None:
    """Index one bank or stream; a fault is logged, so that others don't wait for this one."""
    began = perf_counter()
    try:
        await work
    except Exception as error:
        if not await store.writable():
            raise StoreUnavailable(str(error)) from error
        log.exception("%s can't be indexed", of)
    else:
        log.info("%s is indexed anew (%.1f s)", of, perf_counter() - began)


def _first(rows: list[T], chars: Callable[[T], int]) -> list[T]:
    """Return the first rows, up to the one that fills a batch."""
    total = 0
    for count, row in enumerate(rows, 1):
        total += chars(row)
        if total >= BATCH_CHARS:
            return rows[:count]
    return rows


async def _commit(store: Store, *writes: Write) -> None:
    await store.commit(Unit(writes, constraint_errors={ROWS: _Moved, FOREIGN_KEY: _Moved}))
