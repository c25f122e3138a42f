"""MB_Delete and MB_Censor: the removed memories and their number (docs/contract.md, "Censoring and deleting")."""

import asyncio
from typing import Any

import pytest

from actors.commands.memories import _MANY  # pyright: ignore[reportPrivateUsage]
from tests.support.gateway import Answer, Client
from tests.support.operator import on_plan

SERVICES = ["MB_Delete", "MB_Censor"]


class Bank:
    """A bank of the user with two writing agents, the selected `keeper` and `helper`."""

    def __init__(self, user: Client, unique: str) -> None:
        self.user = user
        self.name = f"{unique}-bank"
        self.keeper, self.helper = f"{unique}-keeper", f"{unique}-helper"

    async def load(self, name: str, agent: str, client: Client | None = None) -> Answer:
        target = {"bank": self.name, "agent": agent}
        return await (client or self.user).command("MB_Load", target=target, vx={"name": name}, content=f"Of {name}")

    async def take(self, service: str, client: Client | None = None, key: str | None = None, **body: Any) -> Answer:
        target = {"bank": self.name, **body.pop("target", {})}
        headers = {} if key is None else {"Idempotency-Key": key}
        return await (client or self.user).command(service, target=target, headers=headers, **body)

    async def left(self) -> list[str]:
        """Return the names of memories that still have a text."""
        kept: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = {"limit": 200} | ({"cursor": cursor} if cursor else {})
            read = (await self.user.command("MB_Read", target={"bank": self.name}, page=page)).ok()
            kept += read.content
            if (cursor := read.next) is None:
                break
        assert read.profile[0]["memories"] == len(kept)
        return [memory["name"] for memory in kept if memory["text"] is not None]


@pytest.fixture
async def bank(user: Client, unique: str) -> Bank:
    await on_plan(user, "builder")
    bank = Bank(user, unique)
    await user.agent(bank.helper, select=False)
    await user.agent(bank.keeper)
    (await user.command("MB_Create", vx={"name": bank.name})).ok()
    for name, agent in (("one", bank.keeper), ("two", bank.keeper), ("three", bank.helper)):
        (await bank.load(name, agent)).ok()
    return bank


def went(answer: Answer) -> int:
    (content,) = answer.ok().content
    assert content.keys() == {"memories"}
    return content["memories"]


@pytest.mark.parametrize("service", SERVICES)
async def test_many_memories_of_one_agent_go_and_those_of_others_stay(bank: Bank, service: str):
    names = [f"more {number}" for number in range(_MANY)]
    for loaded in await asyncio.gather(*(bank.load(name, bank.keeper) for name in names)):
        loaded.ok()
    assert went(await bank.take(service, target={"agent": bank.keeper})) == _MANY + 2
    assert await bank.left() == ["three"]
    for words in ("Of three", "Of more 7", "two"):
        found = await bank.user.command("MB_Recall", target={"bank": bank.name}, content=words)
        assert {memory["name"] for memory in found.ok().content} <= {"three"}
    assert went(await bank.take(service, target={"agent": bank.keeper})) == 0
    (await bank.load("later", bank.keeper)).ok()
    found = await bank.user.command("MB_Recall", target={"bank": bank.name}, content="Of later, of three")
    assert {memory["name"] for memory in found.ok().content} == {"later", "three"}


@pytest.mark.parametrize("service", SERVICES)
async def test_what_does_not_say_which_memories_is_refused_though_an_agent_is_selected(bank: Bank, service: str):
    bodies: list[dict[str, Any]] = [
        {},
        {"vx": {}},
        {"vx": {"name": None}},
        {"vx": {"name": "  "}},
        {"target": {"agent": ""}},
        {"vx": {"description": "one", "access": "public"}},
    ]
    for body in bodies:
        note = (await bank.take(service, **body)).refused(1002, 400).note
        assert note.startswith("missing name field")
        assert "target.agent" in note
        assert "`*`" in note
    assert await bank.left() == ["one", "two", "three"]


@pytest.mark.parametrize("service", SERVICES)
async def test_a_name_an_agent_both_or_a_star_say_which_memories(bank: Bank, service: str):
    helper: dict[str, Any] = {"target": {"agent": bank.helper}}
    (await bank.take(service, vx={"name": "one"}, **helper)).refused(3000, 404)
    assert await bank.left() == ["one", "two", "three"]
    assert went(await bank.take(service, vx={"name": "three"}, **helper)) == 1
    assert await bank.left() == ["one", "two"]
    assert went(await bank.take(service, vx={"name": "one"})) == 1
    for name in ("four", "five"):
        (await bank.load(name, bank.helper)).ok()
    assert went(await bank.take(service, **helper)) == 2
    (await bank.load("six", bank.helper)).ok()
    assert went(await bank.take(service, vx={"name": "*"}, **helper)) == 1
    assert await bank.left() == ["two"]
    (await bank.load("seven", bank.helper)).ok()
    assert went(await bank.take(service, vx={"name": "*"})) == 2
    assert await bank.left() == []
    assert went(await bank.take(service, vx={"name": "*"}, **helper)) == 0


async def test_a_deletion_takes_tombstones_and_a_censoring_does_not_count_them(bank: Bank):
    assert went(await bank.take("MB_Censor", vx={"name": "one"})) == 1
    assert went(await bank.take("MB_Censor", vx={"name": "one"})) == 0
    assert went(await bank.take("MB_Censor", vx={"name": "*"})) == 2
    answer = await bank.take("MB_Delete", vx={"name": "*"})
    assert (went(answer), answer.profile[0]["memories"]) == (3, 0)


@pytest.mark.parametrize("service", SERVICES)
async def test_a_repeat_with_a_key_tells_the_same_number(bank: Bank, service: str):
    first = await bank.take(service, key="k", vx={"name": "*"})
    assert went(first) == 3
    (await bank.load("four", bank.keeper)).ok()
    second = await bank.take(service, key="k", vx={"name": "*"})
    assert (second.body, second.headers["Idempotency-Replayed"]) == (first.body, "true")
    assert await bank.left() == ["four"]


@pytest.mark.parametrize("service", SERVICES)
async def test_the_numbers_of_concurrent_commands_add_up(bank: Bank, service: str):
    await on_plan(bank.user, "enterprise")

    async def one(number: int) -> int:
        if number % 4 == 0:
            body: dict[str, Any] = {"vx": {"name": "*"}} if number % 8 else {"target": {"agent": bank.keeper}}
            return went(await bank.take(service, key=f"key-{number}" if number % 3 == 0 else None, **body))
        (await bank.load(f"memory {number}", bank.keeper)).ok()
        return 0

    numbers = await asyncio.gather(*(one(number) for number in range(120)))
    assert sum(numbers) + len(await bank.left()) == 3 + 90


async def test_who_is_no_admin_censors_what_its_own_agents_wrote_and_is_told_that_number(
    bank: Bank, sanic_client: Client, unique: str
):
    guest = await on_plan(await sanic_client.register(f"{unique}-guest"), "builder")
    for name in ("brass", "tin"):
        await guest.agent(f"{unique}-{name}", access="public")
        grant = {"bank": bank.name, "agent": f"{unique}-{name}"}
        (await bank.user.command("MB_Permissions", target=grant, vx={"permission": "write"})).ok()
        (await guest.command("MB_Accept", target=grant)).ok()
    book = "A long text. " * 400
    handed_in = await bank.user.request("POST", "/api/documents", json={"name": "Book", "content": book})
    while (await bank.user.request("GET", f"/api/documents/{handed_in.body['id']}")).body["status"] != "ready":
        await asyncio.sleep(0.05)
    parts = (await bank.user.command("MB_Load", target={"bank": bank.name}, vx={"name": "Book"})).ok().content
    assert len(parts) > 2
    (await bank.take("MB_Censor", guest, vx={"name": "Book"})).refused(2003, 403)
    for name, agent in (("Book/1", "brass"), ("Book/2", "tin"), ("theirs", "tin")):
        (await bank.load(name, f"{unique}-{agent}", guest)).ok()
    (await bank.take("MB_Censor", guest, vx={"name": "*"})).refused(2003, 403)
    (await bank.take("MB_Censor", guest, target={"agent": bank.keeper})).refused(2003, 403)
    (await bank.take("MB_Delete", guest, target={"agent": f"{unique}-tin"})).refused(2003, 403)
    assert went(await bank.take("MB_Censor", guest, vx={"name": "Book"}, target={"agent": f"{unique}-tin"})) == 1
    assert went(await bank.take("MB_Censor", guest, vx={"name": "Book"})) == 1
    assert went(await bank.take("MB_Censor", guest, vx={"name": "*"}, target={"agent": f"{unique}-tin"})) == 1
    assert await bank.left() == ["one", "two", "three", *(part["name"] for part in parts[2:])]


async def test_a_star_is_no_memory_s_and_no_document_s_name(bank: Bank):
    assert "vx.name" in (await bank.load("*", bank.keeper)).refused(1003, 400).note
    document = await bank.user.request("POST", "/api/documents", json={"name": "*", "content": "text"})
    assert document.http == 400
    assert "name" in document.refused(1003, 400).note
    for name in ("**", "a*", "*/1"):
        (await bank.load(name, bank.keeper)).ok()
    assert went(await bank.take("MB_Delete", vx={"name": "**"})) == 1
    (await bank.user.command("MB_Read", target={"bank": bank.name}, vx={"name": "*"})).refused(3000, 404)
