"""The job that indexes stored texts anew: every text is found at every moment, also after a crash in the middle."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actors.banks.loading import indexed, memory_terms
from actors.banks.recall import recall
from actors.conversations.archive import Archive
from actors.conversations.reading import CONVERSATION, read_window
from actors.engines.message import A_PRIVATE_TURN
from actors.engines.window import CAPACITY, Window
from actors.jobs import indexing
from actors.jobs.indexing import index_banks, index_talks
from actors.retrieval.question import Question
from actors.retrieval.stored import search
from actors.slices import whole
from actors.text import tokenizer
from persistence import agents, banks, censoring, conversations, memories, search_index, users, zones
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.memories import Choice, MemoryRow
from persistence.search_index import DONE
from persistence.store import Store, StoreUnavailable, Unit, Write
from persistence.users import UserRow
from tests.support.disk import Disk, open_store, rows, value
from tests.support.stored import traces
from tests.support.stores import sqlite_only

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 11)
MEMORIES = 300
CHAT, ZONE = 7, "zon_1"
MESSAGES = 3_000


def animal(number: int) -> str:
    """Return a word that one text has; stems leave it as it is."""
    return "zeb" + "".join("bcdfghklmn"[int(digit)] + "u" for digit in f"{number:04}")


def memory(place: int, text: str) -> MemoryRow:
    return MemoryRow(place, f"mem_{place}", f"note {place}", text, "agt_1", "scout", "usr_1", 0, 0, 0)


def text_of(place: int) -> str:
    return f"The {animal(place)} lives in the enclosures of the park, beside the aviary"


async def before(store: Store) -> None:
    """Store a bank of memories as 0.2.0 did."""
    await store.commit(Unit((users.insert(USER), agents.insert(AGENT), *banks.insert(BANK, ""))))
    writes = [Write("UPDATE collections SET reached = 0", ())]
    for place in range(1, MEMORIES + 1):
        words = f"note {place} note {place} {animal(place)} live enclosure park beside aviary"
        tokens = " ".join(f"1z{word}" for word in words.split())
        writes.append(memories.add("bnk_1", memory(place, text_of(place))))
        if store.has_index_of_0_2_0:
            writes.append(Write("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (place, tokens)))
    await store.commit(Unit(tuple(writes)))


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large batches, for tests that wait until all messages are indexed."""
    monkeypatch.setattr(indexing, "BATCH", 100)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store of 0.2.0's time: a bank of memories in the old index, a long conversation and a long zone in none."""
    async with open_store(tmp_path) as store:
        await before(store)
        zone = (
            "INSERT INTO domains (id, founder_id, name, name_key, description, access, created_at, updated_at)"
            " VALUES ('dom_1', 'agt_1', 'home', 'home', '', 'public', 0, 0)",
            f"INSERT INTO zones (id, domain_id, name, name_key, created_at) VALUES ('{ZONE}', 'dom_1', 'a', 'a', 0)",
        )
        await store.commit(Unit((*(Write(sql, ()) for sql in zone), conversations.begin(CHAT, "usr_1", "agt_1"))))
        writes: list[Write] = []
        for seq in range(1, MESSAGES + 1):
            said = "Did you feed the" if seq % 4 == 1 else "I fed the"
            content = f"{said} {animal(seq)}{'?' if seq % 4 == 1 else '.'}" if seq % 2 else "Good to know."
            message = (seq, f"msg_{seq}", "user" if seq % 2 else "agent", "ada", content, None, 0)
            writes += (conversations.append(CHAT, *message), zones.append(ZONE, seq, *message))
        await store.commit(Unit(tuple(writes)))
        yield store


async def found(store: Store, query: str) -> list[int]:
    (bank,) = await store.fetch(banks.by_id("bnk_1"))
    return [recalled.memory.position for recalled in await recall(store, bank, query, 5)]


async def in_both_indexes(store: Store) -> tuple[int, int]:
    counts = "(SELECT count(*) FROM memory_terms), (SELECT count(*) FROM indexed_texts WHERE collection = 11)"
    ((old, new),) = await rows(store, f"SELECT {counts}")
    return old, new


async def is_in_one_index(store: Store) -> bool:
    """Return whether each memory is in exactly one index, by one read."""
    query = (
        "SELECT count(*) FROM memories WHERE (place IN (SELECT rowid FROM memory_terms))"
        " + (place IN (SELECT document FROM indexed_texts WHERE collection = 11)) <> 1"
    )
    return await value(store, query) == 0


@sqlite_only
async def test_memories_are_found_while_they_move_and_after_a_crash(store: Store):
    assert await in_both_indexes(store) == (MEMORIES, 0)
    moving = asyncio.create_task(index_banks(store))
    looked, place = 0, 0
    while (await in_both_indexes(store))[0] > MEMORIES // 2:
        place = (place + 7) % MEMORIES + 1
        assert (await found(store, f"Where does the {animal(place)} live?"))[0] == place
        assert await is_in_one_index(store)
        looked += 1
    moving.cancel()  # as a crash would, between two units
    with contextlib.suppress(asyncio.CancelledError):
        await moving
    old, new = await in_both_indexes(store)
    assert old + new == MEMORIES
    assert old > 0
    assert looked > 3
    for place in (1, MEMORIES // 2, MEMORIES):
        assert (await found(store, f"Where does the {animal(place)} live?"))[0] == place
    await index_banks(store)
    assert await in_both_indexes(store) == (0, MEMORIES)
    (collection,) = await store.fetch(search_index.of_bank("bnk_1"))
    assert collection.version == tokenizer.VERSION
    assert collection.reached == DONE
    assert collection.texts == MEMORIES
    for place in range(1, MEMORIES + 1):
        assert (await found(store, f"Where does the {animal(place)} live?"))[0] == place


@sqlite_only
async def test_both_indexes_rank_alike_while_a_bank_moves(store: Store):
    """A memory that has more of the question's words is first, whichever index has it."""
    await store.commit(Unit((Write("UPDATE collections SET version = ?", (tokenizer.VERSION,)),)))
    (collection,) = await store.fetch(search_index.of_bank("bnk_1"))
    await indexing._index_some(store, "bnk_1", collection)  # pyright: ignore[reportPrivateUsage]
    old, new = await in_both_indexes(store)
    assert 0 < new < old
    here, there = animal(1), animal(MEMORIES)
    assert (await found(store, f"{here} note {MEMORIES} {there}"))[0] == MEMORIES
    assert (await found(store, f"{here} note 1 {there}"))[0] == 1
    assert set((await found(store, f"{here} {there}"))[:2]) == {1, MEMORIES}


@sqlite_only
async def test_what_changes_while_a_bank_moves_is_found_by_its_new_words_only(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    real = indexing.sliced
    changes = [
        (memories.replace(memory(1, "A giraffe")), *_index(memory(1, "A giraffe"))),
        censoring.censor("bnk_1", Choice("note 2"), 1),
        memories.remove("bnk_1", Choice("note 3")),
        (memories.add("bnk_1", memory(9_000, "An okapi")), *_index(memory(9_000, "An okapi"))),
    ]

    async def changing(steps):  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType]
        result = await real(steps)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if changes:
            await store.commit(Unit(tuple(changes.pop(0))))  # after the texts were read, before the unit
        return result  # pyright: ignore[reportUnknownVariableType]

    monkeypatch.setattr(indexing, "sliced", changing)  # pyright: ignore[reportUnknownArgumentType]
    await index_banks(store)
    assert not changes
    assert await in_both_indexes(store) == (0, MEMORIES - 1)
    assert await found(store, "giraffe") == [1]
    assert await found(store, "okapi") == [9_000]
    for place in (1, 2, 3):
        assert await rows(store, "SELECT 1 FROM vocabulary WHERE term = ?", animal(place)) == []
    assert await found(store, animal(4)) == [4]


def _index(row: MemoryRow) -> tuple[Write, ...]:
    return search_index.add(BANK.collection, [indexed(row, whole(memory_terms(row.name, row.text or "")))])


@sqlite_only
@pytest.mark.parametrize("moved", [False, True])
async def test_words_of_memories_stored_before_are_erased_from_both_indexes(store: Store, tmp_path: Path, moved: bool):
    if moved:
        await index_banks(store)
    assert await traces(tmp_path, text_of(1))
    assert await traces(tmp_path, animal(1))
    await store.commit(Unit((Write("DELETE FROM conversations", ()), Write("DELETE FROM zones", ()))))
    await store.commit(Unit(censoring.censor("bnk_1", Choice(), 1)))
    assert await store.erase_deleted()
    for place in (1, 2, 150, MEMORIES):
        assert await traces(tmp_path, animal(place)) == []


@pytest.mark.usefixtures("fast")
async def test_another_version_of_the_tokenizer_has_all_indexed_anew(store: Store, monkeypatch: pytest.MonkeyPatch):
    await index_banks(store)
    await index_talks(store)
    before = await value(store, "SELECT count(*) FROM postings")
    monkeypatch.setattr(tokenizer, "VERSION", "another")
    monkeypatch.setattr(indexing, "memory_terms", lambda name, text: _shouted(text))
    await index_banks(store)
    await index_talks(store)
    assert await rows(store, "SELECT DISTINCT version FROM collections") == [("another",)]
    of_bank = "SELECT count(*) FROM postings JOIN vocabulary ON vocabulary.number = postings.term WHERE collection = 11"
    assert await value(store, of_bank) == MEMORIES
    assert await value(store, "SELECT count(*) FROM vocabulary WHERE collection = 11 AND term = ?", "PARK") == 1
    assert await value(store, "SELECT count(*) FROM postings") < before


def _shouted(text: str):  # pyright: ignore[reportUnknownParameterType]
    assert text
    yield
    return ("PARK",)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("of", [search_index.of_conversation(CHAT), search_index.of_zone(ZONE)])
async def test_a_long_conversation_stored_before_gets_its_index(store: Store, of):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType]
    job = asyncio.create_task(index_talks(store))
    while not (known := await store.fetch(of)) or known[0].reached < 500:  # pyright: ignore[reportUnknownArgumentType]
        await asyncio.sleep(0.005)
    job.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await job
    await index_talks(store)
    (collection,) = await store.fetch(of)  # pyright: ignore[reportUnknownArgumentType]
    assert collection.reached == MESSAGES - CAPACITY
    stated = [seq for seq in range(1, collection.reached + 1) if seq % 4 == 3]  # others ask, or only are polite
    for seq in (3, 1_003, stated[-1]):
        assert [hit.document for hit in await store.read(search(collection, Question([animal(seq)]), 1))] == [seq]
    asked, newest = animal(1), animal(MESSAGES - 1)
    assert await store.fetch(search_index.frequencies(collection.number, [asked, newest])) == []
    assert collection.texts >= len(stated)
    await index_talks(store)
    assert await store.fetch(of) == [collection]  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.usefixtures("fast")
async def test_the_job_and_the_actor_never_index_a_message_twice(store: Store):
    """The actor moves the mark while the job has read its messages."""
    job = asyncio.create_task(index_talks(store))
    moved = 0
    while not job.done() and moved < 20:
        for collection in await store.fetch(search_index.of_conversation(CHAT)):
            text = search_index.IndexedText(collection.reached + 1, "", collection.reached + 1, ["okapi"])
            unit = (
                search_index.advance(collection.number, collection.reached, collection.reached + 1),
                *search_index.add(collection.number, [text]),
            )
            with contextlib.suppress(KeyError):
                await store.commit(Unit(unit, constraint_errors={"rows": KeyError}))
                moved += 1
        await asyncio.sleep(0.003)
    await job
    assert moved > 2
    (collection,) = await store.fetch(search_index.of_conversation(CHAT))
    assert collection.reached == MESSAGES - CAPACITY
    ((_, _, okapis),) = await store.fetch(search_index.frequencies(collection.number, ["okapi"]))
    assert okapis == moved  # the job wrote over none of them


@pytest.mark.usefixtures("fast")
async def test_an_actor_goes_on_where_the_job_has_indexed_all_that_left_its_window(
    store: Store, caplog: pytest.LogCaptureFixture
):
    newest = await read_window(store, CONVERSATION, CHAT, MESSAGES)
    window = Window(newest.messages, keeps_left=True, a_turn=A_PRIVATE_TURN)
    actors = Archive(store, CONVERSATION, CHAT, window, newest.collection)
    await index_talks(store)
    assert window.left
    actors.tend()
    while task := actors.indexing:
        await task
    assert not window.left
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_fault_while_the_store_takes_no_writes_does_not_end_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    disk = Disk()
    async with open_store(tmp_path, disk) as store:
        await before(store)
        await store.commit(Unit((Write("UPDATE collections SET version = ?", (tokenizer.VERSION,)),)))
        disk.fail_next(1_000)
        monkeypatch.setattr(indexing, "memory_terms", _faulty)
        with pytest.raises(StoreUnavailable):  # which the job survives
            await index_banks(store)
        disk.fail_next(0)


def _faulty(name: str, text: str):  # pyright: ignore[reportUnknownParameterType]
    yield
    raise ValueError(f"{name} can't be read: {text}")
