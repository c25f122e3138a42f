"""A censoring ends no chat that has nothing to do with the memory (docs/contract.md, "Censoring and deleting")."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.gateways.gate import Gate
from tests.support.gateway import Answer, Client
from tests.support.operator import live_actor
from tests.support.runs import run_of

MEMORY = "moonlight"


@dataclass(frozen=True, slots=True)
class Hall:
    """A public agent with a public bank that holds a memory, its owner, and two other users who chat with it."""

    owner: Client
    first: Client
    second: Client
    agent: str
    bank: str

    async def say(self, user: Client, content: str) -> Answer:
        return await user.command("AP_Chat", target={"agent": self.agent}, content=content)

    async def texts(self, user: Client) -> list[str]:
        history = (await user.command("AP_History", target={"agent": self.agent})).ok().content
        assert [message["seq"] for message in history] == list(range(1, len(history) + 1))
        return [message["content"] for message in history]

    async def waiting(self) -> int:
        """Count the chats that wait for their turn."""
        agent_id = (await self.owner.command("AP_Read", target={"agent": self.agent})).ok().profile[0]["id"]
        conversations = (await live_actor(self.owner, "agent", agent_id)).body["state"]["conversations"]
        return sum(conversation["waiting"] for conversation in conversations)

    async def censor(self) -> None:
        answer = await self.owner.command("MB_Censor", target={"bank": self.bank}, vx={"name": MEMORY})
        assert answer.ok().content == [{"memories": 1}]


@pytest.fixture
async def hall(scripted_user: Client, unique: str) -> Hall:
    first = await scripted_user.as_user().register(f"{unique}-first")
    second = await scripted_user.as_user().register(f"{unique}-second")
    hall = Hall(scripted_user, first, second, f"{unique}-agent", f"{unique}-bank")
    await hall.owner.agent(hall.agent, access="public")
    vx = {"name": hall.bank, "access": "public"}
    (await hall.owner.command("MB_Create", vx=vx)).ok()
    target = {"bank": hall.bank}
    (await hall.owner.command("MB_Load", target=target, vx={"name": MEMORY}, content="The moonlight is dim.")).ok()
    return hall


async def test_chats_of_others_go_on_when_a_memory_that_the_agent_quoted_is_censored(hall: Hall, gate: Gate):
    (await hall.say(hall.first, "cite:moonlight say:Dim")).ok()
    chat = asyncio.create_task(hall.say(hall.second, f"say:One wait:{gate} say:Two"))
    await gate.reached()
    await hall.censor()
    gate.open()
    assert (await chat).ok().content[1]["content"] == "OneTwo"
    assert await hall.texts(hall.first) == ["cite:moonlight say:Dim", "[censored]"]
    (await hall.say(hall.first, "say:More")).ok()


async def test_a_chat_fails_in_whose_conversation_the_memory_is_quoted_and_those_that_wait_behind_it_go_on(
    hall: Hall, gate: Gate
):
    (await hall.say(hall.first, "cite:moonlight say:Dim")).ok()
    at_work = asyncio.create_task(hall.say(hall.first, content := f"say:One wait:{gate} say:Two"))
    await gate.reached()
    behind = [asyncio.create_task(hall.say(hall.first, f"say:{word}")) for word in ("Three", "Four")]
    while await hall.waiting() < len(behind):
        await asyncio.sleep(0.01)
    await hall.censor()
    failed = (await at_work).refused(5003, 503)
    assert (await run_of(hall.first, failed.headers["X-Run-Id"]))["state"] == "failed"
    assert {(await chat).ok().content[1]["content"] for chat in behind} == {"Three", "Four"}
    texts = await hall.texts(hall.first)
    assert texts[:3] == ["cite:moonlight say:Dim", "[censored]", content]
    assert sorted(texts[3:]) == ["Four", "Three", "say:Four", "say:Three"]


Says = Callable[[str], Coroutine[Any, Any, Answer]]


async def only_the_quoting_one_fails(hall: Hall, gate: Gate, other: Gate, say_here: Says, say_there: Says) -> None:
    """Censor the memory while one reply draws on it and another does not."""
    quoting = asyncio.create_task(say_here(f"cite:moonlight say:Dim wait:{gate}"))
    await gate.reached()
    chat = asyncio.create_task(say_there(f"say:One wait:{other} say:Two"))
    await other.reached()
    await hall.censor()
    gate.open()
    (await quoting).refused(5003, 503)
    other.open()
    assert (await chat).ok().content[1]["content"] == "OneTwo"


async def test_chats_of_others_go_on_when_one_that_has_the_memory_can_t_be_stored(
    hall: Hall, gate: Gate, tmp_path: Path
):
    await only_the_quoting_one_fails(
        hall, gate, Gate(tmp_path / "other"), partial(hall.say, hall.first), partial(hall.say, hall.second)
    )


async def test_replies_in_a_zone_go_on_when_one_that_has_the_memory_can_t_be_stored(
    hall: Hall, gate: Gate, tmp_path: Path, unique: str
):
    domain = f"{unique}-domain"
    (await hall.owner.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    target = {"agent": hall.agent, "domain": domain}

    async def say(content: str) -> Answer:
        return await hall.owner.command("AP_Chat", target=target, content=content)

    await only_the_quoting_one_fails(hall, gate, Gate(tmp_path / "other"), say, say)


async def test_replies_in_other_zones_go_on_when_a_memory_that_was_quoted_in_one_is_censored(
    hall: Hall, tmp_path: Path, unique: str
):
    domain = f"{unique}-domain"
    (await hall.owner.command("DM_Create", vx={"name": domain, "description": "d"})).ok()
    (await hall.owner.command("ZN_Create", target={"domain": domain}, vx={"name": "annex"})).ok()

    def say(zone: str, content: str) -> asyncio.Task[Answer]:
        target = {"agent": hall.agent, "domain": domain, "zone": zone}
        return asyncio.create_task(hall.owner.command("AP_Chat", target=target, content=content))

    (await say("lobby", "cite:moonlight say:Dim")).ok()
    there, here = Gate(tmp_path / "there"), Gate(tmp_path / "here")
    chat = say("annex", f"say:One wait:{there} say:Two")
    affected = say("lobby", f"say:One wait:{here} say:Two")
    await there.reached()
    await here.reached()
    await hall.censor()
    (await affected).refused(5003, 503)
    assert (await say("lobby", "say:Again")).ok().content[1]["content"] == "Again"
    there.open()
    assert (await chat).ok().content[1]["content"] == "OneTwo"
    read = (await hall.owner.command("ZN_Read", target={"domain": domain, "zone": "lobby"})).ok().content
    assert [message["seq"] for message in read] == [1, 2, 3, 4, 5]
    assert [message["content"] for message in read if message["role"] == "agent"] == ["[censored]", "Again"]
