"""What is destroyed or censored is erased from the index of old messages, too, and never comes back to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.conversations.archive import Archive
from actors.conversations.reading import CONVERSATION, ZONE, read_window
from actors.engines.openai.engine import OpenAIEngine
from actors.engines.turn import Piece, Recalled, Turn
from actors.engines.window import Window
from actors.jobs.erasing import keep_erasing
from persistence.store import Unit, Write
from tests.support.disk import Disk, value
from tests.support.gateway import PASSWORD
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.long_talk import CountedReads, answering, gateway_in, reply_to, talk, until_in_memory
from tests.support.provider import providing, waits
from tests.support.stored import erased

SECRET = "vermilion"
BANK, DOOR = {"name": "bank"}, {"name": "Door"}
QUESTION = "What is the door?"
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
async def erasing(gateway: CoreGateway) -> AsyncIterator[None]:
    """Run the job that clears the files."""
    job = asyncio.create_task(keep_erasing(gateway.core))
    yield
    job.cancel()


@pytest.fixture
async def told(tmp_path: Path) -> Path:
    """A folder in which an agent has repeated a memory at the beginning of a long conversation, and of a zone."""
    async with gateway_in(tmp_path, engine=Teller()) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        (await user.command("DM_Create", vx={"name": "office", "description": "Parcels."})).ok()
        (await user.command("MB_Create", vx=BANK | {"description": "Doors."})).ok()
        (await user.command("MB_Load", target={"bank": "bank"}, vx=DOOR, content=f"The door is {SECRET}.")).ok()
        assert SECRET in await reply_to(user, "Which colour is the door?", agent="scout")
        assert SECRET in await reply_to(user, "Which colour is the door?", domain="office")
        (await user.command("MB_Unload", target={"bank": "bank", "agent": "scout"})).ok()
        await talk(user, 200, target={"agent": "scout"})
        await talk(user, 200, target={"domain": "office"})
    return tmp_path


PLACES = [{"agent": "scout"}, {"agent": "scout", "domain": "office"}]


@pytest.mark.parametrize("in_memory", [False, True])
async def test_a_censored_memory_that_a_reply_repeated_long_ago_is_found_nowhere(told: Path, in_memory: bool):
    async with gateway_in(told) as gateway, erasing(gateway):
        user = await CommandClient(gateway).log_on("ada")
        reads = CountedReads(gateway.core)
        for place in PLACES:
            assert SECRET in await reply_to(user, QUESTION, **place)
            if in_memory:
                assert await until_in_memory(user, reads, **place) > 3
                assert SECRET in await reply_to(user, QUESTION, **place)
        assert await indexed(gateway, SECRET)
        (await user.command("MB_Censor", target={"bank": "bank"}, vx=DOOR)).ok()
        assert not await indexed(gateway, SECRET)
        for place in PLACES:
            assert SECRET not in await reply_to(user, QUESTION, **place)
            if in_memory:
                await until_in_memory(user, reads, **place)
                assert SECRET not in await reply_to(user, QUESTION, **place)
        await erased(told, SECRET, within_s=20)


async def test_a_model_s_reply_that_repeats_an_old_reply_is_redacted_with_it(told: Path):
    reply = f"It is {SECRET}."
    async with answering(QUESTION, reply, reply) as (provider, engine), gateway_in(told, engine=engine) as gateway:
        user = await CommandClient(gateway).log_on("ada")
        for number, place in enumerate(PLACES):
            assert await reply_to(user, QUESTION, **place) == reply
            assert f"scout] The door is {SECRET}." in provider.requests[number].system
        (await user.command("MB_Censor", target={"bank": "bank"}, vx=DOOR)).ok()
        for history in (
            await user.command("AP_History", target={"agent": "scout"}, page={"limit": 5}),
            await user.command("ZN_Read", target={"domain": "office"}, page={"limit": 5}),
        ):
            assert history.ok().content[-1]["content"] == "[censored]"
        async with erasing(gateway):
            await erased(told, SECRET, within_s=60)


async def test_a_reply_that_repeats_what_is_censored_in_this_moment_is_not_stored(told: Path):
    """It stands in the queue behind the censoring, of which its actor learns only then."""
    disk, gate = Disk(), asyncio.Event()
    async with providing() as provider:
        provider.on(QUESTION, waits(gate, f"It is {SECRET}."))
        engine = OpenAIEngine(provider.base_url, "sk-key", "llama")
        async with gateway_in(told, engine=engine, before_commit=disk.before_commit) as gateway:
            user = await CommandClient(gateway).log_on("ada")
            asking = asyncio.create_task(user.command("AP_Chat", target={"agent": "scout"}, content=QUESTION))
            while not provider.asked(QUESTION):
                await asyncio.sleep(0.01)
            assert SECRET in provider.requests[0].system
            disk.hold()
            censoring = asyncio.create_task(user.command("MB_Censor", target={"bank": "bank"}, vx=DOOR))
            await disk.reached()
            gate.set()
            async with asyncio.timeout(30):
                while not gateway.core.store.stats().waiting:
                    await asyncio.sleep(0.01)
            disk.let_go()
            (await asking).refused(5003, 503)
            (await censoring).ok()
            assert (
                await value(gateway.core.store, "SELECT count(*) FROM messages WHERE content LIKE ?", f"%{SECRET}%")
                == 0
            )
        await engine.close()


@pytest.mark.parametrize("stream", ["conversations", "zones"])
async def test_no_unit_brings_the_terms_of_a_censored_text_back(told: Path, stream: str):
    """What an actor wants indexed may stand in the queue behind a censoring that the actor does not know of yet."""
    async with gateway_in(told) as gateway:
        store = gateway.core.store
        await store.commit(Unit((Write("DELETE FROM collections WHERE bank_id IS NULL", ()),)))
        user = await CommandClient(gateway).log_on("ada")
        id = await value(store, f"SELECT id FROM {stream}")
        of: Any = CONVERSATION if stream == "conversations" else ZONE
        newest = await read_window(store, of, id, 402)
        stale = Archive(store, of, id, Window(newest.messages, keeps_left=True))
        (await user.command("MB_Censor", target={"bank": "bank"}, vx=DOOR)).ok()
        stale.tend()
        assert stale.indexing is not None
        await stale.indexing
        assert await value(store, "SELECT count(*) FROM collections WHERE bank_id IS NULL") == 0
        assert not await indexed(gateway, SECRET)
        fresh = Archive(store, of, id, Window((await read_window(store, of, id, 402)).messages, keeps_left=True))
        fresh.tend()
        assert fresh.indexing is not None
        await fresh.indexing
        assert await value(store, "SELECT reached FROM collections WHERE bank_id IS NULL") == 192
        assert not await indexed(gateway, SECRET)


async def test_a_unit_for_a_conversation_that_is_gone_changes_nothing(told: Path):
    async with gateway_in(told) as gateway:
        store = gateway.core.store
        await store.commit(Unit((Write("DELETE FROM collections WHERE bank_id IS NULL", ()),)))
        user = await CommandClient(gateway).log_on("ada")
        id = await value(store, "SELECT id FROM conversations")
        newest = await read_window(store, CONVERSATION, id, 402)
        (await user.command("US_Destroy", vx={"secret": PASSWORD})).ok()
        stale = Archive(store, CONVERSATION, id, Window(newest.messages, keeps_left=True))
        stale.tend()
        assert stale.indexing is not None
        await stale.indexing
        assert await sizes(gateway) == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("service", "body"),
    [
        ("US_Destroy", {"vx": {"secret": PASSWORD}}),
        ("AP_Destroy", {"target": {"agent": "founder"}}),
        ("DM_Destroy", {"target": {"domain": "cellar"}}),
        ("ZN_Destroy", {"target": {"domain": "cellar", "zone": "shelf"}}),
    ],
)
async def test_what_was_said_in_a_destroyed_place_is_found_nowhere(tmp_path: Path, service: str, body: dict[str, Any]):
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("founder")
        (await user.command("DM_Create", vx={"name": "cellar", "description": "Below."})).ok()
        (await user.command("ZN_Create", target={"domain": "cellar"}, vx={"name": "shelf", "description": "Jam."})).ok()
        zone = {"domain": "cellar", "zone": "shelf"}
        if service == "US_Destroy":
            await reply_to(user, f"The door is {SECRET}.", agent="founder")
            await talk(user, 150, target={"agent": "founder"})
        (await user.command("ZN_Post", target=zone, content=f"The door is {SECRET}.")).ok()
        for number in range(300):
            (await user.command("ZN_Post", target=zone, content=f"Jar j{number} holds jam.")).ok()
        async with asyncio.timeout(30):
            while not await indexed(gateway, SECRET):
                await asyncio.sleep(0.01)
        (await user.command(service, **body)).ok()
        assert await sizes(gateway) == [0, 0, 0, 0]
        async with erasing(gateway):
            await erased(tmp_path, SECRET, within_s=60)


async def test_the_memories_of_a_destroyed_bank_are_gone_from_the_files(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway, erasing(gateway):
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        (await user.command("MB_Create", vx=BANK | {"description": "Doors."})).ok()
        (await user.command("MB_Load", target={"bank": "bank"}, vx=DOOR, content=f"The door is {SECRET}.")).ok()
        (await user.command("MB_Destroy", target={"bank": "bank"})).ok()
        await erased(tmp_path, SECRET, within_s=20)


@pytest.mark.parametrize(
    ("service", "body"),
    [("AP_Destroy", {"target": {"agent": "scout"}}), ("US_Destroy", {"vx": {"secret": PASSWORD}})],
)
async def test_the_profile_of_a_destroyed_agent_is_gone_from_the_files(
    tmp_path: Path, service: str, body: dict[str, Any]
):
    async with gateway_in(tmp_path) as gateway, erasing(gateway):
        user = await CommandClient(gateway).register("ada")
        vx = {"name": "scout", "description": "Paints it azure.", "profile": f"The door is {SECRET}."}
        (await user.command("AP_Create", vx=vx)).ok()
        (await user.command(service, **body)).ok()
        for word in (SECRET, "azure"):
            await erased(tmp_path, word, within_s=20)
