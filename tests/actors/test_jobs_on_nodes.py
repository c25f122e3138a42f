"""The jobs beside the requests on several nodes: each takes what is its own, and two that meet are refused."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from actors.core import Core
from actors.engines.window import CAPACITY
from actors.ids import new_id, new_number
from actors.jobs import erasing, ingestion
from actors.jobs.delivering import keep_delivery_log
from actors.jobs.erasing import keep_erasing
from actors.jobs.expiry import remove_expired
from actors.jobs.indexing import index_banks, index_talks
from actors.jobs.ingestion import keep_ingesting
from actors.plans import DAY_MS
from persistence import agents, banks, censoring, conversations, documents, events, memories, search_index, users
from persistence.agents import AgentRow
from persistence.banks import BankRow
from persistence.credentials import SessionRow
from persistence.credentials import insert as insert_credential
from persistence.documents import DocumentRow
from persistence.events import EventRow
from persistence.memories import MemoryRow
from persistence.store import Query, Store, Unit, Write
from persistence.users import NO_PASSWORD, SANDBOX_PREFIX, UserRow
from tests.support.nodes import Nodes, running
from tests.support.stores import postgres_only

pytestmark = postgres_only

MESSAGES = 2 * CAPACITY + 300


async def user_on(nodes: Nodes, index: int, secret_hash: str = "hash") -> UserRow:
    id = nodes.key_on(index)
    name = f"{SANDBOX_PREFIX}{id[-8:]}" if secret_hash == NO_PASSWORD else id
    user = UserRow(id, name, None, None, secret_hash, "free", None, 0)
    await nodes[index].core.store.commit(Unit((users.insert(user),)))
    return user


async def queued(core: Core, user: UserRow) -> str:
    id = new_id("doc", near=user.id)
    row = DocumentRow(new_number(), id, user.id, "page", "text/plain", None, 5, "queued", None, 0, 0, 0, 0)
    await core.store.commit(Unit(documents.add(row, "A text with words.")))
    return id


async def state_of(core: Core, user: UserRow, id: str) -> tuple[str, int]:
    (row,) = await core.store.fetch(documents.by_id(user.id, id))
    return row.status, len(await core.store.fetch(documents.parts_of(id)))


async def test_a_node_splits_the_documents_of_its_own_users_and_after_a_take_over_the_others(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        core = nodes[0].core
        own, other = await user_on(nodes, 0), await user_on(nodes, 1)
        of_other, of_own = await queued(core, other), await queued(core, own)
        task = asyncio.create_task(keep_ingesting(core))
        async with asyncio.timeout(30):
            while await state_of(core, own, of_own) != ("ready", 1):
                await asyncio.sleep(0.01)
        assert await state_of(core, other, of_other) == ("queued", 0)
        nodes.placed.take_over("node1", "node0")
        core.ingestion.wake()
        async with asyncio.timeout(30):
            while await state_of(core, other, of_other) != ("ready", 1):
                await asyncio.sleep(0.01)
        task.cancel()


async def test_of_two_nodes_that_split_one_document_the_second_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with running(tmp_path, 2) as nodes:
        store = nodes[0].core.store
        user = await user_on(nodes, 0)
        id = await queued(nodes[0].core, user)
        (waiting,) = await store.fetch(documents.next_waiting())
        await asyncio.gather(
            ingestion._ingest(nodes[0].core, waiting),  # pyright: ignore[reportPrivateUsage]
            ingestion._ingest(nodes[1].core, waiting),  # pyright: ignore[reportPrivateUsage]
        )
        assert await state_of(nodes[0].core, user, id) == ("ready", 1)


async def talk(store: Store, user: UserRow) -> int:
    """Store an agent with a long conversation that is not indexed; return the conversation's number."""
    agent = AgentRow(new_id("agt", near=user.id), user.id, user.name, user.id, "", None, "agent", True, 0, 0)
    number = new_number()
    await store.commit(Unit((agents.insert(agent), conversations.begin(number, user.id, agent.id))))
    writes: list[Write] = []
    for seq in range(1, MESSAGES + 1):
        id = new_id("msg", near=user.id)
        writes.append(conversations.append(number, seq, id, "user", user.name, f"I fed animal {seq}.", None, 0))
    await store.commit(Unit(tuple(writes)))
    return number


async def reached(store: Store, number: int) -> int:
    found = await store.fetch(search_index.of_conversation(number))
    return found[0].reached if found else 0


async def test_a_node_indexes_the_conversations_and_banks_of_its_own_shards(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        store = nodes[0].core.store
        own, other = await user_on(nodes, 0), await user_on(nodes, 1)
        of_own, of_other = await talk(store, own), await talk(store, other)
        banks_of = {user.id: await bank(store, user) for user in (own, other)}
        await index_talks(store, nodes[0].core.placement.mine)
        await index_banks(store, nodes[0].core.placement.mine)
        assert await reached(store, of_own) == MESSAGES - CAPACITY
        assert await reached(store, of_other) == 0
        assert await done(store, banks_of[own.id])
        assert not await done(store, banks_of[other.id])
        await index_talks(store, nodes[1].core.placement.mine)
        await index_banks(store, nodes[1].core.placement.mine)
        assert await reached(store, of_other) == MESSAGES - CAPACITY
        assert await done(store, banks_of[other.id])


async def bank(store: Store, user: UserRow) -> str:
    """Store a bank whose memory is not indexed."""
    number = new_number()
    row = BankRow(number, new_id("bnk", near=user.id), user.id, user.name, user.id, None, "agent", 0, 0, 0, number)
    query = "SELECT id FROM agents WHERE owner_id = ?"
    (agent_id,) = await store.fetch(Query(query, (user.id,), lambda found: found[0]))
    id = new_id("mem", near=user.id)
    memory = MemoryRow(new_number(), id, "a", "The moon is far.", agent_id, "x", user.id, 0, 0, 0)
    await store.commit(Unit((*banks.insert(row, ""), memories.add(row.id, memory))))
    await store.commit(Unit((Write("UPDATE collections SET reached = 0 WHERE bank_id = ?", (row.id,)),)))
    return row.id


async def done(store: Store, bank_id: str) -> bool:
    (collection,) = await store.fetch(search_index.of_bank(bank_id))
    return collection.reached == search_index.DONE


async def test_two_nodes_that_index_one_conversation_index_no_message_twice(tmp_path: Path):
    async with running(tmp_path, 2) as nodes:
        store = nodes[0].core.store
        number = await talk(store, await user_on(nodes, 0))
        await asyncio.gather(index_talks(store), index_talks(store))
        assert await reached(store, number) == MESSAGES - CAPACITY
        (collection,) = await store.fetch(search_index.of_conversation(number))
        query = "SELECT count(*), count(DISTINCT document) FROM indexed_texts WHERE collection = ?"
        ((texts, distinct),) = await store.fetch(Query(query, (collection.number,), tuple))
        assert texts == distinct == collection.texts == MESSAGES - CAPACITY


async def test_hourly_jobs_run_on_the_owner_of_one_shard_and_sandbox_users_are_removed_at_home(tmp_path: Path):
    later = 40 * DAY_MS
    async with running(tmp_path, 2, clock=lambda: later) as nodes:
        store = nodes[0].core.store
        housekeeper, other = nodes[0], nodes[1]
        assert housekeeper.core.placement.mine("00")
        sandboxes = [await user_on(nodes, index, NO_PASSWORD) for index in (0, 1)]
        for user in sandboxes:
            key = SessionRow(
                new_id("key", near=user.id),
                user.id,
                user.name,
                user.id.encode(),
                0,
                0,
                kind="sandbox",
                name="sandbox",
                prefix="x",
            )
            await store.commit(Unit((insert_credential(key),)))
        session = await user_on(nodes, 0)
        row = SessionRow(new_id("ses", near=session.id), session.id, session.name, b"hash", 0, 0)
        await store.commit(
            Unit((insert_credential(row), events.insert(EventRow("e", session.id, "webhook.test", {}, 0))))
        )

        async def left(table: str, id: str) -> bool:
            return bool(await store.fetch(Query(f"SELECT 1 FROM {table} WHERE id = ?", (id,), tuple)))

        await remove_expired(other.core)
        assert await left("credentials", row.id)
        assert await left("users", sandboxes[0].id)
        assert not await left("users", sandboxes[1].id)
        await remove_expired(housekeeper.core)
        assert not await left("credentials", row.id)
        assert not await left("users", sandboxes[0].id)
        for node, stays in ((other, True), (housekeeper, False)):
            task = asyncio.create_task(keep_delivery_log(node.core))
            await asyncio.sleep(0.3)
            while not stays and await left("events", "e"):
                await asyncio.sleep(0.01)
            task.cancel()
            assert await left("events", "e") == stays


async def test_the_owner_of_one_shard_erases_what_was_censored_on_any_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(erasing, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(erasing, "ERASE_AFTER_S", 0.05)
    async with running(tmp_path, 2) as nodes:
        store = nodes[0].core.store
        await store.commit(Unit((Write("UPDATE erasure SET due = 1", ()),)))

        async def due() -> Any:
            return await store.fetch(censoring.ERASURES_DUE)

        other = asyncio.create_task(keep_erasing(nodes[1].core))
        await asyncio.sleep(0.5)
        assert await due() == [1]
        nodes.placed.take_over("node0", "node1")
        async with asyncio.timeout(30):
            while await due() != [0]:
                await asyncio.sleep(0.02)
        other.cancel()
