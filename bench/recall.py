"""`python -m bench.recall`: how well and how fast a bank recalls what `bench/questions.py` asks in three languages."""

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter

from actors.recall import indexed_terms, recall
from bench.questions import memories_and_questions
from persistence import banks, users
from persistence.banks import BankRow, MemoryRow
from persistence.database import SqliteStore
from persistence.store import Unit
from persistence.users import UserRow

MARKS = {"recall@5": 0.85, "MRR": 0.75}
USER = UserRow("usr_1", "bench", None, None, "", "free", None, 0)
BANK = BankRow(1, "bnk_1", "usr_1", "bench", "facts", None, "agent", 0, 0, 0)


async def filled(folder: Path, memories: list[tuple[str, str]]) -> SqliteStore:
    """Open a store with one bank of these memories (name, text)."""
    store = await SqliteStore.open(folder / "parley.db")
    await store.commit(Unit((users.insert(USER), banks.insert(BANK))))
    for place, (name, text) in enumerate(memories, start=1):
        memory = MemoryRow(place, f"mem_{place}", name, text, None, None, None, 0, 0, 0)
        await store.commit(Unit(banks.add_memory(BANK.id, memory, indexed_terms(BANK.number, name, text))))
    return store


async def measure() -> None:
    """Ask every question and print recall@5, MRR, the time of a recall, and what was missed."""
    memories, questions = memories_and_questions()
    ranks: list[int | None] = []
    times: list[float] = []
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        store = await filled(Path(folder), memories)
        (bank,) = await store.fetch(banks.by_id(BANK.id))
        for question, answer in questions:
            began = perf_counter()
            found = [recalled.memory.name for recalled in await recall(store, bank, question, 5)]
            times.append(perf_counter() - began)
            ranks.append(found.index(answer) + 1 if answer in found else None)
            if ranks[-1] != 1:
                missed.append(f"  {question} -> {answer}: rank {ranks[-1] or 'over 5'}, first {found[:1]}")
        await store.close()
    hits = [rank for rank in ranks if rank is not None]
    figures = {"recall@5": len(hits) / len(ranks), "MRR": sum(1 / rank for rank in hits) / len(ranks)}
    print(f"{len(memories)} memories, {len(questions)} questions in English, German and French")
    for name, figure in figures.items():
        print(f"{name}: {figure:.3f}, mark {MARKS[name]}: {'PASS' if figure >= MARKS[name] else 'MISS'}")
    print(f"time of a recall: median {sorted(times)[len(times) // 2] * 1000:.1f} ms, worst {max(times) * 1000:.1f} ms")
    print("not answered first:", *missed, sep="\n")


if __name__ == "__main__":
    asyncio.run(measure())
