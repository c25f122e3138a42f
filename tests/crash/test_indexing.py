"""Memories of 0.2.0 move to today's index while the gateway serves, also over kills: each is found at every moment."""

import asyncio
import gzip
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from actors.ids import system_clock
from tests.support.gateway import CHECKOUT, Client, GatewayProcess, running
from tests.support.stores import sqlite_only

STORED = CHECKOUT / "tests" / "fixtures" / "before-0.2.0"
MEMORIES = 3_000
FIRST = 2**40  # above every place of the stored memories


def word(number: int) -> str:
    """Return a word that one memory has; its plural is its term in 0.2.0, and its stem today."""
    return "zeb" + "".join("bcdfghklmn"[int(digit)] + "u" for digit in f"{number:04}")


def stored_before(data: Path) -> str:
    """Make a data folder of 0.2.0 with many memories more in its bank; return a token of the bank's owner."""
    data.mkdir()
    (data / "parley.db").write_bytes(gzip.decompress((STORED / "parley.db.gz").read_bytes()))
    shutil.copy(STORED / "master.key", data)
    with closing(sqlite3.connect(data / "parley.db")) as database, database:
        ((number, bank_id),) = database.execute("SELECT number, id FROM banks WHERE name = 'star-notes'").fetchall()
        for place in range(MEMORIES):
            name, text = f"note{place}", f"The {word(place)} of the park eats leaves and grass beside the old aviary."
            database.execute(
                "INSERT INTO memories (place, bank_id, id, name, text, created_at, updated_at)"
                " VALUES (?, ?, ?, ?, ?, 0, 0)",
                (FIRST + place, bank_id, f"mem_{place}", name, text),
            )
            terms = [name, name, word(place), "park", "eat", "leave", "grass", "beside", "old", "aviary"]
            tokens = " ".join(f"{number}z{term}" for term in terms)
            database.execute("INSERT INTO memory_terms (rowid, terms) VALUES (?, ?)", (FIRST + place, tokens))
        database.execute("UPDATE credentials SET last_used_at = ?", (system_clock(),))  # sessions end a day after that
    tokens_of: dict[str, str] = json.loads((STORED / "stored.json").read_text(encoding="utf-8"))["tokens"]
    return tokens_of["amelia"]


def not_moved(gateway: GatewayProcess) -> int:
    with closing(sqlite3.connect(gateway.data / "parley.db")) as database:
        return database.execute("SELECT count(*) FROM memory_terms").fetchone()[0]


async def require_found(client: Client, number: int) -> None:
    bank = {"bank": "star-notes"}
    answer = await client.command("MB_Recall", target=bank, content=f"What does the {word(number)} eat?")
    found = answer.ok().content
    assert found, number
    assert found[0]["name"] == f"note{number}"


@sqlite_only
async def test_memories_of_0_2_0_are_found_while_they_move_over_kills(tmp_path: Path):
    token = stored_before(tmp_path / "data")
    left: list[int] = []
    async with running(tmp_path / "data") as gateway:
        number = 0
        for kills in (2, 1, 0):
            async with gateway.client() as nobody:
                client = Client(nobody.http, nobody.base, token, "amelia")
                before = not_moved(gateway)
                while (now := not_moved(gateway)) > (before * 2 // 3 if kills else 0):
                    number = (number + 787) % MEMORIES
                    await require_found(client, number)
                left.append(now)
            if kills:
                await gateway.kill()
                await gateway.start()
        assert left[0] > left[1] > 0
        async with gateway.client() as nobody:
            client = Client(nobody.http, nobody.base, token, "amelia")
            await asyncio.gather(*(require_found(client, number) for number in range(0, MEMORIES, 50)))
