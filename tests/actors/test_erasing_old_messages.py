"""What is destroyed or censored is erased from the index of old messages, too, and never comes back to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from actors.engines.turn import Piece, Recalled, Turn
from actors.jobs.erasing import keep_erasing
from tests.support.disk import value
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.long_talk import gateway_in, reply_to, talk

SECRET = "vermilion"
TABLES = ("collections", "vocabulary", "postings", "indexed_texts")


class Teller:
    """An engine whose replies repeat the agent's memories, as a model's do that read them by a tool."""

    name = "teller"

    async def stream(self, turn: Turn) -> AsyncIterator[Piece]:
        for memory in turn.memories:
            yield memory.text
            yield Recalled(memory.position)
        yield "Parcels come by train."


async def sizes(gateway: CoreGateway) -> list[int]:
    return [await value(gateway.core.store, f"SELECT count(*) FROM {table}") for table in TABLES]


async def indexed(gateway: CoreGateway, word: str) -> bool:
    """Whether the index has terms of a word."""
    return await value(gateway.core.store, "SELECT count(*) FROM vocabulary WHERE term LIKE ?", f"{word[:6]}%") > 0


@asynccontextmanager
async def erasing(folder: Path, **parts: Any) -> AsyncIterator[CoreGateway]:
    """Run a core with the job that clears the files."""
    async with gateway_in(folder, **parts) as gateway:
        job = asyncio.create_task(keep_erasing(gateway.core))
        yield gateway
        job.cancel()


async def test_a_censored_memory_that_a_reply_repeated_long_ago_is_found_nowhere(tmp_path: Path):
    bank = {"bank": "colours"}
    async with gateway_in(tmp_path, engine=Teller()) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        (await user.command("MB_Create", vx={"name": "colours", "description": "Doors."})).ok()
        (await user.command("MB_Load", target=bank, vx={"name": "Door"}, content=f"The door is {SECRET}.")).ok()
        assert SECRET in await reply_to(user, "Which colour is the door?")
        await talk(user, 300)
    async with erasing(tmp_path) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        (await user.command("MB_Unload", target=bank | {"agent": "scout"})).ok()
        assert SECRET in await reply_to(user, "Is the door vermilion?", agent="scout")
        assert await indexed(gateway, SECRET)
        (await user.command("MB_Censor", target=bank, vx={"name": "Door"})).ok()
        assert not await value(
            gateway.core.store, "SELECT count(*) FROM vocabulary WHERE term LIKE ?", f"{SECRET[:6]}%"
        )
        assert SECRET not in await reply_to(user, "Which colour is the door?", agent="scout")
