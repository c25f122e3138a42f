"""Forks of long conversations: made in steps, unseen before the last one, safe against censoring, ends and crashes."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from actors.conversations import forking
from actors.conversations.forking import forked_id
from actors.conversations.ids import number_of, reply_of
from actors.ids import new_id, new_number
from actors.jobs.expiry import COPYING_MS, remove_expired
from actors.jobs.indexing import keep_indexing
from persistence import conversation_copies
from persistence.store import Unit
from tests.support.conversations import begun, found, listed, record_of, say
from tests.support.disk import Disk, rows, value
from tests.support.gateway import Answer, Client
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.long_talk import gateway_in, talk

SECRET = "vermilion"
BANK = {"bank": "bank"}
COLUMNS = "seq, role, name, content, at, mark, answers"


@pytest.fixture(autouse=True)
def no_reservations_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the quota's actor from storing counts in the background, so that each step of a disk is one of the fork."""
    monkeypatch.setattr("actors.quotas.actor.TICK_S", 3600.0)


class SteppedDisk(Disk):
    """A disk on which one batch after the other is let pass."""

    async def step(self) -> None:
        """Let the batch that stands at its COMMIT pass, and block the next one."""
        await self.reached()
        self.let_go()
        self.hold()


async def conversed(gateway: CoreGateway, chats: int, *said: str) -> tuple[Client, str]:
    """Make a user with a conversation: some chats, what is said, and as many chats again."""
    user = await CommandClient(gateway).register("ada")
    await user.agent("scout")
    (await user.command("MB_Create", vx={"name": "bank", "description": "Doors"})).ok()
    (await user.command("MB_Load", target=BANK, vx={"name": "Door"}, content=f"The door is {SECRET}.")).ok()
    conversation = (await begun(user, None, *said))["id"]
    await talk(user, chats, target={"conversation": conversation})
    for text in said:
        await say(user, text, conversation)
    return user, conversation


def forking_of(user: Client, conversation: str) -> Coroutine[Any, Any, Answer]:
    return user.command("CV_Fork", target={"conversation": conversation})


def test_the_ids_of_copies_sort_as_their_messages_and_keep_shard_and_reply():
    ids = [new_id("msg", "agt_3f") for _ in range(500)]
    ids += [reply_of(id) for id in ids]
    number = new_number()
    copies = [forked_id(id, number) for id in ids]
    assert [forked_id(id, number) for id in sorted(ids)] == sorted(copies)
    assert not set(copies) & set(ids)
    assert not set(copies) & {forked_id(id, number + 1) for id in ids}
    assert [reply_of(id) for id in copies[:500]] == copies[500:]
    assert {(len(id), id[-2:]) for id in copies} == {(36, "3f")}


async def test_a_long_fork_is_whole_and_gets_an_index(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user, conversation = await conversed(gateway, 700)
        copy = (await forking_of(user, conversation)).ok().profile[0]
        assert copy["messages"] == 1_400
        assert copy["messages"] > 2 * forking.BATCH
        store = gateway.core.store
        query = f"SELECT {COLUMNS} FROM messages WHERE conversation_id = ? ORDER BY seq"
        assert await rows(store, query, number_of(copy["id"])) == await rows(store, query, number_of(conversation))
        assert await value(store, "SELECT count(DISTINCT id) FROM messages") == 2_800
        indexing = asyncio.create_task(keep_indexing(gateway.core))
        reached = "SELECT 1 FROM collections WHERE conversation_id = ? AND reached >= 1200"
        async with asyncio.timeout(30):
            while not await rows(store, reached, number_of(copy["id"])):
                await asyncio.sleep(0.02)
        indexing.cancel()
        assert "t3." in (await say(user, "Where did parcel p3 go?", copy["id"]))[1]["content"]


@pytest.mark.parametrize("steps", range(4))
async def test_a_fork_that_is_censored_while_it_is_made_has_no_censored_word(tmp_path: Path, steps: int):
    """The censoring stands in the queue behind this many steps of the copy, which may have read the words before."""
    disk = SteppedDisk()
    async with gateway_in(tmp_path, before_commit=disk.before_commit) as gateway:
        user, conversation = await conversed(gateway, 260, "Which colour is the door?")
        disk.hold()
        fork = asyncio.create_task(forking_of(user, conversation))
        for _ in range(steps):
            await disk.step()
        await disk.reached()
        censoring = asyncio.create_task(user.command("MB_Censor", target=BANK, vx={"name": "Door"}))
        async with asyncio.timeout(30):
            while not gateway.core.store.stats().waiting:
                await asyncio.sleep(0.01)
        disk.let_go()
        copy = (await fork).ok().profile[0]
        (await censoring).ok()
        history = (await user.command("AP_History", target={"conversation": copy["id"]}, page={"limit": 1})).ok()
        assert "[censored]" in history.content[0]["content"]
        assert history.content[0]["sources"][0]["quote"] == "[censored]"
        store = gateway.core.store
        assert await value(store, "SELECT count(*) FROM messages WHERE content LIKE ?", f"%{SECRET}%") == 0
        assert await value(store, "SELECT count(*) FROM messages WHERE sources LIKE ?", f"%{SECRET}%") == 0
        assert await found(user, SECRET) == []


async def test_nobody_sees_a_fork_before_it_is_complete(tmp_path: Path):
    disk = SteppedDisk()
    async with gateway_in(tmp_path, before_commit=disk.before_commit) as gateway:
        user, conversation = await conversed(gateway, 300, f"The door is {SECRET}.")
        before = await found(user, SECRET)
        disk.hold()
        fork = asyncio.create_task(forking_of(user, conversation))
        for _ in range(2):
            await disk.step()
        await disk.reached()
        assert await value(gateway.core.store, "SELECT count(*) FROM messages") > 604
        assert await listed(user) == [conversation]
        assert await found(user, SECRET) == before
        assert (await user.command("AP_Read")).ok().content[0]["messages"] == 604
        disk.let_go()
        copy = (await fork).ok().profile[0]
        assert await listed(user) == [copy["id"], conversation]
        assert (await user.command("AP_Read")).ok().content[0]["messages"] == 1_208
        assert copy == await record_of(user, copy["id"])


@pytest.mark.parametrize("steps", range(3))
async def test_nothing_is_left_of_a_fork_whose_source_is_erased_meanwhile(tmp_path: Path, steps: int):
    disk = SteppedDisk()
    async with gateway_in(tmp_path, before_commit=disk.before_commit) as gateway:
        user, conversation = await conversed(gateway, 300, "Hello")
        disk.hold()
        fork = asyncio.create_task(forking_of(user, conversation))
        for _ in range(steps):
            await disk.step()
        await disk.reached()
        end = asyncio.create_task(user.command("CV_Destroy", target={"conversation": conversation}))
        async with asyncio.timeout(30):
            while not gateway.core.store.stats().waiting:
                await asyncio.sleep(0.01)
        disk.let_go()
        (await fork).refused(3000, 404)
        (await end).ok()
        async with asyncio.timeout(30):
            while await rows(gateway.core.store, "SELECT 1 FROM conversations"):
                await asyncio.sleep(0.01)
        assert await rows(gateway.core.store, "SELECT 1 FROM messages") == []
        assert (await user.command("AP_Chat", content="Hello")).ok().content[0]["seq"] == 1


async def test_a_fork_that_can_t_be_stored_leaves_nothing_and_may_be_tried_again(tmp_path: Path):
    disk = SteppedDisk()
    async with gateway_in(tmp_path, before_commit=disk.before_commit) as gateway:
        user, conversation = await conversed(gateway, 300)
        disk.hold()
        fork = asyncio.create_task(forking_of(user, conversation))
        await disk.step()
        await disk.reached()
        disk.let_go(failing=True)
        (await fork).refused(5002, 503)
        assert await listed(user) == [conversation]
        assert await value(gateway.core.store, "SELECT count(*) FROM conversations") == 1
        assert (await forking_of(user, conversation)).ok().profile[0]["messages"] == 600


async def test_a_copy_that_a_crash_cut_off_is_removed(tmp_path: Path):
    async with gateway_in(tmp_path) as gateway:
        user, conversation = await conversed(gateway, 1)
        store, now, source = gateway.core.store, gateway.core.clock(), number_of(conversation)
        user_id = (await user.command("US_Read")).ok().profile[0]["id"]
        assert source is not None
        old, new = (now - COPYING_MS - 1_000) << 22, (now - COPYING_MS + 60_000) << 22
        for number in (old, new):
            await store.commit(Unit((conversation_copies.begin(number, source, user_id, None),)))
        due = await value(store, "SELECT due FROM erasure")
        await remove_expired(gateway.core)
        assert await rows(store, "SELECT id FROM conversations WHERE copying IS NOT NULL") == [(new,)]
        assert await value(store, "SELECT due FROM erasure") == due + 1
        assert await listed(user) == [conversation]
