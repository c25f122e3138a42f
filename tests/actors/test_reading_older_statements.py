"""A long conversation that was read from the store comes into memory once it has been asked enough."""

import asyncio
from pathlib import Path

import pytest

from actors.conversations import archive, room
from actors.engines import dialogue_acts
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.long_talk import (
    FACT,
    QUESTION,
    QUOTE,
    CountedReads,
    Gate,
    ask,
    commit,
    gateway_in,
    kept_in_all,
    reply_to,
    sent,
    talk,
    until_in_memory,
    until_reached,
)

CHATS = 400
ENOUGH, ENOUGH_FOUND = 288 // archive.LOOK_UP_COSTS, 288 // archive.FIND_COSTS
"""The number of look-ups without an answer, and with one, after which this conversation is read.

Every second one of its 576 indexed messages states something.
"""
SCOUT = {"agent": "scout"}
OFFICE = {"agent": "scout", "domain": "office"}


@pytest.fixture
async def told(tmp_path: Path) -> Path:
    """A folder with a conversation of 802 messages: a fact, then parcels."""
    async with gateway_in(tmp_path) as gateway:
        user = await CommandClient(gateway).register("ada")
        await user.agent("scout")
        await reply_to(user, FACT)
        await talk(user, CHATS)
        await until_reached(gateway, 576)
    return tmp_path


async def log_on(gateway: CoreGateway) -> Client:
    return await CommandClient(gateway).log_on("ada")


async def test_once_all_statements_are_in_memory_no_question_is_looked_up(told: Path):
    async with gateway_in(told) as gateway:
        user, reads, before = await log_on(gateway), CountedReads(gateway.core), kept_in_all()
        assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
        assert reads.count > 0
        # the question that was answered has cost as much as three others
        assert await until_in_memory(user, reads, **SCOUT) >= ENOUGH - 3
        assert kept_in_all() - before >= 288
        for number in (0, 7, 150, 287, 288, CHATS - 1):
            assert await reply_to(user, f"Where did parcel p{number} go?", **SCOUT) == sent(number)
        assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
        assert await reply_to(user, "What is my aunt's hobby?", **SCOUT) == dialogue_acts.UNKNOWN
        assert reads.count == 0
        await talk(user, 100, first=CHATS, target=SCOUT)
        reads.count = 0
        for number in (0, 399, 499):
            assert await reply_to(user, f"Where did parcel p{number} go?", **SCOUT) == sent(number)
        assert reads.count == 0


async def test_a_zone_comes_into_memory_too(told: Path):
    async with gateway_in(told) as gateway:
        user = await log_on(gateway)
        (await user.command("DM_Create", target=SCOUT, vx={"name": "office", "description": "Parcels."})).ok()
        assert "quartz" not in await reply_to(user, "My aunt is called Vera.", **OFFICE)
        await talk(user, 300, target=OFFICE)
    async with gateway_in(told) as gateway:
        user, reads = await log_on(gateway), CountedReads(gateway.core)
        assert await until_in_memory(user, reads, **OFFICE) > 1
        assert await reply_to(user, "What is my aunt called?", **OFFICE) == "You said: “My aunt is called Vera.”"
        for number in (0, 7, 299):
            assert await reply_to(user, f"Where did parcel p{number} go?", **OFFICE) == sent(number)
        assert await reply_to(user, QUESTION, **OFFICE) == dialogue_acts.UNKNOWN
        assert reads.count == 0


async def test_chats_go_on_while_older_statements_are_read(told: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "PAGE", 2)
    monkeypatch.setattr(archive, "PAUSE_S", 0.002)
    async with gateway_in(told) as gateway:
        user, reads = await log_on(gateway), CountedReads(gateway.core)
        await ask(user, ENOUGH, **SCOUT)
        for number in range(CHATS, CHATS + 40):
            await talk(user, 16, first=16 * number, target=SCOUT)
            assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
            assert await reply_to(user, f"Where did parcel p{16 * number} go?", **SCOUT) == sent(16 * number)
        await until_in_memory(user, reads, **SCOUT)
        for number in (0, 7, 399, 16 * 400, 16 * 405 + 3, 16 * 439 + 15):
            assert await reply_to(user, f"Where did parcel p{number} go?", **SCOUT) == sent(number)
        assert reads.count == 0


async def asked(user: Client, reads: CountedReads) -> None:
    """Ask some questions, each of which is looked up."""
    for _ in range(2 * ENOUGH_FOUND + 1):
        reads.count = 0
        assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
        assert reads.count > 0


async def test_without_room_for_all_statements_none_is_read(told: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "FOR_OTHERS", room.MAX_KEPT_IN_ALL - kept_in_all() - 287)
    async with gateway_in(told) as gateway:
        user, reads, before = await log_on(gateway), CountedReads(gateway.core), kept_in_all()
        await asked(user, reads)
        assert kept_in_all() <= before + 64  # what left the window meanwhile


async def test_a_conversation_that_becomes_too_long_while_it_is_read_leaves_memory(
    told: Path, monkeypatch: pytest.MonkeyPatch
):
    async with gateway_in(told) as gateway:
        user, reads, before = await log_on(gateway), CountedReads(gateway.core), kept_in_all()
        gate = Gate(gateway.core, after=ENOUGH_FOUND)
        for _ in range(ENOUGH_FOUND):
            assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
        await gate.reached.wait()
        assert kept_in_all() >= before + 288  # room for all is taken from the beginning
        monkeypatch.setattr(room, "MAX_WHOLE", 287)
        gate.opened.set()
        await asked(user, reads)
        async with asyncio.timeout(30):  # the reading ends after a pause, which may be longer than all the questions
            while kept_in_all() > before + 64:  # what left the window meanwhile
                await asyncio.sleep(0.01)


async def test_a_conversation_in_memory_that_becomes_too_long_keeps_its_newest_statements(
    told: Path, monkeypatch: pytest.MonkeyPatch
):
    async with gateway_in(told) as gateway:
        user, reads, before = await log_on(gateway), CountedReads(gateway.core), kept_in_all()
        await until_in_memory(user, reads, **SCOUT)
        monkeypatch.setattr(room, "MAX_WHOLE", 300)
        monkeypatch.setattr(room, "MAX_KEPT", 50)
        await talk(user, 100, first=CHATS, target=SCOUT)
        async with asyncio.timeout(30):
            while kept_in_all() > before + 50:
                await asyncio.sleep(0.01)
        assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
        assert reads.count > 0


async def test_what_can_not_be_read_is_read_later(told: Path, caplog: pytest.LogCaptureFixture):
    async with gateway_in(told) as gateway:
        user, reads = await log_on(gateway), CountedReads(gateway.core)
        await commit(gateway, "ALTER TABLE indexed_texts RENAME TO elsewhere")
        for _ in range(ENOUGH):
            assert await reply_to(user, "What is xyzzy?", **SCOUT) == dialogue_acts.UNKNOWN
        async with asyncio.timeout(30):
            while "older messages can't be read into memory" not in caplog.text:
                await asyncio.sleep(0.01)
        await commit(gateway, "ALTER TABLE elsewhere RENAME TO indexed_texts")
        await until_in_memory(user, reads, **SCOUT)
        assert await reply_to(user, QUESTION, **SCOUT) == QUOTE
