"""A change that is stored just before its agent or domain is destroyed is answered with what it stored."""

import asyncio
from typing import Any

import pytest

from actors.agents.messages import AGENT, AgentView, DestroyAgent, SetOnline, SetStopped, UpdateAgent
from actors.core import Core
from actors.domains.messages import DOMAIN, DestroyDomain, DestroyZone, DomainViewer, UpdateDomain
from actors.runtime.mailbox import Ask
from persistence import agents, domains
from persistence.agents import AgentChanges
from persistence.domains import DomainChanges, DomainRow
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway


class Founded:
    """A user's agent and the domain that it founded."""

    def __init__(self, core: Core, owner: Client, name: str) -> None:
        self.core, self.owner, self.agent, self.domain = core, owner, f"{name}-agent", f"{name}-domain"
        self.agent_id = self.domain_id = self.user_id = ""

    async def set_up(self) -> None:
        await self.owner.agent(self.agent)
        (await self.owner.command("DM_Create", vx={"name": self.domain, "description": "d"})).ok()
        (await self.owner.command("ZN_Create", target={"domain": self.domain}, vx={"name": "attic"})).ok()
        (self.agent_id,) = await self.core.store.fetch(agents.id_by_name(self.agent))
        (self.domain_id,) = await self.core.store.fetch(domains.id_by_name(self.domain))
        self.user_id = (await self.owner.command("US_Read")).ok().profile[0]["id"]

    async def at_once(self, *messages: Ask[Any]) -> list[Any]:
        """Have both units submitted before either is stored; return the replies."""
        asks: list[Any] = []
        for message in messages:
            is_domains = isinstance(message, UpdateDomain | DestroyDomain | DestroyZone)
            kind, key = (DOMAIN, self.domain_id) if is_domains else (AGENT, self.agent_id)
            asks.append(self.core.directory.ask(kind, key, message))
        return await asyncio.gather(*asks)


@pytest.fixture
async def founded(core: Core, unique: str) -> Founded:
    scene = Founded(core, await CommandClient(CoreGateway(core)).register(unique), unique)
    await scene.set_up()
    return scene


@pytest.mark.parametrize("change", ["online", "stopped", "update"])
async def test_a_change_of_an_agent(founded: Founded, change: str):
    message = {
        "online": SetOnline(founded.user_id, False),
        "stopped": SetStopped(True),
        "update": UpdateAgent(founded.user_id, AgentChanges("renamed", "new", None, None)),
    }[change]
    view: AgentView
    view, _ = await founded.at_once(message, DestroyAgent(founded.user_id, (founded.domain_id,)))
    expected = {"online": (founded.agent, False, False), "stopped": (founded.agent, True, True)}
    assert (view.row.name, view.row.online, view.row.stopped) == expected.get(change, ("renamed", True, False))
    assert view.record["name"] == view.row.name
    (await founded.owner.command("AP_Read", target={"agent": founded.agent})).refused(3000, 404)


async def test_a_change_of_a_domain(founded: Founded):
    viewer = DomainViewer(founded.user_id)
    row: DomainRow
    row, _ = await founded.at_once(
        UpdateDomain(viewer, DomainChanges("renamed", "new", None, None)), DestroyDomain(viewer)
    )
    assert (row.name, row.description) == ("renamed", "new")
    (await founded.owner.command("DM_Read", target={"domain": "renamed"})).refused(3000, 404)


async def test_a_domain_that_ends_with_its_founder_at_the_same_time(founded: Founded):
    end = DestroyDomain(DomainViewer(founded.user_id))
    await founded.at_once(DestroyAgent(founded.user_id, (founded.domain_id,)), end)
    (await founded.owner.command("DM_Read", target={"domain": founded.domain})).refused(3000, 404)


async def test_a_zone_that_ends_with_its_domain_at_the_same_time(founded: Founded):
    zones = (await founded.owner.command("ZN_List", target={"domain": founded.domain})).ok().profile
    (attic,) = (zone["id"] for zone in zones if zone["name"] == "attic")
    end = DestroyZone(DomainViewer(founded.user_id), attic)
    await founded.at_once(DestroyAgent(founded.user_id, (founded.domain_id,)), end)
    (await founded.owner.command("ZN_List", target={"domain": founded.domain})).refused(3000, 404)
