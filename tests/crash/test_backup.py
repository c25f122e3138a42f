"""A backup of SQLite made while the gateway serves, by the command in docs/operations.md, and restored as it says."""

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.gateway import running
from tests.support.long_talk import FACT, QUESTION, QUOTE, reply_to, talk
from tests.support.stores import sqlite_only

pytestmark = sqlite_only

OPERATIONS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def back_up(file: Path, copy: Path) -> None:
    """Do what the documented call of the program sqlite3 does."""
    documented = re.search(r'sqlite3 parley\.db "(.+)"', OPERATIONS.read_text(encoding="utf-8"))
    assert documented is not None
    with closing(sqlite3.connect(file)) as database:
        database.execute(documented[1].replace("copy.db", str(copy)))


async def test_a_backup_made_beside_chats_has_all_that_was_answered_before_it(tmp_path: Path):
    data, copy = tmp_path / "data", tmp_path / "copy.db"
    async with running(data, PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as client:
        user = await client.register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, 300)
        more = asyncio.create_task(talk(user, 100_000, first=1_000))
        await asyncio.sleep(0.2)
        await asyncio.to_thread(back_up, data / "parley.db", copy)
        assert not more.done(), "chats were stored meanwhile"
        more.cancel()
        await asyncio.gather(more, return_exceptions=True)
        await gateway.stop()
        for name in ("parley.db-wal", "parley.db-shm"):
            (data / name).unlink(missing_ok=True)
        copy.replace(data / "parley.db")
        await gateway.start()
        user.base = gateway.base
        assert await reply_to(user, QUESTION) == QUOTE
        assert await reply_to(user, "Where did parcel p299 go?") == "You said: “Parcel p299 went to town t299.”"
        await talk(user, 50, first=9_000)
        assert await reply_to(user, "Where did parcel p9049 go?") == "You said: “Parcel p9049 went to town t9049.”"
