"""A change that is sent while another one is being stored is made on what that one leaves, also if it is not stored."""

import asyncio
import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from actors.agents.messages import AGENT
from actors.banks.messages import BANK
from actors.core import Core
from persistence import agents, banks
from persistence.store import Unit, Write
from tests.support.disk import Disk, rows, spin
from tests.support.gateway import Answer, Client
from tests.support.idempotent import REPLAYED, once
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.operator import on_plan


@dataclass
class Scene:
    """A user with an agent whose change is being stored."""

    core: Core
    disk: Disk
    owner: Client
    agent: str

    def send(self, service: str, key: str | None = None, **body: Any) -> asyncio.Task[Answer]:
        target = {"agent": self.agent}
        return asyncio.create_task(once(self.owner, key or str(uuid.uuid4()), service, target=target, **body))

    async def behind(self, change: asyncio.Task[Answer], service: str, **more: Any) -> asyncio.Task[Answer]:
        """Send a command once a change is being stored; return when it waits for its turn or for the disk."""
        (id,) = await self.core.store.fetch(agents.id_by_name(self.agent))
        await self.disk.reached()
        units = self.core.store.stats().waiting
        late = self.send(service, **more)
        async with asyncio.timeout(10):
            while self.core.store.stats().waiting == units:
                live = self.core.directory.inspect(AGENT, id)
                if live is not None and live.status.mailbox:
                    break
                await spin()
        assert not change.done()
        assert not late.done()
        return late

    async def events(self) -> list[tuple[str, str]]:
        """Return the events of the agent's changes: their actions, and the names in them."""
        found = await rows(
            self.core.store, "SELECT data FROM events WHERE type LIKE 'agent.deployment.%' ORDER BY place"
        )
        return [(data["action"], data["agent"]) for data in (json.loads(data) for (data,) in found)]


@pytest.fixture
async def scene(core: Core, disk: Disk, unique: str) -> Scene:
    owner = await on_plan(await CommandClient(CoreGateway(core)).register(unique), "enterprise")
    await owner.agent("first", online=False)
    await owner.agent(f"{unique}-agent", online=False)
    (await owner.command("AP_Read", target={"agent": f"{unique}-agent"})).ok()
    await core.store.commit(Unit((Write("DELETE FROM events", ()),)))
    disk.hold()
    return Scene(core, disk, owner, f"{unique}-agent")


async def test_a_name_that_is_refused_is_in_no_later_answer_or_event(scene: Scene):
    key = str(uuid.uuid4())
    rename = scene.send("AP_Modify", vx={"name": "first"})
    late = await scene.behind(rename, "AP_Modify", key=key, vx={"description": "new"})
    scene.disk.let_go()
    (await rename).refused(3001, 409)
    answer = (await late).ok()
    (record,) = answer.profile
    assert (record["name"], record["description"]) == (scene.agent, "new")
    assert await scene.events() == [("updated", scene.agent)]
    again = await scene.send("AP_Modify", key, vx={"description": "new"})
    assert again.headers[REPLAYED] == "true"
    assert again.body == answer.body


async def test_a_change_behind_one_that_can_not_be_stored_is_made_by_the_next_incarnation(scene: Scene):
    doomed = scene.send("AP_Modify", vx={"name": f"{scene.agent}-new"})
    late = await scene.behind(doomed, "AP_LogOn")
    scene.disk.let_go(failing=True)
    (await doomed).refused(5002, 503)
    (record,) = (await late).ok().profile
    assert (record["name"], record["state"]) == (scene.agent, "online")


async def test_the_event_of_an_end_behind_a_new_name_has_that_name(scene: Scene):
    name = f"{scene.agent}-new"
    rename = scene.send("AP_Modify", vx={"name": name})
    end = await scene.behind(rename, "AP_Destroy")
    scene.disk.let_go()
    for answer in await asyncio.gather(rename, end):
        answer.ok()
    assert await scene.events() == [("updated", name), ("deleted", name)]


async def test_a_conversation_that_begins_behind_a_new_name_is_answered_with_it(scene: Scene):
    name = f"{scene.agent}-new"
    rename = scene.send("AP_Modify", vx={"name": name})
    begun = await scene.behind(rename, "CV_Create", vx={"name": "a talk"})
    scene.disk.let_go()
    (await rename).ok()
    assert (await begun).ok().profile[0]["agent"] == name


@dataclass
class Loading:
    """An owner who loads memories into a bank while the disk is held."""

    core: Core
    disk: Disk
    owner: Client

    def send(self, service: str, name: str, **vx: str) -> asyncio.Task[Answer]:
        body: Any = {"vx": {"name": name, **vx}} | ({"content": f"text {name}"} if service == "MB_Load" else {})
        return asyncio.create_task(once(self.owner, str(uuid.uuid4()), service, target={"bank": "notes"}, **body))


@pytest.fixture
async def loading(core: Core, disk: Disk, unique: str) -> Loading:
    owner = await on_plan(await CommandClient(CoreGateway(core)).register(unique), "enterprise")
    await owner.agent("first")
    (await owner.command("MB_Create", vx={"name": "notes", "description": "d"})).ok()
    (await owner.command("MB_Load", target={"bank": "notes"}, vx={"name": "m0"}, content="text")).ok()
    disk.hold()
    return Loading(core, disk, owner)


def memories_of(answers: list[Answer]) -> list[int]:
    return [answer.ok().profile[0]["memories"] for answer in answers]


async def test_loads_into_one_bank_share_a_commit_and_are_counted_in_their_order(loading: Loading):
    loads = [loading.send("MB_Load", f"m{number}") for number in range(1, 9)]
    await loading.disk.reached()
    before = loading.disk.commits
    loading.disk.let_go()
    assert sorted(memories_of(await asyncio.gather(*loads))) == list(range(2, 10))
    assert loading.disk.commits < before + len(loads) - 1


async def test_loads_behind_another_change_wait_for_it(loading: Loading):
    before = loading.send("MB_Load", "m1")
    await loading.disk.reached()
    update = loading.send("MB_Update", "notes", description="new")
    (id,) = await loading.core.store.fetch(banks.id_by_name("notes"))
    async with asyncio.timeout(10):
        while not (live := loading.core.directory.inspect(BANK, id)) or not live.status.mailbox:
            await spin()
    loads = [loading.send("MB_Load", f"m{number}") for number in range(2, 6)]
    loading.disk.let_go()
    assert (await before).ok().profile[0]["description"] == "d"
    assert (await update).ok().profile[0]["memories"] == 2
    answers = await asyncio.gather(*loads)
    assert sorted(memories_of(answers)) == [3, 4, 5, 6]
    assert {answer.profile[0]["description"] for answer in answers} == {"new"}


async def test_a_load_that_is_refused_is_not_counted_afterwards(loading: Loading):
    loads = [loading.send("MB_Load", name) for name in ("m1", "m2", "m2", "m3")]
    await loading.disk.reached()
    loading.disk.let_go()
    assert all(answer.http in (200, 409) for answer in await asyncio.gather(*loads))
    assert memories_of([await loading.send("MB_Load", "m4")]) == [5]
