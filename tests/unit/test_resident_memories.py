"""The memories of banks in use: in memory they equal the store, whatever changes meanwhile, and they are bounded."""

import asyncio
import gc
import multiprocessing
import random
import tracemalloc
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from actors.banks import resident
from actors.banks.loading import indexed, memory_terms
from actors.banks.messages import RecalledMemory
from actors.banks.recall import recall_for
from actors.banks.resident import ResidentMemories, Residents
from actors.retrieval.question import Question
from actors.slices import whole
from actors.text import tokenizer
from persistence import agents, banks, censoring, memories, search_index, users
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.memories import Choice, MemoryRow
from persistence.store import Query, Store, StoreUnavailable, Unit
from persistence.users import UserRow
from tests.support.disk import open_store

USER = UserRow("usr_1", "ada", None, None, "hash", "free", None, 0)
AGENT = AgentRow("agt_1", "usr_1", "ada", "scout", "", None, "agent", True, 0, 0)
WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "tu", "ren", "bos") for b in ("dan", "fil", "gor", "hup", "jat")]


class Reads:
    """The reads of a store; while held, they have read but do not return yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._free = asyncio.Event()
        self._free.set()
        self.fails = False

    async def fetch(self, query: Query[Any]) -> list[Any]:
        if self.fails:
            raise StoreUnavailable("unreadable")
        rows = await self._store.fetch(query)
        await self._free.wait()
        return rows

    def hold(self) -> None:
        self._free.clear()

    def let_go(self) -> None:
        self._free.set()


class Bank:
    """A stored bank, and its memories in memory; changes are reported as the bank's actor does, after their commit."""

    def __init__(self, store: Store, residents: Residents, number: int = 1) -> None:
        self.store, self.residents = store, residents
        self.reads = Reads(store)
        self.id, self.collection = f"bnk_{number}", number
        self.number = number
        self.next = number * 1_000_000
        self.names: dict[str, int] = {}
        self.resident = ResidentMemories(self.id, cast(Store, self.reads), residents)

    async def begin(self) -> "Bank":
        row = BankRow(self.number, self.id, "usr_1", "ada", f"notes-{self.id}", None, "agent", 0, 0, 0, self.collection)
        await self.store.commit(Unit(banks.insert(row, tokenizer.VERSION)))
        return self

    async def row(self) -> BankRow:
        (row,) = await self.store.fetch(banks.by_id(self.id))
        return row

    async def load(self, name: str, text: str) -> None:
        """Load a memory, or replace the one of its name."""
        position = self.names.get(name)
        memory = self._memory(position or self.next, name, text)
        write = memories.replace(memory) if position else memories.add(self.id, memory)
        texts = [indexed(memory, whole(memory_terms(name, text)))]
        await self.store.commit(Unit((write, *search_index.add(self.collection, texts))))
        if position is None:
            self.names[name] = self.next
            self.next += 1
        self.resident.loaded([memory.position])

    async def load_all(self, texts: list[str]) -> None:
        made = [self._memory(self.next + place, f"memory {place}", text) for place, text in enumerate(texts)]
        writes = [memories.add(self.id, memory) for memory in made]
        index = search_index.add(self.collection, [indexed(m, whole(memory_terms(m.name, m.text or ""))) for m in made])
        await self.store.commit(Unit((*writes, *index)))
        self.next += len(made)
        self.names |= {memory.name: memory.position for memory in made}

    def _memory(self, position: int, name: str, text: str) -> MemoryRow:
        return MemoryRow(position, f"mem_{position:032x}", name, text, "agt_1", "scout", "usr_1", 0, 0, 0)

    async def remove(self, name: str) -> None:
        await self.store.commit(Unit(memories.remove(self.id, Choice(name))))
        del self.names[name]
        self.resident.removed()

    async def censor(self, name: str) -> None:
        await self.store.commit(Unit(censoring.censor(self.id, Choice(name), 1)))
        del self.names[name]
        self.resident.removed()

    async def from_memory(self, *terms: str, limit: int = 10) -> tuple[RecalledMemory, ...] | None:
        return self.resident.recall(await self.row(), Question(terms), limit)

    async def from_store(self, *terms: str, limit: int = 10) -> tuple[RecalledMemory, ...]:
        return await recall_for(self.store, await self.row(), " ".join(terms), terms, limit)

    async def settled(self) -> None:
        """Wait until memory equals the store."""
        async with asyncio.timeout(30):
            while self.resident.reading:
                await asyncio.sleep(0.001)

    async def kept(self) -> "Bank":
        """Recall once, and wait until the memories are read."""
        assert await self.from_memory("x") is None
        await self.settled()
        return self


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(tmp_path) as store:
        await store.commit(Unit((users.insert(USER), agents.insert(AGENT))))
        yield store


@pytest.fixture
async def residents() -> AsyncIterator[Residents]:
    residents = Residents()
    yield residents
    residents.close()


@pytest.fixture
async def bank(store: Store, residents: Residents) -> Bank:
    return await Bank(store, residents).begin()


def shown(found: tuple[RecalledMemory, ...] | None) -> list[tuple[str, str | None, float, float, bool]]:
    assert found is not None
    return [(one.memory.name, one.memory.text, one.score, round(one.share, 6), one.answers) for one in found]


async def test_the_first_recall_reads_the_memories_and_later_ones_need_no_store(bank: Bank):
    await bank.load_all(["The moon is far.", "The sun is hot."])
    assert await bank.from_memory("moon") is None
    assert bank.resident.reading
    await bank.settled()
    bank.reads.fails = True
    assert [one.memory.text for one in await bank.from_memory("moon") or ()] == ["The moon is far."]


async def test_memories_that_cannot_be_read_are_asked_for_again(bank: Bank):
    await bank.load_all(["The moon is far."])
    bank.reads.fails = True
    assert await bank.from_memory("moon") is None
    await bank.settled()
    bank.reads.fails = False
    assert await bank.from_memory("moon") is None
    await bank.settled()
    assert len(await bank.from_memory("moon") or ()) == 1


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(5, 12))])
async def test_memory_ranks_as_the_store_whatever_changes_while_it_is_read(bank: Bank, seed: int):
    """Reads are held and let go at random, so changes come before, while and after what they concern is read."""
    chance = random.Random(seed)

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(1, 12)))

    names = [*(f"note {number}" for number in range(20)), *(f"talk/{number}" for number in range(1, 30))]

    await bank.load_all([text() for _ in range(150)])
    compared = 0
    for _ in range(150):
        chance.choice((bank.reads.hold, bank.reads.let_go))()
        match chance.randint(0, 9):
            case 0 | 1 | 2:
                await bank.load(chance.choice(names), text())
            case 3:
                await bank.remove(chance.choice(list(bank.names)))
            case 4:
                await bank.censor(censored := chance.choice(list(bank.names)))
                names = [name for name in names if name != censored]
            case 5:
                bank.reads.let_go()
                await bank.settled()
            case _:
                asked = chance.sample(WORDS, chance.randint(1, 4))
                found = await bank.from_memory(*asked)
                if found is not None:
                    compared += 1
                    assert shown(found) == shown(await bank.from_store(*asked))
    bank.reads.let_go()
    await bank.settled()
    for word in WORDS:
        assert shown(await bank.from_memory(word)) == shown(await bank.from_store(word))
    assert compared
    assert bank.residents.total_bytes > 0
    bank.resident.drop()
    assert bank.residents.total_bytes == 0


async def test_what_is_censored_while_it_is_read_is_not_recalled(bank: Bank):
    await bank.load_all(["The xylophone is in the attic."])
    bank.reads.hold()
    assert await bank.from_memory("xylophon") is None
    await asyncio.sleep(0.05)  # the memory has been read by now, with its text
    await bank.censor("memory 0")
    bank.reads.let_go()
    await bank.settled()
    assert await bank.from_memory("xylophon") == ()


async def test_while_a_change_is_read_the_store_answers(bank: Bank):
    await bank.load_all(["The moon is far."])
    await bank.kept()
    bank.reads.hold()
    for change in (bank.load("sun", "The sun is hot."), bank.censor("sun"), bank.remove("memory 0")):
        await change
        assert await bank.from_memory("moon") is None
    bank.reads.let_go()
    await bank.settled()
    assert await bank.from_memory("moon") == ()


async def test_a_bank_that_loses_most_of_its_memories_is_read_again(bank: Bank):
    await bank.load_all(["The moon is far."] * 100)
    await bank.kept()
    await bank.store.commit(Unit(memories.remove(bank.id, Choice())))
    await bank.load_all(["The sun is hot."])
    bank.resident.removed()
    await bank.settled()
    assert (len(bank.resident), bank.residents.total_bytes, len(bank.residents)) == (0, 0, 0)
    await bank.kept()
    assert [one.memory.text for one in await bank.from_memory("sun") or ()] == ["The sun is hot."]


async def test_a_bank_of_too_many_memories_stays_in_the_store(bank: Bank, monkeypatch: pytest.MonkeyPatch):
    assert resident.MAX_MEMORIES == 5_000
    await bank.load_all(["Moon"] * 5_000)
    await bank.kept()
    assert len(bank.resident) == 5_000
    await bank.load("one more", "Moon")
    await bank.settled()
    assert len(bank.resident) == 0
    assert await bank.from_memory("moon") is None
    assert not bank.resident.reading
    await bank.remove("one more")
    assert await bank.from_memory("moon") is None
    assert bank.resident.reading
    await bank.settled()
    assert len(bank.resident) == 5_000


async def test_a_bank_of_long_texts_stays_in_the_store(bank: Bank):
    await bank.load_all(["moon " * 6_000] * 70)
    await bank.kept()
    assert len(bank.resident) == 0
    assert await bank.from_memory("moon") is None
    assert not bank.resident.reading
    await bank.remove("memory 1")  # from now on it may be small enough
    assert await bank.from_memory("moon") is None
    assert bank.resident.reading
    await bank.settled()


async def test_memories_are_dropped_when_nobody_recalls(store: Store):
    now = 0.0
    residents = Residents(ticks=lambda: now)
    used, idle = [await (await Bank(store, residents, number).begin()).kept() for number in (1, 2)]
    for bank in (used, idle):
        await bank.load("moon", "The moon is far.")
        await bank.settled()
    now = 59
    assert await used.from_memory("moon")
    residents.drop_idle()
    assert (len(used.resident), len(idle.resident), len(residents)) == (1, 1, 2)
    now = 61
    residents.drop_idle()
    assert (len(used.resident), len(idle.resident), len(residents)) == (1, 0, 1)
    now = 119
    residents.drop_idle()
    assert len(residents) == residents.total_bytes == 0
    residents.close()


async def test_a_timer_drops_them(store: Store):
    residents = Residents(idle_s=0.05)
    bank = await (await Bank(store, residents).begin()).kept()
    await bank.load("moon", "The moon is far.")
    await bank.settled()
    async with asyncio.timeout(30):
        while len(residents):
            await asyncio.sleep(0.01)
    assert len(bank.resident) == 0


async def test_all_banks_share_a_budget_and_the_one_not_used_for_longest_goes_first(store: Store):
    residents = Residents(limit_bytes=250_000)
    made: list[Bank] = []
    for number in (1, 2, 3):
        bank = await Bank(store, residents, number).begin()
        await bank.load_all(["The moon is far away tonight."] * 100)
        made.append(await bank.kept())
        assert residents.total_bytes <= 250_000
        if number == 2:
            assert await made[0].from_memory("moon")
    assert [len(bank.resident) for bank in made] == [100, 0, 100]
    residents.close()


async def test_a_bank_beyond_the_budget_is_answered_by_the_store(store: Store):
    residents = Residents(limit_bytes=1_000)
    bank = await Bank(store, residents).begin()
    await bank.load_all(["The moon is far."] * 100)
    await bank.kept()
    assert (len(bank.resident), residents.total_bytes, len(residents)) == (0, 0, 0)
    assert await bank.from_memory("moon") is None
    await bank.settled()
    residents.close()


def of_a_language(chance: random.Random, count: int, words: int) -> list[str]:
    """Make texts with word frequencies of a language (Zipf)."""
    vocabulary = [f"{a}{b}{c}" for a in WORDS for b in ("na", "ri", "sto", "vel", "wam") for c in WORDS]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    return [" ".join(chance.choices(vocabulary, weights, k=words)) for _ in range(count)]


@dataclass(frozen=True)
class Taken:
    """What Python has allocated for a bank in use, in bytes."""

    memories: int
    traced: int
    estimated: int


async def _taken_by(texts: list[str], directory: Path) -> Taken:
    residents = Residents()
    async with open_store(directory) as store:
        await store.commit(Unit((users.insert(USER), agents.insert(AGENT))))
        bank = await Bank(store, residents).begin()
        await bank.load_all(texts)
        # so that the tokenizer caches all words before
        terms = {term for text in texts for term in tokenizer.terms(tokenizer.split(text))}
        gc.collect()
        tracemalloc.start()
        await bank.kept()
        for term in random.Random(2).sample(sorted(terms), 1_000):
            await bank.from_memory(term)
        gc.collect()
        # Python's table of interned strings, which the tokenizer may make grow, is no bank's
        others = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tokenizer.__file__)])
        tracemalloc.stop()
        taken = Taken(len(bank.resident), sum(trace.size for trace in others.traces), residents.total_bytes)
        residents.close()
    return taken


def _measured(texts: list[str], directory: Path) -> Taken:
    return asyncio.run(_taken_by(texts, directory))


def test_a_thousand_memories_of_sixty_words_take_two_megabytes_without_their_texts(tmp_path: Path):
    texts = of_a_language(random.Random(1), 1_000, 60)
    # A process of its own: what other tests have left running allocates, too.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as alone:
        taken = alone.submit(_measured, texts, tmp_path).result(timeout=60)
    assert taken.memories == 1_000
    in_texts = sum(len(text) + 49 for text in texts)
    assert taken.traced - in_texts < 2_000_000
    assert 0.5 < taken.estimated / taken.traced < 2  # the estimate that the budget counts with
