"""A change before the end of its agent, domain or bank tells what it stored, one after it that there is nothing."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actors.agents.messages import AGENT, AgentView, DestroyAgent, SetOnline, SetStopped, UpdateAgent
from actors.banks.messages import BANK
from actors.core import Core
from actors.domains.membership import Move
from actors.domains.messages import (
    DOMAIN,
    LOBBY,
    CreateZone,
    DestroyDomain,
    DestroyZone,
    DomainViewer,
    MoveMember,
    ReadDomain,
    RecordDeparture,
    SayInZone,
    UpdateDomain,
)
from actors.errors import NotFound
from actors.runtime.mailbox import Ask
from actors.users.messages import USER, CreateAgent, CreateDomain, DestroyUser, ReadUser
from persistence import agents, banks, domains
from persistence.agents import AgentChanges, AgentRow
from persistence.domains import DomainChanges, DomainRow
from persistence.store import Unit
from tests.support.core import make_user
from tests.support.disk import Disk, spin
from tests.support.gateway import Client
from tests.support.in_process import CommandClient, CoreGateway
from tests.support.sharing import with_a_bank


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


class Change:
    """Makes the messages by which another user changes a domain, with an agent that may join it or is a member."""

    def __init__(self, agent: AgentRow, lobby_id: str) -> None:
        viewer = DomainViewer(agent.owner_id)
        self.join, self.leave = (
            MoveMember(viewer, move, agent.id, agent.name, agent.owner_id) for move in (Move.JOIN, Move.LEAVE)
        )
        self.zone = CreateZone(viewer, "cellar")
        self.post = SayInZone(viewer, lobby_id, agent.owner, "hello")
        self.departure = RecordDeparture("somebody")


@pytest.mark.parametrize("founder", ["agent", "user"])
@pytest.mark.parametrize("changes", ["join", "leave", "zone", "post", "departure", "zone leave join post post"])
async def test_changes_by_others_in_a_domain_whose_founder_is_being_destroyed(
    founded: Founded, changes: str, founder: str, caplog: pytest.LogCaptureFixture
):
    ask, opened = founded.core.directory.ask, DomainChanges(founded.domain, "d", None, "public")
    await ask(DOMAIN, founded.domain_id, UpdateDomain(DomainViewer(founded.user_id), opened))
    guest = await make_user(founded.core)
    agent = await ask(USER, guest.id, CreateAgent(f"{founded.agent}-guest", "", None, "agent"))
    lobby = (await ask(DOMAIN, founded.domain_id, ReadDomain(DomainViewer(guest.id)))).lobby
    change = Change(agent, lobby.id)
    if changes != "join":
        await ask(DOMAIN, founded.domain_id, change.join)
    end: Awaitable[Any]
    if founder == "agent":
        end = ask(AGENT, founded.agent_id, DestroyAgent(founded.user_id, (founded.domain_id,)))
    else:
        user = await ask(USER, founded.user_id, ReadUser())
        end = ask(USER, founded.user_id, DestroyUser(user.secret_hash, (), (founded.domain_id,)))
    late = [ask(DOMAIN, founded.domain_id, getattr(change, name)) for name in changes.split()]
    ended, *answers = await asyncio.gather(end, *late, return_exceptions=True)
    assert ended is None or isinstance(ended, AgentView)
    assert all(isinstance(answer, NotFound) for answer in answers), answers
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_domain_that_is_loaded_while_its_founder_is_destroyed(core: Core, monkeypatch: pytest.MonkeyPatch):
    owner = await make_user(core)
    agent = await core.directory.ask(USER, owner.id, CreateAgent("host", "", None, "agent"))
    domain = await core.directory.ask(USER, owner.id, CreateDomain(agent.id, agent.name, "dome", "", None, "public"))
    ends: list[Unit] = [Unit(domains.leave_all(agent.id))]

    def then_it_ends(read: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def reading(query: Any) -> Any:
            found = await read(query)
            while ends:
                await core.store.commit(ends.pop())
            return found

        return reading

    for name in ("fetch", "read"):
        monkeypatch.setattr(core.store, name, then_it_ends(getattr(core.store, name)))
    view = await core.directory.ask(DOMAIN, domain.id, ReadDomain(DomainViewer(owner.id)))
    assert not ends
    assert view.lobby.name == LOBBY


async def test_an_offer_accepted_while_its_bank_is_being_destroyed(core: Core, disk: Disk, unique: str):
    client = CommandClient(CoreGateway(core))
    two = await with_a_bank(await client.register(f"{unique}-user"), await client.register(f"{unique}-guest"), unique)
    (await two.give("read")).ok()
    (bank_id,) = await core.store.fetch(banks.id_by_name(two.bank))
    disk.hold()
    destroyed = asyncio.create_task(two.owner.command("MB_Destroy", target={"bank": two.bank}))
    await disk.reached()
    accepted = asyncio.create_task(two.accept())
    async with asyncio.timeout(10):
        while (live := core.directory.inspect(BANK, bank_id)) is None or not live.status.mailbox:
            await spin()
    disk.let_go()
    (await destroyed).ok()
    (await accepted).refused(3000, 404)
