"""A crash under load in workspaces: memberships, zones, permissions, memories, and streams that resume."""

import asyncio
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateway import Answer, Client, running
from tests.support.load import UNKNOWN, Known
from tests.support.workspaces import following

DOMAIN, BANK = "observatory", "star-notes"


@dataclass
class Work:
    """Three active users and their acknowledged changes."""

    owner: Client
    guest: Client
    visitor: Client
    posted: dict[int, str] = field(default_factory=dict[int, str])
    memories: dict[str, str] = field(default_factory=dict[str, str])
    membership: Known = field(default_factory=lambda: Known("none"))
    permission: Known = field(default_factory=lambda: Known(""))
    number: int = 0

    async def set_up(self) -> None:
        for user, agent in ((self.owner, "host"), (self.guest, "guest"), (self.visitor, "visitor")):
            await user.agent(f"{agent}-agent", access="public")
        vx = {"name": DOMAIN, "description": "d", "access": "public"}
        (await self.owner.command("DM_Create", vx=vx)).ok()
        (await self.guest.command("DM_Join", target={"domain": DOMAIN})).ok()
        (await self.owner.command("MB_Create", vx={"name": BANK, "description": "d", "access": "public"})).ok()

    def next_number(self) -> int:
        self.number += 1
        return self.number

    async def post(self) -> None:
        text = f"message {self.next_number()}"
        answer = (await self.guest.command("ZN_Post", target={"domain": DOMAIN}, content=text)).ok()
        self.posted[answer.content[0]["seq"]] = text

    async def load(self) -> None:
        name = f"note {self.next_number()}"
        target = {"bank": BANK, "agent": "host-agent"}
        (await self.owner.command("MB_Load", target=target, vx={"name": name}, content=f"The {name}.")).ok()
        self.memories[name] = f"The {name}."

    async def move(self) -> None:
        target = {"domain": DOMAIN, "agent": "visitor-agent"}
        service, state = ("DM_Join", "member") if self.membership.value == "none" else ("DM_Leave", "none")
        self.membership.maybe, self.membership.in_doubt = state, True
        (await self.visitor.command(service, target=target)).ok()
        self.membership.settle(state)

    async def change_permission(self) -> None:
        match self.permission.value:
            case "attached: read":
                await self.answer(self.owner, "MB_Permissions", "attached: read, offered: write", "write")
            case "attached: read, offered: write":
                await self.answer(self.guest, "MB_Accept", "attached: write")
            case "offered: read":
                await self.answer(self.guest, "MB_Accept", "attached: read")
            case "attached: write":
                await self.answer(self.guest, "MB_Unload", "")
            case _:
                await self.answer(self.owner, "MB_Permissions", "offered: read", "read")

    async def answer(self, user: Client, service: str, after: str, permission: str | None = None) -> None:
        self.permission.maybe, self.permission.in_doubt = after, True
        vx = None if permission is None else {"permission": permission}
        (await user.command(service, target={"bank": BANK, "agent": "guest-agent"}, vx=vx)).ok()
        self.permission.settle(after)

    async def until_killed(self) -> None:
        async def repeat(step: Any) -> None:
            while True:
                try:
                    await step()
                except UNKNOWN:
                    return

        steps = (self.post, self.post, self.post, self.load, self.move, self.change_permission)
        await asyncio.gather(*map(repeat, steps))

    def meet(self, base: str) -> None:
        for user in (self.owner, self.guest, self.visitor):
            user.base = base

    async def verify(self) -> None:
        """Assert that everything acknowledged is stored, once and in order."""
        said = {entry["seq"]: entry["content"] for entry in await self._all("ZN_Read", {"domain": DOMAIN})}
        assert sorted(said) == list(range(1, len(said) + 1))
        assert len(set(said.values())) == len(said)
        assert {seq: said[seq] for seq in self.posted} == self.posted
        kept = {entry["name"]: entry["text"] for entry in await self._all("MB_Read", {"bank": BANK})}
        assert {name: kept[name] for name in self.memories} == self.memories
        standing = (await self.owner.command("DM_Read", target={"domain": DOMAIN})).ok().content
        states = {entry["agent"]: entry["state"] for entry in standing}
        state = states.get("visitor-agent", "none")
        assert self.membership.may_be(state)
        self.membership.settle(state)
        attached = (await self.owner.command("MB_AgentList", target={"bank": BANK})).ok().content
        guest = [entry for entry in attached if entry["agent"] == "guest-agent"]
        permission = ", ".join(f"{entry['state']}: {entry['permission']}" for entry in guest)
        assert self.permission.may_be(permission)
        self.permission.settle(permission)

    async def _all(self, service: str, target: dict[str, str]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = {"limit": 200, "cursor": cursor}
            answer: Answer = (await self.owner.command(service, target=target, page=page)).ok()
            found += answer.content
            if (cursor := answer.next) is None:
                return found


class Follower:
    """Follows the zone through every crash, from its last event on."""

    def __init__(self, user: Client) -> None:
        self.user = user
        self.last_id = "0"
        self.seqs: list[int] = []

    async def follow(self, until: int = 0) -> None:
        """Read until the connection breaks, or until a message of that seq has come, which may be there already."""
        try:
            async with following(self.user, DOMAIN, self.last_id) as stream:
                while not until or not self.seqs or self.seqs[-1] < until:
                    event = await stream.next()
                    if event is None:
                        return
                    self.last_id = stream.last_id
                    if event["type"] == "message":
                        self.seqs.append(event["message"]["seq"])
        except UNKNOWN:
            if until:
                raise


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [3, pytest.param(40, marks=pytest.mark.soak)])
async def test_workspaces_survive_crashes_and_streams_resume_without_gap_or_double(tmp_path: Path, kills: int):
    rng = random.Random(20_263)
    async with running(tmp_path / "data", PARLEY_DEFAULT_PLAN="enterprise") as gateway, gateway.client() as nobody:
        owner, guest, visitor = [await nobody.register(name) for name in ("lovelace", "babbage", "somerville")]
        work = Work(owner, guest, visitor)
        await work.set_up()
        follower = Follower(work.owner)
        for _ in range(kills):
            before = len(work.posted), len(work.memories)
            acting = asyncio.create_task(work.until_killed())
            reading = asyncio.create_task(follower.follow())
            await asyncio.sleep(rng.uniform(0.3, 1.0))
            while (len(work.posted), len(work.memories)) == before and not acting.done():  # also on a slow machine
                await asyncio.sleep(0.05)
            await gateway.kill()
            await asyncio.gather(acting, reading)
            assert (len(work.posted), len(work.memories)) > before
            await gateway.start()
            work.meet(gateway.base)
            await work.verify()
        await follower.follow(until=max(work.posted))
        assert follower.seqs == list(range(1, len(follower.seqs) + 1))
        print(f"{len(work.posted)} messages and {len(work.memories)} memories acknowledged, {kills} kills")  # noqa: T201
