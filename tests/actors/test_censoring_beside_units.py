"""A chat whose reply is on its way to the store while a memory that it quotes is censored fails alone."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.agents.messages import MemoriesNeeded, RanBefore, ReadAgent, SendChat
from actors.conversations.conversation import ChatSent
from actors.conversations.stored import CensoredMeanwhile
from actors.core import Core
from actors.domains.messages import DOMAIN, DestroyZone, DomainViewer
from actors.ids import system_clock
from persistence.store import Query
from tests.gateways.gate import Gate
from tests.gateways.scripted import ScriptedEngine
from tests.support.core import open_core
from tests.support.disk import Disk, spin
from tests.support.gateway import Answer, Client
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.memories import load, open_to_all
from tests.support.operator import on_plan

FACT, QUESTION = "The Moon is 384,400 km away on average.", "How far is the Moon?"


@dataclass(frozen=True, slots=True)
class Hall:
    """A public agent with a memory, its owner and another user, and the disk of their gateway."""

    core: Core
    disk: Disk
    owner: Client
    other: Client
    agent: str
    bank: str

    async def say(self, user: Client, content: str, **target: str) -> Answer:
        return await user.command("AP_Chat", target={"agent": self.agent, **target}, content=content)

    async def censoring(self) -> "asyncio.Task[Answer]":
        """Begin to censor the memory, and return once that is being stored; the disk is held then."""
        self.disk.hold()
        command = self.owner.command("MB_Censor", target={"bank": self.bank}, vx={"name": "moon"})
        censoring = asyncio.create_task(command)
        await self.disk.reached()
        return censoring

    async def behind(self, sent: Coroutine[Any, Any, Answer]) -> "asyncio.Task[Answer]":
        """Send a command, and return once its unit waits behind what is being stored."""
        waiting = self.core.store.stats().waiting
        task = asyncio.create_task(sent)
        async with asyncio.timeout(10):
            while self.core.store.stats().waiting == waiting and not task.done():
                await spin()
        assert not task.done(), task.result().body["status"]
        return task

    async def asked(self, kind: str, sent: Coroutine[Any, Any, Answer]) -> "asyncio.Task[Answer]":
        """Send a command, and return once the actor of this kind has heard of it."""
        heard = self._heard(kind)
        task = asyncio.create_task(sent)
        async with asyncio.timeout(10):
            while self._heard(kind) == heard:
                await spin()
        return task

    async def sends(self, content: str) -> "asyncio.Task[ChatSent | MemoriesNeeded | RanBefore]":
        """Send a chat of the owner to the agent's actor, and return once that has it."""
        (agent,) = self.core.directory.statuses("agent")
        user = (await self.owner.command("US_Read")).ok().profile[0]
        task = asyncio.create_task(
            self.core.directory.ask("agent", agent.key, SendChat(user["id"], user["name"], content, ()))
        )
        await spin()
        return task

    async def messages(self) -> int:
        """Ask the agent's actor how many messages it counts."""
        (agent,) = self.core.directory.statuses("agent")
        return (await self.core.directory.ask("agent", agent.key, ReadAgent("", access_granted=True))).messages

    def _heard(self, kind: str) -> int:
        (status,) = self.core.directory.statuses(kind)
        return status.handled

    async def texts(self, user: Client, service: str = "AP_History", **target: str) -> list[str]:
        history = (await user.command(service, target=target or {"agent": self.agent})).ok().content
        assert [message["seq"] for message in history] == list(range(1, len(history) + 1))
        return [message["content"] for message in history]


async def opened(core: Core, disk: Disk, unique: str) -> Hall:
    gateway = CoreGateway(core)
    owner = await on_plan(await CommandClient(gateway).register(f"{unique}-owner"), "scale")
    other = await on_plan(await CommandClient(gateway).register(f"{unique}-other"), "scale")
    hall = Hall(core, disk, owner, other, f"{unique}-agent", f"{unique}-bank")
    await owner.agent(hall.agent, access="public")
    (await owner.command("MB_Create", vx={"name": hall.bank})).ok()
    (await load(owner, hall.bank, "moon", FACT)).ok()
    await open_to_all(owner, hall.bank)
    return hall


@pytest.fixture
async def hall(core: Core, disk: Disk, unique: str) -> Hall:
    return await opened(core, disk, unique)


@pytest.fixture
async def scripted(tmp_path: Path, disk: Disk, unique: str) -> AsyncIterator[Hall]:
    async with open_core(tmp_path, system_clock, before_commit=disk.before_commit, engine=ScriptedEngine()) as core:
        yield await opened(core, disk, unique)
        disk.let_go()


def failed_alone(answer: Answer) -> bool:
    status = answer.body["status"]
    return status["internal_code"] == 5003 and "was censored meanwhile" in status["note"]


async def test_in_private_only_the_chat_fails_that_quotes_the_memory(hall: Hall):
    (await hall.say(hall.owner, QUESTION)).ok()
    (await hall.say(hall.other, "Hello there")).ok()
    censoring = await hall.censoring()
    quoting = await hall.behind(hall.say(hall.owner, QUESTION))
    next_one = await hall.sends("Well, thank you")
    beside = await hall.asked("agent", hall.say(hall.other, "Hello again"))
    hall.disk.let_go()
    (await censoring).ok()
    assert failed_alone(await quoting)
    assert isinstance(await next_one, ChatSent)
    (await beside).ok()
    texts = await hall.texts(hall.owner)
    assert [*texts[:1], texts[2]] == [QUESTION, "Well, thank you"]
    assert len(texts) == 4
    assert "384,400" not in " ".join(texts)
    assert await hall.messages() == 8


async def test_a_conversation_that_the_chat_begins_does_not_begin(hall: Hall):
    (await hall.say(hall.other, "Hello there")).ok()
    censoring = await hall.censoring()
    quoting = await hall.behind(hall.say(hall.owner, QUESTION))
    waiting = await hall.sends("Well, thank you")
    beside = await hall.asked("agent", hall.say(hall.other, "Hello again"))
    hall.disk.let_go()
    (await censoring).ok()
    assert failed_alone(await quoting)
    with pytest.raises(CensoredMeanwhile):
        await waiting
    (await beside).ok()
    assert await hall.texts(hall.owner) == []
    (await hall.say(hall.owner, "Well, thank you")).ok()
    assert len(await hall.texts(hall.owner)) == 2


async def test_chats_of_a_conversation_go_on_behind_a_reply_with_a_quote(hall: Hall):
    hall.disk.hold()
    quoting = asyncio.create_task(hall.say(hall.owner, QUESTION))
    await hall.disk.reached()
    waiting = [await hall.asked("agent", hall.say(hall.owner, text)) for text in (QUESTION, "Thank you")]
    hall.disk.let_go()
    for answer in await asyncio.gather(quoting, *waiting):
        answer.ok()
    said = (await hall.texts(hall.owner))[::2]
    assert (said[0], sorted(said[1:])) == (QUESTION, [QUESTION, "Thank you"])


async def test_in_a_zone_only_the_message_fails_whose_reply_quotes_the_memory(hall: Hall, unique: str):
    domain = f"{unique}-domain"
    vx = {"name": domain, "description": "d"}
    (await hall.owner.command("DM_Create", target={"agent": hall.agent}, vx=vx)).ok()
    (await hall.owner.command("ZN_Create", target={"domain": domain}, vx={"name": "garden"})).ok()

    async def post(content: str, **target: str) -> Answer:
        return await hall.owner.command("ZN_Post", target={"domain": domain, **target}, content=content)

    for zone in ("lobby", "garden"):
        (await post("Hello", zone=zone)).ok()
    censoring = await hall.censoring()
    quoting = await hall.behind(hall.say(hall.owner, QUESTION, domain=domain))
    same_zone = await hall.asked("domain", post("Hello there"))
    other_zone = await hall.behind(post("Hello all", zone="garden"))
    hall.disk.let_go()
    (await censoring).ok()
    assert failed_alone(await quoting)
    (await same_zone).ok()
    (await other_zone).ok()
    assert await hall.texts(hall.owner, "ZN_Read", domain=domain) == ["Hello", "Hello there"]
    (await post("Good-bye")).ok()
    assert await hall.texts(hall.owner, "ZN_Read", domain=domain) == ["Hello", "Hello there", "Good-bye"]
    assert await hall.texts(hall.owner, "ZN_Read", domain=domain, zone="garden") == ["Hello", "Hello all"]


async def test_the_messages_of_a_zone_go_on_behind_a_reply_with_a_quote(hall: Hall, unique: str):
    domain = f"{unique}-domain"
    vx = {"name": domain, "description": "d"}
    (await hall.owner.command("DM_Create", target={"agent": hall.agent}, vx=vx)).ok()
    hall.disk.hold()
    quoting = asyncio.create_task(hall.say(hall.owner, QUESTION, domain=domain))
    await hall.disk.reached()
    waiting = [
        await hall.asked("domain", hall.say(hall.owner, text, domain=domain)) for text in (QUESTION, "Thank you")
    ]
    hall.disk.let_go()
    for answer in await asyncio.gather(quoting, *waiting):
        answer.ok()
    said = (await hall.texts(hall.owner, "ZN_Read", domain=domain))[::2]
    assert (said[0], sorted(said[1:])) == (QUESTION, [QUESTION, "Thank you"])


@pytest.mark.parametrize("in_zone", [False, True], ids=["in private", "in a zone"])
async def test_of_streamed_replies_only_the_one_fails_that_draws_on_the_memory(
    scripted: Hall, tmp_path: Path, unique: str, in_zone: bool
):
    hall = scripted
    place = {"domain": f"{unique}-domain"} if in_zone else {}
    if in_zone:
        vx = {"name": place["domain"], "description": "d"}
        (await hall.owner.command("DM_Create", target={"agent": hall.agent}, vx=vx)).ok()
    first, second = Gate(tmp_path / "first"), Gate(tmp_path / "second")
    text = f"cite:moon say:Far wait:{first}"
    quoting = asyncio.create_task(hall.say(hall.owner, text, **place))
    beside = asyncio.create_task(hall.say(hall.other, f"say:One wait:{second} say:Two"))
    async with asyncio.timeout(10):
        await first.reached()
        await second.reached()
    censoring = await hall.censoring()
    waiting = hall.core.store.stats().waiting
    first.open()
    async with asyncio.timeout(10):
        while hall.core.store.stats().waiting == waiting:
            await asyncio.sleep(0)
    hall.disk.let_go()
    (await censoring).ok()
    second.open()
    answer = await quoting
    assert failed_alone(answer)
    assert (await beside).ok().content[1]["content"] == "OneTwo"
    service, target = ("ZN_Read", place) if in_zone else ("AP_History", {})
    assert await hall.texts(hall.owner, service, **target) == [text]
    if not in_zone:
        run = answer.headers["X-Run-Id"]
        assert run.startswith("run_")
        ended = await hall.owner.request("GET", f"/api/runs/{run}")
        assert (ended.body["state"], ended.body["error"]["internal_code"]) == ("failed", 5003)
    (await hall.say(hall.owner, "say:More", **place)).ok()
    assert await hall.texts(hall.owner, service, **target) == [text, "say:More", "More"]


@pytest.mark.parametrize("in_zone", [False, True])
async def test_a_chat_that_is_refused_leaves_its_audit_row(hall: Hall, unique: str, in_zone: bool):
    place = {"domain": f"{unique}-domain"} if in_zone else {}
    if in_zone:
        vx = {"name": place["domain"], "description": "A hall"}
        (await hall.owner.command("DM_Create", target={"agent": hall.agent}, vx=vx)).ok()
    (await hall.say(hall.owner, "Hello!", **place)).ok()
    censoring = await hall.censoring()
    quoting = await hall.behind(hall.say(hall.owner, QUESTION, **place))
    hall.disk.let_go()
    (await censoring).ok()
    (await quoting).refused(5003, 503)
    rows = Query("SELECT service, internal_code FROM audit", (), tuple)
    async with asyncio.timeout(10):
        while ("AP_Chat", 5003) not in await hall.core.store.fetch(rows):
            await spin()


async def test_a_zone_that_is_destroyed_while_a_chat_there_is_refused_stays_destroyed(hall: Hall, unique: str):
    domain = f"{unique}-domain"
    vx = {"name": domain, "description": "A hall"}
    made = (await hall.owner.command("DM_Create", target={"agent": hall.agent}, vx=vx)).ok().profile[0]
    garden = {"target": {"domain": domain}, "vx": {"name": "garden"}}
    zone = (await hall.owner.command("ZN_Create", **garden)).ok().profile[0]
    owner = (await hall.owner.command("US_Read")).ok().profile[0]
    (await hall.say(hall.owner, "Hello!", domain=domain, zone="garden")).ok()
    censoring = await hall.censoring()
    quoting = await hall.behind(hall.say(hall.owner, QUESTION, domain=domain, zone="garden"))
    destroyed = asyncio.create_task(
        hall.core.directory.ask(DOMAIN, made["id"], DestroyZone(DomainViewer(owner["id"]), zone["id"]))
    )
    await spin()
    hall.disk.let_go()
    (await censoring).ok()
    (await quoting).refused(5003, 503)
    await destroyed
    zones = (await hall.owner.command("ZN_List", target={"domain": domain})).ok().profile
    assert [one["name"] for one in zones] == ["lobby"]
    (await hall.owner.command("ZN_Create", **garden)).ok()


async def test_messages_are_counted_right_when_a_conversation_is_erased_while_a_reply_there_is_refused(hall: Hall):
    for user, content in ((hall.owner, "Hello!"), (hall.other, "Hello!"), (hall.other, "Hello again!")):
        (await hall.say(user, content)).ok()
    censoring = await hall.censoring()
    quoting = await hall.behind(hall.say(hall.owner, QUESTION))
    default = {"agent": hall.agent, "conversation": "default"}
    erasing = await hall.behind(hall.owner.command("CV_Destroy", target=default))
    hall.disk.let_go()
    (await censoring).ok()
    assert not (await quoting).body["status"]["success"]
    (await erasing).ok()
    assert await hall.messages() == 4
