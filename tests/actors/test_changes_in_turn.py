"""A change that is sent while another one is being stored is made on what that one leaves, also if it is not stored."""

import asyncio
import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest

from actors.agents.messages import AGENT
from actors.core import Core
from persistence import agents
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
