"""Quality and speed of recall from banks: `python -m bench.recall`, with `--store postgres` on PostgreSQL.

The quality is measured with `bench/questions.py`. The large bank for the speed has 100,000 memories, with word
frequencies of a language (Zipf): the first word is in almost every memory, most are in a few. Questions are asked one
after another of a store that has just been filled, so its pages are in memory.
"""

import argparse
import asyncio
import random
import tempfile
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import asynccontextmanager, nullcontext
from itertools import accumulate, islice, product
from pathlib import Path
from time import perf_counter

from actors.banks.loading import indexed, memory_terms
from actors.banks.recall import recall
from actors.slices import whole
from actors.text import tokenizer
from bench.private_postgres import private_postgres
from bench.questions import memories_and_questions
from bench.report import percentile, say, table, verdict
from persistence import banks, memories, search_index, users
from persistence.banks import BankRow
from persistence.memories import MemoryRow
from persistence.opening import open_store
from persistence.search_index import IndexedText
from persistence.store import Store, Unit, Write
from persistence.users import UserRow
from tests.support.postgres import Cluster

MARKS = {"recall@5": 0.85, "MRR": 0.75}
USER = UserRow("usr_1", "bench", None, None, "", "free", None, 0)
LARGE = 100_000
WORDS = 30_000
MEMORY_WORDS = 60
ASKED_OF_EACH = 200
P99_MARK_MS = 50.0
RANKS = {
    "frequent words only": ((0, 50),),
    "frequent and medium": ((0, 50), (50, 3_000)),
    "rare words only": ((3_000, WORDS),),
    "frequent, medium and rare": ((0, 50), (50, 3_000), (3_000, WORDS)),
}
"""Kinds of questions, with the frequency ranks of their words."""
BANK = BankRow(1, "bnk_1", "usr_1", "bench", "facts", None, "agent", 0, 0, 0, 1)


@asynccontextmanager
async def opened(url: str | None) -> AsyncGenerator[Store]:
    """Open the store of an empty database, or of an SQLite file in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(url, Path(folder) / "parley.db")
        try:
            yield store
        finally:
            await store.close()


async def fill(store: Store, memories_of_bank: Iterable[tuple[str, str]]) -> None:
    """Store a user with one bank of these memories (name, text)."""
    await store.commit(Unit((users.insert(USER), *banks.insert(BANK, tokenizer.VERSION))))
    await add_memories(store, BANK, memories_of_bank)


async def add_memories(store: Store, bank: BankRow, memories_of_bank: Iterable[tuple[str, str]]) -> None:
    """Store memories (name, text) in an empty bank, with their rows in the index."""
    coming = enumerate(memories_of_bank, start=1)
    while some := list(islice(coming, 1_000)):
        writes: list[Write] = []
        texts: list[IndexedText] = []
        for position, (name, text) in some:
            memory = MemoryRow(position, f"mem_{position}", name, text, None, None, None, 0, 0, 0)
            writes.append(memories.add(bank.id, memory))
            texts.append(indexed(memory, whole(memory_terms(name, text))))
        await store.commit(Unit((*writes, *search_index.add(bank.collection, texts))))


async def measure(url: str | None) -> None:
    """Ask every question and print recall@5, MRR, and what was missed."""
    texts, questions = memories_and_questions()
    ranks: list[int | None] = []
    missed: list[str] = []
    async with opened(url) as store:
        await fill(store, texts)
        (bank,) = await store.fetch(banks.by_id(BANK.id))
        for question, answer in questions:
            found = [recalled.memory.name for recalled in await recall(store, bank, question, 5)]
            ranks.append(found.index(answer) + 1 if answer in found else None)
            if ranks[-1] != 1:
                missed.append(f"  {question} -> {answer}: rank {ranks[-1] or 'over 5'}, first {found[:1]}")
    hits = [rank for rank in ranks if rank is not None]
    figures = {"recall@5": len(hits) / len(ranks), "MRR": sum(1 / rank for rank in hits) / len(ranks)}
    print(f"{len(texts)} memories, {len(questions)} questions in English, German and French")
    for name, figure in figures.items():
        print(f"{name}: {figure:.3f}, mark {MARKS[name]}: {'PASS' if figure >= MARKS[name] else 'MISS'}")
    print("not answered first:", *missed, sep="\n")


async def measure_large(url: str | None) -> None:
    """Ask a large bank questions of each kind and print their durations."""
    chance, words = random.Random(1), made_up_words()
    rows: list[list[str]] = []
    async with opened(url) as store:
        began = perf_counter()
        await fill(store, made_up_memories(chance, words, LARGE))
        filling = perf_counter() - began
        (bank,) = await store.fetch(banks.by_id(BANK.id))
        everything: list[float] = []
        for kind, ranks in RANKS.items():
            times = [
                await _time_of_recall(store, bank, made_up_question(chance, words, ranks)) for _ in range(ASKED_OF_EACH)
            ]
            everything += times
            rows.append([kind, *_figures(times)])
        rows.append(["all of them", *_figures(everything)])
    table(
        f"{LARGE:,} memories of {MEMORY_WORDS} words, {ASKED_OF_EACH} questions of 3 to 12 words of each kind",
        ["", "p50 ms", "p99 ms", "longest", ""],
        rows,
    )
    say("")
    say(f"the bank was filled in {filling:.0f} s; a question has none but itself to wait for")


def made_up_words() -> list[str]:
    """Return distinct pronounceable words, most frequent first."""
    syllables = [consonant + vowel for consonant, vowel in product("bdfgklmnprtvz", "aeiou")]
    made = ["".join(parts) + "n" for length in (2, 3) for parts in product(syllables, repeat=length)]
    random.Random(2).shuffle(made)
    return made[:WORDS]


def made_up_memories(chance: random.Random, words: list[str], count: int) -> Iterator[tuple[str, str]]:
    """Make memories (name, text) of these words, as frequent as those of a language."""
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    for number in range(count):
        yield f"memory {number}", " ".join(chance.choices(words, cum_weights=weights, k=MEMORY_WORDS))


def made_up_question(chance: random.Random, words: list[str], ranks: tuple[tuple[int, int], ...]) -> str:
    """Return a question of 3 to 12 words, in turn from each range of ranks."""
    count = chance.randint(3, 12)
    return " ".join(words[chance.randrange(*ranks[number % len(ranks)])] for number in range(count))


async def _time_of_recall(store: Store, bank: BankRow, question: str) -> float:
    began = perf_counter()
    await recall(store, bank, question, 5)
    return (perf_counter() - began) * 1000


def _figures(times: list[float]) -> list[str]:
    p99 = percentile(times, 99)
    return [f"{percentile(times, 50):.1f}", f"{p99:.1f}", f"{max(times):.1f}", verdict(p99, P99_MARK_MS, at_most=True)]


def main() -> None:
    """Measure long dialogues, the questions of `bench/questions.py`, and the speed of a large bank.

    All dialogues `together`, in one bank and one conversation, are only measured where it is asked for.
    """
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description="Measure how well Parley remembers.")
    parser.add_argument("--write", action="store_true", help="write the figures and every miss to docs/recall.md")
    parser.add_argument("--only", choices=("dialogues", "questions", "large", "together"), help="one of the four")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite", help="default: sqlite")
    chosen = parser.parse_args()
    with private_postgres() if chosen.store == "postgres" else nullcontext() as cluster:
        _measure(chosen.only, cluster, write=chosen.write)


def _measure(only: str | None, cluster: Cluster | None, *, write: bool) -> None:
    def url(name: str) -> str | None:
        return asyncio.run(cluster.database(name)) if cluster else None

    if only in (None, "questions"):
        asyncio.run(measure(url("questions")))
    if only in (None, "dialogues", "together"):
        from bench import long_dialogues  # noqa: PLC0415 - its yardstick is only in the development environment

        if only == "together":
            long_dialogues.measure_together(url("together"))
        else:
            long_dialogues.measure(url("dialogues"), write=write)
    if only in (None, "large"):
        asyncio.run(measure_large(url("large")))


if __name__ == "__main__":
    main()
