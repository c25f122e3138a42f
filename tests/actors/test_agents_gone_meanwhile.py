"""An agent that is destroyed while a command names it is gone for that command, too."""

import asyncio
from typing import Any

import pytest

from actors.agents.messages import no_such_agent
from actors.core import Core
from actors.domains.membership import Move
from actors.domains.messages import DOMAIN, DomainViewer, MoveMember
from actors.errors import NotFound
from actors.users.messages import USER, AddToRoster, OnRoster
from persistence import memories, users
from persistence.store import Query
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.memories import load
from tests.support.workspaces import post


async def user_with_agent(core: Core, name: str) -> tuple[Client, dict[str, Any], dict[str, Any]]:
    """Register a user with an agent, and return both records with the client."""
    client = await CommandClient(CoreGateway(core)).register(name)
    agent = await client.agent(f"{name}-agent")
    return client, (await client.command("US_Read")).ok().profile[0], agent


@pytest.mark.parametrize("move", [Move.JOIN, Move.INVITE])
async def test_an_agent_that_is_destroyed_while_it_comes_into_a_domain_gives_no_sight_of_it(
    core: Core, unique: str, move: Move
):
    owner, founder, _ = await user_with_agent(core, f"{unique}-owner")
    guest, visitor, agent = await user_with_agent(core, f"{unique}-guest")
    vx = {"name": f"{unique}-domain", "description": "d", "access": "public"}
    domain = (await owner.command("DM_Create", vx=vx)).ok().profile[0]
    (await post(owner, domain["name"], "Hello")).ok()
    (await guest.command("AP_Destroy", target={"agent": agent["name"]})).ok()

    mover = visitor if move is Move.JOIN else founder
    moving = MoveMember(DomainViewer(mover["id"]), move, agent["id"], agent["name"], visitor["id"])
    with pytest.raises(NotFound, match=no_such_agent().note[:30]):
        await core.directory.ask(DOMAIN, domain["id"], moving)

    private = {"name": domain["name"], "description": "d", "access": "agent"}
    (await owner.command("DM_Update", target={"domain": domain["name"]}, vx=private)).ok()
    assert (await guest.command("ZN_Read", target={"domain": domain["name"]})).code == 3000
    assert (await guest.command("DM_Read", target={"domain": domain["name"]})).code == 3000
    (await post(owner, domain["name"], "Among us")).ok()
    (await guest.command("DM_List")).ok()


async def test_a_load_by_an_agent_that_is_destroyed_meanwhile_finds_no_such_agent(
    core: Core, unique: str, monkeypatch: pytest.MonkeyPatch
):
    owner, _, _ = await user_with_agent(core, f"{unique}-owner")
    await owner.agent(f"{unique}-writer", select=False)
    (await owner.command("MB_Create", vx={"name": f"{unique}-bank"})).ok()
    fetch, held, go = core.store.fetch, asyncio.Event(), asyncio.Event()
    looked_for = memories.replaced_by("", "", []).sql

    async def fetched(query: Query[Any]) -> list[Any]:
        found = await fetch(query)
        if query.sql == looked_for and not held.is_set():  # after the look at the agent, before the load
            held.set()
            await go.wait()
        return found

    monkeypatch.setattr(core.store, "fetch", fetched)
    loading = asyncio.create_task(load(owner, f"{unique}-bank", "moon", "It is far.", agent=f"{unique}-writer"))
    async with asyncio.timeout(10):
        await held.wait()
    (await owner.command("AP_Destroy", target={"agent": f"{unique}-writer"})).ok()
    go.set()
    answer = await loading
    assert (answer.code, answer.body["status"]["note"]) == (3000, no_such_agent().note)


async def test_an_agent_that_is_destroyed_while_it_is_added_to_a_roster_leaves_no_row(core: Core, unique: str):
    _, user, _ = await user_with_agent(core, f"{unique}-user")
    owner, _, agent = await user_with_agent(core, f"{unique}-owner")
    (await owner.command("AP_Destroy", target={"agent": agent["name"]})).ok()
    with pytest.raises(NotFound):
        await core.directory.ask(USER, user["id"], AddToRoster(agent["id"]))
    assert not await core.directory.ask(USER, user["id"], OnRoster(agent["id"]))
    assert await core.store.fetch(users.roster(user["id"])) == []
