"""The full-text index: its rows match the texts after every kind of change, and its scores are those of BM25."""

import random
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from persistence import agents, banks, censoring, conversations, memories, search_index, users
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.memories import Choice, MemoryRow
from persistence.search_index import Collection, IndexedText
from persistence.store import FOREIGN_KEY, ROWS, Store, StoreUnavailable, Unit, Write
from persistence.users import UserRow
from tests.support.disk import open_store, rows, value
from tests.support.stored import traces
from tests.support.stores import postgres_only, sqlite_only

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "ada", "notes", None, "agent", 0, 0, 0, 11)
CHAT, CHATS = 7, 12
ZONE, ZONES = "zon_1", 13
K1, B = 1.3, 0.6
WORDS = [f"w{number}" for number in range(60)]
WEIGHTS = [1 / (number + 1) for number in range(60)]
TABLES = ("indexed_texts", "postings", "vocabulary")


class Refused(Exception):
    """The constraint of a test refused a unit."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store with a user, its agent, its bank (collection 11), a conversation (12) and a zone (13)."""
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(USER), agents.insert(AGENT), *banks.insert(BANK, "v1"))))
        await store.commit(Unit((conversations.begin(CHAT, "usr_1", "agt_1"),)))
        for sql in (
            "INSERT INTO domains (id, founder_id, name, name_key, description, access, created_at, updated_at)"
            " VALUES ('dom_1', 'agt_1', 'home', 'home', '', 'public', 0, 0)",
            f"INSERT INTO zones (id, domain_id, name, name_key, created_at) VALUES ('{ZONE}', 'dom_1', 'a', 'a', 0)",
        ):
            await store.commit(Unit((Write(sql, ()),)))
        begun = (search_index.begin_for_conversation(CHATS, CHAT, "v1"), search_index.begin_for_zone(ZONES, ZONE, "v1"))
        await store.commit(Unit(begun))
        yield store


def text(document: int, words: str | Sequence[str], whole: str = "", part: int | None = None) -> IndexedText:
    terms = words.split() if isinstance(words, str) else words
    return IndexedText(document, whole, document if part is None else part, terms)


async def add(store: Store, collection: int, *texts: IndexedText) -> None:
    await store.commit(Unit(search_index.add(collection, texts)))


async def keep(store: Store, place: int, words: str, author: str = "agt_1") -> None:
    """Store a memory and its rows in the index."""
    memory = MemoryRow(place, f"mem_{place}", f"memory {place}", words, author, "scout", "usr_1", 0, 0, 0)
    index = search_index.add(BANK.collection, [text(place, words)])
    await store.commit(Unit((memories.add("bnk_1", memory), *index)))


async def say(store: Store, seq: int, words: str) -> None:
    """Store a message in the conversation and in the zone, and its rows in the index."""
    message = (seq, f"msg_{seq}", "user", "ada", words, None, 0)
    zone = Write(
        "INSERT INTO zone_messages (zone_id, number, seq, id, role, name, content, sources, at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (ZONE, seq, *message),
    )
    indexes = (*search_index.add(CHATS, [text(seq, words)]), *search_index.add(ZONES, [text(seq, words)]))
    await store.commit(Unit((conversations.append(CHAT, *message), zone, *indexes)))


async def indexed(store: Store, collection: int) -> dict[int, dict[str, int]]:
    """Read the terms of each text, and require that vocabulary, texts and counts tell the same."""
    found: dict[int, dict[str, int]] = {}
    terms: Counter[str] = Counter()
    query = (
        "SELECT document, term, times, length FROM (SELECT vocabulary.term, document, times, length FROM vocabulary"
        " JOIN postings ON postings.term = vocabulary.number WHERE collection = ?) AS found"
    )
    lengths: dict[int, int] = {}
    for document, term, times, length in await rows(store, query, collection):
        found.setdefault(document, {})[term] = times
        lengths[document] = length
        terms[term] += 1
    counted = "SELECT term, documents FROM vocabulary WHERE collection = ?"
    assert dict(await rows(store, counted, collection)) == terms
    terms_of_text = "@sqlite(json_array_length(terms))@postgres(json_array_length(CAST(terms AS json)))"
    of_texts = f"SELECT document, length, {terms_of_text} FROM indexed_texts WHERE collection = ?"
    assert sorted(await rows(store, of_texts, collection)) == sorted(
        (document, lengths[document], len(found[document])) for document in found
    )
    totals = await rows(store, "SELECT texts, words FROM collections WHERE number = ?", collection)
    assert totals in ([], [(len(found), sum(lengths.values()))])
    return found


async def test_rows_match_the_texts_after_any_changes(store: Store):
    chance = random.Random(3)
    expected: dict[int, dict[int, dict[str, int]]] = {BANK.collection: {}, CHATS: {}}
    for _ in range(60):
        collection = chance.choice(list(expected))
        texts = expected[collection]
        if texts and chance.random() < 0.4:
            document = chance.choice(list(texts))
            await store.commit(Unit((search_index.remove(collection, document),)))
            del texts[document]
            continue
        some = [text(n, chance.choices(WORDS, WEIGHTS, k=chance.randint(0, 12))) for n in chance.sample(range(30), 4)]
        await add(store, collection, *some)
        for document, _, _, terms in some:
            texts.pop(document, None)
            assert not isinstance(terms, search_index.CountedTerms)
            if terms:
                texts[document] = dict(Counter(terms))
        assert await indexed(store, collection) == texts
    assert await indexed(store, CHATS) == expected[CHATS]


async def test_a_text_of_many_terms_is_found_by_its_first_ones(store: Store):
    await add(store, CHATS, text(1, [f"t{number}" for number in range(3_000)] * 2))
    known = await store.fetch(search_index.frequencies(CHATS, ["t0", "t1023", "t1024"]))
    assert sorted(term for term, *_ in known) == ["t0", "t1023"]
    assert await value(store, "SELECT words FROM collections WHERE number = ?", CHATS) == 6_000


@pytest.mark.parametrize("narrowed", [False, True])
async def test_the_best_are_those_of_bm25(store: Store, narrowed: bool):
    chance = random.Random(5)
    texts = {n: chance.choices(WORDS, WEIGHTS, k=chance.randint(1, 30)) for n in chance.sample(range(10_000), 400)}
    await add(store, CHATS, *(text(document, terms) for document, terms in texts.items()))
    await add(store, ZONES, *(text(document, WORDS) for document in range(20)))  # another collection's
    average = sum(map(len, texts.values())) / len(texts)
    for _ in range(60):
        words = chance.sample(WORDS, chance.randint(1, 8))
        numbers = {term: number for term, number, _ in await store.fetch(search_index.frequencies(CHATS, words))}
        weights = {term: chance.uniform(0.1, 5) for term in numbers}
        leading = dict(list(weights.items())[: chance.randint(1, len(weights))])
        newest = [chance.randint(1, 40) for _ in leading] if narrowed else None
        led: dict[int, float] = {}
        for place, (term, weight) in enumerate(leading.items()):
            having = sorted((document for document in texts if term in texts[document]), reverse=True)
            for document in having[: newest[place] if newest else None]:
                times = texts[document].count(term)
                led[document] = led.get(document, 0.0) + weight * times / (
                    times + K1 * (1 - B + B * len(texts[document]) / average)
                )
        best = sorted(led, key=lambda document: (-round(led[document], 9), -document))[:10]
        query = search_index.matches(
            CHATS,
            [(numbers[term], weight) for term, weight in leading.items()],
            list(numbers.values()),
            average,
            K1,
            B,
            10,
            newest=newest,
        )
        matches = await store.fetch(query)
        assert sorted(matches) == sorted(
            [(document, "", document, 0, 0, 0) for document in best]
            + [
                (document, "", document, number, texts[document].count(term), len(texts[document]))
                for document in best
                for term, number in numbers.items()
                if term in texts[document]
            ]
        )


async def test_terms_are_looked_up_in_one_collection_exactly(store: Store):
    await add(store, CHATS, text(1, "moon moonlight Moon möon"), text(2, "moon"))
    await add(store, ZONES, text(1, "moonstone sun"))
    known = await store.fetch(search_index.frequencies(CHATS, ["moon", "möon", "sun", "moonl"]))
    assert sorted((term, documents) for term, _, documents in known) == [("moon", 2), ("möon", 1)]
    begun = await store.fetch(search_index.relatives(CHATS, ["moon", "x"], 9))
    assert sorted((beginning, known.term) for beginning, known in begun) == [("moon", "moon"), ("moon", "moonlight")]
    assert len(await store.fetch(search_index.relatives(CHATS, ["moon"], 1))) == 1


async def test_parts_are_found_beside_the_texts_that_match(store: Store):
    places = [("x", 1), ("x", 2), ("x", 3), ("x", 3), ("x", 4), ("y", 1), ("y", 2), ("", 0), ("", 0)]
    texts = [
        text(number, "moon" if number in (1, 7) else "sun", whole, part) for number, (whole, part) in enumerate(places)
    ]
    await add(store, BANK.collection, *texts)
    await add(store, CHATS, *texts)
    ((_, moon, _),) = await store.fetch(search_index.frequencies(BANK.collection, ["moon"]))
    for before, after, expected in ((0, 0, {1}), (1, 0, {0, 1}), (1, 1, {0, 1, 2, 3}), (1, 2, {0, 1, 2, 3, 4})):
        query = search_index.matches(BANK.collection, [(moon, 1.0)], [moon], 1.0, K1, B, 9, before, after)
        matches = await store.fetch(query)
        assert {match.document for match in matches if match.term} == {1, 7}
        assert {match.document for match in matches if not match.term} == expected
        assert all((match.whole, match.part) == places[match.document] for match in matches)


async def test_a_mark_is_moved_by_one_of_two(store: Store):
    errors = {ROWS: Refused, FOREIGN_KEY: Refused}
    await store.commit(Unit((search_index.advance(CHATS, 0, 64),)))
    late = (search_index.advance(CHATS, 0, 64), *search_index.add(CHATS, [text(1, "late")]))
    with pytest.raises(Refused):
        await store.commit(Unit(late, constraint_errors=errors))
    assert await store.fetch(search_index.of_conversation(CHAT)) == [Collection(CHATS, "v1", 64, 0, 0)]
    again = (search_index.begin_for_conversation(99, CHAT, "v1"), search_index.advance(99, 0, 64))
    with pytest.raises(Refused):
        await store.commit(Unit(again, constraint_errors=errors))
    with pytest.raises(Refused):
        await store.commit(Unit(search_index.add(99, [text(1, "nowhere")]), constraint_errors=errors))
    assert await rows(store, "SELECT * FROM vocabulary") == []
    await store.commit(Unit((search_index.begin_anew(CHATS, "v1", 64, "v2"),)))
    assert await store.fetch(search_index.of_conversation(CHAT)) == [Collection(CHATS, "v2", 0, 0, 0)]
    with pytest.raises(Refused):
        await store.commit(Unit((search_index.begin_anew(CHATS, "v1", 64, "v2"),), constraint_errors=errors))


async def test_a_memory_goes_with_its_text(store: Store):
    for place in (1, 2, 3):
        await keep(store, place, f"the common word and number{place}")
    moon = MemoryRow(1, "mem_1", "memory 1", "moon", "agt_1", "scout", "usr_1", 0, 0, 0)
    await store.commit(Unit((memories.replace(moon), *search_index.add(BANK.collection, [text(1, "moon")]))))
    assert (await indexed(store, BANK.collection))[1] == {"moon": 1}
    await store.commit(Unit(censoring.censor("bnk_1", Choice("memory 2"), 1)))
    assert set(await indexed(store, BANK.collection)) == {1, 3}
    await store.commit(Unit(memories.remove("bnk_1", Choice("memory 3"))))
    assert await indexed(store, BANK.collection) == {1: {"moon": 1}}
    assert await rows(store, "SELECT term FROM vocabulary") == [("moon",)]


@pytest.mark.parametrize("all_go", [memories.remove("bnk_1", Choice()), censoring.censor("bnk_1", Choice(), 1)])
async def test_all_memories_go_at_once(store: Store, all_go: tuple[Write, ...]):
    for place in (1, 2, 3):
        await keep(store, place, f"word and number{place}")
        await say(store, place, f"word and number{place}")
    await store.commit(Unit(all_go))
    assert await indexed(store, BANK.collection) == {}
    assert len(await indexed(store, CHATS)) == 3
    await keep(store, 4, "word again")
    assert list(await indexed(store, BANK.collection)) == [4]


MANY = Choice(author_id="agt_1", many=True)


@pytest.mark.parametrize("act", [memories.remove("bnk_1", MANY), censoring.censor("bnk_1", MANY, 1)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
async def test_many_memories_go_as_if_one_by_one(store: Store, act: tuple[Write, ...], share: float):
    await store.commit(Unit((agents.insert(replace(AGENT, id="agt_2", name="other")),)))
    chance = random.Random(9)
    left: set[int] = set()
    for place in range(1, 61):
        author = "agt_1" if chance.random() < share else "agt_2"
        if author == "agt_2":
            left.add(place)
        await keep(store, place, " ".join(chance.choices(WORDS, WEIGHTS, k=12)), author)
        await say(store, place, f"word and number{place}")
    before = await indexed(store, BANK.collection)
    counts: list[int] = []
    await store.commit(Unit(act, then=lambda count: counts.append(count) or ()))
    assert await indexed(store, BANK.collection) == {place: before[place] for place in left}
    assert len(await indexed(store, CHATS)) == len(await indexed(store, ZONES)) == 60
    assert counts == [60 - len(left)]
    await keep(store, 61, "word again", "agt_2")
    assert set(await indexed(store, BANK.collection)) == left | {61}


@postgres_only
async def test_what_many_removed_texts_have_in_common_is_changed_once(store: Store):
    """Once for each text, each change would leave a version behind, through all of which the next would look."""
    of_each_row = (
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgtype & 1 = 1 AND tgtype & 8 = 8"
        " AND tgrelid IN (to_regclass('memories'), to_regclass('indexed_texts'))"
    )
    assert await rows(store, of_each_row) == []


@pytest.mark.parametrize(("table", "collection"), [("messages", CHATS), ("zone_messages", ZONES)])
async def test_a_message_goes_with_its_text(store: Store, table: str, collection: int):
    for seq in (1, 2, 3):
        await say(store, seq, f"word{seq}")
    await store.commit(Unit((Write(f"UPDATE {table} SET content = 'censored' WHERE seq = 2", ()),)))
    assert set(await indexed(store, collection)) == {1, 3}
    await store.commit(Unit((Write(f"DELETE FROM {table} WHERE seq = 3", ()),)))
    assert set(await indexed(store, collection)) == {1}
    other = ZONES if collection == CHATS else CHATS
    assert set(await indexed(store, other)) == {1, 2, 3}


@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("DELETE FROM banks", {CHATS, ZONES}),
        ("DELETE FROM conversations", {11, ZONES}),
        ("DELETE FROM zones", {11, CHATS}),
        ("DELETE FROM domains", {11, CHATS}),
        ("DELETE FROM agents", {11}),
        ("UPDATE agents SET destroyed_at = 1, owner_id = NULL; DELETE FROM users", {ZONES}),
    ],
)
async def test_a_collection_goes_with_what_it_is_of(store: Store, sql: str, left: set[int]):
    for number in (1, 2):
        await keep(store, number, f"memory{number} shared")
        await say(store, number, f"message{number} shared")
    await store.commit(Unit(tuple(Write(statement, ()) for statement in sql.split(";"))))
    assert {number for (number,) in await rows(store, "SELECT number FROM collections")} == left
    for collection in (11, CHATS, ZONES):
        assert len(await indexed(store, collection)) == (2 if collection in left else 0)
    terms = await value(store, "SELECT count(*) FROM postings")
    assert terms == 4 * len(left)


@sqlite_only
async def test_erased_terms_are_in_no_file(store: Store, tmp_path: Path):
    """Each page of the vocabulary's tables is split and merged often, so that terms move between pages."""
    chance = random.Random(7)
    hidden = [f"{chance.getrandbits(64):016x}xylophone" for _ in range(6_000)]
    for place, start in enumerate(range(0, len(hidden), 100), 1):
        await keep(
            store, place, " ".join(f"public{chance.getrandbits(40)} {word}" for word in hidden[start : start + 100])
        )
    await store.commit(Unit(censoring.censor("bnk_1", Choice(), 1)))
    assert await store.erase_deleted()
    assert await traces(tmp_path, "xylophone") == []


@sqlite_only
async def test_erasing_leaves_no_term_of_some_texts_among_others(store: Store, tmp_path: Path):
    chance = random.Random(8)
    for place in range(1, 61):
        kind = "xylophone" if place % 2 else "public"
        await keep(store, place, " ".join(f"{chance.getrandbits(64):016x}{kind}" for _ in range(100)))
        if place % 10 == 9:
            for odd in range(place - 8, place + 1, 2):
                await store.commit(Unit(censoring.censor("bnk_1", Choice(f"memory {odd}"), 1)))
    assert await store.erase_deleted()
    assert await traces(tmp_path, "public")
    assert await traces(tmp_path, "xylophone") == []


async def test_a_reader_of_a_gone_collection_finds_nothing(store: Store):
    await keep(store, 1, "moon")
    ((_, number, _),) = await store.fetch(search_index.frequencies(11, ["moon"]))
    await store.commit(Unit((banks.delete("bnk_1"),)))
    assert await store.fetch(search_index.matches(11, [(number, 1.0)], [number], 1.0, K1, B, 5)) == []
    with pytest.raises(StoreUnavailable):
        await add(store, 11, text(1, "moon"))
