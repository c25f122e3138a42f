"""Replies that have begun when their agent is stopped, destroyed or put out, or its owner suspended or destroyed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gateways.gate import ENGINES, Gate
from tests.support.gateway import PASSWORD, Answer, Client, running
from tests.support.operator import SECRET, SETTINGS, live_actor
from tests.support.runs import all_events, run_of
from tests.support.workspaces import Workspace, move, opened, post, said_in

WAYS = ("stopped", "suspended")
"""The ways in which an operator silences an agent."""
GONE = ("destroyed", "owner destroyed")
"""The ways in which an agent goes for good."""
PUT_OUT = ("DM_Kick", "DM_Ban", "DM_Leave")
"""The moves that end a membership."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A workspace on a gateway with a scripted engine that a gate blocks; the guest's agent is silenced."""

    client: Client
    workspace: Workspace
    gate: Gate

    @property
    def host(self) -> Client:
        return self.workspace.owner

    @property
    def agent(self) -> str:
        return self.workspace.guest_agent

    async def silence(self, way: str) -> None:
        """Silence the guest's agent, everywhere or in the domain."""
        if way in PUT_OUT:
            user = self.workspace.guest if way == "DM_Leave" else self.host
            (await move(user, way, self.workspace.domain, self.agent)).ok()
            return
        if way in GONE:
            destroy, target = ("AP_Destroy", {"agent": self.agent}) if way == "destroyed" else ("US_Destroy", {})
            (await self.workspace.guest.command(destroy, target=target, vx={"secret": PASSWORD})).ok()
            return
        guest = self.workspace.guest.name
        path = f"agents/{self.agent}/stop" if way == "stopped" else f"users/{guest}/suspend"
        assert (await self.client.request("POST", f"/api/admin/{path}", headers=SECRET)).http == 200

    def chat(self, content: str, **target: str) -> asyncio.Task[Answer]:
        target = {"agent": self.agent, **target}
        return asyncio.create_task(self.host.command("AP_Chat", target=target, content=content))

    async def engines_ended(self) -> None:
        """Wait until no engine works for the domain."""
        target = {"domain": self.workspace.domain}
        domain_id = (await self.host.command("DM_Read", target=target)).ok().profile[0]["id"]
        while (await live_actor(self.client, "domain", domain_id)).body["state"]["engines_at_work"]:
            await asyncio.sleep(0.01)

    async def texts(self) -> list[str]:
        return [text for _, _, text in await said_in(self.host, self.workspace.domain)]


@asynccontextmanager
async def scene(path: Path) -> AsyncIterator[Scene]:
    script = ENGINES / "scripted.py"
    async with running(path / "data", script=script, **SETTINGS) as gateway, gateway.client() as client:
        host, guest = await client.register("host"), await client.register("guest")
        yield Scene(client, await opened(host, guest, "observatory"), Gate(path / "gate"))


@pytest.mark.parametrize("way", WAYS)
async def test_private_chats_are_refused_as_those_that_come_later(tmp_path: Path, way: str):
    async with scene(tmp_path) as at:
        first = at.chat(f"say:One wait:{at.gate}")
        await at.gate.reached()
        second = at.chat("say:Two")
        agent_id = (await at.host.command("AP_Read", target={"agent": at.agent})).ok().profile[0]["id"]
        while not (await live_actor(at.client, "agent", agent_id)).body["state"]["conversations"][0]["waiting"]:
            await asyncio.sleep(0.01)
        await at.silence(way)
        refused = [(await chat).refused(3002, 409) for chat in (first, second, at.chat("say:Three"))]
        assert [("X-Run-Id" in answer.headers) for answer in refused] == [True, False, False], "one message is kept"


@pytest.mark.parametrize("way", [*WAYS, "destroyed"])
async def test_the_run_of_such_a_chat_ends_with_the_chat_s_error(tmp_path: Path, way: str):
    async with scene(tmp_path) as at:
        chat = at.chat(f"say:One wait:{at.gate}")
        await at.gate.reached()
        message = (await at.host.command("AP_History", target={"agent": at.agent})).ok().content[0]
        run_id = message["id"].replace("msg_", "run_")
        await at.silence(way)
        answer = await chat
        assert (answer.code, answer.headers["X-Run-Id"]) == (3000 if way == "destroyed" else 3002, run_id)
        run = await run_of(at.host, run_id)
        assert (run["state"], run["error"]) == ("failed", answer.body["status"])
        assert [event.data for event in await all_events(at.host, run_id)] == [run["error"]]


async def test_chats_with_an_agent_that_is_destroyed_end_as_those_that_come_later(tmp_path: Path):
    async with scene(tmp_path) as at:
        waiting = at.chat(f"say:One wait:{at.gate}")
        await at.gate.reached()
        await at.silence("destroyed")
        for chat in (waiting, at.chat("say:Two")):
            (await chat).refused(3000, 404)


@pytest.mark.parametrize("way", [*WAYS, *GONE])
async def test_a_reply_in_a_zone_ends_and_is_not_posted(tmp_path: Path, way: str):
    async with scene(tmp_path) as at:
        waiting = at.chat(content := f"say:One wait:{at.gate} say:Two", domain=at.workspace.domain)
        await at.gate.reached()
        await at.silence(way)
        (await waiting).refused(*((3000, 404) if way in GONE else (3002, 409)))
        await at.engines_ended()
        assert await at.texts() == [content]


@pytest.mark.parametrize("way", PUT_OUT)
async def test_the_reply_of_an_agent_that_leaves_its_domain_is_not_posted(tmp_path: Path, way: str):
    async with scene(tmp_path) as at:
        waiting = at.chat(content := f"wait:{at.gate} say:Two", domain=at.workspace.domain)
        await at.gate.reached()
        await at.silence(way)
        at.gate.open()
        (await waiting).refused(3002, 409)
        assert await at.texts() == [content]


@pytest.mark.parametrize("way", [*WAYS, *GONE, *PUT_OUT])
async def test_the_replies_of_others_in_the_domain_go_on(tmp_path: Path, way: str):
    async with scene(tmp_path) as at:
        content = f"wait:{at.gate} say:Here"
        waiting = at.chat(content, agent=at.workspace.owner_agent, domain=at.workspace.domain)
        await at.gate.reached()
        await at.silence(way)
        at.gate.open()
        assert (await waiting).ok().content[1]["content"] == "Here"
        assert await at.texts() == [content, "Here"]


@pytest.mark.parametrize("way", [*WAYS, *GONE, *PUT_OUT])
async def test_a_mentioned_agent_whose_turn_has_not_come_says_nothing(tmp_path: Path, way: str):
    async with scene(tmp_path) as at:
        domain = at.workspace.domain
        content = f"wait:{at.gate} say:Here @{at.workspace.owner_agent} @{at.agent}"
        (await post(at.host, domain, content)).ok()
        await at.gate.reached()
        await at.silence(way)
        at.gate.open()
        await at.engines_ended()
        assert await at.texts() == [content, "Here"]
