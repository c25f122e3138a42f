"""The rows of banks: index and counts match the memories after every kind of change."""

import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from actors.banks.loading import indexed, memory_terms
from actors.banks.recall import recall
from actors.calls.call import Answer
from actors.conversations.stored import CensoredMeanwhile, censored_meanwhile
from actors.idempotency.records import IdempotencyKey, Rendered
from actors.retrieval import stored
from actors.retrieval.question import Question
from actors.sealing import Sealer
from actors.slices import whole
from actors.text import tokenizer
from persistence import agents, banks, censoring, conversations, domains, memories, quotes, search_index, users, zones
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.dialect import SQLITE
from persistence.domains import DomainRow, ZoneRow
from persistence.memories import Choice, MemoryRow
from persistence.store import Store, Unit, Write
from persistence.users import UserRow
from tests.support.disk import open_store, rows, value
from tests.support.stored import traces
from tests.support.stores import sqlite_only

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 1)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store with a user, its agent and its bank."""
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(USER), agents.insert(AGENT), *banks.insert(BANK, tokenizer.VERSION))))
        await store.commit(Unit((banks.attach("bnk_1", "agt_1", "admin", 0), conversations.begin(7, "usr_1", "agt_1"))))
        yield store


async def keep(store: Store, place: int, name: str, text: str) -> None:
    memory = MemoryRow(place, f"mem_{place}", name, text, "agt_1", "scout", "usr_1", 0, 0, 0)
    index = search_index.add(1, [indexed(memory, whole(memory_terms(name, text)))])
    await store.commit(Unit((memories.add("bnk_1", memory), *index)))


async def found(store: Store, query: str) -> list[str]:
    (bank,) = await store.fetch(banks.by_id("bnk_1"))
    return [recalled.memory.name for recalled in await recall(store, bank, query, 5)]


async def test_a_bank_counts_its_memories(store: Store):
    for place in range(1, 4):
        await keep(store, place, f"memory {place}", "text")
    await store.commit(Unit(memories.remove("bnk_1", Choice(name="memory 2"))))
    assert await value(store, "SELECT memories FROM banks") == 2


async def test_the_index_goes_with_the_rows_by_every_path(store: Store):
    for remove in (
        memories.remove("bnk_1", Choice())[-1],
        censoring.censor("bnk_1", Choice(), 1)[-1],
        banks.delete("bnk_1"),
        users.delete("usr_1"),
    ):
        if not await rows(store, "SELECT 1 FROM banks"):
            await store.commit(Unit(banks.insert(BANK, tokenizer.VERSION)))
        place = 1 + await value(store, "SELECT count(*) FROM memories")
        await keep(store, place, f"memory {place}", "An uncommon xylophone")
        assert await value(store, "SELECT count(*) FROM indexed_texts") == 1
        await store.commit(
            Unit(agents.destroy_all_of("usr_1", 1) if remove.sql.startswith("DELETE FROM users") else ())
        )
        await store.commit(Unit((remove,)))
        for table in ("indexed_texts", "postings", "vocabulary"):
            assert await rows(store, f"SELECT * FROM {table}") == []


async def test_a_word_that_no_memory_has_finds_its_relatives(store: Store):
    await keep(store, 1, "station", "Die Bahnhofsuhr geht vor.")
    await keep(store, 2, "harbour", "Der Hafen ist zu.")
    assert await found(store, "Bahnhofsuhren") == ["station"]
    assert await found(store, "Hafenrundfahrt") == ["harbour"]


async def test_common_terms_that_never_meet_still_find_something(store: Store):
    for place in range(1, 7):
        await keep(store, place, f"note {place}", "apples" if place % 2 else "pears")
    (collection,) = await store.fetch(search_index.of_bank("bnk_1"))
    question = Question(whole(tokenizer.reading("apples pears")))
    assert await store.read(stored.ranked(collection, question, 5, postings=1)) != []


async def test_a_message_can_t_quote_what_was_censored_meanwhile(store: Store):
    await keep(store, 1, "moon", "384,400 km")
    said = conversations.append(7, 1, "msg_1", "agent", "scout", "384,400 km", None, 0)
    await store.commit(Unit(censoring.censor("bnk_1", Choice(name="moon"), 1)))
    constraint_errors = {quotes.CENSORED: censored_meanwhile}
    with pytest.raises(CensoredMeanwhile):
        await store.commit(Unit((said, quotes.quote(1, 7, 1, 0)), (), constraint_errors))
    assert await rows(store, "SELECT * FROM messages") == []


async def test_a_message_can_t_repeat_what_was_censored_meanwhile(store: Store):
    await keep(store, 1, "moon", "384,400 km")
    said = conversations.append(7, 1, "msg_1", "agent", "scout", "384,400 km", None, 0)
    await store.commit(Unit((said, quotes.quote(1, 7, 1, 0, whole=True))))
    await store.commit(Unit(censoring.censor("bnk_1", Choice(name="moon"), 10)))
    again = conversations.append(7, 2, "msg_2", "agent", "scout", "384,400 km", None, 0)
    constraint_errors = {quotes.CENSORED: censored_meanwhile}
    with pytest.raises(CensoredMeanwhile):
        await store.commit(Unit((again, quotes.echo(7, [1], 2, 10)), (), constraint_errors))
    await store.commit(Unit((again, quotes.echo(7, [1], 2, 11)), (), constraint_errors))


async def test_a_message_in_a_zone_can_t_quote_or_repeat_what_was_censored_meanwhile(store: Store):
    await keep(store, 1, "moon", "384,400 km")
    domain = DomainRow("dom_1", "usr_1", "ada", "agt_1", "scout", "harbour", "", None, "agent", 0, 0)
    lobby = domains.insert_zone("dom_1", ZoneRow("zon_1", "lobby", 0))
    said = zones.append("zon_1", 1, 1, "msg_1", "agent", "scout", "384,400 km", None, 0, "agt_1")
    quoting = quotes.quote_in_zone(1, "zon_1", 1, 0, whole=True)
    await store.commit(Unit((domains.insert(domain), lobby, said, quoting)))
    await store.commit(Unit(censoring.censor("bnk_1", Choice(name="moon"), 10)))
    constraint_errors = {quotes.CENSORED_IN_ZONE: censored_meanwhile}
    for note in (quotes.quote_in_zone(1, "zon_1", 2, 0), quotes.echo_in_zone("zon_1", [1], 2, 10)):
        with pytest.raises(CensoredMeanwhile):
            await store.commit(Unit((note,), (), constraint_errors))


async def test_a_message_may_quote_what_was_removed_meanwhile(store: Store):
    await keep(store, 1, "moon", "384,400 km")
    said = conversations.append(7, 1, "msg_1", "agent", "scout", "384,400 km", None, 0)
    await store.commit(Unit(memories.remove("bnk_1", Choice(name="moon"))))
    await store.commit(Unit((said, quotes.quote(1, 7, 1, 0))))
    assert await rows(store, "SELECT content FROM messages") == [("384,400 km",)]


async def test_an_imported_message_that_quotes_what_was_censored_meanwhile_is_redacted(store: Store):
    for place, name in ((1, "moon"), (2, "sun"), (3, "star")):
        await keep(store, place, name, f"The {name} is far away.")
    await store.commit(Unit(censoring.censor("bnk_1", Choice(name="moon"), 1)))
    await store.commit(Unit(memories.remove("bnk_1", Choice(name="star"))))
    for memory in (1, 2, 3):
        text = f"Memory {memory} is far away."
        said = conversations.append_marked(
            7, memory, f"msg_{memory}", "agent", "scout", text, None, 0, "imported", None
        )
        await store.commit(Unit((said, *quotes.quote_imported(memory, 7, memory, censoring.REDACTED))))
    texts = "SELECT content FROM messages ORDER BY seq"
    assert await rows(store, texts) == [("[censored]",), ("Memory 2 is far away.",), ("Memory 3 is far away.",)]
    await store.commit(Unit(censoring.censor("bnk_1", Choice(name="sun"), 2)))
    assert await rows(store, texts) == [("[censored]",), ("[censored]",), ("Memory 3 is far away.",)]


async def test_an_answer_isn_t_kept_with_what_was_censored_while_it_was_made(store: Store):
    for place, name in ((1, "moon"), (2, "sun"), (3, "star")):
        await keep(store, place, name, f"The {name} is far away.")
    await store.commit(Unit(censoring.censor("bnk_1", Choice(name="moon"), 1)))
    await store.commit(Unit(memories.remove("bnk_1", Choice(name="star"))))
    for number, quoted in enumerate(((1, 2), (2, 1), (2, 3))):
        key = IdempotencyKey("ses_1", "usr_1", bytes([number]) * 32, bytes(32), Sealer(bytes(32)), lambda: 5)
        await store.commit(Unit(tuple(key.keep(Rendered(200, b"far away"), Answer(quoted=quoted)))))
    kept = await rows(store, "SELECT status, answer IS NULL FROM kept_answers ORDER BY key_hash")
    assert kept == [(200, 1), (200, 1), (200, 0)]


async def test_every_quote_of_a_message_is_redacted(store: Store):
    await keep(store, 1, "moon", "384,400 km")
    await keep(store, 2, "sun", "150 million km")
    sources = (
        '[{"bank":"notes","name":"moon","quote":"384,400 km"},{"profile":"scout","id":"agt_1","quote":"kept"},'
        '{"bank":"notes","name":"sun","quote":"150 million km"}]'
    )
    said = conversations.append(7, 1, "msg_1", "agent", "scout", "384,400 km, kept, 150 million km", sources, 0)
    await store.commit(Unit((said, quotes.quote(1, 7, 1, 0), quotes.quote(2, 7, 1, 2))))
    await store.commit(Unit(censoring.censor("bnk_1", Choice(), 1)))
    ((content, kept),) = await rows(store, "SELECT content, sources FROM messages")
    assert content == "[censored], kept, [censored]"
    assert kept.count("[censored]") == 2
    assert "km" not in kept
    assert await value(store, "SELECT due FROM erasure") == 1


async def test_the_last_write_of_a_censoring_touches_the_memories_that_it_takes(store: Store):
    for place in (1, 2, 3):
        await keep(store, place, f"memory {place}", "text")
    await store.commit(Unit(censoring.censor("bnk_1", Choice("memory 1"), 1)))
    counts: list[int] = []

    def then(touched: int) -> tuple[Write, ...]:
        counts.append(touched)
        return ()

    for choice in (Choice(owner_id="usr_2"), Choice(owner_id="usr_1"), Choice()):
        await store.commit(Unit(censoring.censor("bnk_1", choice, 1), then=then))
    assert counts == [0, 2, 0]


@sqlite_only
@pytest.mark.parametrize(
    "choice", [Choice("memory 1"), Choice("memory 1", "agt_1"), Choice("memory 1", "agt_1", "usr_1")]
)
@pytest.mark.usefixtures("store")
def test_what_a_name_means_is_found_without_reading_the_whole_bank(tmp_path: Path, choice: Choice):
    statements = [
        memories.replaced_by("bnk_1", "memory 1", ["memory 1/1"]),
        memories.are_replaced("bnk_1", "memory 1", [], 1),
        *memories.remove("bnk_1", choice),
        censoring.quoted_by("bnk_1", choice),
        *censoring.censor("bnk_1", choice, 1),
    ]
    with closing(sqlite3.connect(tmp_path / "test.db")) as database:
        database.execute("SELECT * FROM memory_terms").fetchall()  # a virtual table is connected at its first use
        for statement in statements:
            plan = database.execute(f"EXPLAIN QUERY PLAN {SQLITE.text(statement.sql)}", statement.params).fetchall()
            read = [step for *_, step in plan if re.match("(SCAN|SEARCH) memories ", step)]
            assert not any("SCAN" in step or "(bank_id=?)" in step for step in read), (statement.sql, read)


@sqlite_only
async def test_deleted_memories_are_erased_from_all_files_of_the_store(store: Store, tmp_path: Path):
    await keep(store, 1, "moon", "The xylophone is far away.")
    await keep(store, 2, "sun", "The glockenspiel is near.")
    assert await traces(tmp_path, "xylophone")
    await store.commit(Unit(censoring.censor("bnk_1", Choice("moon"), 1)))
    await store.commit(Unit(memories.remove("bnk_1", Choice("sun"))))
    assert await store.erase_deleted()
    assert await traces(tmp_path, "xylophone") == []
    assert await traces(tmp_path, "glockenspiel") == []
