"""Banks in use keep their memories in memory: recalls, in MB_Recall and in chats, see exactly what is stored."""

import asyncio
import random
from typing import Any

import pytest

from persistence.store import Query, Reads
from tests.support.gateway import Client
from tests.support.in_process import CoreGateway
from tests.support.memories import grant, load, memories, open_to_all, recalled, share
from tests.support.operator import live_actor, on_plan

FACTS = {
    "refunds": "Refunds take five days, unless the shop is closed.",
    "returns": "A parcel can be returned within thirty days.",
    "shop": "The shop in the harbour opens at nine and closes at six.",
    "tea": "Green tea is served at four in the garden.",
    "wifi": "The password of the guests' wifi is plumtree.",
    "ferry": "The ferry to the island leaves at noon. It takes an hour.",
}


@pytest.fixture
async def other(sanic_client: Client, unique: str) -> Client:
    """A second user, logged on."""
    return await sanic_client.register(f"{unique}-other")


@pytest.fixture
async def bank(user: Client, unique: str) -> str:
    """A bank with some facts, of the user with the selected agent `<unique>-keeper` as its admin."""
    await on_plan(user, "enterprise")
    await user.agent(f"{unique}-keeper")
    name = f"{unique}-bank"
    (await user.command("MB_Create", vx={"name": name})).ok()
    for fact, text in FACTS.items():
        (await load(user, name, fact, text)).ok()
    return name


async def in_memory(client: Client, bank: str) -> int:
    """Return the number of the bank's memories that are in memory."""
    (listed,) = (await client.command("MB_List", target={"bank": bank})).ok().profile
    state: dict[str, Any] = (await live_actor(client, "bank", listed["id"])).body["state"]
    return state["in_memory"]


async def in_use(client: Client, bank: str, count: int = len(FACTS)) -> None:
    """Recall, and wait until that many memories are in memory."""
    async with asyncio.timeout(30):
        await recalled(client, bank, "anything")
        while await in_memory(client, bank) != count:
            await asyncio.sleep(0.005)


async def said(client: Client, text: str) -> dict[str, Any]:
    """Say something to the selected agent and return its reply."""
    return (await client.command("AP_Chat", content=text)).ok().content[1]


async def test_a_recall_from_a_bank_in_use_reads_nothing_from_the_store(
    user: Client, bank: str, sanic_server: CoreGateway, monkeypatch: pytest.MonkeyPatch
):
    store = sanic_server.core.store
    read: list[str] = []
    fetch, run = store.fetch, store.read

    async def noted(query: Query[Any]) -> list[Any]:
        read.append(query.sql)
        return await fetch(query)

    async def noted_reads(reads: Reads[Any]) -> Any:
        read.append(str(reads))
        return await run(reads)

    await in_use(user, bank)
    monkeypatch.setattr(store, "fetch", noted)
    monkeypatch.setattr(store, "read", noted_reads)
    assert (await recalled(user, bank, "When does the ferry leave?"))[0] == "ferry"
    assert read == []


@pytest.mark.parametrize("busy", [False, True])
async def test_a_recall_sees_what_is_stored_right_after_each_change(user: Client, bank: str, busy: bool):
    """`busy`: others recall all the time, so the memories are in memory, or are being read, at any moment."""
    chance = random.Random(7)
    stop = asyncio.Event()

    async def others() -> None:
        while not stop.is_set():
            await recalled(user, bank, "parrots and pelicans")
            await asyncio.sleep(0.001)

    tasks = [asyncio.create_task(others()) for _ in range(3 if busy else 0)]
    birds: dict[str, str] = {}
    censored: set[str] = set()
    for number in range(60):
        name = f"bird {chance.randint(1, 12)}"
        if name in birds and chance.random() < 0.5:
            service = chance.choice(("MB_Delete", "MB_Censor"))
            (await user.command(service, target={"bank": bank}, vx={"name": name})).ok()
            del birds[name]
            if service == "MB_Censor":
                censored.add(name)
        elif name not in censored:
            birds[name] = f"Here are parrots and pelicans, {number} of them."
            (await load(user, bank, name, birds[name])).ok()
        answer = await user.command("MB_Recall", target={"bank": bank}, content="parrots", page={"limit": 200})
        assert {found["name"]: found["text"] for found in answer.ok().content} == birds
    stop.set()
    await asyncio.gather(*tasks)


async def test_a_document_that_is_loaded_again_leaves_no_part_of_the_old_one(user: Client, bank: str):
    await in_use(user, bank)
    for text, parts in (("The lighthouse is white. " * 200, 3), ("The lighthouse is red. " * 100, 2)):
        answer = await user.request("POST", "/api/documents", json={"name": "lighthouse", "content": text})
        async with asyncio.timeout(30):
            while answer.body["status"] != "ready":
                await asyncio.sleep(0.01)
                answer = await user.request("GET", f"/api/documents/{answer.body['id']}")
        (await user.command("MB_Load", target={"bank": bank}, vx={"name": "lighthouse"})).ok()
        found = await user.command("MB_Recall", target={"bank": bank}, content="lighthouse", page={"limit": 50})
        assert len(found.ok().content) == parts
        assert {memory["text"].split()[3] for memory in found.content} == {text.split()[3]}


async def test_authors_are_shown_by_the_names_that_they_have_now(user: Client, unique: str, bank: str, other: Client):
    guest = f"{unique}-guest"
    await other.agent(guest, access="public")
    await share(user, other, bank, guest, "write")
    (await load(other, bank, "swans", "Swans winter on the pond.", agent=guest)).ok()
    (await user.command("MB_Unload", target={"bank": bank, "agent": guest})).ok()
    await in_use(user, bank, len(FACTS) + 1)

    async def author() -> str | None:
        (found,) = (await user.command("MB_Recall", target={"bank": bank}, content="swans")).ok().content
        return found["author"]

    assert await author() == guest
    (await other.command("AP_Modify", target={"agent": guest}, vx={"name": f"{unique}-goose"})).ok()
    assert await author() == f"{unique}-goose"
    await in_use(user, bank, len(FACTS) + 1)
    (await other.command("AP_Destroy", target={"agent": f"{unique}-goose"})).ok()
    assert await author() is None


async def test_the_author_of_a_memory_has_no_name_once_its_owner_is_gone(
    user: Client, unique: str, bank: str, other: Client
):
    await other.agent(f"{unique}-guest", access="public")
    await share(user, other, bank, f"{unique}-guest", "write")
    (await load(other, bank, "swans", "Swans winter on the pond.", agent=f"{unique}-guest")).ok()
    (await user.command("MB_Unload", target={"bank": bank, "agent": f"{unique}-guest"})).ok()
    await in_use(user, bank, len(FACTS) + 1)
    (await other.command("US_Destroy", vx={"secret": "correct horse battery"})).ok()
    (found,) = (await user.command("MB_Recall", target={"bank": bank}, content="swans")).ok().content
    assert found["author"] is None


QUESTIONS = [
    "How long do refunds take when the shop is closed?",
    "When does the shop in the harbour open?",
    "What is the password of the wifi?",
    "Where is tea served?",
    "When does the ferry to the island leave, and how long does it take?",
    "Can I return a parcel?",
    "Who is the mayor of Lisbon?",
]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("used", [False, True])
async def test_a_chat_quotes_what_mb_recall_ranks_first_of_what_answers(
    user: Client, bank: str, question: str, used: bool
):
    if used:
        await in_use(user, bank)
    found = (await user.command("MB_Recall", target={"bank": bank}, content=question)).ok().content
    answering = [memory["name"] for memory in found if memory["answers"]]
    reply = await said(user, question)
    quoted = [source["name"] for source in reply["sources"]]
    if answering:
        assert quoted[0] == answering[0]
        assert set(quoted) <= set(answering)
    else:
        assert quoted == []
        assert reply["content"].startswith("I know nothing about that")


async def test_a_question_may_name_the_agent(user: Client, unique: str, bank: str):
    reply = await said(user, f"{unique}-keeper, where is tea served?")
    assert [source["name"] for source in reply["sources"]] == ["tea"]


async def test_the_best_of_several_banks_are_quoted(user: Client, unique: str, bank: str):
    for number in range(3):
        more = f"{unique}-bank-{number}"
        (await user.command("MB_Create", vx={"name": more})).ok()
        for note in range(8):
            (await load(user, more, f"note {note}", f"The ferry timetable, page {note}.")).ok()
    for _ in range(2):
        reply = await said(user, "When does the ferry to the island leave?")
        assert reply["sources"][0]["name"] == "ferry"
        await asyncio.sleep(0.1)


async def test_a_censored_memory_is_not_quoted_in_the_next_chat(user: Client, bank: str):
    await in_use(user, bank)
    assert "plumtree" in (await said(user, "What is the password of the guests' wifi?"))["content"]
    (await user.command("MB_Censor", target={"bank": bank}, vx={"name": "wifi"})).ok()
    assert "plumtree" not in (await said(user, "What is the password of the guests' wifi, please?"))["content"]
    assert (await memories(user, bank))["wifi"]["text"] is None


async def test_banks_in_use_are_recalled_only_for_those_who_may(user: Client, unique: str, bank: str, other: Client):
    keeper = f"{unique}-keeper"
    await in_use(user, bank)
    (await other.command("MB_Recall", target={"bank": bank}, content="ferry")).refused(3000, 404)
    (await user.command("AP_Modify", target={"agent": keeper}, vx={"access": "public"})).ok()
    question = {"target": {"agent": keeper}, "content": "When does the ferry leave?"}
    hidden = (await other.command("AP_Chat", **question)).ok().content[1]
    assert hidden["sources"] == []
    await open_to_all(user, bank)
    (await other.command("MB_Recall", target={"bank": bank}, content="ferry")).refused(2003, 403)
    shown = (await other.command("AP_Chat", **question)).ok().content[1]
    assert [source["name"] for source in shown["sources"]] == ["ferry"]
    (await grant(user, bank, keeper, "none")).ok()
    gone = (await other.command("AP_Chat", **question)).ok().content[1]
    assert "bank" not in {kind for source in gone["sources"] for kind in source}


async def test_a_recall_finds_the_bank_that_has_taken_over_a_name(user: Client, bank: str, other: Client, unique: str):
    await open_to_all(user, bank)
    recall = {"target": {"bank": bank}, "content": "ferry"}
    (await other.command("MB_Recall", **recall)).refused(2003, 403)
    (await user.command("MB_Update", target={"bank": bank}, vx={"name": f"{unique}-old", "description": "older"})).ok()
    await on_plan(other, "enterprise")
    await other.agent(f"{unique}-follower")
    (await other.command("MB_Create", vx={"name": bank})).ok()
    assert (await other.command("MB_Recall", **recall)).ok().content == []


async def test_memories_in_memory_go_with_their_bank(user: Client, bank: str, sanic_server: CoreGateway):
    await in_use(user, bank)
    before = len(sanic_server.core.residents)
    (await user.command("MB_Destroy", target={"bank": bank})).ok()
    assert len(sanic_server.core.residents) == before - 1
