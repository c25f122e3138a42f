"""Reloads: a unit that changes the rows of other actors makes them load anew, and leaves the rest alone."""

import asyncio

from actors.agents.messages import AGENT, DestroyAgent, ReadAgent
from actors.core import Core
from actors.domains.membership import Move
from actors.domains.messages import DOMAIN, DomainViewer, MoveMember, ReadDomain, SayInZone
from actors.engines.turn import Persona
from actors.quotas.messages import QUOTA, ReadQuota
from actors.users.messages import USER, CreateAgent, CreateDomain
from persistence.zones import page_after
from tests.support.core import make_user


async def test_destroying_agents_does_not_hold_up_what_other_users_load(core: Core):
    owner = await make_user(core)
    agents = [
        await core.directory.ask(USER, owner.id, CreateAgent(f"agent-{number}", "", None, "agent"))
        for number in range(20)
    ]
    for agent in agents:
        await core.directory.ask(AGENT, agent.id, ReadAgent(owner.id))
    others = await asyncio.gather(*(make_user(core) for _ in range(300)))
    before = core.directory.activations
    await asyncio.gather(
        *(core.directory.ask(AGENT, agent.id, DestroyAgent(owner.id)) for agent in agents),
        *(core.directory.ask(QUOTA, other.id, ReadQuota()) for other in others),
    )
    assert core.directory.activations - before == len(others)


async def test_a_domain_goes_on_without_a_destroyed_member_which_says_nothing_more(core: Core):
    owner, guest = await make_user(core), await make_user(core)
    ask = core.directory.ask
    host = await ask(USER, owner.id, CreateAgent("host", "", None, "agent"))
    visitor = await ask(USER, guest.id, CreateAgent("visitor", "", None, "agent"))
    domain = await ask(USER, owner.id, CreateDomain(host.id, host.name, "observatory", "", None, "public"))
    viewer = DomainViewer(owner.id)
    await ask(DOMAIN, domain.id, MoveMember(DomainViewer(guest.id), Move.JOIN, visitor.id, visitor.name, guest.id))
    lobby = (await ask(DOMAIN, domain.id, ReadDomain(viewer))).lobby
    personas = tuple(Persona(agent.id, agent.name, "knows the dome", "") for agent in (visitor, host))
    greeting = SayInZone(viewer, lobby.id, owner.name, "Hello!", answering=personas, memories=((), ()))
    await ask(DOMAIN, domain.id, greeting)
    await ask(AGENT, visitor.id, ReadAgent(guest.id))
    before = core.directory.activations
    await ask(AGENT, visitor.id, DestroyAgent(guest.id, (domain.id,)))
    await ask(DOMAIN, domain.id, greeting)  # its agents were looked up before
    assert core.directory.activations == before
    rows = await core.store.fetch(page_after(lobby.id, 0, 10))
    assert [row.name for row in rows] == [owner.name, "visitor", "host", owner.name, "host"]
